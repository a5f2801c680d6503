"""The workflow that segments a stored image."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from .._errors import SettingError
from .._locations import names_scenes
from ..images.quantisation import Dequantise
from ..images.validity import Nodata
from ..io.nodes import is_node
from .facts import Cluster
from .outputs import Outputs
from .pixels import segment_image, side_of_tiles
from .reading import MissingChunks, PixelOptions, Reading
from .row_files import check_labels
from .scenes import segment_data_array, segment_data_arrays, segment_scenes


def segment(
    image: Any,
    estimator: Any,
    *,
    labels: str | None = None,
    model: str | None = None,
    preview: str | None = None,
    connected: str | None = None,
    regions: str | None = None,
    item: str | None = None,
    sieve: int | None = None,
    report: str | None = None,
    window: int | None = None,
    coordinates: float | None = None,
    sample: int | None = None,
    features: Sequence[str] = (),
    axes: str | None = None,
    index: Mapping[str, int] | None = None,
    missing_chunks: MissingChunks = "error",
    nodata: Nodata = None,
    mask: str | None = None,
    bands: Sequence[str] | None = None,
    dependence: int | Literal["auto", "none"] | None = None,
    dequantise: Dequantise | None = None,
    reproject: str | None = None,
    overwrite: bool = False,
    cluster: Cluster | None = None,
) -> Any:
    """Cluster the pixels of a stored image and write any of labels, a model, a preview and a report.

    The passes are those of the estimator, one to measure columns or draw the sample if there are coordinates or a
    sample, one to count the pixels with data if there may be others, and one to label all pixels unless only the model
    is written. With connected regions or a sieve, one more writes the final labels, and one the table of regions.

    Parameters
    ----------
    image : str, path, sequence of these, xarray DataArray, mapping of str to DataArray, or what `open_image` takes
        Path or URL of a PNG, JPEG or TIFF, an OME-Zarr group or a Zarr array of lines, columns and bands, also of an
        Icechunk repository (``"icechunk::s3://bucket/folder@v1"``), a session of one or a Zarr array; or an array
        in memory or of Dask, whose dimensions have the names of axes, such as y, x and band. Several images, by a
        pattern with asterisks, a list or a JSON file of STAC items, or DataArrays by name, make one model; the paths of
        what is written for each then hold ``{scene}`` for its name.
    estimator : estimator
        The estimator to fit. With coordinates it does not scale, as the columns are scaled before they are weighted.
    labels, model : str, optional
        Paths or URLs of a Zarr image of labels, or, ending in ``.tif``, of a cloud-optimised GeoTIFF, and of a model
        for `load_model`.
    preview : str, optional
        Path or URL of a PNG of the segments in their mean colours, at most 2000 pixels wide.
    connected : str, optional
        Path or URL of an image of numbers: every region of connected pixels of one segment has one, from 0, by its
        first pixel.
    regions : str, optional
        Path or URL of a Parquet table of these: segment, area, bounding box, means of the bands; ending in
        ``.geoparquet``, with the polygon of each.
    item : str, optional
        Path or URL of a STAC item of the labels as JSON: where they lie, and the names, colours and sizes of segments.
    sieve : int, optional
        Merge regions of fewer pixels into the neighbour with which they share the longest border, the smallest first.
    report : str, optional
        Path or URL of an HTML report on the segments.
    window : int, optional
        Odd width of a square around each pixel, whose mean and standard deviation of every band become columns.
    coordinates : float, optional
        Weight of the pixel's line and column as further columns; at 1 they vary as much as a band.
    sample : int, optional
        Number of pixels to grow the tree on. All by default.
    features : sequence of {"lab", "smooth", "texture", "gradient"}
        Colours as people see them, means in place of pixels, local deviations, gradients; see
        `mdh_dask.images.Features`. The window is 5 unless `window` gives another.
    axes : str, optional
        Axes of a TIFF or Zarr image that does not name them, such as ``"yxc"`` with c for the bands.
    index : mapping of str to int, optional
        Index on every other axis, such as ``{"t": 0}``.
    missing_chunks : {"error", "fill"}, default="error"
        Whether missing chunks of a Zarr array are an error or hold the fill value.
    nodata : float or "none", optional
        A pixel with this value in any band holds no data and gets the label -1; by default what the image declares, and
        NaN. See `mdh_dask.images.open_image`.
    mask : str, optional
        Path or URL of an image with one band, zero where there are no data; of several images with ``{scene}``.
    bands : sequence of str, optional
        Names of the bands to use, in this order, by which `predict` then finds them, too. By default all; several
        images must have the same, in any order.
    dependence : "auto", int or "none", optional
        Test splits on tiles of the images, and not on pixels, which depend on their neighbours: smooth fields without
        classes are then one segment. A number of lines and columns of a tile, or ``"auto"``: as many as the patches
        need, which one pass measures; ``"none"`` describes the pixels, as if they were independent. By default a single
        picture is described, as it has few independent patches, so that a test may confirm none of its segments: of
        nine photographs, five were then one segment, and the mean adjusted Rand index with what people draw fell from
        0.32 to 0.21 (``python -m tests.benchmarks images``). Several images are tested by default, as their segments
        are a claim about other scenes, too, if the method takes groups and there are no coordinates. Logs, reports
        and `why` say which. See `groups` of `RandomProjectionTree.fit`.
    dequantise : {"declared", "alphaearth", "tessera"}, optional
        Cluster the values that stored numbers stand for, by the scale and offset that the image declares, those of
        AlphaEarth embeddings, of which -128 is no data, or by the scale of every pixel beside TESSERA embeddings. The
        model keeps this for other images. See `mdh_dask.images.open_image`.
    reproject : str, optional
        A coordinate system, such as ``"EPSG:3035"``, in which GeoTIFFs are clustered and labelled, on one grid (extra
        ``maps``). By default each scene stays in its own; the bands of one scene must be of one.
    overwrite : bool, default=False
        Whether to replace existing outputs.
    cluster : context manager, optional
        A cluster from `start_cluster`, not yet entered. By default the current Dask scheduler is used.

    Returns
    -------
    str, xarray DataArray or dict of these
        One line with the number of segments and the paths of the outputs; for a DataArray its labels, with the
        dimensions, coordinates and attributes of lines and columns, -1 for pixels without data: lazy for a lazy one,
        with one pass to compute. For several, those of each by its name. `sieve` changes only the labels that are
        written.

    Raises
    ------
    ValueError
        If no output is given, one is inside another, or the image cannot be segmented.
    FileNotFoundError, FileExistsError
        If the image is missing, or an output exists and `overwrite` is False; before any work.

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
    outputs = Outputs(
        labels, model, report, overwrite, preview=preview, connected=connected, regions=regions, item=item,
        of_image=True,
    )  # fmt: skip
    if sieve is not None and not any((labels, connected, regions)):
        raise SettingError("expected labels, connected or regions with sieve; got none of them: leave sieve out")
    for name, given in (("bands", bands), ("features", features)):
        if isinstance(given, str):
            raise SettingError(f"expected a list of names for {name}; got {given!r}: give {given.split(',')}")
    check_labels(estimator, None)
    several = names_scenes(image) or isinstance(image, Mapping)
    reading = Reading(
        missing_chunks, axes=axes, index=index or {}, nodata=nodata, mask=mask, dequantise=dequantise,
        reproject=reproject,
    )  # fmt: skip
    options = PixelOptions(
        window, coordinates, sample, tuple(features), sieve, None if bands is None else tuple(bands),
        side_of_tiles(dependence, estimator, coordinates, by_default=several), reading,
    )  # fmt: skip
    if names_scenes(image):
        return segment_scenes(image, estimator, options, outputs, cluster)
    if not is_node(image) and not isinstance(image, str | os.PathLike):
        if any(one is not None for one in (axes, mask, dequantise, reproject)):
            raise SettingError(
                "a DataArray has named axes, values and NaN where there are no data: leave out axes, mask, dequantise "
                "and reproject"
            )
        of_arrays = segment_data_arrays if isinstance(image, Mapping) else segment_data_array
        return of_arrays(image, estimator, options, outputs, cluster)
    outputs.check(None if is_node(image) else os.fspath(image), mask or None)
    return segment_image(options.open(image), estimator, options, outputs, cluster).line(outputs)
