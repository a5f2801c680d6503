"""Moments and ranges of columns, their values beyond bounds, and whether these are distinct, in one sweep each."""

import numpy as np

from .._numba import jit
from .hashing import GOLDEN

SLAB = 64


@jit
def column_moments(rows, mean, deviations, low, high):
    """Write mean, sum of squared deviations, minimum and maximum of every column; return the number of rows.

    Slabs of rows that stay in the cache are summed twice, first for their mean and then about it, and merged.
    """
    n, d = rows.shape
    slab_mean = np.empty(d)
    for start in range(0, n, SLAB):
        size = SLAB if start + SLAB < n else n - start
        stop = start + size
        slab_mean[:] = 0.0
        for i in range(start, stop):
            for j in range(d):
                slab_mean[j] += rows[i, j]
        for j in range(d):
            slab_mean[j] /= size
        for i in range(start, stop):
            for j in range(d):
                x = rows[i, j]
                deviation = x - slab_mean[j]
                deviations[j] += deviation * deviation
                low[j] = x if x < low[j] else low[j]
                high[j] = x if x > high[j] else high[j]
        for j in range(d):
            delta = slab_mean[j] - mean[j]
            deviations[j] += delta * delta * (start * size / stop)
            mean[j] += delta * (size / stop)
    return n


@jit
def count_beyond(rows, low, high, below, above):
    """Add the number of values up to `low` in every column to `below`, and of those from `high` to `above`."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            below[j] += rows[i, j] <= low[j]
            above[j] += rows[i, j] >= high[j]


@jit
def certainly_distinct(words, enough, n_bits):
    """Return whether hashes of `n_bits` bits show more than `enough` distinct words in each column.

    Different words may have the same hash, so other columns may have as many distinct words, too.
    """
    out = np.empty(words.shape[1], dtype=np.bool_)
    seen = np.empty(1 << n_bits, dtype=np.bool_)
    for j in range(words.shape[1]):
        seen[:] = False
        out[j], found = False, 0
        for i in range(words.shape[0]):
            place = (np.uint64(words[i, j]) * np.uint64(GOLDEN)) >> np.uint64(64 - n_bits)
            found += not seen[place]
            seen[place] = True
            if found > enough:
                out[j] = True
                break
    return out
