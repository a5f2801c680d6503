"""Loops that spread the values of coarse columns evenly over their steps, by the hash of the row."""

from typing import NamedTuple

import numpy as np

from .._numba import jit, part
from .._storable import storable
from .._typing import Floats, Integers


@storable
class Jitter(NamedTuple):
    """Columns with a few evenly spaced values, each of which represents all numbers rounded to it."""

    columns: Integers
    """Indices of the columns, int64."""
    steps: Floats
    """Steps between neighbouring values, float64."""
    keys: Integers
    """Keys that make the random numbers of different columns independent, uint64."""

    def __bool__(self) -> bool:
        """Return whether there are any such columns."""
        return len(self.columns) > 0


NO_JITTER = Jitter(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0, dtype=np.uint64))


@part
def offset_within(row_hash, key):
    """Return a uniform number on (-1/2, 1/2) from the hash of a row and the key of a column (SplitMix64)."""
    z = (row_hash ^ key) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return (np.float64(z >> np.uint64(12)) + 0.5) * 2.0**-52 - 0.5


@part
def jitter_tile(tile, here, start, size, hashes, jitter):
    """Spread the values of the first `size` columns of `tile`, which are the rows ``here[start : start + size]``."""
    for c in range(jitter.columns.shape[0]):
        j, step, key = jitter.columns[c], jitter.steps[c], jitter.keys[c]
        for i in range(size):
            tile[j, i] += step * offset_within(hashes[here[start + i]], key)


@jit
def jitter_rows(rows, hashes, jitter):
    """Spread the values of floating-point rows in place."""
    for i in range(rows.shape[0]):
        for c in range(jitter.columns.shape[0]):
            rows[i, jitter.columns[c]] += jitter.steps[c] * offset_within(hashes[i], jitter.keys[c])
