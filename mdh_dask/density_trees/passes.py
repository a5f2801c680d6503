"""The statistics of density trees: rows nearest to each landmark, and rows in balls."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._jit.blocks import loop_ready
from .._jit.communities import rows_in_balls
from .._jit.hashing import hash_rows
from .._jit.landmarks import nearest_points
from .._jit.lattices import Lattices, spread_rows
from .._storable import storable
from .._typing import AnyArray, Floats, Integers
from ..chunks import Statistic
from .places import Places


@dataclass(frozen=True)
class NearestCounts(Statistic):
    """Number of rows nearest to each landmark.

    Parameters
    ----------
    centre, scale : arrays of shape (n_features,), float64
        Rows become ``(x - centre) * scale``.
    points : array of shape (n_points, n_features), float64
        The standardised landmarks.
    """

    centre: Floats
    scale: Floats
    points: Floats

    def chunk(self, start: int, *blocks: AnyArray) -> Integers:
        """Return the counts of a block, shape (n_points,)."""
        nearest = nearest_landmarks(blocks[0], self.centre, self.scale, self.points)
        return np.bincount(nearest, minlength=len(self.points))

    def combine(self, left: Integers, right: Integers) -> Integers:
        """Add the counts."""
        return left + right


@storable
class LandmarksAndBalls(NamedTuple):
    """Rows nearest to each landmark, and the sums and counts of `mdh_dask._jit.communities.rows_in_balls`."""

    counts: Integers
    sums: Integers
    in_balls: Integers


@dataclass(frozen=True)
class BallCounts(Statistic):
    """Number of rows nearest to each landmark, and sums of the rows in balls.

    Parameters
    ----------
    landmarks : NearestCounts
    balls : Places
    lattices : Lattices
        Columns whose values are spread before rows are counted in balls.
    seed : int
        Seed of the rows' hashes.
    """

    landmarks: NearestCounts
    balls: Places
    lattices: Lattices
    seed: int

    def chunk(self, start: int, *blocks: AnyArray) -> LandmarksAndBalls:
        """Return the counts and sums of a block."""
        rows, each = blocks[0], self.landmarks
        nearest = nearest_landmarks(rows, each.centre, each.scale, each.points)
        counts = np.bincount(nearest, minlength=len(each.points))
        if not self.lattices:
            return LandmarksAndBalls(counts, *self._sums(rows, nearest))
        return LandmarksAndBalls(counts, *self.sums(rows, hash_rows(self.seed, start, len(rows))))

    def sums(self, rows: AnyArray, hashes: Integers) -> tuple[Integers, Integers]:
        """Return the sums and counts of raw rows with given hashes."""
        rows = rows.astype(np.float64)
        spread_rows(rows, hashes, self.lattices)
        each = self.landmarks
        return self._sums(rows, nearest_landmarks(rows, each.centre, each.scale, each.points))

    def _sums(self, rows: AnyArray, nearest: Integers) -> tuple[Integers, Integers]:
        n_radii = self.balls.radii.shape[1]
        sums = np.zeros((len(self.balls.radii), n_radii, 2), dtype=np.int64)
        in_balls = np.zeros((len(self.balls.places), n_radii), dtype=np.int64)
        rows_in_balls((rows - self.landmarks.centre) * self.landmarks.scale, nearest, self.balls, sums, in_balls)
        return sums, in_balls

    def combine(self, left: LandmarksAndBalls, right: LandmarksAndBalls) -> LandmarksAndBalls:
        """Add the counts and the sums."""
        return LandmarksAndBalls(*(one + other for one, other in zip(left, right)))


def nearest_landmarks(rows: AnyArray, centre: Floats, scale: Floats, points: Floats) -> Integers:
    """Return the nearest of standardised landmarks for each raw row, the first among several, shape (n_rows,)."""
    rows = loop_ready(rows)
    nearest = np.empty(len(rows), dtype=np.int64)
    every = np.ones(len(points), dtype=bool)
    nearest_points(rows, centre, scale, np.ascontiguousarray(points.T), every, nearest)
    return nearest
