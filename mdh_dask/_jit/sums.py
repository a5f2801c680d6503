"""Sums that do not depend on the order of rows: exact ones, by label, by bin, of votes, and moments of windows."""

import math
from typing import NamedTuple

import numpy as np

from .._numba import jit
from .._typing import Floats, Integers

N_SLICES = 3

SLICE = 30
"""Bits per slice. Slices are multiples of fixed powers of two, so that they do not depend on other values."""

BASE = 2.0**SLICE

TO_WHOLE = 1.5 * 2.0**52
"""Adding and subtracting this rounds a float64 of up to 2^51 to an integer, ties to even."""

ROWS_AT_ONCE = 2**20
"""Rows whose slices a float64 adds exactly, with room for sixteen times as many."""


@jit
def largest_deviations(rows, shift, largest):
    """Update `largest` with the largest ``|x - shift|`` of every column; NaN counts as infinite."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            x = abs(rows[i, j] - shift[j])
            if not x <= largest[j]:
                largest[j] = x if x == x else math.inf


@jit
def add_slices(rows, labels, shift, scale, sums):
    """Add the slices of ``x - shift`` and of its square to `sums`, shape (n_labels, 2, N_SLICES, n_features).

    `scale`, of shape (2, n_features), holds powers of two that make both smaller than ``BASE / 2``.
    """
    for i in range(rows.shape[0]):
        for power in range(2):
            first, second, third = sums[labels[i], power, 0], sums[labels[i], power, 1], sums[labels[i], power, 2]
            for j in range(rows.shape[1]):
                x = rows[i, j] - shift[j]
                y = (x * x if power else x) * scale[power, j]
                whole = (y + TO_WHOLE) - TO_WHOLE
                first[j] += whole
                y = (y - whole) * BASE
                whole = (y + TO_WHOLE) - TO_WHOLE
                second[j] += whole
                y = (y - whole) * BASE
                third[j] += (y + TO_WHOLE) - TO_WHOLE


@jit
def add_to_labels(labels, rows, sizes, sums):
    """Add each row to `sizes` and `sums` (n_labels x columns) by label; `sums` takes the first columns of `rows`.

    Rows with a label of `n_labels` or more are left out.
    """
    for i in range(labels.shape[0]):
        label = labels[i]
        if label >= sizes.shape[0]:
            continue
        sizes[label] += 1
        for j in range(sums.shape[1]):
            sums[label, j] += rows[i, j]


QUANTUM = 2.0**-20
"""Coordinates are rounded to multiples of this, so that their sums up to 2^33 are exact in any order."""


class RowSums(NamedTuple):
    """The sums that `sum_rows_in_bins` updates."""

    counts: Integers
    """Rows per bin, shape (n_directions, n_bins)."""
    sums: Floats
    """Sums of the rows in each bin, shape (n_directions, n_bins, n_features)."""
    low: Floats
    """Smallest projection of all chosen rows, also beyond the bins, shape (n_directions,)."""
    high: Floats


@jit
def sum_rows_in_bins(rows, chosen, directions, origin, width, centre, scale, total):
    """Add the chosen rows, as ``(x - centre) * scale``, to the bins of their projections; rows beyond are left out.

    The ranges of the projections cover all chosen rows.
    """
    n_features, n_bins = rows.shape[1], total.counts.shape[1]
    for c in range(chosen.shape[0]):
        i = chosen[c]
        for k in range(directions.shape[0]):
            projection = 0.0
            for j in range(n_features):
                projection += directions[k, j] * rows[i, j]
            total.low[k] = min(total.low[k], projection)
            total.high[k] = max(total.high[k], projection)
            place = (projection - origin[k]) / width[k]
            if 0.0 <= place < n_bins:
                b = int(place)
                total.counts[k, b] += 1
                for j in range(n_features):
                    total.sums[k, b, j] += math.floor((rows[i, j] - centre[j]) * scale[j] / QUANTUM + 0.5) * QUANTUM


@jit
def count_pairs(places, tables):
    """Add every pair of places that a row has to `tables` (places x places), its upper triangle and its diagonal.

    `places` is rows x clusterings, ascending in every row; a negative one stands for no label.
    """
    m = places.shape[1]
    for row in range(places.shape[0]):
        for i in range(m):
            a = places[row, i]
            if a >= 0:
                for j in range(i, m):
                    b = places[row, j]
                    if b >= 0:
                        tables[a, b] += 1


@jit
def count_votes(clusters, votes):
    """Add to `votes` (rows x clusters) how many clusterings put a row into a cluster; a negative one is no vote."""
    for row in range(clusters.shape[0]):
        for j in range(clusters.shape[1]):
            if clusters[row, j] >= 0:
                votes[row, clusters[row, j]] += 1


@jit
def window_moments(means, squares, n, size):
    """Return mean and sum of squared deviations of every `size` consecutive lines, whose entries stand for `n` values.

    `means` and `squares` are the moments of the entries, shape (n_lines, width); a single value has no deviation. Every
    window is summed on its own and in the same order, so that a result does not depend on where a block begins, and
    about its own mean, so that a large mean costs a small deviation no digits.
    """
    n_windows, width = means.shape[0] - size + 1, means.shape[1]
    mean = np.zeros((n_windows, width))
    squared = np.zeros((n_windows, width))
    for i in range(n_windows):
        for j in range(i, i + size):
            for k in range(width):
                mean[i, k] += means[j, k]
        for k in range(width):
            mean[i, k] /= size
        for j in range(i, i + size):
            for k in range(width):
                gap = means[j, k] - mean[i, k]
                squared[i, k] += squares[j, k] + n * (gap * gap)
    return mean, squared


@jit
def valid_window_moments(counts, means, squares, size, full):
    """Return count, mean and squared deviations of every `size` consecutive lines of means of `counts` values.

    A window of `full` values has the bits that `window_moments` gives it; one without a value has mean 0.
    """
    n_windows, width = means.shape[0] - size + 1, means.shape[1]
    count = np.zeros((n_windows, width))
    mean = np.zeros((n_windows, width))
    weighted = np.zeros(width)
    squared = np.zeros((n_windows, width))
    for i in range(n_windows):
        weighted[:] = 0.0
        for j in range(i, i + size):
            for k in range(width):
                count[i, k] += counts[j, k]
                mean[i, k] += means[j, k]
                weighted[k] += counts[j, k] * means[j, k]
        for k in range(width):
            if count[i, k] == full:
                mean[i, k] /= size
            else:
                mean[i, k] = weighted[k] / max(count[i, k], 1.0)
        for j in range(i, i + size):
            for k in range(width):
                gap = means[j, k] - mean[i, k]
                squared[i, k] += squares[j, k] + counts[j, k] * (gap * gap)
    return count, mean, squared
