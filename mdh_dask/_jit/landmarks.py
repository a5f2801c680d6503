"""Rows against points: which is nearest, and sums of Gaussian kernels of several widths."""

import math

import numpy as np

from .._numba import jit
from .contours import REACH


@jit
def squares_to(row, centre, scale, columns, squares):
    """Write the squared distances of a standardised row to points, whose coordinates are given column by column."""
    squares[:] = 0.0
    for j in range(columns.shape[0]):
        x = (row[j] - centre[j]) * scale[j]
        for v in range(columns.shape[1]):
            difference = x - columns[j, v]
            squares[v] += difference * difference


@jit
def squares_of_products(products, own, others, rounding, squares):
    """Write squared distances from the products of points and the squares of both, without rounding errors of zero.

    `rounding` is the largest error as a share of the sum of both squares.
    """
    for i in range(products.shape[0]):
        for v in range(products.shape[1]):
            total = own[i] + others[v]
            square = total - 2.0 * products[i, v]
            squares[i, v] = 0.0 if square <= total * rounding else square


@jit
def nearest_of(squares, chosen):
    """Return the first of the chosen points at the least squared distance; -1 if there is none."""
    nearest, least = -1, np.inf
    for v in range(squares.shape[0]):
        if chosen[v] and (squares[v] < least or nearest < 0):
            nearest, least = v, squares[v]
    return nearest


@jit
def nearest_points(rows, centre, scale, columns, chosen, nearest):
    """Write for every row which of the chosen points is nearest."""
    squares = np.empty(columns.shape[1])
    for i in range(rows.shape[0]):
        squares_to(rows[i], centre, scale, columns, squares)
        nearest[i] = nearest_of(squares, chosen)


@jit
def k_nearest(squares, near, distance):
    """Write the points at the least squared distances in their order, the first among equal ones, and the distances."""
    k = near.shape[0]
    for v in range(squares.shape[0]):
        if v < k or squares[v] < distance[k - 1]:
            at = k - 1 if v >= k else v
            while at > 0 and squares[v] < distance[at - 1]:
                distance[at], near[at] = distance[at - 1], near[at - 1]
                at -= 1
            distance[at], near[at] = squares[v], v


@jit
def nearest_columns(squares, near):
    """Write for each row the columns of its least values in their order, the first among equal ones.

    NumPy's partitions order equal values, and those before the k-th, differently from processor to processor.
    """
    distance = np.empty(near.shape[1], squares.dtype)
    for i in range(squares.shape[0] if near.shape[1] else 0):
        k_nearest(squares[i], near[i], distance)


@jit
def agreeing_points(rows, centre, scale, columns, cluster, k, shares):
    """Write for every row which share of the `k` nearest points is in the cluster of the nearest one."""
    squares = np.empty(columns.shape[1])
    near, distance = np.empty(k, np.int64), np.empty(k)
    for i in range(rows.shape[0]):
        squares_to(rows[i], centre, scale, columns, squares)
        k_nearest(squares, near, distance)
        own = 0
        for v in near:
            own += cluster[v] == cluster[near[0]]
        shares[i] = own / k


@jit
def nearest_and_reach(rows, centre, scale, columns, k, nearest, reach):
    """Write for every row which point is nearest, and the squared distance to the `k`-th nearest."""
    squares = np.empty(columns.shape[1])
    near, distance = np.empty(k, np.int64), np.empty(k)
    for i in range(rows.shape[0]):
        squares_to(rows[i], centre, scale, columns, squares)
        k_nearest(squares, near, distance)
        nearest[i], reach[i] = near[0], distance[k - 1]


@jit
def count_nearest(rows, centre, scale, columns, first, first_row, counts):
    """Count every row at the point nearest to it; the rows of `first_row` also at the nearest of the points `first`.

    `counts` has two rows, of all rows and of these.
    """
    squares = np.empty(columns.shape[1])
    every = np.ones(columns.shape[1], np.bool_)
    for i in range(rows.shape[0]):
        squares_to(rows[i], centre, scale, columns, squares)
        counts[0, nearest_of(squares, every)] += 1
        if first_row[i]:
            near = nearest_of(squares, first)
            if near >= 0:
                counts[1, near] += 1


@jit
def totals_of_widths(rows, centre, scale, columns, coefficients, widths, totals):
    """Write the sums of kernels around points at every row, one for each pair of coefficients and a width."""
    squares = np.empty(columns.shape[1])
    for i in range(rows.shape[0]):
        squares_to(rows[i], centre, scale, columns, squares)
        for w in range(widths.shape[0]):
            total = 0.0
            for v in range(columns.shape[1]):
                exponent = widths[w] * squares[v]
                if coefficients[w, v] > 0.0 and exponent < REACH:
                    total += coefficients[w, v] * math.exp(-exponent)
            totals[i, w] = total
