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
def elected(near, distance, cell):
    """Return the place, among the nearest points, of the nearest one in the cell with the most votes.

    Votes are the reciprocals of the squared distances; of equal cells, that of the nearest point wins.
    """
    first, most = 0, 0.0
    for i in range(near.shape[0]):
        votes = 0.0
        for j in range(near.shape[0]):
            if cell[near[j]] == cell[near[i]]:
                votes += 1 / max(distance[j], 1e-300)  # a row at a point would have infinitely many
        if votes > most:
            first, most = i, votes
    return first


CERTAIN = 1e-9
"""Share by which bounds of distances may be wrong; rounding errors are smaller in up to a million columns."""

AT_ONCE = 64
"""Rows that are compared with a bundle of points while the processor holds these in its cache."""


@jit
def nearest_in_bundles(rows, centre, scale, bundles, near, distance):
    """Write the nearest points of rows in the order of their squared distances, and these.

    The first of points at equal distances come first. A row is compared with the bundle that may hold its nearest
    point, then with all that may hold nearer points than are known. `bundles` are those of `mdh_dask.growth.nearest`.
    """
    bounds, squares = np.empty((rows.shape[0], bundles.radius.shape[0])), np.empty(bundles.point.shape[0])
    closest, d = np.empty(rows.shape[0], np.int64), rows.shape[1]
    for i in range(rows.shape[0]):
        squares_to(rows[i], centre, scale, bundles.middles, bounds[i])
        for b in range(bounds.shape[1]):
            bounds[i, b] = max(math.sqrt(bounds[i, b]) * (1 - CERTAIN) - bundles.radius[b] * (1 + CERTAIN), 0.0)
        closest[i] = bounds[i].argmin()
    distance[:] = np.inf
    near[:] = bundles.point.shape[0]
    for turn in range(2):
        for b in range(bounds.shape[1]):
            start, end = bundles.start[b], bundles.start[b + 1]
            values = bundles.values[start * d : end * d].reshape(d, end - start)
            for i in range(rows.shape[0]):
                if (closest[i] == b) != (turn == 0) or bounds[i, b] ** 2 > distance[i, -1]:
                    continue
                squares_to(rows[i], centre, scale, values, squares[: end - start])
                keep_nearest(squares, bundles.point[start:end], near[i], distance[i])


@jit
def keep_nearest(squares, points, near, distance):
    """Keep the points at the least squared distances among those that are known and others."""
    last = distance[-1]
    for v in range(points.shape[0]):
        if squares[v] > last:
            continue
        square, point, at = np.inf if np.isnan(squares[v]) else squares[v], points[v], near.shape[0]
        while at > 0 and (square < distance[at - 1] or (square == distance[at - 1] and point < near[at - 1])):
            if at < near.shape[0]:
                distance[at], near[at] = distance[at - 1], near[at - 1]
            at -= 1
        if at < near.shape[0]:
            distance[at], near[at] = square, point
            last = distance[-1]


@jit
def agreeing_points(rows, centre, scale, bundles, cell, cluster, k, shares):
    """Write for every row which share of the `k` nearest points is in the cluster of the `elected` one."""
    near, distance = np.empty((AT_ONCE, k), np.int64), np.empty((AT_ONCE, k))
    for first in range(0, rows.shape[0], AT_ONCE):
        some = rows[first : first + AT_ONCE]
        nearest_in_bundles(some, centre, scale, bundles, near[: some.shape[0]], distance[: some.shape[0]])
        for i in range(some.shape[0]):
            chosen, own = cluster[near[i, elected(near[i], distance[i], cell)]], 0
            for v in near[i]:
                own += cluster[v] == chosen
            shares[first + i] = own / k


@jit
def nearest_and_reach(rows, centre, scale, bundles, cell, k, found):
    """Write for every row the nearest point, the `elected` one, and the squared distance to the `k`-th nearest."""
    near, distance = np.empty((AT_ONCE, k), np.int64), np.empty((AT_ONCE, k))
    for first in range(0, rows.shape[0], AT_ONCE):
        some = rows[first : first + AT_ONCE]
        nearest_in_bundles(some, centre, scale, bundles, near[: some.shape[0]], distance[: some.shape[0]])
        for i in range(some.shape[0]):
            own = near[i, elected(near[i], distance[i], cell)]
            found.nearest[first + i], found.own[first + i], found.reach[first + i] = near[i, 0], own, distance[i, -1]


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
