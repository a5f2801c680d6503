"""Exact sums per label in any order of the rows: each value is split into slices that add without rounding."""

import math

from .._numba import jit

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
