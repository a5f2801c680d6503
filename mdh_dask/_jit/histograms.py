"""Statistics of stacked histograms and densities in one sweep per row, where NumPy would take one for each step."""

import numpy as np

from .._numba import jit


@jit
def bin_spreads(counts):
    """Return number of rows, variance and interquartile range of every histogram, in bins (3 x histograms).

    The outermost bins, which count the rows outside the range, are left out.
    """
    out = np.empty((3, counts.shape[0]))
    for c in range(counts.shape[0]):
        row = counts[c, 1:-1]
        n = total = squares = 0
        for k in range(row.shape[0]):
            n += row[k]
            total += row[k] * k
            squares += row[k] * k * k
        safe = max(n, 1)
        mean = total / safe
        below = between = 0
        for k in range(row.shape[0]):
            below += row[k]
            between += 0.25 * safe <= below < 0.75 * safe
        out[0, c], out[1, c], out[2, c] = n, max(squares / safe - mean * mean, 0.0), between
    return out


@jit
def rows_on_both_sides(counts, least, out):
    """Write whether at least `least` rows lie on each side of the end of each bin."""
    for c in range(counts.shape[0]):
        total = 0
        for k in range(counts.shape[1]):
            total += counts[c, k]
        below = 0
        for k in range(counts.shape[1]):
            below += counts[c, k]
            out[c, k] = below >= least and total - below >= least


@jit
def relative_depths(density, floor, tiny, out):
    """Write ``(min(highest on the left, highest on the right) - p) / (p + floor)`` at every point of the densities.

    The denominator is at least `tiny`, and at least `tiny` times the numerator.
    """
    n = density.shape[1]
    for c in range(density.shape[0]):
        highest = -np.inf
        for k in range(n):
            highest = max(highest, density[c, k])
            out[c, k] = highest
        highest = -np.inf
        for k in range(n - 1, -1, -1):
            p = density[c, k]
            highest = max(highest, p)
            gain = min(out[c, k], highest) - p
            out[c, k] = gain / max(p + floor[c], tiny * max(gain, 1.0))
