"""Writing of labels, and of the numbers of regions, as images that appear only when they are complete."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import dask.array as da
import zarr

from .._locations import hiding_credentials
from .._process import require
from .._typing import Integers
from ..chunks import Progress, Statistic, Together, reduce_rows
from ..io.blocks import blocks_done, find_begun, tidy, with_stored
from ..io.paths import local_path
from ..io.rows import StoredArray, open_array
from ..io.staging import check_file, refuse_input, remove_array, staged, will_replace
from .axes import AxesView
from .bands import SelectedBands
from .components import Regions, find_regions, sieved, write_regions
from .features import Features
from .image import Image
from .label_arrays import (
    LABEL_IMAGE,
    Label,
    LabelRows,
    StoredLabels,
    WriteLabels,
    create,
    finish,
    layout_of,
    path_inside,
)
from .maps import hidden_array, is_map, place_of, write_map
from .overview import SegmentSummary, overview_of
from .region_tables import LargestValues, write_table
from .rows import all_rows, no_data


@hiding_credentials()
def write_labels(
    label: Label,
    image: Image,
    path: str | os.PathLike[str] | None,
    *,
    n_labels: int,
    lowest: int = 0,
    features: Features | None = None,
    overwrite: bool = False,
    attributes: Mapping[str, Any] | None = None,
    also: Statistic | None = None,
    progress: Progress | None = None,
    resume: str | None = None,
    known: Callable[[int, int], Integers] | None = None,
) -> SegmentSummary:
    """Label the rows of an image, write the labels as an image, and compute an overview in the same pass.

    Parameters
    ----------
    label : callable
        Returns one of `n_labels` labels from `lowest` for each row of an array, like ``predict`` of an estimator.
    image : Image
    path : path or URL
        Path or URL of a Zarr array of shape (lines, columns), in the image's chunks and the smallest unsigned dtype
        for the labels; for OME-Zarr of a group, with the array in ``labels/segments/0`` and smaller
        copies, down to 512 pixels, beside it. Ending in ``.tif``: of a cloud-optimised GeoTIFF in place of these, which
        lies where the image does, see `mdh_dask.images.maps.write_map`. None to write nothing.
    n_labels : int
    lowest : int, default 0
        The lowest label; with -1, for pixels in no segment, the dtype is signed. All results begin with it. Pixels
        without data are stored as -1, too, and are left out of all results.
    features : Features, optional
        Columns of the rows besides the bands.
    overwrite : bool, default False
        Replace existing labels. Nothing else is ever replaced.
    attributes : dict, optional
        Attributes of the array in addition to the image's georeference; of a GeoTIFF, tags.
    also : Statistic, optional
        A statistic of labels and pixels to compute in the same pass; a pixel's row starts with the bands.
    progress : callable, optional
        As for `mdh_dask.chunks.reduce_rows`.
    resume : str, optional
        As for `write_rows`: intact blocks from an earlier call with the same name are reused.
    known : callable, optional
        Returns known labels from the first row of a block and its number of rows; then `label` is not called.

    Returns
    -------
    SegmentSummary
        Sizes and mean colours of the segments, a small picture, and the value of `also`.

    Notes
    -----
    One pass over the image; with `resume`, labelled pixels only enter the overview. As for `write_rows`, in
    folders nothing appears under its name before it is complete.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from mdh_dask.images import open_image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stored = zarr.create_array(f"{folder}/a.zarr", data=np.array([[0, 1], [7, 9]], "u1"))
    ...     image = open_image(f"{folder}/a.zarr")
    ...     seen = write_labels(lambda rows: rows[:, 0] // 5, image, f"{folder}/b.zarr", n_labels=2)
    ...     zarr.open_array(f"{folder}/b.zarr")[:]
    array([[0, 0],
           [1, 1]], dtype=uint8)
    """
    if path is not None and is_map(path):
        return _write_map(
            label, image, path, n_labels=n_labels, lowest=lowest, features=features, overwrite=overwrite,
            attributes=attributes, also=also, progress=progress, resume=resume, known=known,
        )  # fmt: skip
    features = features or Features()
    features.check_image(image)
    overview = overview_of(image, n_labels, lowest)
    if path is None:
        labelled = LabelRows(label, n_labels, overview, stored=known, lowest=lowest, also=also)
        return _seen(image, *reduce_rows(labelled, *_rows(image, features), progress=progress))
    layout = layout_of(image, n_labels, lowest)
    begun = find_begun(path, resume, path_inside(image), **layout)
    replace = begun is None and will_replace(path, overwrite, LABEL_IMAGE)
    refuse_input(path, _stored(image.source))

    with staged(path, replace, in_place=resume is not None) as stage:
        target, done = begun, {}
        if target is None:
            target = create(image, layout, stage, attributes or {}, resume)
        else:
            done = blocks_done(target, all_rows(image, features), image.order.block_of)
        without = None if image.validity is None else lowest + n_labels
        write = WriteLabels(target, stage.folder, done, resume is not None, order=image.order, without=without)
        both = Together((write, overview))
        labelled = LabelRows(label, n_labels, both, stored=known or write.stored, lowest=lowest, also=also)
        (blocks, summary), more = reduce_rows(labelled, *_rows(image, features, write), progress=progress)
        seen = _seen(image, summary, more)
        finish(target, blocks, stage, resume, image, seen, lowest)
        if resume is not None:
            tidy(target, stage.folder)
    return seen


def _write_map(
    label: Label, image: Image, path: str | os.PathLike[str], *, n_labels: int, lowest: int, overwrite: bool,
    resume: str | None, attributes: Mapping[str, Any] | None, **options: Any,
) -> SegmentSummary:  # fmt: skip
    """Write labels to a hidden Zarr array, which workers can write to, and then as a map."""
    require("rasterio", "maps")
    check_file(path, overwrite, "labels.tif")
    if (file := local_path(path)) is not None and file == local_path(image.path):
        raise ValueError(f"{path} is the image itself; choose another path")
    place, hidden = place_of(image), hidden_array(path)
    plain = replace(image, multiscale=None)
    with ExitStack() as kept:
        if resume is None:  # a job resumes, and removes the folder of both in the end
            kept.callback(remove_array, hidden)
        seen = write_labels(
            label, plain, hidden, n_labels=n_labels, lowest=lowest, overwrite=True, resume=resume,
            attributes=attributes, **options,
        )  # fmt: skip
        labels = open_array(hidden)
        colours = seen.colours[-lowest:]
        names = [f"segment {i}" for i in range(len(colours))]
        write_map(labels, path, place, colours, names, overwrite=overwrite, tags=attributes)
    return seen


def _seen(image: Image, seen: SegmentSummary, more: Any) -> SegmentSummary:
    if not seen.sizes.any():
        raise no_data(image)
    return seen._replace(more=more)


def _rows(image: Image, features: Features, write: WriteLabels | None = None) -> tuple[da.Array, ...]:
    """Return the rows, and the pixels too unless rows start with them; for blocks that are done, only the pixels."""
    rows = all_rows(image, features)
    skips = write is not None and bool(write.done) and features != Features()
    if features.starts_with_bands and not skips:
        return (rows,)
    lines = rows.chunks[0][0] // min(image.order.panel, image.shape[1])
    pixels = all_rows(image, lines=lines)
    if write is not None and skips:
        rows = with_stored(rows, write.target, write.done, needed=False)
    return rows, pixels


def _stored(source: Any) -> Iterator[zarr.Array]:
    """Yield the Zarr arrays that hold the pixels of a source."""
    if isinstance(source, SelectedBands):
        for part in source.sources:
            yield from _stored(part)
    elif isinstance(source, AxesView) and isinstance(source.array, StoredArray):
        yield source.array.array


def write_segments(
    label: Label,
    image: Image,
    *,
    labels: str | None = None,
    connected: str | None = None,
    regions: str | None = None,
    sieve: int | None,
    n_labels: int,
    lowest: int = 0,
    features: Features | None = None,
    overwrite: bool = False,
    attributes: Mapping[str, Any] | None = None,
    also: Statistic | None = None,
    bar: Callable[[str], Progress | None] = lambda text: None,
    resume: str | None = None,
) -> SegmentSummary:
    """Label the rows of an image, find the regions of connected pixels, and write labels, regions and their table.

    `labels`, `connected` and `regions` are paths or URLs of these, None for what is not wanted; one is given.
    Parameters that `write_labels` has, and the result, are as there, for the final labels: with `sieve`, regions of
    fewer pixels are merged first, see `sieved`. `bar` returns the progress bar for a text. Callers have
    checked the paths.

    One pass over the image to label it, two over the labels, and one over the image for each of labels or overview, and
    table. Pixels with a negative label are in no region.
    """
    first = next(path for path in (labels, connected, regions) if path is not None)
    hidden = [hidden_array(f"{first}-{name}") for name in ("classes", "numbers")]
    with ExitStack() as kept:
        for place in hidden if resume is None else hidden[1:]:
            kept.callback(remove_array, place)
        largest = write_labels(
            label, replace(image, multiscale=None), hidden[0], n_labels=n_labels, lowest=lowest, features=features,
            overwrite=True, progress=bar("labelling"), resume=resume,
            also=None if regions is None else LargestValues(image.shape[2]),
        )  # fmt: skip
        classes = open_array(hidden[0])
        final = find_regions(classes, bar("finding regions"), borders=sieve is not None)
        final = final if sieve is None else sieved(final, sieve)
        array = write_regions(classes, final, str(local_path(hidden[1]) or hidden[1]), bar("writing regions"))
        numbers, known = (StoredLabels(array, image.order, values) for values in (None, final.classes))
        seen = write_labels(
            label, image, labels, n_labels=n_labels, lowest=lowest, also=also, known=known, overwrite=overwrite,
            attributes=attributes, progress=bar("looking at segments" if labels is None else "writing labels"),
        )  # fmt: skip
        if connected is not None:
            _write_numbers(numbers, image, final, seen.colours[-lowest:], connected, overwrite, bar)
        if regions is not None:
            write_table(regions, numbers, image, final, largest.more, bar, overwrite)
    return seen


def _write_numbers(
    numbers: StoredLabels, image: Image, regions: Regions, colours: Integers, path: str, overwrite: bool,
    bar: Callable[[str], Progress | None],
) -> None:  # fmt: skip
    """Write the image of the numbers of regions to its path."""
    if is_map(path):
        write_map(numbers.array, path, place_of(image), colours[regions.classes], (), overwrite=overwrite)
        return
    plain, array = replace(image, multiscale=None), numbers.array
    layout = {"shape": array.shape, "dtype": array.dtype, "chunks": array.chunks}
    rows = numbers.rows(image.block_lines(array.dtype.itemsize))
    with staged(path, will_replace(path, overwrite, LABEL_IMAGE)) as stage:
        target = create(plain, layout, stage, {"n_regions": regions.n}, None)
        write = WriteLabels(target, stage.folder, order=image.order)
        finish(target, reduce_rows(write, rows, progress=bar("writing regions")), stage, None, plain)
