"""Labels of rows of an image that are stored as an image."""

from dataclasses import dataclass

import numpy as np
import zarr

from .._typing import Integers
from .label_blocks import NO_DATA
from .order import PixelOrder


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
