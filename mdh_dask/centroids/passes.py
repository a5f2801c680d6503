"""Centroids of all rows: the rows nearest to each, their sums and squared distances, and margins of rows."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._jit.landmarks import nearest_points
from .._jit.rows import few_at_once, loop_ready
from .._jit.sums import add_to_labels
from .._storable import storable
from .._typing import AnyArray, Floats, Integers
from ..chunks import Statistic

BITS = 30
"""Bits of the largest distance along a column in sums: 2^33 rows as far away add without an overflow."""

FAR_STEPS = 16
"""Bins of squared distances between a power of two and the next: 4 %, and so 2 % of the distances."""

N_FAR = 64 * FAR_STEPS
"""Bins of squared distances; the first and the last also hold all beyond."""


@storable
class ClusterSums(NamedTuple):
    """The value of `CentroidPass`, as integers, which add without rounding."""

    n_rows: Integers
    """Rows nearest to each centroid, shape (n_clusters,)."""
    sums: Integers
    """Sums of their differences from it in steps, shape (n_clusters, n_features)."""
    squares: Integers
    """Sums of their squared distances in units of `CentroidPass.step_of_squares`, shape (n_clusters,)."""
    far: Integers
    """Their numbers in each bin of `far_bins`, shape (n_clusters, N_FAR)."""


@dataclass(frozen=True)
class CentroidPass(Statistic):
    """Number and sums of the rows nearest to each centroid, and of their squared distances."""

    centre: Floats
    scale: Floats
    """Both of shape (n_features,), float64: rows become ``(x - centre) * scale``."""
    centroids: Floats
    """Shape (n_clusters, n_features), float64."""
    step: float
    """Power of two to whose multiples differences are rounded, so that sums do not depend on the chunks."""
    unit: float = 1.0
    """Squared distance that is in the middle of `far_bins`."""

    @property
    def step_of_squares(self) -> float:
        """Unit of the squared distances: sums of rows as far out as the sample's do not overflow."""
        return self.step * self.step * 2.0 ** (BITS + 4)

    def chunk(self, start: int, *blocks: AnyArray) -> ClusterSums:
        rows, (k, d) = loop_ready(blocks[0]), self.centroids.shape
        n_rows, sums, squares = np.zeros(k, np.int64), np.zeros((k, d), np.int64), np.zeros((k, 1), np.int64)
        nearest = nearest_centroids(rows, self.centre, self.scale, self.centroids)
        far = np.zeros((k, N_FAR), dtype=np.int64)
        for part in few_at_once(len(rows)):
            own = nearest[part]
            # From its centroid a row is not far, even if both are far from all others.
            apart = (rows[part] - self.centre) * self.scale - self.centroids[own]
            with np.errstate(over="ignore"):  # infinite distances count as the largest ones
                distances = np.square(apart).sum(axis=1, keepdims=True)
            np.add.at(far, (own, far_bins(distances[:, 0], self.unit)), 1)
            add_to_labels(own, _whole(apart / self.step), n_rows, sums)
            add_to_labels(own, _whole(distances / self.step_of_squares), np.zeros(k, np.int64), squares)
        return ClusterSums(n_rows, sums, squares[:, 0], far)

    def means(self, sums: ClusterSums) -> Floats:
        """Return the mean of every cluster, or its centroid if it has no rows."""
        moves: Floats = sums.sums / np.maximum(sums.n_rows, 1)[:, None] * self.step
        return self.centroids + moves


