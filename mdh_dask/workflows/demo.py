"""A photograph, segmented end to end on this machine."""

from pathlib import Path

import dask
from sklearn.datasets import load_sample_images

from ..estimators import RandomProjectionTree
from ..images import open_image
from .fit import Cluster
from .outputs import ImageOutputs, check_folder
from .segment import PixelOptions, segment_image

SAMPLE_IMAGES = {"flower": "vultilion", "china": "danielbuechele"}
"""Photographs that scikit-learn holds, and who took them (Creative Commons, CC BY 2.0)."""

BLOCKS = 16
"""Blocks of pixels; for their size alone one would do."""


def segment_photograph(image: str, folder: Path, overwrite: bool, progress: bool, cluster: Cluster) -> str:
    """Cluster the pixels of a photograph; write labels, model, a picture and a report to a folder.

    Returns
    -------
    str
        What was found and where the report is.
    """
    check_demo_folder(folder, overwrite)
    photograph = open_image(path_of(image))
    folder.mkdir(exist_ok=True)
    labels, model, report, preview = (
        str(folder / name) for name in ("labels.zarr", "model.zarr", "report.html", "segmented.png")
    )
    outputs = ImageOutputs(labels, model, report, overwrite, preview)
    outputs.check(photograph.path)
    credit = f"{image} by {SAMPLE_IMAGES[image]} (CC BY 2.0, from scikit-learn)" if image in SAMPLE_IMAGES else ""
    with dask.config.set({"mdh-dask.block-size": photograph.order.n_rows * photograph.shape[2] // BLOCKS}):
        estimator = RandomProjectionTree(progress=progress)
        found = segment_image(photograph, estimator, PixelOptions(), outputs, cluster, name=credit)
    return f"{found.summary}: open {Path(report).resolve()}"


def path_of(image: str) -> str:
    """Return the path of one of scikit-learn's photographs, or of a file.

    Raises
    ------
    FileNotFoundError
        If there is none.
    """
    if image in SAMPLE_IMAGES:
        return next(path for path in load_sample_images().filenames if Path(path).stem == image)
    if not Path(image).exists():
        raise FileNotFoundError(f"expected {', '.join(map(repr, SAMPLE_IMAGES))} or a picture's path; got {image!r}")
    return image


def check_demo_folder(folder: Path, overwrite: bool) -> None:
    """Raise an error if a folder cannot be filled."""
    check_folder(folder.resolve().parent)
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file: name a folder with folder=...")
    if folder.exists() and any(folder.iterdir()) and not overwrite:
        raise FileExistsError(
            f"{folder} is not empty: name another folder with folder=..., or replace it with overwrite=True"
        )
