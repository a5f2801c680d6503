"""The points nearest to rows, which vote for the cell of each: points far from a row are ruled out in bundles."""

from itertools import pairwise
from math import isqrt
from typing import NamedTuple

import numpy as np

from .._blas import one_blas_thread
from .._jit.bundles import near_in_bundles
from .._jit.rows import loop_ready
from .._typing import AnyArray, Floats, Integers

VOTERS = 10
"""Number of points near a row from which its density, its cell and the confidence in its label are estimated."""

ROUNDS = 3
"""Rounds of k-means in which bundles are drawn. They decide how long it takes, not which points are nearest."""


class Near(NamedTuple):
    """What the nearest points of rows show; all have shape (n_rows,)."""

    nearest: Integers
    """The nearest point, the first among several."""
    own: Integers
    """The nearest point of the row's cell, for which the `VOTERS` nearest vote, each with the reciprocal of its squared
    distance (Dudani 1976): in many columns, the nearest one alone is often in a cluster beside."""
    reach: Floats
    """How sparse rows are: the squared distance to the last of these."""
    agreeing: Floats
    """The share of these that are in the cluster of the cell."""


class Bundles(NamedTuple):
    """Points in bundles of near ones.

    A row is at least as far from each point of a bundle as from its middle, less the radius. So most bundles hold none
    of the points that are nearest to a row, and their points are not compared with it.
    """

    point: Integers
    """Numbers of the points, one bundle after the other, shape (n_points,)."""
    start: Integers
    """Where each bundle begins, and the number of points, shape (n_bundles + 1,)."""
    values: Floats
    """Coordinates in this order, shape (n_points, n_columns)."""
    single: AnyArray
    """The same less those of the bundle's middle, with the squared distance to it, in single precision; those of each
    bundle column by column, shape (n_points * (n_columns + 1),)."""
    middles: Floats
    """Shape (n_columns, n_bundles)."""
    radius: Floats
    """Largest distance of a bundle's points to its middle, shape (n_bundles,)."""


def bundles_of(points: Floats, n_rows: int) -> Bundles:
    """Return points, shape (n_points, n_columns), in bundles for so many rows, as drawing them takes time, too."""
    middles = points[: max(isqrt(min(len(points), n_rows)), 1)]
    with one_blas_thread():
        for _ in range(ROUNDS):
            own = _closest(points, middles)
            middles = np.array([points[own == bundle].mean(axis=0) for bundle in np.unique(own)])
        _, own, size = np.unique(_closest(points, middles), return_inverse=True, return_counts=True)
    order, start = np.argsort(own, kind="stable"), np.append(0, np.cumsum(size))
    values = points[order]
    parts = [values[one:end] for one, end in pairwise(start)]
    middles = np.array([part.mean(axis=0) for part in parts])
    radius = np.zeros(len(size))
    np.maximum.at(radius, own, np.linalg.norm(points - middles[own], axis=1))
    single = np.concatenate([_in_single_precision(part - middle) for part, middle in zip(parts, middles)])
    return Bundles(order, start, values, single, np.ascontiguousarray(middles.T), radius)


def _in_single_precision(away: Floats) -> AnyArray:
    with np.errstate(over="ignore"):
        return np.vstack([away.T, np.square(away).sum(axis=1)]).astype(np.float32).ravel()


def _closest(points: Floats, middles: Floats) -> Integers:
    return np.asarray((np.square(middles).sum(axis=1) - 2 * (points @ middles.T)).argmin(axis=1))


def near_points(
    rows: AnyArray,
    centre: Floats,
    scale: Floats,
    points: Floats,
    cell: Integers,
    cluster: Integers | None = None,
    k: int = VOTERS,
) -> Near:
    """Return what the `k` nearest points of raw rows show, which become ``(rows - centre) * scale``.

    points (n_points, n_columns) float64.
    cell, cluster (n_points,) int: cell of each point, and its cluster, which is its cell by default.

    >>> points, cell = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([0, 0, 1, 1])
    >>> near = near_points(np.array([[1.9], [3.1]]), np.zeros(1), np.ones(1), points, cell, k=3)
    >>> near.own, near.agreeing
    (array([1, 2]), array([0.66666667, 0.66666667]))
    """
    rows, n = loop_ready(rows), len(rows)
    near = Near(np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n), np.empty(n))
    bundles, cluster, k = bundles_of(points, n), cell if cluster is None else cluster, min(k, len(points))
    with one_blas_thread():
        near_in_bundles(rows, centre, scale, bundles, cell, cluster, k, near)
    return near
