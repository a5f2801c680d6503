"""The least normalised cut of sorted projections, and its gradient."""

import math

import numpy as np

from .._numba import jit


@jit
def affinity_sums(p, s, left, right):
    """Write the sums of ``exp(-distance / s)`` over the rows up to each row and from each row on, itself included."""
    n = p.shape[0]
    left[0] = right[n - 1] = 1.0
    for i in range(1, n):
        left[i] = 1.0 + math.exp((p[i - 1] - p[i]) / s) * left[i - 1]
        k = n - 1 - i
        right[k] = 1.0 + math.exp((p[k] - p[k + 1]) / s) * right[k + 1]


@jit
def least_cut(p, left, right, least_rows):
    """Return the row after which the normalised cut is least, the cut, and the volumes of both sides.

    Equal projections are not divided. The row is -1 if there is no cut with enough rows on both sides.
    """
    n = p.shape[0]
    whole = below = 0.0
    for i in range(n):
        whole += left[i] + right[i] - 1.0
    best, cut, volume, least = -1, 0.0, 0.0, np.inf
    for i in range(n - least_rows):
        below += left[i] + right[i] - 1.0
        here = left[i] * (right[i] - 1.0)
        value = here / below + here / (whole - below)
        if i + 1 >= least_rows and p[i] < p[i + 1] and value < least:
            best, cut, volume, least = i, here, below, value
    return best, cut, volume, whole - volume


@jit
def cut_slopes(p, s, left, right, best, cut, volume, beyond, slopes):
    """Write the derivatives of the normalised cut after row `best` by every projection."""
    for j in range(p.shape[0]):
        if j <= best:
            across = math.exp((p[j] - p[best]) / s) * (right[best] - 1.0)
            to_cut, to_beyond = across / s, across / s
            to_volume = 2.0 / s * (right[j] - 1.0 - across - (left[j] - 1.0)) + across / s
        else:
            across = math.exp((p[best] - p[j]) / s) * left[best]
            to_cut, to_volume = -across / s, -across / s
            to_beyond = 2.0 / s * (right[j] - 1.0 - (left[j] - 1.0 - across)) - across / s
        slopes[j] = to_cut * (1.0 / volume + 1.0 / beyond)
        slopes[j] -= cut * (to_volume / volume**2 + to_beyond / beyond**2)