def far_bins(squares: Floats, unit: float) -> Integers:
    """Return the bins of squared distances: `FAR_STEPS` between a power of two and the next, in this unit.

    >>> far_bins(np.array([0.0, 1.0, 1.04, 1.5, np.inf]), 1.0).tolist()
    [0, 512, 512, 520, 1023]
    """
    low, high = 2.0 ** (-N_FAR // FAR_STEPS // 2), 2.0 ** (N_FAR // FAR_STEPS // 2)
    mantissa, exponent = np.frexp((squares / unit).clip(low, high * (1 - 2.0**-53)))
    bins = (exponent - 1 + N_FAR // FAR_STEPS // 2) * FAR_STEPS + ((mantissa - 0.5) * 2 * FAR_STEPS).astype(np.int64)
    return np.asarray(bins, dtype=np.int64)


def unit_for(squares: Floats) -> float:
    """Return the unit of squared distances for those of a sample: their median, as a power of two."""
    middle = float(np.median(squares))
    return 2.0 ** np.frexp(middle)[1] if 0 < middle < np.inf else 1.0


def step_for(apart: Floats) -> float:
    """Return the step of sums for differences from centroids such as those of a sample."""
    largest = float(np.abs(apart).max(initial=0.0))
    return 2.0 ** (np.frexp(largest or 1.0)[1] - BITS)


def nearest_centroids(rows: AnyArray, centre: Floats, scale: Floats, centroids: Floats) -> Integers:
    """Return the nearest centroid of each raw row, the first among several, shape (n_rows,)."""
    nearest: Integers = nearest_points(loop_ready(rows), centre, scale, np.ascontiguousarray(centroids.T))
    return nearest


def _whole(values: Floats) -> Integers:
    return np.rint(values).clip(-(2.0**52), 2.0**52).astype(np.int64)


class CentroidMargins(NamedTuple):
    """What centroids know about rows."""

    distances: Floats
    """Distance of each standardised row to the nearest border of its cell; infinite for a single centroid."""
    shares: Floats
    """Membership of each row in its cluster, with the second nearest as the only other one."""


def far_shares(rows: AnyArray, centre: Floats, scale: Floats, centroids: Floats, far: Integers, unit: float) -> Floats:
    """Return the share of the counted rows of the cluster of each raw row that are no nearer to its centroid.

    >>> from mdh_dask.centroids.passes import N_FAR
    >>> far = np.zeros((1, N_FAR), dtype=np.int64)
    >>> far[0, far_bins(np.array([1.0, 9.0]), 1.0)] = 9, 1
    >>> far_shares(np.array([[0.0], [2.0], [8.0]]), np.zeros(1), np.ones(1), np.zeros((1, 1)), far, 1.0).tolist()
    [1.0, 0.1, 0.0]
    """
    rows, shares = loop_ready(rows), np.empty(len(rows))
    tails = np.cumsum(far[:, ::-1], axis=1)[:, ::-1] / np.maximum(far.sum(axis=1, keepdims=True), 1)
    own = nearest_centroids(rows, centre, scale, centroids)
    for part in few_at_once(len(rows)):
        with np.errstate(over="ignore"):
            squares = np.square((rows[part] - centre) * scale - centroids[own[part]]).sum(axis=1)
        shares[part] = tails[own[part], far_bins(squares, unit)]
    return shares


def centroid_margins(rows: AnyArray, centre: Floats, scale: Floats, centroids: Floats) -> CentroidMargins:
    """Return the margins of raw rows, which become ``(x - centre) * scale``.

    The border of two cells is the plane in the middle of their centroids. The membership is that of fuzzy c-means with
    the exponent 2 (J. Bezdek, Pattern recognition with fuzzy objective function algorithms, 1981): 0.5 where two
    centroids are equally near, and 1 at a centroid.

    >>> centroids = np.array([[0.0], [4.0]])
    >>> centroid_margins(np.array([[0.0], [1.0], [2.0]]), np.zeros(1), np.ones(1), centroids)
    CentroidMargins(distances=array([2., 1., 0.]), shares=array([1. , 0.9, 0.5]))
    """
    rows = loop_ready(rows)  # sums over columns depend on the order of the values in memory
    distances, shares = np.full(len(rows), np.inf), np.ones(len(rows))
    apart = np.sqrt(np.square(centroids[:, None] - centroids).sum(axis=2))
    for part in few_at_once(len(rows) if len(centroids) > 1 else 0):
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
