"""Loops that turn products or codes of rows and landmarks into affinities, in place and one cached block at a time."""

import math
from typing import NamedTuple

import numpy as np

from .._numba import jit
from .._typing import Booleans, Floats
from .landmarks import k_nearest


@jit
def squares_from_products(products, row_squares, landmark_squares, factor):
    """Replace ``-2 x.y`` by a factor of the same dtype times the squared distance of row x and landmark y.

    Differences of infinite squares, as of very far rows in float32, count as infinite.
    """
    n, m = products.shape
    zero = factor - factor  # keeps the dtype, where 0.0 would widen float32
    for i in range(n):
        for j in range(m):
            square = products[i, j] + (row_squares[i] + landmark_squares[j])
            products[i, j] = factor * (max(square, zero) if square == square else row_squares[i])


@jit
def local_exponents(squares, k, floor, inverse_scales):
    """Replace squared distances by ``-d^2 / (s t)``.

    s is the distance of the row to its k-th nearest landmark, at least `floor`; `inverse_scales` are one over t.
    """
    near, nearest = np.empty(k, np.int64), np.empty(k, squares.dtype)
    factor = np.empty(1, squares.dtype)
    for i in range(squares.shape[0]):
        k_nearest(squares[i], near, nearest)
        within = nearest[k - 1]
        if within == np.inf:  # so far that squares overflow
            squares[i] = -np.inf
            continue
        factor[0] = -1.0 / max(math.sqrt(within), floor)
        for j in range(squares.shape[1]):
            squares[i, j] *= factor[0] * inverse_scales[j]


@jit
def neighbour_affinities(squares, k, floor, scales, reaches, inverse_roots):
    """Replace squared distances by neighbour affinities over the root of both degrees; most are zero.

    Row and landmark are half linked if the landmark is among the k nearest of the row, and half if the row is within
    the `reaches`, squared distances from the landmark; each half weighs ``exp(-d^2 / (s t))`` for the distance s of the
    row to the k-th, at least `floor`, and t of the `scales`. `inverse_roots` are ``degree^(-1/2)`` of the landmarks.
    """
    n, m = squares.shape
    near, nearest = np.empty(k, np.int64), np.empty(k, squares.dtype)
    linked, affinities = np.empty(m, np.int64), np.empty(m, squares.dtype)
    for i in range(n):
        row = squares[i]
        k_nearest(row, near, nearest)
        within = nearest[k - 1]
        scale = max(math.sqrt(within), floor)
        n_linked = 0
        for j in range(m):
            linked[n_linked] = j  # overwritten unless n_linked grows: cheaper than a branch
            n_linked += (row[j] <= within) | (row[j] <= reaches[j])
        degree = 0.0
        for place in range(n_linked):
            j = linked[place]
            links = 0.5 * (row[j] <= within) + 0.5 * (row[j] <= reaches[j])
            weight = links * math.exp(-row[j] / (scale * scales[j]))
            affinities[place] = weight * inverse_roots[j]
            degree += weight
        row[:] = 0.0
        for place in range(n_linked):
            row[linked[place]] = affinities[place] / math.sqrt(max(degree, 1e-300))


@jit
def sparse_product(rows, matrix, out):
    """Write the product of rows with mostly zero entries and a matrix."""
    for i in range(rows.shape[0]):
        out[i] = 0.0
        for j in range(rows.shape[1]):
            value = rows[i, j]
            if value != 0.0:
                for c in range(matrix.shape[1]):
                    out[i, c] += value * matrix[j, c]


class GowerLandmarks(NamedTuple):
    """Coded landmarks, one column after the other, with what is common to all of them."""

    codes: Floats
    """Shape (n_features, n_landmarks): values within [0, 1] or levels; of missing values codes far from all others."""
    present: Floats
    """Shape (n_features, n_landmarks): one where a value is present, else zero."""
    incomplete: Booleans
    """Whether any value of a column is missing among the landmarks, shape (n_features,)."""
    categorical: Booleans
    """Whether values of a column are equal or different, shape (n_features,)."""
    weights: Floats
    """Shape (n_features,)."""
    undefined: float
    """Similarity of rows that have no column in common."""


@jit
def gower_similarities(rows, landmarks, out):
    """Write the weighted mean similarity over the columns that are neither NaN in a coded row nor absent in a landmark.

    The sums of a pair run over the columns in their order, whatever other rows and landmarks there are.
    """
    codes, present, incomplete, categorical, weights, undefined = landmarks
    n_landmarks = codes.shape[1]
    for i in range(rows.shape[0]):
        out[i] = 0.0
        total = np.zeros(n_landmarks)
        for c in range(rows.shape[1]):
            x, weight = rows[i, c], weights[c]
            if x != x or weight == 0.0:
                continue
            if categorical[c]:
                for j in range(n_landmarks):
                    out[i, j] += weight if codes[c, j] == x else 0.0
            else:
                for j in range(n_landmarks):
                    out[i, j] += weight * max(1.0 - abs(x - codes[c, j]), 0.0)
            if incomplete[c]:
                for j in range(n_landmarks):
                    total[j] += weight * present[c, j]
            else:
                for j in range(n_landmarks):
                    total[j] += weight
        for j in range(n_landmarks):
            out[i, j] = out[i, j] / total[j] if total[j] > 0.0 else undefined


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
