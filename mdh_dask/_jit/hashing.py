"""The hash of the global row number: the only source of randomness for rows, and independent of the chunks."""

import numpy as np

from .._numba import jit


@jit
def hash_rows(seed, start, n_rows):
    """Return a uniform 64-bit hash of ``(seed, row)`` for ``start <= row < start + n_rows`` (SplitMix64)."""
    return hash_numbers(seed, np.arange(start, start + n_rows))


@jit
def hash_numbers(seed, numbers):
    """Return the hashes of rows by their global numbers."""
    hashes = np.empty(len(numbers), dtype=np.uint64)
    golden = np.uint64(0x9E3779B97F4A7C15)
    offset = np.uint64(seed) * np.uint64(0xD1342543DE82EF95) + np.uint64(1)
    for i in range(len(numbers)):
        z = offset + np.uint64(numbers[i]) * golden
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        hashes[i] = z ^ (z >> np.uint64(31))
    return hashes
