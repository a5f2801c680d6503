"""The statistic of density trees: rows nearest to each landmark."""

from dataclasses import dataclass

import numpy as np

from .._jit.blocks import loop_ready
from .._jit.landmarks import nearest_points
from .._typing import AnyArray, Floats, Integers
from ..chunks import Statistic


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


def nearest_landmarks(rows: AnyArray, centre: Floats, scale: Floats, points: Floats) -> Integers:
    """Return the nearest of standardised landmarks for each raw row, the first among several, shape (n_rows,)."""
    rows = loop_ready(rows)
    nearest = np.empty(len(rows), dtype=np.int64)
    every = np.ones(len(points), dtype=bool)
    nearest_points(rows, centre, scale, np.ascontiguousarray(points.T), every, nearest)
    return nearest
