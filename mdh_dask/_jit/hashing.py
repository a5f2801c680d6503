"""The hash of the global row number: the only source of randomness for rows, and independent of the chunks."""

import numpy as np

from .._numba import jit, part

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


@part
def mixed(z):
    """Return the bits of a word mixed, as SplitMix64 does."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
