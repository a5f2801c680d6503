"""Stored labels of an image: their array, and statistics that label rows block by block and write the labels."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import dask.array as da
import numpy as np
import zarr

from .._typing import AnyArray, Integers
from ..chunks import Statistic
from ..io.blocks import CONFIG, Block, WriteBlocks, complete, incomplete
from ..io.nodes import MARK, count_missing
from ..io.staging import Kind, Stage
from .image import Image, PixelOrder
from .ome import VERSION, label_metadata, n_copies, write_copies
from .overview import SegmentSummary

NO_DATA = -1
"""The stored label of pixels without data."""

Label = Callable[[AnyArray], Integers]
"""Returns the labels of rows."""


@dataclass(frozen=True)
class WriteLabels(WriteBlocks):
    """Write every block of labels that is not done; the value is the list of all blocks."""

    order: PixelOrder = field(kw_only=True)
    without: int | None = None
    """The label of pixels without data, which are stored as `NO_DATA`; None if all hold some."""

    def pieces(self, start: int, block: AnyArray) -> Iterator[tuple[int, int, Any, AnyArray]]:
        y, x = self.order.block_of(start, len(block))
        stored = block.astype(self.target.dtype)  # small first: large temporary arrays take the time
        if self.without is not None:
            np.copyto(stored, NO_DATA, where=block == self.without)
        yield start, len(block), (y, x), stored.reshape(y.stop - y.start, x.stop - x.start)

    def stored(self, start: int, n_rows: int) -> Integers | None:
        """Return the stored labels of a block, or None if it is not done."""
        if start not in self.done:
            return None
        return np.asarray(self.target[self.order.block_of(start, n_rows)]).ravel()


@dataclass(frozen=True)
class LabelRows(Statistic):
    """Statistics of labels and pixels that label the rows themselves, so that each block of rows is freed at once.

    The blocks are `MarkedRows`: of the rows, and of the pixels unless rows start with them.
    """

    label: Label
    n_labels: int
    of: Statistic
    """Computed from all pixels; those without data have the label after the highest."""
    stored: Callable[[int, int], Integers | None] | None = None
    """Returns known labels from the first row of a block and its number of rows, or None; then rows may be anything."""
    lowest: int = 0
    """The lowest label; there are `n_labels` from it."""
    also: Statistic | None = None
    """Computed from the pixels with data only."""

    # Labels may be written on the way.
    journalled = False

    def chunk(self, start: int, *blocks: Any) -> tuple[Any, Any]:
        rows, pixels, also, valid = blocks[0], blocks[-1], None, blocks[-1].valid
        known = None if self.stored is None else self.stored(start, len(pixels.rows))
        labels = np.full(len(pixels.rows), self.lowest + self.n_labels, np.int32)
        if valid is None or valid.any():
            there = slice(None) if valid is None else valid
            own = np.asarray(self.label(rows.held)) if known is None else known[there]
            labels[there] = self._checked(own, labels[there].shape)
            also = None if self.also is None else self.also.chunk(start, own, pixels.held)
        return self.of.chunk(start, labels, pixels.rows), also

    def combine(self, left: tuple[Any, Any], right: tuple[Any, Any]) -> tuple[Any, Any]:
        of = self.of.combine(left[0], right[0])
        if self.also is None or left[1] is None or right[1] is None:
            return of, right[1] if left[1] is None else left[1]
        return of, self.also.combine(left[1], right[1])

    def finalise(self, state: tuple[Any, Any]) -> tuple[Any, Any]:
        return self.of.finalise(state[0]), None if state[1] is None else self.also.finalise(state[1])  # type: ignore[union-attr]

    def _checked(self, labels: Integers, shape: tuple[int, ...]) -> Integers:
        if labels.shape != shape or labels.dtype.kind not in "iu":
            raise TypeError(f"expected an integer for each row; got labels of shape {labels.shape} and {labels.dtype}")
        largest = self.lowest + self.n_labels - 1
        if labels.min() < self.lowest or labels.max() > largest:
            raise ValueError(
                f"expected labels from {self.lowest} to {largest}; got {labels.min()} to {labels.max()}: "
                "correct n_labels"
            )
        return labels


@dataclass(frozen=True)
class StoredLabels:
    """Labels of rows of an image from a stored image of labels or regions, and from the value of each, if given."""

    array: zarr.Array
    order: PixelOrder
    values: Integers | None = None

    def __call__(self, start: int, n_rows: int) -> Integers:
        """Return the labels of a block of rows, -1 where the array has -1."""
        found = np.asarray(self.array[self.order.block_of(start, n_rows)]).ravel()
        return found if self.values is None else np.append(self.values, NO_DATA)[found]

    def rows(self, lines: int) -> da.Array:
        """Return the stored labels of all rows, lazily, in blocks of so many lines."""
        chunks, dtype = (self.order.sizes(lines),), self.array.dtype
        return da.map_blocks(_stored_block, self, lines, chunks=chunks, dtype=dtype, meta=np.empty(0, dtype))


def _stored_block(stored: StoredLabels, lines: int, block_id: tuple[int]) -> Integers:
    return np.asarray(stored.array[stored.order.block(block_id[0], lines)]).ravel()


NAME = "segments"
"""Name of the labels in an OME-Zarr group."""


def is_label_image(node: object) -> bool:
    """Return whether a Zarr node is a complete or incomplete output of `write_labels`."""
    if isinstance(node, zarr.Group):
        return MARK in node.attrs
    return isinstance(node, zarr.Array) and node.ndim == 2 and MARK in node.attrs


LABEL_IMAGE = Kind("an image of labels", is_label_image)


def layout_of(image: Image, n_labels: int, lowest: int) -> dict[str, Any]:
    """Return shape, dtype and chunks of the stored array."""
    lowest = lowest if image.validity is None else min(lowest, NO_DATA)
    return {"shape": image.shape[:2], "dtype": label_dtype(n_labels, lowest), "chunks": image.label_chunks}


def path_inside(image: Image) -> str:
    """Return the path of the array in the group that is written for an OME-Zarr image; nothing for other images."""
    return "" if image.multiscale is None else f"labels/{NAME}/0"


def create(
    image: Image, layout: Mapping[str, Any], stage: Stage, attributes: Mapping[str, Any], name: str | None
) -> zarr.Array:
    """Create the array, marked incomplete; for an OME-Zarr image in a new group."""
    begun = incomplete(name)
    nodata = {} if image.validity is None else {"nodata": NO_DATA}
    about: dict[str, Any] = dict(layout) | {
        "dimension_names": ["y", "x"],
        "attributes": dict(attributes) | dict(image.georeference) | nodata | begun,
        "config": CONFIG,
    }
    stage.clear()
    if not (inside := path_inside(image)):
        return zarr.create_array(stage.place, **about)
    root = zarr.create_group(stage.place, attributes=begun)
    root.create_group("labels").create_group(NAME)
    return root.create_array(inside, **about)


def label_dtype(n_labels: int, lowest: int = 0) -> np.dtype:
    """Return the smallest integer dtype for so many labels from the lowest, unsigned if none is negative."""
    return np.min_scalar_type(-n_labels if lowest < 0 else max(n_labels - 1, 0))


def finish(
    target: zarr.Array, blocks: list[Block], stage: Stage, name: str | None, image: Image,
    seen: SegmentSummary | None = None, lowest: int = 0,
) -> None:  # fmt: skip
    """Record the written blocks beside the array, and mark it complete if all are present; a RuntimeError otherwise.

    For an OME-Zarr image smaller copies and metadata follow, with the colours of the segments that were seen.
    """
    missing, expected = count_missing(target)
    n_written = sum(rows for _, rows, _ in blocks)
    if missing or n_written != image.order.n_rows:
        raise RuntimeError(
            f"{n_written} of {image.order.n_rows} pixels were written, and {missing} of {expected} chunks are not "
            "visible here; write to a folder that this process and all workers share, or to a URL"
        )
    done = complete(target, blocks, name)
    target.update_attributes(done)
    if image.multiscale is not None and seen is not None:
        root = zarr.open_group(stage.place, mode="r+")
        labels = root[f"labels/{NAME}"]
        assert isinstance(labels, zarr.Group)
        write_copies(labels, target, stage.folder)
        about = label_metadata(NAME, image.multiscale, seen.colours, image.path, n_copies(target.shape), lowest)
        labels.attrs["ome"] = about
        root["labels"].attrs["ome"] = {"version": VERSION, "labels": [NAME]}
        root.update_attributes(done)
