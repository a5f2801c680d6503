"""The statistics of support vector clustering: rows nearest to each landmark, and rows at each level."""

from dataclasses import dataclass, field

import numpy as np

from .._jit.hashing import hash_rows
from .._jit.landmarks import count_nearest, totals_of_widths
from .._jit.rows import loop_ready
from .._typing import AnyArray, Booleans, Floats, Integers
from ..chunks import Statistic
from ..growth.discrete import Discrete

LOWEST = -30
"""Totals below two to this power count as equal to it, as such a distant kernel is negligible."""

STEPS = 4096
"""Number of bins between a power of two and the next. The sum of kernels is flat inside contours: with few bins, many
of the rows are in one, and the share outside is far from the requested one."""

N_BINS = (1 - LOWEST) * STEPS


def in_first_half(hashes: Integers) -> Booleans:
    """Return a mask of the rows that choose; the others test the choice."""
    return (hashes & np.uint64(1)) == 0


@dataclass(frozen=True)
class LandmarkCounts(Statistic):
    """Rows nearest to each landmark, and rows of the first half nearest to each landmark of the first half.

    Parameters
    ----------
    seed : int
        Seed of the rows' hashes.
    centre, scale : arrays of shape (n_features,), float64
        Rows become ``(x - centre) * scale``.
    columns : array of shape (n_features, n_landmarks), float64
        Coordinates of the landmarks, column by column.
    first : array of shape (n_landmarks,), bool
        Landmarks of the first half.
    discrete : Discrete
        Columns whose values are jittered.
    """

    seed: int
    centre: Floats
    scale: Floats
    columns: Floats
    first: Booleans
    discrete: Discrete = field(default_factory=Discrete)

    def chunk(self, start: int, *blocks: AnyArray) -> Integers:
        """Return the counts of a block, shape (2, n_landmarks)."""
        rows = loop_ready(blocks[0])
        counts = np.zeros((2, self.columns.shape[1]), dtype=np.int64)
        hashes = hash_rows(self.seed, start, len(rows))
        rows = self.discrete.jittered(rows, hashes)
        halves = in_first_half(hashes)
        count_nearest(rows, self.centre, self.scale, self.columns, self.first, halves, counts)
        return counts

    def combine(self, left: Integers, right: Integers) -> Integers:
        """Add the counts."""
        return left + right


@dataclass(frozen=True)
class LevelCounts(Statistic):
    """Histograms of the totals of all rows, for several spheres around the same points.

    Parameters
    ----------
    centre, scale : arrays of shape (n_features,), float64
    columns : array of shape (n_features, n_points), float64
        Coordinates of the points, column by column.
    coefficients : array of shape (n_spheres, n_points), float64
    widths : array of shape (n_spheres,), float64
    """

    centre: Floats
    scale: Floats
    columns: Floats
    coefficients: Floats
    widths: Floats

    def chunk(self, start: int, *blocks: AnyArray) -> Integers:
        """Return the counts of a block, shape (n_spheres, N_BINS)."""
        rows = loop_ready(blocks[0])
        totals = np.empty((len(rows), len(self.widths)))
        totals_of_widths(rows, self.centre, self.scale, self.columns, self.coefficients, self.widths, totals)
        return np.stack([np.bincount(bin_of(column), minlength=N_BINS) for column in totals.T])

    def combine(self, left: Integers, right: Integers) -> Integers:
        """Add the counts."""
        return left + right


def bin_of(totals: Floats) -> Integers:
    """Return the bins of totals, with `STEPS` equal bins between two powers of two.

    Examples
    --------
    >>> lower_edge(bin_of(np.array([0.3, 1.0, 0.0]))).round(3).tolist()
    [0.3, 1.0, 0.0]
    """
    mantissa, exponent = np.frexp(totals.clip(2.0**LOWEST, 1.0))
    return (exponent - 1 - LOWEST) * STEPS + ((mantissa - 0.5) * 2 * STEPS).astype(np.int64)


def lower_edge(bins: Integers) -> Floats:
    """Return the lower edges of bins."""
    exponent, step = np.divmod(bins, STEPS)
    return np.ldexp(0.5 + step / (2 * STEPS), exponent + 1 + LOWEST)


def level_of_counts(counts: Integers, outliers: float) -> float:
    """Return the level below which a share `outliers` of the rows lies, with rows spread evenly over their bins.

    Examples
    --------
    >>> rows = np.linspace(0.5, 1, 1001)
    >>> round(level_of_counts(np.bincount(bin_of(rows), minlength=N_BINS), 0.3), 3)
    0.65
    """
    under = np.cumsum(counts) - counts
    allowed = outliers * counts.sum() * (1 + 1e-12)
    last = np.flatnonzero((under <= allowed) & (counts > 0))[-1]
    low, high = lower_edge(np.array([last, last + 1]))
    return float(low + (high - low) * min((allowed - under[last]) / counts[last], 1))
