"""Rows against points: which is nearest, and sums of Gaussian kernels of several widths."""

import math

import numpy as np

from .._numba import jit
from .communities import root_of, unite


@jit
def squares_to(row, centre, scale, columns, squares):
    """Write the squared distances of a standardised row to points, whose coordinates are given column by column.

    Four columns at once, as reading and writing the sums takes as long as adding to them; the bits are the same.
    """
    squares[:] = 0.0
    d = columns.shape[0]
    last = d - d % 4
    for j in range(0, last, 4):
        x0, x1 = (row[j] - centre[j]) * scale[j], (row[j + 1] - centre[j + 1]) * scale[j + 1]
        x2, x3 = (row[j + 2] - centre[j + 2]) * scale[j + 2], (row[j + 3] - centre[j + 3]) * scale[j + 3]
        for v in range(columns.shape[1]):
            d0, d1, d2, d3 = x0 - columns[j, v], x1 - columns[j + 1, v], x2 - columns[j + 2, v], x3 - columns[j + 3, v]
            squares[v] = squares[v] + d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3
    for j in range(last, d):
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
def take_block(values, rows, columns, block):
    """Write the values in some rows and columns of a matrix."""
    for i in range(rows.shape[0]):
        for j in range(columns.shape[0]):
            block[i, j] = values[rows[i], columns[j]]


@jit
def nearest_of(squares, chosen):
    """Return the first of the chosen points at the least squared distance; -1 if there is none."""
    nearest, least = -1, np.inf
    for v in range(squares.shape[0]):
        if chosen[v] and (squares[v] < least or nearest < 0):
            nearest, least = v, squares[v]
    return nearest


@jit
def nearest_points(rows, centre, scale, columns):
    """Return for every row which point is nearest, the first among several."""
    nearest, squares = np.empty(rows.shape[0], np.int64), np.empty(columns.shape[1])
    every = np.ones(columns.shape[1], np.bool_)
    for i in range(rows.shape[0]):
        squares_to(rows[i], centre, scale, columns, squares)
        nearest[i] = nearest_of(squares, every)
    return nearest


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
def nearest_columns(squares, k):
    """Return for each row the columns of its `k` least values in their order, the first among equal ones.

    NumPy's partitions order equal values, and those before the k-th, differently from processor to processor.
    """
    near, distance = np.empty((squares.shape[0], k), np.int64), np.empty(k, squares.dtype)
    for i in range(squares.shape[0] if k else 0):
        k_nearest(squares[i], near[i], distance)
    return near


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
def totals_of_widths(rows, centre, scale, columns, coefficients, widths):
    """Return the sums of kernels around points at every row, one for each pair of coefficients and a width."""
    totals, squares = np.empty((rows.shape[0], widths.shape[0])), np.empty(columns.shape[1])
    for i in range(rows.shape[0]):
        squares_to(rows[i], centre, scale, columns, squares)
        for w in range(widths.shape[0]):
            total = 0.0
            for v in range(columns.shape[1]):
                exponent = widths[w] * squares[v]
                if coefficients[w, v] > 0.0 and exponent < REACH:
                    total += coefficients[w, v] * math.exp(-exponent)
            totals[i, w] = total
    return totals


REACH = 40.0
"""Exponent beyond which a kernel is taken for zero: it is under 5e-18."""


@jit
def kernel_total(point, vectors, coefficients, width):
    """Return ``sum_l coefficients[l] exp(-width |point - vectors[l]|^2)``."""
    total = 0.0
    for v in range(vectors.shape[0]):
        square = 0.0
        for j in range(vectors.shape[1]):
            difference = point[j] - vectors[v, j]
            square += difference * difference
        if width * square < REACH:
            total += coefficients[v] * math.exp(-width * square)
    return total


@jit
def kernel_totals(points, vectors, coefficients, width):
    """Return `kernel_total` at every point."""
    totals = np.empty(points.shape[0])
    for i in range(points.shape[0]):
        totals[i] = kernel_total(points[i], vectors, coefficients, width)
    return totals


@jit
def lowest_between(ends, n_points, vectors, coefficients, width, enough):
    """Return the lowest total at some points inside a segment, and where that is as a share of the segment's length.

    `ends` has two rows. The search ends at the first point whose total is under `enough`.
    """
    lowest, place = np.inf, 0.5
    point = np.empty(ends.shape[1])
    for k in range(n_points):
        t = (k + 1) / (n_points + 1)
        for j in range(ends.shape[1]):
            point[j] = ends[0, j] + t * (ends[1, j] - ends[0, j])
        total = kernel_total(point, vectors, coefficients, width)
        if total < lowest:
            lowest, place = total, t
        if lowest < enough:
            break
    return lowest, place


@jit
def lowest_along(points, edges, n_points, vectors, coefficients, width):
    """Return for every edge the lowest total between its ends, and where that is."""
    lowest, place = np.empty(edges.shape[0]), np.empty(edges.shape[0])
    ends = np.empty((2, points.shape[1]))
    for e in range(edges.shape[0]):
        ends[0], ends[1] = points[edges[e, 0]], points[edges[e, 1]]
        lowest[e], place[e] = lowest_between(ends, n_points[e], vectors, coefficients, width, -np.inf)
    return lowest, place


@jit
def unite_inside(points, edges, n_points, vectors, coefficients, width, level, parent):
    """Join the ends of all edges along which the total is at least `level`; those joined already are not tested."""
    ends = np.empty((2, points.shape[1]))
    for e in range(edges.shape[0]):
        a, b = root_of(parent, edges[e, 0]), root_of(parent, edges[e, 1])
        if a == b:
            continue
        ends[0], ends[1] = points[edges[e, 0]], points[edges[e, 1]]
        lowest, _ = lowest_between(ends, n_points[e], vectors, coefficients, width, level)
        if lowest >= level:
            unite(parent, a, b)


@jit
def flood(edges, labels):
    """Return labels that spread from labelled points along edges, the first edges first; two labels never meet.

    -1 is no label. Points that no labelled point reaches keep it.
    """
    parent = np.arange(labels.shape[0])
    label = labels.copy()
    for e in range(edges.shape[0]):
        a, b = root_of(parent, edges[e, 0]), root_of(parent, edges[e, 1])
        if a != b and (label[a] < 0 or label[b] < 0 or label[a] == label[b]):
            known = max(label[a], label[b])
            label[unite(parent, a, b)] = known
    for i in range(labels.shape[0]):
        label[i] = label[root_of(parent, i)]
    return label


@jit
def ascend(points, vectors, coefficients, width, step, most):
    """Return where every point comes to by mean shift: where a step is shorter than `step`, or after `most` steps."""
    ends = points.copy()
    mean = np.empty(points.shape[1])
    for i in range(points.shape[0]):
        for _ in range(most):
            mean[:] = 0.0
            total = 0.0
            for v in range(vectors.shape[0]):
                square = 0.0
                for j in range(vectors.shape[1]):
                    square += (ends[i, j] - vectors[v, j]) ** 2
                if width * square < REACH:
                    k = coefficients[v] * math.exp(-width * square)
                    total += k
                    for j in range(vectors.shape[1]):
                        mean[j] += k * vectors[v, j]
            if total <= 0.0:
                break
            moved = 0.0
            for j in range(vectors.shape[1]):
                moved += (mean[j] / total - ends[i, j]) ** 2
                ends[i, j] = mean[j] / total
            if moved < step * step:
                break
    return ends
