"""From products of rows with landmarks to affinities, in place and in one sweep of a block that fits the cache."""

import math

import numpy as np

from .._numba import jit


@jit
def squares_from_products(products, row_squares, landmark_squares, factor):
    """Replace ``-2 x.y`` by a factor, of the same dtype, times the squared distance of row x and landmark y."""
    n, m = products.shape
    zero = factor - factor  # of the dtype, which a 0.0 would widen
    for i in range(n):
        for j in range(m):
            products[i, j] = factor * max(products[i, j] + (row_squares[i] + landmark_squares[j]), zero)


@jit
def kth_smallest(values, nearest):
    """Write the smallest values into `nearest`, which grow along it; return the last of them."""
    k = len(nearest)
    nearest[:] = np.inf
    largest = nearest[k - 1]
    for x in values:
        if x < largest:
            place = k - 1
            while place > 0 and nearest[place - 1] > x:
                nearest[place] = nearest[place - 1]
                place -= 1
            nearest[place] = x
            largest = nearest[k - 1]
    return largest


@jit
def local_exponents(squares, k, floor, inverse_scales):
    """Replace squared distances by ``-d^2 / (s t)``.

    s is the distance of the row to its k-th nearest landmark, at least `floor`; `inverse_scales` are one over t.
    """
    nearest = np.empty(k, squares.dtype)
    factor = np.empty(1, squares.dtype)
    for i in range(squares.shape[0]):
        factor[0] = -1.0 / max(math.sqrt(kth_smallest(squares[i], nearest)), floor)
        for j in range(squares.shape[1]):
            squares[i, j] *= factor[0] * inverse_scales[j]


@jit
def neighbour_affinities(squares, k, floor, radii, inverse_roots):
    """Replace squared distances by affinities of neighbours over the root of both their degrees.

    Row and landmark are half linked if the landmark is among the k nearest of the row, and half if the row is within
    the `radii` of the landmark; each half weighs ``exp(-d^2 / (s t))``. `inverse_roots` are of the landmarks' degrees.
    """
    nearest = np.empty(k, squares.dtype)
    for i in range(squares.shape[0]):
        within = kth_smallest(squares[i], nearest)
        scale = max(math.sqrt(within), floor)
        degree = 0.0
        for j in range(squares.shape[1]):
            square, other = squares[i, j], max(radii[j], floor)
            # Rounding must not unlink a landmark from itself as a row, nor from the one at its radius.
            links = 0.5 * (square <= within) + 0.5 * (square <= radii[j] * radii[j] + 1e-9 * other * other)
            weight = links * math.exp(-square / (scale * other)) if links > 0.0 else 0.0
            squares[i, j] = weight * inverse_roots[j]
            degree += weight
        for j in range(squares.shape[1]):
            squares[i, j] /= math.sqrt(max(degree, 1e-300))
