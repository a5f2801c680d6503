"""Histograms of projections, their deepest valleys, and what an error costs after every bin."""

import math

import numpy as np

from .._numba import jit


@jit
def bin_projections(projections, origin, width, counts):
    """Add ``projections`` (directions x rows) to ``counts`` (directions x bins); the outermost bins take the tails."""
    top = counts.shape[1] - 1.0
    for c in range(projections.shape[0]):
        scale = 1.0 / width[c]
        for i in range(projections.shape[1]):
            k = (projections[c, i] - origin[c]) * scale
            counts[c, int(min(max(0.0, k), top))] += 1


@jit
def bin_extremes(projections, origin, width, extremes):
    """Update ``extremes`` (directions x 2 x bins) with the smallest and the largest projection of every bin."""
    top = extremes.shape[2] - 1.0
    for c in range(projections.shape[0]):
        scale = 1.0 / width[c]
        for i in range(projections.shape[1]):
            x = projections[c, i]
            k = int(min(max(0.0, (x - origin[c]) * scale), top))
            extremes[c, 0, k] = min(extremes[c, 0, k], x)
            extremes[c, 1, k] = max(extremes[c, 1, k], x)


@jit
def projection_ranges(projections):
    """Return mean, standard deviation, minimum and maximum along each direction (4 x directions)."""
    out = np.empty((4, projections.shape[0]))
    for c in range(projections.shape[0]):
        row = projections[c]
        base = float(row[0])
        total = squares = 0.0
        low = high = base
        n = row.shape[0]
        for i in range(n):
            x = float(row[i])
            deviation = x - base
            total += deviation
            squares += deviation * deviation
            low = x if x < low else low
            high = x if x > high else high
        mean = total / n
        variance = squares / n - mean * mean
        out[1, c] = math.sqrt(0.0 if variance <= 0.0 else variance)
        out[0, c] = base + mean
        out[2, c] = low
        out[3, c] = high
    return out


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
                counts[c, int(min(max(0.0, (row[i] - low) * scale), n_bins - 1.0))] += 1


@jit
def deepest_valleys(counts, taps, least, allowed, doubt, padded, work, out):
    """Write the deepest valley of every histogram: its relative depth, its bin, the rows on its left, and its score.

    Parameters are the histograms, the heights of a kernel 0, 1, 2, ... bins from its centre as shares of its peak, the
    fewest rows on either side, the first and the last bin of each histogram that may be chosen, shape (2, histograms),
    and the `doubt` of `lower_ratio`, by which valleys are compared. `out` has the shape (4, histograms). The outermost
    bins, which count the rows outside the range, are left out of the density. `padded`, zeros for a bin more than the
    taps on either side of a histogram, and `work`, (2, bins), are overwritten: arrays made here, and ``max`` in place
    of comparisons, would double the time that it takes to compile this loop.
    """
    reach, n = taps.shape[0], work.shape[1]
    density, left = work[0], work[1]
    for c in range(out.shape[1]):
        total = 0.0
        for k in range(n):
            total += counts[c, k]
            padded[reach + k] = counts[c, k]
        padded[reach] = padded[reach + n - 1] = 0.0
        for k in range(n):
            density[k] = padded[reach + k]
        for t in range(1, reach):
            tap, before, after = taps[t], padded[reach - t :], padded[reach + t :]
            for k in range(n):
                density[k] += tap * (before[k] + after[k])
        highest = 0.0
        for k in range(n):
            # A kernel's height is one here, so the height of one row's kernel in the denominator is one, too.
            density[k] = math.sqrt(density[k] + 1.0)
            if density[k] > highest:
                highest = density[k]
            left[k] = highest
        deepest = place = n_left = best = highest = 0.0
        below = total
        for k in range(n - 1, -1, -1):
            if density[k] > highest:
                highest = density[k]
            lower = left[k] if left[k] < highest else highest
            score = (lower - doubt) / (density[k] + doubt)
            enough = below >= least and total - below >= least
            if lower > density[k] and score >= best and enough and allowed[0, c] <= k and k <= allowed[1, c]:
                deepest, place, n_left, best = lower / density[k], float(k), below, score
            below -= counts[c, k]
        out[0, c], out[1, c], out[2, c], out[3, c] = deepest, place, n_left, best


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
    variance = squares / n - mean * mean + (1.0 / 12.0)  # rows lie evenly in their bin
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
def closed_minima(errors, depth):
    """Write by how much J rises from each of its local minima to the nearest local maxima; zero in other bins.

    The lower rise of both counts. A minimum at an end is none: the rows have one mode. All bins of a minimum that is
    flat, as in a gap, get the same.
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
                depth[c, k : end + 1] = min(j[low], j[high]) - j[k]
            k = end + 1
