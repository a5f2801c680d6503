"""Statistics that label rows of an image block by block and write the labels."""

import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from .._typing import AnyArray, Integers
from ..chunks import Statistic
from ..io.blocks import Block, store
from ..io.nodes import write_beside
from ..io.resuming import NOTES
from .order import PixelOrder

Label = Callable[[AnyArray], Integers]
"""Returns the labels of rows."""


@dataclass(frozen=True)
class WriteLabels(Statistic):
    """Write every block of labels that is not done; the value is the list of all blocks."""

    target: zarr.Array
    folder: Path | None
    """Folder in which the array is staged; None for a URL."""
    order: PixelOrder
    done: Mapping[int, list[Block]] = field(default_factory=dict)
    """Blocks written earlier, by the first row of a block."""
    noted: bool = False
    """Whether to note every written block beside the array."""

    @property
    def journalled(self) -> bool:
        """False: what it writes is not in the journal."""
        return False

    def chunk(self, start: int, *blocks: AnyArray) -> list[Block]:
        """Write one block, or return its earlier record."""
        if start in self.done:
            return self.done[start]
        y, x = self.order.block_of(start, len(blocks[0]))
        labels = blocks[0].reshape(y.stop - y.start, x.stop - x.start)
        labels = np.ascontiguousarray(labels, self.target.dtype)
        store(self.target, self.folder, (y, x), labels)
        written = [(start, len(blocks[0]), zlib.crc32(labels))]
        if self.noted:
            write_beside(self.target, f"{NOTES}/{start}.json", json.dumps(written))
        return written

    def combine(self, left: list[Block], right: list[Block]) -> list[Block]:
        """Concatenate the lists."""
        return left + right

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
        if labels.min() < 0 or labels.max() >= self.n_labels:
            raise ValueError(
                f"expected labels from 0 to {self.n_labels - 1}; got {labels.min()} to {labels.max()}: correct n_labels"
            )
        return self.of.chunk(start, labels, blocks[-1])

    def combine(self, left: Any, right: Any) -> Any:
        """Combine the states of the statistic."""
        return self.of.combine(left, right)

    def finalise(self, state: Any) -> Any:
        """Return the value of the statistic."""
        return self.of.finalise(state)
