"""Histograms of projections with as many bins for each, laid out so that rows far out do not matter."""

import numpy as np

from .._numba import jit
from .minimum_error import REACH, TAIL


@jit
def replace_largest(heap, value):
    """Replace the largest item of a heap, its first, by a smaller value."""
    k = 0
    while 2 * k + 1 < heap.shape[0]:
        child = 2 * k + 1
        if child + 1 < heap.shape[0] and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= value:
            break
        heap[k] = heap[child]
        k = child
    heap[k] = value


@jit
def bin_robustly(projections, counts):
    """Count ``projections`` (directions x rows) in equally wide bins (directions x bins); far rows go to the end bins.

    The bins cover the range of the rows, but reach half the range of the others beyond them at most. Nothing is counted
    where that is zero.
    """
    n_bins = counts.shape[1]
    n = projections.shape[1]
    tail = min(max(n // TAIL, 1), (n - 1) // 2)
    # Heaps of the smallest and, negated, of the largest rows: three times as fast as a partition of all rows.
    smallest, largest = np.empty(tail + 1), np.empty(tail + 1)
    for c in range(projections.shape[0]):
        row = projections[c]
        smallest[:] = np.inf
        largest[:] = np.inf
        for i in range(n):
            if row[i] < smallest[0]:
                replace_largest(smallest, row[i])
            if -row[i] < largest[0]:
                replace_largest(largest, -row[i])
        low, high = smallest[0], -largest[0]
        reach = (high - low) / REACH
        low, high = max(low - reach, smallest.min()), min(high + reach, -largest.min())
        if reach > 0.0:
            scale = n_bins / (high - low)
            for i in range(n):
                counts[c, int(min(max((row[i] - low) * scale, 0.0), n_bins - 1.0))] += 1
