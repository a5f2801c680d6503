"""The deepest valley of each histogram, with nothing kept of its density."""

import numpy as np

from .._numba import jit
from .kernel_sums import smooth


@jit
def deepest_valleys(counts, taps, least, first, last, out):
    """Write the relative depth of the deepest valley of every histogram, its bin, and the rows on its left.

    Parameters are the histograms, the heights of a kernel 0, 1, 2, ... bins from its centre as shares of its peak, the
    fewest rows on either side, and the first and the last bin of each histogram that may be chosen. `out` has the shape
    (3, histograms). The outermost bins, which count the rows outside the range, are left out of the density.
    """
    n = counts.shape[1]
    weights, left = np.zeros(n), np.empty(n)
    for c in range(counts.shape[0]):
        row, total = counts[c], 0
        for k in range(n):
            total += row[k]
            weights[k] = row[k]
        weights[0] = weights[n - 1] = 0.0
        density = smooth(weights, taps)
        highest = 0.0
        for k in range(n):
            highest = max(highest, density[k])
            left[k] = highest
        best, place, below, n_left = 0.0, 0, total, 0
        highest = 0.0
        for k in range(n - 1, -1, -1):
            p = density[k]
            highest = max(highest, p)
            # A kernel's height is one here, so the height of one row's kernel in the denominator is one, too.
            depth = (min(left[k], highest) - p) / (p + 1.0)
            if depth >= best and first[c] <= k <= last[c] and below >= least and total - below >= least:
                best, place, n_left = depth, k, below
            below -= row[k]
        out[0, c], out[1, c], out[2, c] = best, place, n_left
