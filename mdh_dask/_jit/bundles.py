"""The points nearest to rows, in bundles: most are ruled out by products in single precision."""

import math

import numpy as np

from .._numba import jit
from .landmarks import k_nearest, squares_to

CERTAIN = 1e-9
"""Share by which bounds of distances may be wrong; rounding errors are smaller in up to a million columns."""

SINGLE = 2.0**-24
"""Largest rounding error of a number in single precision, as a share of it."""

AT_ONCE = 1024
"""Rows whose products with a bundle of points are computed at once; products of few rows take longer a row."""


@jit
def nearest_in_bundles(rows, centre, scale, bundles, near, distance):
    """Write the nearest points of rows in the order of their squared distances, and these.

    The first of points at equal distances come first. A row is compared with the bundle of the closest middle, then
    with all that may hold nearer points than are known. `bundles` are those of `mdh_dask.growth.nearest`.
    """
    n, d, n_bundles = rows.shape[0], rows.shape[1], bundles.radius.shape[0]
    standardised, to_middles = np.empty((n, d)), np.empty((n, n_bundles))
    closest, bounds = np.empty(n, np.int64), np.empty((n, n_bundles))
    for i in range(n):
        for j in range(d):
            standardised[i, j] = (rows[i, j] - centre[j]) * scale[j]
        squares_to(rows[i], centre, scale, bundles.middles, to_middles[i])
        closest[i] = to_middles[i].argmin()
        for b in range(n_bundles):
            bound = math.sqrt(to_middles[i, b]) * (1 - CERTAIN) - bundles.radius[b] * (1 + CERTAIN)
            bounds[i, b] = max(bound, 0.0)
    distance[:] = np.inf
    near[:] = bundles.point.shape[0]
    chosen = np.empty(n, np.int64)
    for turn in range(2):
        for b in range(n_bundles):
            m = 0
            for i in range(n):
                if (closest[i] == b) == (turn == 0) and not bounds[i, b] ** 2 > distance[i, -1]:
                    chosen[m] = i
                    m += 1
            if m > 0:
                compare_with_bundle(standardised, chosen[:m], to_middles[:, b], bundles, b, near, distance)


@jit
def compare_with_bundle(rows, chosen, to_middle, bundles, b, near, distance):
    """Keep the points of a bundle that are among the nearest, if products in single precision do not rule this out."""
    start, d = bundles.start[b], rows.shape[1]
    size = bundles.start[b + 1] - start
    away = less_middle(rows, chosen, bundles.middles[:, b].copy())
    products = np.dot(away, bundles.single[start * (d + 1) : (start + size) * (d + 1)].reshape(d + 1, size))
    for r in range(chosen.shape[0]):
        i, found, not_ruled_out = chosen[r], products[r], 0
        limit = limit_of_products(to_middle[i], bundles.radius[b], distance[i, -1], found, near.shape[1], d)
        for v in range(size):
            not_ruled_out += not found[v] > limit
        if not_ruled_out > 0:
            for v in range(size):
                if not found[v] > limit:
                    square = square_between(rows[i], bundles.values[start + v])
                    keep_near(square, bundles.point[start + v], near[i], distance[i])


@jit
def less_middle(rows, chosen, middle):
    """Return -2 times the chosen rows less the middle of a bundle, and a last column of ones.

    Their products with points less the middle, and the squares of these, are squared distances less those to the
    middle.
    """
    d = middle.shape[0]
    away = np.empty((chosen.shape[0], d + 1), np.float32)
    for r in range(chosen.shape[0]):
        row, less = rows[chosen[r]], away[r]
        for j in range(d):
            less[j] = -2.0 * (row[j] - middle[j])
        less[d] = 1.0
    return away


@jit
def limit_of_products(to_middle, radius, last, products, k, d):
    """Return the largest product, with its rounding errors, of points that may be among the `k` nearest.

    `last` is the squared distance to the last point that is known, infinite if fewer than `k` are.
    """
    terms = 2.0 * math.sqrt(to_middle) * radius + radius * radius
    if not terms < 1e37:  # sums of larger numbers may overflow
        return np.float32(np.inf)
    # Each of the d + 1 factors and sums is rounded, and numbers under 1e-38 are zero.
    errors = (d + 8) * SINGLE * terms + CERTAIN * (to_middle + terms) + d * 1e-36
    limit = last - to_middle
    if limit == np.inf and products.shape[0] > k:
        least = np.empty(k, products.dtype)
        k_nearest(products, np.empty(k, np.int64), least)
        limit = least[k - 1] + errors
    return np.float32(limit + errors + 2 * SINGLE * abs(limit))


@jit
def square_between(row, point):
    """Return the squared distance of a row to a point: four sums at once, as each addition waits for the one before."""
    s0, s1, s2, s3, d = 0.0, 0.0, 0.0, 0.0, row.shape[0]
    last = d - d % 4
    for j in range(0, last, 4):
        d0, d1 = row[j] - point[j], row[j + 1] - point[j + 1]
        d2, d3 = row[j + 2] - point[j + 2], row[j + 3] - point[j + 3]
        s0, s1, s2, s3 = s0 + d0 * d0, s1 + d1 * d1, s2 + d2 * d2, s3 + d3 * d3
    for j in range(last, d):
        s0 += (row[j] - point[j]) ** 2
    return (s0 + s1) + (s2 + s3)


@jit
def keep_near(square, point, near, distance):
    """Keep a point if it is among the nearest; the first of those at equal distances is."""
    at = near.shape[0]
    square = np.inf if np.isnan(square) else square
    while at > 0 and (square < distance[at - 1] or (square == distance[at - 1] and point < near[at - 1])):
        if at < near.shape[0]:
            distance[at], near[at] = distance[at - 1], near[at - 1]
        at -= 1
    if at < near.shape[0]:
        distance[at], near[at] = square, point


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


@jit
def near_in_bundles(rows, centre, scale, bundles, cell, cluster, k, found):
    """Write for every row what its `k` nearest points show, the fields of `mdh_dask.growth.nearest.Near`."""
    near, distance = np.empty((AT_ONCE, k), np.int64), np.empty((AT_ONCE, k))
    for first in range(0, rows.shape[0], AT_ONCE):
        some = rows[first : first + AT_ONCE]
        nearest_in_bundles(some, centre, scale, bundles, near[: some.shape[0]], distance[: some.shape[0]])
        for i in range(some.shape[0]):
            own, agreeing = near[i, elected(near[i], distance[i], cell)], 0
            for v in near[i]:
                agreeing += cluster[v] == cluster[own]
            found.nearest[first + i], found.own[first + i], found.reach[first + i] = near[i, 0], own, distance[i, -1]
            found.agreeing[first + i] = agreeing / k
