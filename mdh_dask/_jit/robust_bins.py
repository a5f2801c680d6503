"""Histograms of projections with as many bins for each, laid out so that rows far out do not matter."""

import numpy as np

from .._numba import jit
from .minimum_error import REACH, TAIL


@jit
def bin_robustly(projections, counts):
    """Count ``projections`` (directions x rows) in equally wide bins (directions x bins); far rows go to the end bins.

    The bins cover the range of the rows, but reach half the range of the others beyond them at most. Nothing is counted
    where that is zero.
    """
    n_bins = counts.shape[1]
    n = projections.shape[1]
    tail = min(max(n // TAIL, 1), (n - 1) // 2)
    for c in range(projections.shape[0]):
        row = projections[c]
        ordered = np.partition(row, np.array([tail, n - 1 - tail]))
        low, high = np.float64(ordered[tail]), np.float64(ordered[n - 1 - tail])
        reach = (high - low) / REACH
        low, high = max(low - reach, np.float64(row.min())), min(high + reach, np.float64(row.max()))
        if reach > 0.0:
            scale = n_bins / (high - low)
            for i in range(n):
                counts[c, int(min(max((row[i] - low) * scale, 0.0), n_bins - 1.0))] += 1
