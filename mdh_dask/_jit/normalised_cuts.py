"""Normalised cuts of sorted projections, with their gradient, and of the rows of histograms."""

import math

import numpy as np

from .._numba import jit


@jit
def normalised_cuts(counts, decay, out):
    """Write the normalised cut after every bin, infinite where a side has no rows.

    Rows `j` bins apart have the affinity ``decay ** j``. Its sums over the rows on one side of a bin then follow from
    those of the bin beside it, so a histogram takes two sweeps in each direction.
    """
    n_bins = counts.shape[1]
    above, beyond = np.zeros(n_bins), np.zeros(n_bins)
    for c in range(counts.shape[0]):
        row, far, volume = counts[c], 0.0, 0.0
        for k in range(n_bins - 1, -1, -1):
            above[k] = far
            far = decay[c] * (far + row[k])
        far = 0.0
        for k in range(n_bins):
            # Affinities of the rows of the bin to all rows, and for now those of all rows up to it.
            beyond[k] = row[k] * (far + row[k] + above[k])
            volume += beyond[k]
            far += row[k]
            cut = far * above[k]
            out[c, k] = cut / volume if volume > 0 else np.inf
            above[k] = cut
            far *= decay[c]
        volume = 0.0
        # The volume beyond is summed by itself, as differences from the whole would lose that of few rows.
        for k in range(n_bins - 1, -1, -1):
            out[c, k] += above[k] / volume if volume > 0 else np.inf
            volume += beyond[k]


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
def cut_slopes(p, s, left, right, found, slopes):
    """Write the derivatives of a normalised cut by every projection; `found` is what `least_cut` returned."""
    best, cut, volume, beyond = found
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
