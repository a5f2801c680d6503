"""The statistics of density trees: rows nearest to each landmark, and rows in balls and slabs."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._jit.communities import rows_in_balls
from .._jit.hashing import hash_rows
from .._jit.landmarks import nearest_and_reach
from .._jit.lines import Lines
from .._jit.rows import loop_ready
from .._storable import storable
from .._typing import AnyArray, Floats, Integers
from ..chunks import Statistic
from ..growth.discrete import Discrete
from ..growth.exemplars import VOTERS
from ..valleys.lines import rows_in_slabs
from .places import Places

DOUBLINGS = 10
"""Distances of rows outside the density level are counted by their doublings."""


class Near(NamedTuple):
    """What the nearest landmarks of rows show; all have shape (n_rows,)."""

    nearest: Integers
    """The nearest landmark, the first among several."""
    own: Integers
    """The nearest landmark of the row's cell, for which the `VOTERS` nearest vote, each with the reciprocal of its
    squared distance (Dudani 1976): in many columns, the nearest one alone is often in a cluster beside."""
    reach: Floats
    """How sparse rows are: the squared distance to the last of these."""


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
        rows, near = loop_ready(rows), _no_rows_near(len(rows))
        columns, k = np.ascontiguousarray(self.points.T), min(VOTERS, len(self.points))
        nearest_and_reach(rows, self.centre, self.scale, columns, self.cells, k, *near)
        return near

    def counted(self, near: Near) -> Integers:
        """Return the counts of rows with these nearest landmarks."""
        outside = np.searchsorted((self.level * 2.0 ** np.arange(DOUBLINGS)) ** 2, near.reach)
        n = len(self.points)
        return np.bincount(outside * n + near.own, minlength=(1 + DOUBLINGS) * n).reshape(1 + DOUBLINGS, n)


@storable
class CountedAgain(NamedTuple):
    """What tests the links of a sample again."""

    sums: Integers
    in_balls: Integers
    """Those of `mdh_dask._jit.communities.rows_in_balls`."""
    in_slabs: Integers
    """Those of `mdh_dask.valleys.lines.rows_in_slabs`."""


@storable
class Recount(NamedTuple):
    """The rows of each landmark, as of `NearestCounts`, and what tests links."""

    counts: Integers
    again: CountedAgain


@dataclass(frozen=True)
class BallsAndSlabs(Statistic):
    """Number of rows of each landmark, sums of the rows in balls, and the rows in slabs.

    lines: those of `mdh_dask.density_trees.slabs.lines_of`.
    discrete: jitters rows before they are counted in balls and slabs.
    seed: seed of the rows' hashes.
    """

    landmarks: NearestCounts
    balls: Places
    lines: Lines
    discrete: Discrete
    seed: int

    def chunk(self, start: int, *blocks: AnyArray) -> Recount:
        """Return the counts and sums of a block."""
        rows, near = blocks[0], self.landmarks.near(blocks[0])
        counts = self.landmarks.counted(near)
        if not self.discrete.changes_rows:
            return Recount(counts, self._counted_again(rows, near.nearest))
        return Recount(counts, self.counted_again(rows, hash_rows(self.seed, start, len(rows))))

    def counted_again(self, rows: AnyArray, hashes: Integers) -> CountedAgain:
        """Return what raw rows with given hashes add to the tests of links."""
        rows = self.discrete.jittered_levels(rows, hashes)
        return self._counted_again(rows, self.landmarks.near(rows).nearest)

    def _counted_again(self, rows: AnyArray, nearest: Integers) -> CountedAgain:
        n_radii = self.balls.radii.shape[1]
        sums = np.zeros((len(self.balls.radii), n_radii, 2), dtype=np.int64)
        in_balls = np.zeros((len(self.balls.places), n_radii), dtype=np.int64)
        points = (rows - self.landmarks.centre) * self.landmarks.scale
        rows_in_balls(points, nearest, self.balls, sums, in_balls)
        return CountedAgain(sums, in_balls, rows_in_slabs(points, self.lines))

    def combine(self, left: Recount, right: Recount) -> Recount:
        """Add the counts and the sums."""
        again = CountedAgain(*(one + other for one, other in zip(left.again, right.again)))
        return Recount(left.counts + right.counts, again)


def level_of(points: Floats, outliers: float) -> float:
    """Return the distance to the last of the `VOTERS` nearest other landmarks that a share of the landmarks exceeds."""
    n, d = points.shape
    near, one_cell = _no_rows_near(n), np.zeros(n, dtype=np.int64)
    columns = np.ascontiguousarray(points.T)
    nearest_and_reach(points, np.zeros(d), np.ones(d), columns, one_cell, min(VOTERS + 1, n), *near)
    return float(np.sqrt(np.quantile(near.reach, 1 - outliers, method="higher")))


def _no_rows_near(n: int) -> Near:
    return Near(np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n))
