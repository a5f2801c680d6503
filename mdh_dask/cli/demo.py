"""A photograph, segmented end to end on this machine."""

import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import dask

from .._typing import AnyArray
from ..estimators import RandomProjectionTree
from ..io import open_rows, write_rows
from ..report import write_report
from .outputs import Outputs, check_folder
from .pictures import SAMPLE_IMAGES, WIDEST, encoded, mean_colours, read_picture
from .pipeline import Cluster, facts_of, write_labels

logger = logging.getLogger(__name__)

BLOCKS = 16
"""Blocks of pixels; for their size alone one would do."""


def segment_photograph(image: str, folder: Path, overwrite: bool, progress: bool, cluster: Cluster) -> str:
    """Write pixels to Zarr, cluster them, write labels, model, a picture and a report to a folder.

    Returns
    -------
    str
        What was found and where the report is.
    """
    started = perf_counter()
    check_demo_folder(folder, overwrite)
    picture = read_picture(image)
    logger.info("%s: %s x %s pixels", image, *picture.shape[1::-1])
    pixels = picture.reshape(-1, 3)
    block_rows = -(-len(pixels) // BLOCKS)
    with filled(folder) as growing:
        with cluster as where, dask.config.set({"mdh-dask.block-size": 3 * block_rows}):
            model, labels = segment(picture, growing, block_rows, progress)
        colours = mean_colours(pixels, labels, model.n_clusters_)
        segmented = colours[labels].reshape(picture.shape)
        (growing / "segmented.png").write_bytes(encoded(segmented))
        write_report(
            growing / "report.html", model.tree_, colours=colours,
            title=f"A photograph in {model.n_clusters_} segments",
            facts={"Photograph": about(image, picture), **facts_of(model, where, perf_counter() - started)},
            images={
                "The photograph": encoded(picture, "JPEG", WIDEST),
                "Every pixel in the mean colour of its segment": encoded(segmented, "PNG", WIDEST),
            },
        )  # fmt: skip
    return f"{model.n_clusters_} segments of {len(pixels)} pixels: open {(folder / 'report.html').resolve()}"


def segment(picture: AnyArray, folder: Path, block_rows: int, progress: bool) -> tuple[RandomProjectionTree, AnyArray]:
    """Write pixels, model and labels to Zarr; return the model and the labels."""
    height, width, _ = picture.shape
    pixels, labels = folder / "pixels.zarr", folder / "labels.zarr"
    write_rows(picture.reshape(-1, 3), pixels, chunk_rows=block_rows, attributes={"height": height, "width": width})
    model = RandomProjectionTree(progress=progress).fit(open_rows(pixels))
    logger.info("%s segments in %s passes", model.n_clusters_, model.n_passes_)
    model.save(folder / "model.zarr")
    write_labels(model, model.labels_, Outputs(str(labels)), progress)
    return model, open_rows(labels, ndim=1).compute()


def about(image: str, picture: AnyArray) -> str:
    """Return what a report says about a photograph."""
    credit = f" by {SAMPLE_IMAGES[image]} (CC BY 2.0, from scikit-learn)" if image in SAMPLE_IMAGES else ""
    return f"{Path(image).name}{credit}, {picture.shape[1]} x {picture.shape[0]} pixels"


def check_demo_folder(folder: Path, overwrite: bool) -> None:
    """Raise an error if a folder cannot be filled."""
    check_folder(folder.resolve().parent)
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file: name a folder with --out")
    if folder.exists() and any(folder.iterdir()) and not overwrite:
        raise FileExistsError(f"{folder} is not empty: name another folder with --out, or replace it with --overwrite")


@contextmanager
def filled(folder: Path) -> Iterator[Path]:
    """Lend a hidden folder inside `folder` and move what was written there up in the end; after a failure it goes."""
    is_new = not folder.exists()
    folder.mkdir(exist_ok=True)
    try:
        with TemporaryDirectory(prefix=".partial-", dir=folder, ignore_cleanup_errors=True) as growing:
            yield Path(growing)
            for item in Path(growing).iterdir():
                final = folder / item.name
                if final.is_dir():
                    shutil.rmtree(final)
                item.replace(final)
    finally:
        if is_new and not any(folder.iterdir()):
            folder.rmdir()
