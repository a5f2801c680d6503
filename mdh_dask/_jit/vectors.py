"""Vectors whose sums have one order, and rotations of pairs of columns."""

import math

import numpy as np

from .._numba import jit


@jit
def inner(a, b):
    """Return the inner product of two vectors."""
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@jit
def add_multiple(sums, share, vector):
    """Add a multiple of a vector to `sums`."""
    for j in range(sums.shape[0]):
        sums[j] += share * vector[j]


@jit
def combine_rows(weights, rows, sums):
    """Write ``weights @ rows`` to `sums`, each summed over the rows in order."""
    n, j = rows.shape[0], 0
    sums[:] = 0.0
    while j + 4 <= n:
        a, b, c, e = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
        for i in range(sums.shape[0]):  # the parentheses keep the order of sums, and so the bits, of one row at a time
            sums[i] = (((sums[i] + a * rows[j, i]) + b * rows[j + 1, i]) + c * rows[j + 2, i]) + e * rows[j + 3, i]
        j += 4
    while j < n:
        for i in range(sums.shape[0]):
            sums[i] += weights[j] * rows[j, i]
        j += 1


@jit
def diagonalise(matrices, axes, smallest_angle, max_sweeps):
    """Rotate the matrices (k x k x number of matrices) until they are as diagonal as possible; return the sweeps.

    The rows of `axes` are rotated too. The last sweep is the one that turns no pair by more than `smallest_angle`.
    """
    k = axes.shape[0]
    for sweep in range(max_sweeps):
        largest = 0.0
        for p in range(k - 1):
            for q in range(p + 1, k):
                angle = best_angle(matrices[p, p], matrices[q, q], matrices[p, q])
                largest = max(largest, abs(angle))
                cosine, sine = math.cos(angle), math.sin(angle)
                for i in range(k):
                    turn(matrices[i, p], matrices[i, q], cosine, sine)
                for i in range(k):
                    turn(matrices[p, i], matrices[q, i], cosine, sine)
                turn(axes[p], axes[q], cosine, sine)
        if largest <= smallest_angle:
            return sweep + 1
    return max_sweeps


@jit
def best_angle(first, second, off):
    """Return the angle in the plane of two axes that minimises their off-diagonal entries in all matrices.

    A rotation by t turns (difference of the diagonal entries, twice the other) of a matrix by 2 t; the squares of the
    second, summed over the matrices, are least if the first axis is the one along which these points vary most.
    """
    spread = tilt = 0.0
    for m in range(off.shape[0]):
        across, beside = first[m] - second[m], 2 * off[m]
        spread += across * across - beside * beside
        tilt += 2 * across * beside
    return 0.25 * math.atan2(tilt, spread) if spread != 0 or tilt != 0 else 0.0


@jit
def turn(first, second, cosine, sine):
    """Rotate pairs of numbers in place."""
    for m in range(first.shape[0]):
        a, b = first[m], second[m]
        first[m], second[m] = cosine * a + sine * b, cosine * b - sine * a


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
