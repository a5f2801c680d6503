"""Statistics that label rows of an image block by block and write the labels."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._typing import AnyArray, Integers
from ..chunks import Statistic
from ..io.blocks import WriteBlocks
from .order import PixelOrder

Label = Callable[[AnyArray], Integers]
"""Returns the labels of rows."""


@dataclass(frozen=True)
class WriteLabels(WriteBlocks):
    """Write every block of labels that is not done; the value is the list of all blocks."""

    order: PixelOrder = field(kw_only=True)

    def pieces(self, start: int, block: AnyArray) -> Iterator[tuple[int, int, Any, AnyArray]]:
        """Yield the block as a rectangle of the image."""
        y, x = self.order.block_of(start, len(block))
        labels = block.reshape(y.stop - y.start, x.stop - x.start)
        yield start, len(block), (y, x), np.ascontiguousarray(labels, self.target.dtype)

    def stored(self, start: int, n_rows: int) -> Integers | None:
        """Return the stored labels of a block, or None if it is not done."""
        if start not in self.done:
            return None
        return np.asarray(self.target[self.order.block_of(start, n_rows)]).ravel()


def _nothing(start: int, n_rows: int) -> None:
    return None


@dataclass(frozen=True)
class LabelRows(Statistic):
    """A statistic of labels and pixels that labels the rows itself, so that each block of rows is freed at once."""

    label: Label
    n_labels: int
    of: Statistic
    stored: Callable[[int, int], Integers | None] = _nothing
    """Returns known labels from the first row of a block and its number of rows, or None."""
    lowest: int = 0
    """The lowest label; there are `n_labels` from it."""

    @property
    def journalled(self) -> bool:
        """False: labels may be written on the way."""
        return False

    def chunk(self, start: int, *blocks: AnyArray) -> Any:
        """Label a block and compute its state; the last of the blocks holds the pixels."""
        known = self.stored(start, len(blocks[0]))
        labels = np.asarray(self.label(blocks[0])) if known is None else known
        if labels.shape != blocks[0].shape[:1] or labels.dtype.kind not in "iu":
            raise TypeError(f"expected an integer for each row; got labels of shape {labels.shape} and {labels.dtype}")
        largest = self.lowest + self.n_labels - 1
        if labels.min() < self.lowest or labels.max() > largest:
            raise ValueError(
                f"expected labels from {self.lowest} to {largest}; got {labels.min()} to {labels.max()}: "
                "correct n_labels"
            )
        return self.of.chunk(start, labels, blocks[-1])

    def combine(self, left: Any, right: Any) -> Any:
        """Combine the states of the statistic."""
        return self.of.combine(left, right)

    def finalise(self, state: Any) -> Any:
        """Return the value of the statistic."""
        return self.of.finalise(state)
