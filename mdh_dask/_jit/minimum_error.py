"""Minimum error thresholding of histograms (Kittler and Illingworth 1986): what an error costs after every bin."""

import math

import numpy as np

from .._numba import jit

OWN_BIN = 1.0 / 12.0
"""Variance of rows that lie evenly in their bin: with it no side has the variance zero."""

TAIL = 100
"""One row in this many, at least one, is far out on each side and does not affect the origin of the bins."""

REACH = 2
"""Beyond the other rows, the inverse of this times their range counts; rows still farther out lie at its ends."""


@jit
def central_bins(row):
    """Return the first and the last bin that count: no row far out moves them."""
    n = 0
    for k in range(row.shape[0]):
        n += row[k]
    tail = max(n // TAIL, 1)
    low, below = 0, row[0]
    while below <= tail and low + 1 < row.shape[0]:
        low += 1
        below += row[low]
    high, above = row.shape[0] - 1, row[-1]
    while above <= tail and high > low:
        high -= 1
        above += row[high]
    reach = (high - low + 1) // REACH
    return max(low - reach, 0), min(high + reach, row.shape[0] - 1)


@jit
def thresholding_errors(counts, corrected, errors, separation):
    """Write the criterion J after every bin of each histogram, and the squared distance of the means by the variances.

    J is infinite, and the separation zero, where fewer than two rows lie on a side, and outside of the bins that count.
    """
    for c in range(counts.shape[0]):
        row = counts[c]
        first, last = central_bins(row)
        n = total = squares = 0
        for k in range(row.shape[0]):
            g = min(max(k, first), last) - first
            n += row[k]
            total += row[k] * g
            squares += row[k] * g * g
        m = left = left_squares = 0
        for k in range(row.shape[0]):
            g = min(max(k, first), last) - first
            m += row[k]
            left += row[k] * g
            left_squares += row[k] * g * g
            errors[c, k], separation[c, k] = np.inf, 0.0
            if m >= 2 and n - m >= 2 and first <= k < last:
                a, va = side_moments(m, left, left_squares, g + 0.5, 1.0, corrected)
                b, vb = side_moments(n - m, total - left, squares - left_squares, g + 0.5, -1.0, corrected)
                p, q = m / n, (n - m) / n
                errors[c, k] = 1 + p * math.log(va) + q * math.log(vb) - 2 * (p * math.log(p) + q * math.log(q))
                separation[c, k] = (a - b) ** 2 / (va + vb)


@jit
def side_moments(n, total, squares, cut, side, corrected):
    """Return mean and variance of one side of a cut: of its rows or, corrected, of the normal whose tail was cut off.

    `side` is one for the rows below the cut, minus one for those above.
    """
    mean = total / n
    variance = squares / n - mean * mean + OWN_BIN
    if not corrected:
        return mean, variance
    # Of a normal cut off at z: mean - sd * r, variance * (1 - z r - r^2), with r the density by the share at z.
    centre, spread = mean, variance
    for _ in range(2):
        z = side * (cut - centre) / math.sqrt(spread)
        share = 0.5 * math.erfc(-z / math.sqrt(2.0))
        r = math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi) / max(share, 1e-3)
        spread = variance / max(1 - z * r - r * r, 0.1)
        centre = mean + side * r * math.sqrt(spread)
    return centre, spread


@jit
def closed_minima(errors, closest, depth):
    """Write by how much J rises from each of its local minima to the nearest local maxima; zero in other bins.

    The lower rise of both counts or, if asked, that to the maximum that is nearer. A minimum at an end is none: the
    rows have one mode. All bins of a minimum that is flat, as in a gap, get the same.
    """
    n = errors.shape[1]
    for c in range(errors.shape[0]):
        j = errors[c]
        depth[c] = 0.0
        k = 0
        while k < n:
            end = k
            while end + 1 < n and j[end + 1] == j[k]:
                end += 1
            if k > 0 and end + 1 < n and j[k] < j[k - 1] < np.inf and j[end] < j[end + 1] < np.inf:
                low, high = k - 1, end + 1
                while low > 0 and j[low] <= j[low - 1] < np.inf:
                    low -= 1
                while high + 1 < n and j[high] <= j[high + 1] < np.inf:
                    high += 1
                rise = min(j[low], j[high]) - j[k]
                if closest:
                    rise = (j[low] if k - low <= high - end else j[high]) - j[k]
                depth[c, k : end + 1] = rise
            k = end + 1
