"""Statistics that label rows of an image block by block and write the labels."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._typing import AnyArray, Integers
from ..chunks import Statistic
from ..io.blocks import WriteBlocks
from .order import PixelOrder
from .validity import MarkedRows

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
        """Yield the block as a rectangle of the image."""
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


def _nothing(start: int, n_rows: int) -> None:
    return None


@dataclass(frozen=True)
class LabelRows(Statistic):
    """Statistics of labels and pixels that label the rows themselves, so that each block of rows is freed at once."""

    label: Label
    n_labels: int
    of: Statistic
    """Computed from all pixels; those without data have the label after the highest."""
    stored: Callable[[int, int], Integers | None] = _nothing
    """Returns known labels from the first row of a block and its number of rows, or None."""
    lowest: int = 0
    """The lowest label; there are `n_labels` from it."""
    marked: bool = False
    """Whether blocks of rows and pixels are `MarkedRows`."""
    also: Statistic | None = None
    """Computed from the pixels with data only."""

    @property
    def journalled(self) -> bool:
        """False: labels may be written on the way."""
        return False

    def chunk(self, start: int, *blocks: Any) -> tuple[Any, Any]:
        """Label a block and compute its state; the last of the blocks holds the pixels."""
        if self.marked:
            return self._marked_chunk(start, blocks[0], blocks[-1])
        rows, pixels = blocks[0], blocks[-1]
        labels = self._labels(rows, self.stored(start, len(rows)))
        return self.of.chunk(start, labels, pixels), self._also(start, labels, pixels)

    def _marked_chunk(self, start: int, rows: MarkedRows, pixels: MarkedRows) -> tuple[Any, Any]:
        """Label the pixels with data; `rows` may be anything if their labels are known."""
        known, valid = self.stored(start, len(pixels.rows)), pixels.valid
        if valid is None:
            labels = self._labels(rows.rows if known is None else pixels.rows, known)
            return self.of.chunk(start, labels, pixels.rows), self._also(start, labels, pixels.rows)
        labels, more = np.full(len(valid), self.lowest + self.n_labels, np.int32), None
        if valid.any():
            inside = self._labels(rows.held, None) if known is None else self._labels(pixels.held, known[valid])
            labels[valid] = inside
            more = None if self.also is None else self._also(start, inside, pixels.held)
        return self.of.chunk(start, labels, pixels.rows), more

    def combine(self, left: tuple[Any, Any], right: tuple[Any, Any]) -> tuple[Any, Any]:
        """Combine the states of the statistics."""
        of = self.of.combine(left[0], right[0])
        if self.also is None or left[1] is None or right[1] is None:
            return of, right[1] if left[1] is None else left[1]
        return of, self.also.combine(left[1], right[1])

    def finalise(self, state: tuple[Any, Any]) -> tuple[Any, Any]:
        """Return the values of both statistics."""
        return self.of.finalise(state[0]), None if state[1] is None else self.also.finalise(state[1])  # type: ignore[union-attr]

    def _also(self, start: int, labels: Integers, pixels: AnyArray) -> Any:
        return None if self.also is None or not len(labels) else self.also.chunk(start, labels, pixels)

    def _labels(self, rows: AnyArray, known: Integers | None) -> Integers:
        labels = np.asarray(self.label(rows)) if known is None else known
        if labels.shape != rows.shape[:1] or labels.dtype.kind not in "iu":
            raise TypeError(f"expected an integer for each row; got labels of shape {labels.shape} and {labels.dtype}")
        largest = self.lowest + self.n_labels - 1
        if labels.min() < self.lowest or labels.max() > largest:
            raise ValueError(
                f"expected labels from {self.lowest} to {largest}; got {labels.min()} to {labels.max()}: "
                "correct n_labels"
            )
        return labels
