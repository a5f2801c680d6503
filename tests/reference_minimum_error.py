"""Naive twins of minimum error thresholding: rows are written out one by one, and every threshold starts anew."""

import math

import numpy as np


def central_bins(row):
    """The bins of the rows without the hundredth at each end, and half as many more on each side."""
    bins = np.repeat(np.arange(len(row)), row)
    tail = max(len(bins) // 100, 1)
    low = next((k for k in range(len(row) - 1) if (bins <= k).sum() > tail), len(row) - 1)
    high = next((k for k in range(len(row) - 1, low, -1) if (bins >= k).sum() > tail), low)
    reach = (high - low + 1) // 2
    return max(low - reach, 0), min(high + reach, len(row) - 1)


def side_moments(places, cut, side, corrected):
    """Mean and variance of the rows on a side, or of the normal distribution whose tail a cut takes off."""
    mean, variance = places.mean(), places.var() + 1 / 12
    centre, spread = mean, variance
    for _ in range(2 * corrected):
        z = side * (cut - centre) / math.sqrt(spread)
        r = math.exp(-z * z / 2) / math.sqrt(2 * math.pi) / max((1 + math.erf(z / math.sqrt(2))) / 2, 1e-3)
        spread = variance / max(1 - z * r - r * r, 0.1)
        centre = mean + side * r * math.sqrt(spread)
    return centre, spread


def thresholding_errors(counts, corrected, errors, separation):
    """J and the separation after every bin of every histogram."""
    for c, row in enumerate(counts):
        first, last = central_bins(row)
        places = np.clip(np.repeat(np.arange(len(row)), row), first, last).astype(float)
        errors[c], separation[c] = np.inf, 0.0
        for k in range(first, last):
            left, right = places[places <= k], places[places > k]
            if min(len(left), len(right)) < 2:
                continue
            (a, va), (b, vb) = (side_moments(*part, corrected) for part in ((left, k + 0.5, 1), (right, k + 0.5, -1)))
            p, q = len(left) / len(places), len(right) / len(places)
            spread = 2 * (p * math.log(math.sqrt(va)) + q * math.log(math.sqrt(vb)))
            errors[c, k] = 1 + spread - 2 * (p * math.log(p) + q * math.log(q))
            separation[c, k] = (a - b) ** 2 / (va + vb)


def closed_minima(errors, depth):
    """The rise of every local minimum, one bin after the other."""
    for c, j in enumerate(errors):
        for k in range(len(j)):
            depth[c, k] = 0.0
            low, high = k, k
            while low > 0 and j[low - 1] == j[k]:
                low -= 1
            while high + 1 < len(j) and j[high + 1] == j[k]:
                high += 1
            if low == 0 or high + 1 == len(j):
                continue
            if not (j[k] < j[low - 1] < math.inf and j[k] < j[high + 1] < math.inf):
                continue
            up, down = low - 1, high + 1
            while up > 0 and j[up] <= j[up - 1] < math.inf:
                up -= 1
            while down + 1 < len(j) and j[down] <= j[down + 1] < math.inf:
                down += 1
            depth[c, k] = min(j[up], j[down]) - j[k]


def bin_robustly(projections, counts):
    """Equally wide bins over the range of the rows, but half the range of the others beyond these at most."""
    for c, row in enumerate(projections):
        n, n_bins = len(row), counts.shape[1]
        tail = min(max(n // 100, 1), (n - 1) // 2)
        low, high = (float(sorted(row)[i]) for i in (tail, n - 1 - tail))
        reach = (high - low) / 2
        low, high = max(low - reach, float(min(row))), min(high + reach, float(max(row)))
        if reach > 0:
            for x in row:
                counts[c, int(min(max((float(x) - low) * (n_bins / (high - low)), 0.0), n_bins - 1.0))] += 1
