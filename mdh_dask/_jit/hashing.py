"""The hash of the global row number: the only source of randomness for rows, and independent of the chunks."""

from typing import NamedTuple

import numpy as np

from .._numba import jit, part
from .._storable import storable
from .._typing import Booleans, Floats, Integers

GOLDEN = 0x9E3779B97F4A7C15


@jit
def hash_rows(seed, start, n_rows):
    """Return a uniform 64-bit hash of ``(seed, row)`` for ``start <= row < start + n_rows`` (SplitMix64)."""
    hashes = np.empty(n_rows, dtype=np.uint64)
    for i in range(n_rows):
        hashes[i] = hash_of(seed, start + i)
    return hashes


@jit
def hash_numbers(seed, numbers):
    """Return the hashes of rows by their global numbers."""
    hashes = np.empty(numbers.shape[0], dtype=np.uint64)
    for i in range(numbers.shape[0]):
        hashes[i] = hash_of(seed, numbers[i])
    return hashes


@part
def hash_of(seed, number):
    """Return the hash of one row."""
    offset = np.uint64(seed) * np.uint64(0xD1342543DE82EF95) + np.uint64(1)
    return mixed(offset + np.uint64(number) * np.uint64(GOLDEN))


@jit
def hash_again(hashes, repeat):
    """Return further hashes of the same rows, one set for each repeat, with independent bits for any chunks."""
    again = np.empty(hashes.shape[0], dtype=np.uint64)
    for i in range(hashes.shape[0]):
        again[i] = mixed(hashes[i] + np.uint64(repeat) * np.uint64(GOLDEN))
    return again


def in_first_half(hashes: Integers, bit: int = 0) -> Booleans:
    """Return a mask of the rows in the first of two halves by a bit of their hashes."""
    return np.asarray((hashes >> np.uint64(bit)) & np.uint64(1) == 0)


@part
def mixed(z):
    """Return the bits of a word mixed, as SplitMix64 does."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@storable
class Jitter(NamedTuple):
    """Columns with a few evenly spaced values, each of which represents all numbers rounded to it."""

    columns: Integers
    """Indices of the columns, int64."""
    steps: Floats
    """Steps between neighbouring values, float64."""
    keys: Integers
    """Keys that make the random numbers of different columns independent, uint64. The last bit turns them round."""

    def __bool__(self) -> bool:
        """Return whether there are any such columns."""
        return len(self.columns) > 0


NO_JITTER = Jitter(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0, dtype=np.uint64))


@part
def offset_within(row_hash, key):
    """Return a uniform number on (-1/2, 1/2) from the hash of a row and the key of a column (SplitMix64)."""
    z = mixed((row_hash ^ (key >> np.uint64(1))) + np.uint64(GOLDEN))
    offset = (np.float64(z >> np.uint64(12)) + 0.5) * 2.0**-52 - 0.5
    return -offset if key & np.uint64(1) else offset


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
