"""Gower's dissimilarity as a squared distance between explicit codes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._blas import one_blas_thread
from .._storable import storable
from .._typing import AnyArray, Floats, Integers
from ..chunks import Statistic
from .gower import Gower

ROWS_AT_ONCE = 8192
"""Rows whose codes are in memory at once."""

STEPS = 1024
"""Places between two thresholds that the sums of codes distinguish: sums of integers depend on no order of rows."""


@storable
@dataclass(frozen=True)
class GowerCode:
    """Coordinates whose squared distances are twice Gower's dissimilarities, with missing values as a level.

    Parameters
    ----------
    knots : array
        Thresholds of the columns that are not categorical, ascending within [0, 1], and levels of the categorical ones,
        one column after the other.
    counts : array of shape (n_features,), int64
        Number of knots of each column; 0 for columns without weight, which have no coordinates.
    categorical, low, width, shares : arrays of shape (n_features,)
        As of `Gower`.

    Notes
    -----
    A level is a coordinate, ``sqrt(share)`` or 0. Between two thresholds a value fills up one coordinate, from
    ``-sqrt(share * gap / 2)`` to ``sqrt(share * gap / 2)`` (a thermometer): the distances of values on the thresholds
    are exact, others are at most half the gap too small. The last coordinate of a column stands for missing values.
    """

    knots: Floats
    counts: Integers
    categorical: Integers
    low: Floats
    width: Floats
    shares: Floats

    @property
    def n_coordinates(self) -> int:
        """Return the number of coordinates."""
        return int(self._sizes.sum())

    @property
    def _sizes(self) -> Integers:
        """Coordinates of each column: its levels or its gaps, and one for missing values."""
        return np.where(self.counts > 0, self.counts + self.categorical, 0)

    @property
    def scale(self) -> Floats:
        """Return the factor of every coordinate, shape (n_coordinates,)."""
        factors = [np.empty(0)]
        for j, knots in self._columns():
            last = 1.0 if self.categorical[j] else 1.5
            own = np.ones(len(knots)) if self.categorical[j] else 2 * np.diff(knots)
            factors.append(np.sqrt(self.shares[j] * np.append(own, last)))
        return np.concatenate(factors)

    def _columns(self) -> list[tuple[int, Floats]]:
        ends = np.cumsum(self.counts)
        return [(int(j), self.knots[ends[j] - self.counts[j] : ends[j]]) for j in np.flatnonzero(self.counts)]

    def fill(self, rows: AnyArray, out: Floats) -> None:
        """Write the unscaled coordinates of some rows: 0 and 1 of levels, from -1/2 to 1/2 between thresholds."""
        stop = 0
        for j, knots in self._columns():
            start, stop = stop, stop + int(self._sizes[j])
            own, x = out[:, start:stop], rows[:, j].astype(np.float64)
            missing = np.isnan(x)
            if self.categorical[j]:
                own[:, :-1] = x[:, None] == knots
            else:
                unit = np.clip((x - self.low[j]) / self.width[j], 0.0, 1.0) if self.width[j] else np.zeros(len(x))
                own[:, :-1] = np.clip((unit[:, None] - knots[:-1]) / np.diff(knots), 0.0, 1.0) - 0.5
                own[missing, :-1] = 0.0
            own[:, -1] = missing


def gower_code(kernel: Gower, values: Any, n_thresholds: int) -> GowerCode:
    """Return the code for columns of known ranges.

    Parameters
    ----------
    kernel : Gower
        With the kinds and ranges of the columns.
    values : callable
        Return the distinct values of a column, or None if there are too many.
    n_thresholds : int
        Most gaps between the thresholds of a column. The distinct values are the thresholds if they are not more.
    """
    assert kernel.categorical is not None
    assert kernel.low is not None
    assert kernel.width is not None
    assert kernel.shares is not None
    knots: list[Floats] = []
    for j, share in enumerate(kernel.shares):
        distinct = values(j)
        if share == 0:
            knots.append(np.empty(0))
        elif kernel.categorical[j]:
            knots.append(distinct)
        elif kernel.width[j] == 0:
            knots.append(np.array([0.0, 1.0]))
        elif distinct is None or len(distinct) > n_thresholds + 1:
            knots.append(np.linspace(0.0, 1.0, n_thresholds + 1))
        else:
            knots.append((distinct - kernel.low[j]) / kernel.width[j])
    counts = np.array([len(own) for own in knots], dtype=np.int64)
    own = (kernel.categorical, kernel.low, kernel.width, kernel.shares)
    return GowerCode(np.concatenate([np.empty(0), *knots]), counts, *own)


@dataclass(frozen=True)
class CodeProducts(Statistic):
    """Number of rows, and sums and products of their codes as whole numbers, which are exact for up to 2^33 rows."""

    code: GowerCode

    def chunk(self, start: int, *blocks: AnyArray) -> tuple[int, Floats, Floats]:
        """Return the sums of a block of rows."""
        rows, d = blocks[0], self.code.n_coordinates
        sums, products = np.zeros(d), np.zeros((d, d))
        with one_blas_thread():
            for first in range(0, len(rows), ROWS_AT_ONCE):
                some = rows[first : first + ROWS_AT_ONCE]
                codes = np.empty((len(some), d))
                self.code.fill(some, codes)
                codes = np.rint(codes * STEPS)
                sums += codes.sum(axis=0)
                products += codes.T @ codes
        return len(rows), sums, products

    def combine(
        self, left: tuple[int, Floats, Floats], right: tuple[int, Floats, Floats]
    ) -> tuple[int, Floats, Floats]:
        """Add the sums."""
        return left[0] + right[0], left[1] + right[1], left[2] + right[2]
