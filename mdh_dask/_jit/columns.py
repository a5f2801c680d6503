"""Means, squared deviations and ranges of columns in one sweep."""

import numpy as np

from .._numba import jit

SLAB = 64


@jit
def column_moments(rows, mean, deviations, low, high):
    """Write mean, sum of squared deviations, minimum and maximum of every column; return the number of rows.

    Slabs of rows that stay in the cache are summed twice, first for their mean and then about it, and merged.
    """
    n, d = rows.shape
    slab_mean = np.empty(d)
    for start in range(0, n, SLAB):
        stop = min(start + SLAB, n)
        size = stop - start
        slab_mean[:] = 0.0
        for i in range(start, stop):
            for j in range(d):
                slab_mean[j] += rows[i, j]
        for j in range(d):
            slab_mean[j] /= size
        for i in range(start, stop):
            for j in range(d):
                x = rows[i, j]
                deviations[j] += (x - slab_mean[j]) ** 2
                low[j] = min(low[j], x)
                high[j] = max(high[j], x)
        for j in range(d):
            delta = slab_mean[j] - mean[j]
            deviations[j] += delta * delta * (start * size / stop)
            mean[j] += delta * (size / stop)
    return n
