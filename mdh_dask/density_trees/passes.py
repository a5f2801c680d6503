"""The statistics of density trees: rows nearest to each landmark, and rows in balls."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._jit.communities import rows_in_balls
from .._jit.hashing import hash_rows
from .._jit.landmarks import nearest_and_reach
from .._jit.rows import loop_ready
from .._storable import storable
from .._typing import AnyArray, Floats, Integers
from ..chunks import Statistic
from ..growth.discrete import Discrete
from ..growth.exemplars import VOTERS
from .places import Places

DOUBLINGS = 10
"""Distances of rows outside the density level are counted by their doublings."""


@dataclass(frozen=True)
class NearestCounts(Statistic):
    """Number of rows nearest to each landmark, by how sparse the rows around them are.

    centre, scale (n_features,) float64: rows become ``(x - centre) * scale``.
    points (n_points, n_features) float64: the standardised landmarks.
    level: rows are outside if the last of the `VOTERS` nearest landmarks is farther.
    """

    centre: Floats
    scale: Floats
    points: Floats
    level: float

    def chunk(self, start: int, *blocks: AnyArray) -> Integers:
        """Return the counts of a block, shape (1 + DOUBLINGS, n_points), those of rows inside first."""
        nearest, reach = nearest_landmarks(blocks[0], self.centre, self.scale, self.points)
        return self.counted(nearest, reach)

    def counted(self, nearest: Integers, reach: Floats) -> Integers:
        """Return the counts of rows with these nearest landmarks and squared distances to the last of several."""
        outside = np.searchsorted((self.level * 2.0 ** np.arange(DOUBLINGS)) ** 2, reach)
        n = len(self.points)
        return np.bincount(outside * n + nearest, minlength=(1 + DOUBLINGS) * n).reshape(1 + DOUBLINGS, n)


@storable
class LandmarksAndBalls(NamedTuple):
    """Rows nearest to each landmark, and the sums and counts of `mdh_dask._jit.communities.rows_in_balls`."""

    counts: Integers
    sums: Integers
    in_balls: Integers


@dataclass(frozen=True)
class BallCounts(Statistic):
    """Number of rows nearest to each landmark, and sums of the rows in balls.

    discrete: jitters rows before they are counted in balls.
    seed: seed of the rows' hashes.
    """

    landmarks: NearestCounts
    balls: Places
    discrete: Discrete
    seed: int

    def chunk(self, start: int, *blocks: AnyArray) -> LandmarksAndBalls:
        """Return the counts and sums of a block."""
        rows, each = blocks[0], self.landmarks
        nearest, reach = nearest_landmarks(rows, each.centre, each.scale, each.points)
        counts = each.counted(nearest, reach)
        if not self.discrete.changes_rows:
            return LandmarksAndBalls(counts, *self._sums(rows, nearest))
        return LandmarksAndBalls(counts, *self.sums(rows, hash_rows(self.seed, start, len(rows))))

    def sums(self, rows: AnyArray, hashes: Integers) -> tuple[Integers, Integers]:
        """Return the sums and counts of raw rows with given hashes."""
        rows = self.discrete.jittered_levels(rows, hashes)
        each = self.landmarks
        return self._sums(rows, nearest_landmarks(rows, each.centre, each.scale, each.points)[0])

    def _sums(self, rows: AnyArray, nearest: Integers) -> tuple[Integers, Integers]:
        n_radii = self.balls.radii.shape[1]
        sums = np.zeros((len(self.balls.radii), n_radii, 2), dtype=np.int64)
        in_balls = np.zeros((len(self.balls.places), n_radii), dtype=np.int64)
        rows_in_balls((rows - self.landmarks.centre) * self.landmarks.scale, nearest, self.balls, sums, in_balls)
        return sums, in_balls

    def combine(self, left: LandmarksAndBalls, right: LandmarksAndBalls) -> LandmarksAndBalls:
        """Add the counts and the sums."""
        return LandmarksAndBalls(*(one + other for one, other in zip(left, right)))


def nearest_landmarks(rows: AnyArray, centre: Floats, scale: Floats, points: Floats) -> tuple[Integers, Floats]:
    """Return the nearest of standardised landmarks for each raw row, the first among several, and how sparse rows are.

    The latter is the squared distance to the last of the `VOTERS` nearest ones. Both have shape (n_rows,).
    """
    rows = loop_ready(rows)
    nearest, reach = np.empty(len(rows), dtype=np.int64), np.empty(len(rows))
    columns = np.ascontiguousarray(points.T)
    nearest_and_reach(rows, centre, scale, columns, min(VOTERS, len(points)), nearest, reach)
    return nearest, reach


def level_of(points: Floats, outliers: float) -> float:
    """Return the distance to the last of the `VOTERS` nearest other landmarks that a share of the landmarks exceeds."""
    n, d = points.shape
    nearest, reach = np.empty(n, dtype=np.int64), np.empty(n)
    columns = np.ascontiguousarray(points.T)
    nearest_and_reach(points, np.zeros(d), np.ones(d), columns, min(VOTERS + 1, n), nearest, reach)
    return float(np.sqrt(np.quantile(reach, 1 - outliers, method="higher")))
