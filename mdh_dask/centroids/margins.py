"""How far rows are from the borders of the cells of centroids."""

from typing import NamedTuple

import numpy as np

from .._jit.rows import loop_ready
from .._typing import AnyArray, Floats, Integers
from .passes import ROWS_AT_ONCE, far_bins, nearest_centroids


class CentroidMargins(NamedTuple):
    """What centroids know about rows."""

    distances: Floats
    """Distance of each standardised row to the nearest border of its cell; infinite for a single centroid."""
    shares: Floats
    """Membership of each row in its cluster, with the second nearest as the only other one."""


def far_shares(rows: AnyArray, centre: Floats, scale: Floats, centroids: Floats, far: Integers, unit: float) -> Floats:
    """Return the share of the counted rows of the cluster of each raw row that are no nearer to its centroid.

    Examples
    --------
    >>> from mdh_dask.centroids.passes import N_FAR
    >>> far = np.zeros((1, N_FAR), dtype=np.int64)
    >>> far[0, far_bins(np.array([1.0, 9.0]), 1.0)] = 9, 1
    >>> far_shares(np.array([[0.0], [2.0], [8.0]]), np.zeros(1), np.ones(1), np.zeros((1, 1)), far, 1.0).tolist()
    [1.0, 0.1, 0.0]
    """
    rows, shares = loop_ready(rows), np.empty(len(rows))
    tails = np.cumsum(far[:, ::-1], axis=1)[:, ::-1] / np.maximum(far.sum(axis=1, keepdims=True), 1)
    own = nearest_centroids(rows, centre, scale, centroids)
    for first in range(0, len(rows), ROWS_AT_ONCE):
        part = slice(first, first + ROWS_AT_ONCE)
        with np.errstate(over="ignore"):
            squares = np.square((rows[part] - centre) * scale - centroids[own[part]]).sum(axis=1)
        shares[part] = tails[own[part], far_bins(squares, unit)]
    return shares


def centroid_margins(rows: AnyArray, centre: Floats, scale: Floats, centroids: Floats) -> CentroidMargins:
    """Return the margins of raw rows, which become ``(x - centre) * scale``.

    Notes
    -----
    The border of two cells is the plane in the middle of their centroids. The membership is that of fuzzy c-means with
    the exponent 2 (J. Bezdek, Pattern recognition with fuzzy objective function algorithms, 1981): 0.5 where two
    centroids are equally near, and 1 at a centroid.

    Examples
    --------
    >>> centroids = np.array([[0.0], [4.0]])
    >>> centroid_margins(np.array([[0.0], [1.0], [2.0]]), np.zeros(1), np.ones(1), centroids)
    CentroidMargins(distances=array([2., 1., 0.]), shares=array([1. , 0.9, 0.5]))
    """
    rows = loop_ready(rows)  # sums over columns depend on the order of the values in memory
    distances, shares = np.full(len(rows), np.inf), np.ones(len(rows))
    apart = np.sqrt(np.square(centroids[:, None] - centroids).sum(axis=2))
    for first in range(0, len(rows) if len(centroids) > 1 else 0, ROWS_AT_ONCE):
        part = slice(first, first + ROWS_AT_ONCE)
        own = nearest_centroids(rows[part], centre, scale, centroids)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # far rows, and equal centroids
            points = (rows[part] - centre) * scale
            # One centroid at a time, as the last bits of a matrix product depend on the rows of the block.
            squares = np.array([np.square(points - centroid).sum(axis=1) for centroid in centroids])
            nearest = squares[own, np.arange(len(own))]
            squares[own, np.arange(len(own))] = np.inf
            away = (squares - nearest) / (2 * apart[:, own])
            distances[part] = np.nan_to_num(away, nan=0.0, posinf=np.inf).min(axis=0).clip(0.0)
            second = squares.min(axis=0)
            shares[part] = np.nan_to_num(second / (nearest + second), nan=0.5)
    return CentroidMargins(distances, shares)
