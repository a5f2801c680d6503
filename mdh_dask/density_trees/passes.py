"""The statistics of density trees: rows nearest to each landmark, and rows in balls."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._jit.communities import rows_in_balls
from .._jit.hashing import hash_rows
from .._storable import storable
from .._typing import AnyArray, Floats, Integers
from ..chunks import Statistic
from ..growth.discrete import Discrete
from ..growth.nearest import VOTERS, Near, near_points
from .places import Places

DOUBLINGS = 10
"""Distances of rows outside the density level are counted by their doublings."""


@dataclass(frozen=True)
class NearestCounts(Statistic):
    """Number of rows of each landmark, by how sparse the rows around them are.

    centre, scale (n_features,) float64: rows become ``(x - centre) * scale``.
    points (n_points, n_features) float64: the standardised landmarks.
    cells (n_points,) int64: their cells.
    level: rows are outside if the last of the `VOTERS` nearest landmarks is farther.
    """

    centre: Floats
    scale: Floats
    points: Floats
    cells: Integers
    level: float

    def chunk(self, start: int, *blocks: AnyArray) -> Integers:
        """Return the counts of a block, shape (1 + DOUBLINGS, n_points), those of rows inside first."""
        return self.counted(self.near(blocks[0]))

    def near(self, rows: AnyArray) -> Near:
        """Return what the nearest landmarks of raw rows show."""
        return near_points(rows, self.centre, self.scale, self.points, self.cells)

    def counted(self, near: Near) -> Integers:
        """Return the counts of rows with these nearest landmarks."""
        outside = np.searchsorted((self.level * 2.0 ** np.arange(DOUBLINGS)) ** 2, near.reach)
        n = len(self.points)
        return np.bincount(outside * n + near.own, minlength=(1 + DOUBLINGS) * n).reshape(1 + DOUBLINGS, n)


@storable
class Recount(NamedTuple):
    """The rows of each landmark, as of `NearestCounts`, and those in each ball, shape (n_balls, n_radii)."""

    counts: Integers
    in_balls: Integers


@dataclass(frozen=True)
class RowsInBalls(Statistic):
    """Number of rows of each landmark, and of those in balls.

    discrete: jitters rows before they are counted in balls.
    seed: seed of the rows' hashes.
    """

    landmarks: NearestCounts
    balls: Places
    discrete: Discrete
    seed: int

    def chunk(self, start: int, *blocks: AnyArray) -> Recount:
        """Return the counts of a block."""
        rows, near = blocks[0], self.landmarks.near(blocks[0])
        counts = self.landmarks.counted(near)
        if not self.discrete.changes_rows:
            return Recount(counts, self._in_balls(rows, near.nearest))
        return Recount(counts, self.in_balls(rows, hash_rows(self.seed, start, len(rows))))

    def in_balls(self, rows: AnyArray, hashes: Integers) -> Integers:
        """Return the number of raw rows with given hashes in each ball, shape (n_balls, n_radii)."""
        rows = self.discrete.jittered_levels(rows, hashes)
        return self._in_balls(rows, self.landmarks.near(rows).nearest)

    def _in_balls(self, rows: AnyArray, nearest: Integers) -> Integers:
        counts = np.zeros((len(self.balls.places), self.balls.radii.shape[1]), dtype=np.int64)
        rows_in_balls((rows - self.landmarks.centre) * self.landmarks.scale, nearest, self.balls, counts)
        return counts

    def combine(self, left: Recount, right: Recount) -> Recount:
        """Add the counts."""
        return Recount(left.counts + right.counts, left.in_balls + right.in_balls)


def level_of(points: Floats, outliers: float) -> float:
    """Return the distance to the last of the `VOTERS` nearest other landmarks that a share of the landmarks exceeds."""
    n, d = points.shape
    reach = near_points(points, np.zeros(d), np.ones(d), points, np.zeros(n, dtype=np.int64), k=VOTERS + 1).reach
    return float(np.sqrt(np.quantile(reach, 1 - outliers, method="higher")))
