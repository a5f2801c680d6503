"""Labels of the rows of an image, written as an image of labels that is complete when it appears."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import zarr

from ..._typing import AnyArray, Integers
from ...chunks import Progress, Statistic, Together, reduce_rows
from ..blocks import store
from ..folders import published
from ..nodes import MARK, Options, count_missing, local_path, url_options
from ..targets import refuse_input, will_replace
from .axes import AxesView
from .features import Features
from .image import Image
from .ome import VERSION, label_metadata
from .order import PixelOrder
from .overview import Seen, overview_of
from .rows import pixel_rows

NAME = "segments"
"""Of the labels in an OME-Zarr group."""

Label = Callable[[AnyArray], Integers]
"""Gives labels of rows."""


@dataclass(frozen=True)
class WriteLabels(Statistic):
    """Writes every block of labels to its place in a Zarr array; its value is the number of pixels written."""

    target: zarr.Array
    folder: Path | None
    """Where the array grows; None for a URL."""
    order: PixelOrder

    def chunk(self, start: int, *blocks: AnyArray) -> int:
        """Write one block."""
        y, x = self.order.block_of(start, len(blocks[0]))
        labels = blocks[0].reshape(y.stop - y.start, x.stop - x.start)
        store(self.target, self.folder, (y, x), np.ascontiguousarray(labels, self.target.dtype))
        return len(blocks[0])

    def combine(self, left: int, right: int) -> int:
        """Add."""
        return left + right


@dataclass(frozen=True)
class LabelRows(Statistic):
    """A statistic of labels and pixels that labels rows on its way: a block of rows is gone before the next comes."""

    label: Label
    n_labels: int
    of: Statistic

    def chunk(self, start: int, *blocks: AnyArray) -> Any:
        """Label a block, the last of which is pixels."""
        labels = np.asarray(self.label(blocks[0]))
        if labels.shape != blocks[0].shape[:1] or labels.dtype.kind not in "iu":
            raise TypeError(f"expected an integer for each row; got labels of shape {labels.shape} and {labels.dtype}")
        if labels.min() < 0 or labels.max() >= self.n_labels:
            raise ValueError(
                f"expected labels from 0 to {self.n_labels - 1}; got {labels.min()} to {labels.max()}: correct n_labels"
            )
        return self.of.chunk(start, labels, blocks[-1])

    def combine(self, left: Any, right: Any) -> Any:
        """Combine as the statistic does."""
        return self.of.combine(left, right)

    def finalise(self, state: Any) -> Any:
        """Finalise as the statistic does."""
        return self.of.finalise(state)


def write_labels(
    label: Label,
    image: Image,
    path: str | os.PathLike[str],
    *,
    n_labels: int,
    features: Features | None = None,
    overwrite: bool = False,
    attributes: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    storage_options: Options = None,
) -> Seen:
    """Label the rows of an image, write the labels as an image, and look at it on the way.

    Parameters
    ----------
    label : callable
        Gives a label from 0 to ``n_labels - 1`` for each row of an array, as the ``predict`` of an estimator does.
    image : Image
    path : path or URL
        Where to: a Zarr array of shape (lines, columns), in the image's chunks and of the smallest unsigned integers
        that hold the labels; for OME-Zarr a group, with the array in ``labels/segments/0``.
    n_labels : int
    features : Features, optional
        Columns of the rows besides the bands.
    overwrite : bool, default False
        Replace labels that are there. Nothing else is ever replaced.
    attributes : dict, optional
        Of the array, beside the image's place on Earth.
    progress : callable, optional
        As for `mdh_dask.chunks.reduce_rows`.
    storage_options : dict, optional
        For URLs: what fsspec needs to reach them.

    Returns
    -------
    Seen
        Sizes and mean colours of the segments, and a small picture.

    Raises
    ------
    FileExistsError
        If something is there, before any work; see `overwrite`.
    ValueError
        If the image itself is at `path`, or a label is not from 0 to ``n_labels - 1``.
    TypeError
        If labels are no integers.

    Notes
    -----
    One pass over the image. As for `write_rows`, in folders nothing is to be seen under its name before it is complete.

    Examples
    --------
    >>> import tempfile
    >>> from mdh_dask.io.images import open_image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stored = zarr.create_array(f"{folder}/a.zarr", data=np.array([[0, 1], [7, 9]], "u1"))
    ...     image = open_image(f"{folder}/a.zarr")
    ...     seen = write_labels(lambda rows: rows[:, 0] // 5, image, f"{folder}/b.zarr", n_labels=2)
    ...     zarr.open_array(f"{folder}/b.zarr")[:]
    array([[0, 0],
           [1, 1]], dtype=uint8)
    """
    rows = _rows(image, features or Features())
    replace = will_replace(path, overwrite, storage_options, "images of labels", is_label_image)
    refuse_input(path, _stored(image), storage_options)
    folder = local_path(path)

    def fill(place: Path | str, replaced: bool) -> Seen:
        options = url_options(storage_options) if isinstance(place, str) else None
        target = _create(image, n_labels, place, replaced, dict(attributes or {}), options)
        write = WriteLabels(target, place if isinstance(place, Path) else None, image.order)
        both = LabelRows(label, n_labels, Together((write, overview_of(image, n_labels))))
        n_written, seen = reduce_rows(both, *rows, progress=progress)
        _complete(target, n_written, image, seen.colours, place, options)
        return seen

    if folder is None:
        return fill(os.fspath(path), replace)
    with published(folder, replace) as growing:
        return fill(growing, False)


def look(
    label: Label, image: Image, *, n_labels: int, features: Features | None = None, progress: Progress | None = None
) -> Seen:
    """Return what `write_labels` returns without writing; one pass over the image."""
    labelled = LabelRows(label, n_labels, overview_of(image, n_labels))
    return reduce_rows(labelled, *_rows(image, features or Features()), progress=progress)


def is_label_image(node: object) -> bool:
    """Tell whether a Zarr node is what `write_labels` writes."""
    if isinstance(node, zarr.Group):
        return MARK in node.attrs and f"labels/{NAME}/0" in node
    return isinstance(node, zarr.Array) and node.ndim == 2 and MARK in node.attrs


def _rows(image: Image, features: Features) -> tuple[da.Array, ...]:
    """Return the rows, and the pixels too unless rows begin with them."""
    rows = pixel_rows(image, features)
    lines = rows.chunks[0][0] // min(image.order.panel, image.shape[1])
    return (rows,) if features.factors is None else (rows, pixel_rows(image, lines=lines))


def _create(
    image: Image, n_labels: int, place: Path | str, replace: bool, attributes: dict[str, Any], options: Any
) -> zarr.Array:
    layout: dict[str, Any] = {
        "shape": image.shape[:2],
        "dtype": np.min_scalar_type(max(n_labels - 1, 0)),
        "chunks": image.label_chunks,
        "dimension_names": ["y", "x"],
        "attributes": attributes | dict(image.georeference) | {MARK: {"complete": False}},
        "config": {"write_empty_chunks": True},
    }
    if image.multiscale is None:
        return zarr.create_array(place, overwrite=replace, storage_options=options, **layout)
    root = zarr.create_group(place, overwrite=replace, storage_options=options, attributes={MARK: {"complete": False}})
    root.create_group("labels").create_group(NAME)
    return root.create_array(f"labels/{NAME}/0", **layout)


def _complete(
    target: zarr.Array, n_written: int, image: Image, colours: Integers, place: Path | str, options: Any
) -> None:
    missing, expected = count_missing(target)
    if missing or n_written != image.order.n_rows:
        raise RuntimeError(
            f"{n_written} of {image.order.n_rows} pixels were written, and {missing} of {expected} chunks are not to "
            "be seen here; write to a folder that this process and all workers share, or to a URL"
        )
    done = {MARK: {"complete": True}}
    target.update_attributes(done)
    if image.multiscale is not None:
        root = zarr.open_group(place, mode="r+", storage_options=options)
        about = label_metadata(NAME, image.multiscale, colours, image.path)
        root[f"labels/{NAME}"].attrs["ome"] = about
        root["labels"].attrs["ome"] = {"version": VERSION, "labels": [NAME]}
        root.update_attributes(done)


def _stored(image: Image) -> list[zarr.Array]:
    array = image.source.array if isinstance(image.source, AxesView) else None
    return [array] if isinstance(array, zarr.Array) else []
