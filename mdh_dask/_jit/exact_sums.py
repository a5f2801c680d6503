"""Sums per label that are exact, whatever the order of the rows: each value is added in slices of whole numbers."""

import math

from .._numba import jit

N_SLICES = 3

SLICE = 30
"""Bits of a slice. Slices are multiples of fixed powers of two, so that those of a value do not depend on others."""

BASE = 2.0**SLICE

TO_WHOLE = 1.5 * 2.0**52
"""A float64 of up to 2^51 becomes whole, ties to even, if this is added and taken away."""

ROWS_AT_ONCE = 2**20
"""A float64 holds the sum of the slices of as many rows exactly, and of sixteen times as many."""


@jit
def largest_deviations(rows, shift, largest):
    """Let `largest` take the largest ``|x - shift|`` of every column; NaN counts as infinite."""
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
