"""The demo, which segments a photograph end to end."""

from dataclasses import replace
from pathlib import Path

import dask

from .._process import require
from ..estimators import HierarchicalKernelMDH, HierarchicalMDH
from ..images import Image, open_image
from ..io.inputs import Table
from ._fit import FitResult, fit_rows
from .facts import Cluster
from .outputs import Outputs, check_folder
from .pixels import segment_image
from .reading import PixelOptions
from .row_files import StoredBeside

SAMPLE_IMAGES = {"flower": "vultilion", "china": "danielbuechele"}
"""Photographs in scikit-learn and their photographers (Creative Commons, CC BY 2.0)."""

BLOCKS = 16
"""Blocks of pixels for parallel work; by its size the photograph needs only one."""


SEEN = PixelOptions(sample=30_000, features=("lab", "texture"))
"""Columns in which the segments of a photograph are those that people see, and few pixels as neighbours are alike."""

TESTED = replace(SEEN, dependence="auto")
"""The same on tiles, for photographs that have enough of them: most pictures would be a single segment."""


FOLDER = "mdh-dask-demo"


def demo(
    image: str = "flower",
    folder: str | Path | None = None,
    *,
    table: bool = False,
    overwrite: bool = False,
    progress: bool = False,
    cluster: Cluster | None = None,
) -> str:
    """Segment a photograph, or cluster a table, end to end: write labels, model and a report to a folder.

    Parameters
    ----------
    image : str, default="flower"
        ``"flower"`` or ``"china"`` from scikit-learn, or the path of a picture.
    folder : str or Path, optional
        Folder to create; ``mdh-dask-demo`` by default, and ``mdh-dask-demo-table`` for a table.
    table : bool, default=False
        Whether to cluster a table instead: 178 wines by 13 measurements (UCI, from scikit-learn).
    overwrite : bool, default=False
        Whether to replace files in the folder.
    progress : bool, default=False
        Whether to show progress bars.
    cluster : context manager, optional
        A cluster from `start_cluster`, not yet entered. By default the current Dask scheduler is used.

    Returns
    -------
    str
        One line with the number of clusters and the path of the report.

    Raises
    ------
    FileNotFoundError, FileExistsError
        If the picture does not exist, or the folder is not empty.
    ImportError
        If Jinja2, or for a photograph Pillow, is missing.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = demo(folder=folder)
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['labels.zarr', 'model.zarr', 'report.html', 'segmented.png']
    """
    require("jinja2", "demo")
    if not table:
        require("PIL", "demo")
    folder = Path(folder or FOLDER + "-table" * table)
    check_demo_folder(folder, overwrite)
    photograph = None if table else open_image(path_of(image))
    folder.mkdir(exist_ok=True)
    labels, model, report = (str(folder / name) for name in ("labels.zarr", "model.zarr", "report.html"))
    outputs = Outputs(labels, model, report, overwrite)
    if photograph is None:
        found = _wines(outputs, progress, cluster)
    else:
        outputs = replace(outputs, preview=str(folder / "segmented.png"), of_image=True)
        found = _segments(image, photograph, outputs, progress, cluster)
    return f"{found.summary}: open {Path(report).resolve()}"


def _segments(name: str, photograph: Image, outputs: Outputs, progress: bool, cluster: Cluster | None) -> FitResult:
    """Segment a photograph; those of scikit-learn are tested on tiles."""
    outputs.check(photograph.path)
    credit = f"{name} by {SAMPLE_IMAGES[name]} (CC BY 2.0, from scikit-learn)" if name in SAMPLE_IMAGES else ""
    with dask.config.set({"mdh-dask.block-size": photograph.order.n_rows * photograph.shape[2] // BLOCKS}):
        estimator = HierarchicalMDH(scale=False, progress=progress)  # all columns have the unit of lightness
        options = TESTED if credit else SEEN
        return segment_image(photograph, estimator, options, outputs, cluster, name=credit)


def _wines(outputs: Outputs, progress: bool, cluster: Cluster | None) -> FitResult:
    """Cluster wines; that they are of three kinds is found."""
    import dask.array as da
    from sklearn.datasets import load_wine

    outputs.check()
    wines = load_wine()
    rows = Table(da.from_array(wines.data, chunks=wines.data.shape), tuple(wines.feature_names))
    estimator = HierarchicalKernelMDH(progress=progress)
    return fit_rows("178 wines (UCI, from scikit-learn)", rows, estimator, outputs, cluster, StoredBeside())


def path_of(image: str) -> str:
    """Return the path of one of scikit-learn's photographs, or of a file."""
    if image in SAMPLE_IMAGES:
        from sklearn.datasets import load_sample_images

        return next(path for path in load_sample_images().filenames if Path(path).stem == image)
    if not Path(image).exists():
        raise FileNotFoundError(f"expected {', '.join(map(repr, SAMPLE_IMAGES))} or a picture's path; got {image!r}")
    return image


def check_demo_folder(folder: Path, overwrite: bool) -> None:
    """Raise an error if a folder cannot take the outputs."""
    check_folder(folder.resolve().parent)
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file: name a folder with folder=...")
    if folder.exists() and any(folder.iterdir()) and not overwrite:
        raise FileExistsError(
            f"{folder} is not empty: name another folder with folder=..., or replace it with overwrite=True"
        )
