"""From the path of an image to its segments."""

from collections.abc import Mapping
from typing import Any

from ..clusters.current import current_cluster
from ._fit import Cluster
from .outputs import ImageOutputs
from .pixels import PixelOptions, segment_image
from .reading import MissingChunks, Reading


def segment(
    image: str,
    estimator: Any,
    *,
    labels: str | None = None,
    model: str | None = None,
    preview: str | None = None,
    report: str | None = None,
    performance_report: str | None = None,
    window: int | None = None,
    coordinates: float | None = None,
    sample: int | None = None,
    axes: str | None = None,
    index: Mapping[str, int] | None = None,
    missing_chunks: MissingChunks = "error",
    overwrite: bool = False,
    cluster: Cluster | None = None,
) -> str:
    """Cluster the pixels of a stored image and write labels, a model, a preview and a report, or some of these.

    The passes are those of the estimator, one that measures columns or draws the sample if there are coordinates or a
    sample, and one that labels all pixels unless only the model is asked for.

    Parameters
    ----------
    image : str
        Path or URL of a PNG, JPEG or TIFF, an OME-Zarr group or a Zarr array of lines, columns and bands.
    estimator : estimator
        It is fitted; with coordinates it does not scale, for the columns are scaled before they are weighted.
    labels, model : str, optional
        Paths or URLs: an image of labels in Zarr, and what `load_model` reads.
    preview : str, optional
        Path or URL of a PNG: the segments in their mean colours, at most 2000 pixels wide.
    report, performance_report : str, optional
        Paths or URLs of HTML files: on the segments, and Dask's own on what the cluster did.
    window : int, optional
        Odd. Adds mean and standard deviation of every band in a square of so many pixels around the pixel.
    coordinates : float, optional
        Adds line and column of a pixel with this weight; at 1 they vary as much as a band does.
    sample : int, optional
        Pixels that the tree is grown on. All by default.
    axes : str, optional
        What the axes of a TIFF or Zarr image are, as ``"yxc"`` with c for the bands, if it does not say.
    index : mapping of str to int, optional
        Place on every other axis, as ``{"t": 0}``.
    missing_chunks : {"error", "fill"}, default="error"
        What to do about chunks of Zarr that are not stored: refuse, or take them for the fill value.
    overwrite : bool, default=False
        Whether outputs that exist may be replaced.
    cluster : context manager, optional
        What `start_cluster` returns; it is entered here. By default Dask computes where it does now.

    Returns
    -------
    str
        What was found and where it was written, in one line.

    Raises
    ------
    ValueError
        If no output is asked for, one is inside another, or the image cannot be segmented.
    FileNotFoundError, FileExistsError
        If the image is missing, or an output is there and may not be replaced; before any work.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> import zarr
    >>> from mdh_dask import PCATree
    >>> pixels = np.random.default_rng(0).normal(size=(40, 50, 3)) + np.repeat([[[0]], [[9]]], 20, axis=0)
    >>> with TemporaryDirectory() as folder:
    ...     _ = zarr.create_array(f"{folder}/image.zarr", data=pixels)
    ...     segment(f"{folder}/image.zarr", PCATree(), labels=f"{folder}/labels.zarr").split(" in ")[0]
    '2 segments of 50 x 40 pixels'
    """
    outputs = ImageOutputs(labels, model, report, overwrite, preview, performance_report=performance_report)
    outputs.check(image)
    opened = Reading(missing_chunks, axes=axes, index=index or {}).image(image)
    options = PixelOptions(window, coordinates, sample)
    return (
        f"{segment_image(opened, estimator, options, outputs, cluster or current_cluster()).summary}: {outputs.kept()}"
    )
