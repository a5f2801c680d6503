"""Rotations of columns after which every row has one large entry."""

import math

import numpy as np

from .._numba import jit


@jit
def align_columns(entries, squares, turns):
    """Rotate each pair of columns by the best of some angles, in place, and return the mean cost of the rows.

    The cost of a row is the sum of its squares, given, over its largest square: one if all other entries are zero.
    `turns` are cosines and sines, the first of no turn.
    """
    n, k = entries.shape
    others = np.empty(n)
    total = 0.0
    for p in range(k - 1):
        for q in range(p + 1, k):
            largest_beside(entries, p, q, others)
            best, total = 0, math.inf
            for t in range(len(turns)):
                cost = 0.0
                for i in range(n):
                    first = turns[t, 0] * entries[i, p] + turns[t, 1] * entries[i, q]
                    second = turns[t, 0] * entries[i, q] - turns[t, 1] * entries[i, p]
                    cost += squares[i] / max(others[i], first * first, second * second)
                if cost < total * (1 - 1e-9):
                    best, total = t, cost
            for i in range(n):
                first, second = entries[i, p], entries[i, q]
                entries[i, p] = turns[best, 0] * first + turns[best, 1] * second
                entries[i, q] = turns[best, 0] * second - turns[best, 1] * first
    return total / n


@jit
def largest_beside(entries, p, q, largest):
    """Write the largest square of each row outside of two columns, and at least a tiny number."""
    for i in range(entries.shape[0]):
        largest[i] = 1e-300
        for j in range(entries.shape[1]):
            if j != p and j != q:
                largest[i] = max(largest[i], entries[i, j] * entries[i, j])
