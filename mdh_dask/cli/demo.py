"""A photograph, segmented end to end on this machine."""

import io
import logging
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from .._typing import AnyArray, Integers
from ..estimators import RandomProjectionTree
from ..io import open_rows, write_rows
from ..report import write_report
from .clusters import cluster
from .pipeline import Outputs, facts_of, write_labels

logger = logging.getLogger(__name__)

SAMPLE_IMAGES = ("china", "flower")
BLOCKS = 16


def segment_photograph(image: str, folder: Path, overwrite: bool, progress: bool, settings: dict[str, Any]) -> str:
    """Write pixels to Zarr, cluster them on a local cluster, write labels, a picture and a report.

    Returns
    -------
    str
        What was found and where the report is.
    """
    picture = read_picture(image)
    if folder.exists() and not overwrite and any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty: name another folder with --out, or replace it with --overwrite")
    folder.mkdir(parents=True, exist_ok=True)
    height, width, bands = picture.shape
    pixels, labels = folder / "pixels.zarr", folder / "labels.zarr"
    started = perf_counter()
    with cluster(**settings) as where:
        write_rows(
            picture.reshape(-1, bands), pixels, overwrite=overwrite, chunk_rows=-(-height * width // BLOCKS),
            attributes={"height": height, "width": width},
        )  # fmt: skip
        rows = open_rows(pixels, block_bytes=1)
        model = RandomProjectionTree(progress=progress).fit(rows)
        model.save(folder / "model.zarr", overwrite=overwrite)
        write_labels(model, model.labels_, Outputs(labels, overwrite=overwrite), progress)
        segments = open_rows(labels, ndim=1).compute()
    segmented = mean_colours(picture.reshape(-1, bands), segments, model.n_clusters_).reshape(picture.shape)
    (folder / "segmented.png").write_bytes(png(segmented))
    facts = {
        "picture": f"{image}, {width} x {height} pixels", **facts_of(model), "ran on": where,
        "seconds": f"{perf_counter() - started:.1f}",
    }  # fmt: skip
    report = folder / "report.html"
    write_report(
        report, model.tree_, title=f"A photograph in {model.n_clusters_} segments", facts=facts, overwrite=overwrite,
        images={"the photograph": png(picture), "its segments in their mean colours": png(segmented)},
    )  # fmt: skip
    return f"{model.n_clusters_} segments of {len(segments)} pixels; open {report.resolve()}"


def read_picture(image: str) -> AnyArray:
    """Return a picture as rows x columns x bands, uint8: one of scikit-learn's, or a file."""
    if image in SAMPLE_IMAGES:
        from sklearn.datasets import load_sample_image

        return load_sample_image(f"{image}.jpg")
    if not Path(image).is_file():
        raise FileNotFoundError(f"expected {' or '.join(map(repr, SAMPLE_IMAGES))}, or a picture's path; got {image!r}")
    from PIL import Image

    with Image.open(image) as picture:
        return np.asarray(picture.convert("RGB"))


def mean_colours(pixels: AnyArray, labels: Integers, n_labels: int) -> AnyArray:
    """Return every pixel in the mean colour of its segment (thesis section 4.4.5)."""
    sizes = np.maximum(np.bincount(labels, minlength=n_labels), 1)
    means = [np.bincount(labels, weights=band, minlength=n_labels) / sizes for band in pixels.T]
    return np.rint(means).T.astype(np.uint8)[labels]


def png(picture: AnyArray) -> bytes:
    """Return a picture as a PNG file."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, format="PNG")
    return buffer.getvalue()
