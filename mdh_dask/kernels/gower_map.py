"""Map of mixed columns to the principal components of Gower's codes of all rows.

Gower's dissimilarity is a squared distance between codes.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from .._blas import one_blas_thread, signs_of
from .._jit.rows import few_at_once
from .._levels import LevelFeatures
from .._state import FeatureMap, checked_array
from .._storable import storable
from .._typing import AnyArray, Floats, Integers
from ..chunks import Statistic
from .gower import Gower
from .landmarks import dimension
from .levels import FEW_VALUES, SHARES_BELOW, ColumnValues, levels_of
from .nystrom import project_blocks

STEPS = 1024
"""Places between two thresholds that the sums of codes distinguish: sums of integers depend on no order of rows."""


@storable
@dataclass(frozen=True)
class GowerCode:
    """Coordinates whose squared distances are twice Gower's dissimilarities, with missing values as a level.

    A level is a coordinate, ``sqrt(share)`` or 0. Between two thresholds a value fills up one coordinate, from
    ``-sqrt(share * gap / 2)`` to ``sqrt(share * gap / 2)`` (a thermometer): the distances of values on the thresholds
    are exact, others are at most half the gap too small. The last coordinate of a column stands for missing values.
    """

    knots: Floats
    """Thresholds of the columns that are not categorical, ascending within [0, 1], and levels of the categorical ones,
    one column after the other."""
    counts: Integers
    """Shape (n_features,), int64: number of knots of each column; 0 for columns without weight, which have no
    coordinates."""
    categorical: Integers
    low: Floats
    width: Floats
    shares: Floats
    """All of shape (n_features,): as of `Gower`."""

    @property
    def n_coordinates(self) -> int:
        """Number of coordinates."""
        return int(self._sizes.sum())

    @property
    def _sizes(self) -> Integers:
        """Coordinates of each column: its levels or its gaps, and one for missing values."""
        return np.where(self.counts > 0, self.counts + self.categorical, 0)

    @property
    def scale(self) -> Floats:
        """Return the factor of every coordinate, shape (n_coordinates,)."""
        factors = [np.empty(0)]
        for j, knots, _ in self._columns():
            last = 1.0 if self.categorical[j] else 1.5
            own = np.ones(len(knots)) if self.categorical[j] else 2 * np.diff(knots)
            factors.append(np.sqrt(self.shares[j] * np.append(own, last)))
        return np.concatenate(factors)

    def _columns(self) -> list[tuple[int, Floats, slice]]:
        """Return the columns that have coordinates, with their knots and the places of their coordinates."""
        knots, coordinates = ([0, *np.cumsum(sizes)] for sizes in (self.counts, self._sizes))
        return [
            (int(j), self.knots[knots[j] : knots[j + 1]], slice(coordinates[j], coordinates[j + 1]))
            for j in np.flatnonzero(self.counts)
        ]

    def fill(self, rows: AnyArray, out: Floats) -> None:
        """Write the unscaled coordinates of some rows: 0 and 1 of levels, from -1/2 to 1/2 between thresholds."""
        for j, knots, own in self._columns():
            self.fill_column(j, knots, rows[:, j].astype(np.float64), out[:, own])

    def fill_column(self, j: int, knots: Floats, x: Floats, out: Floats) -> None:
        """Write the unscaled coordinates of values of one column."""
        missing = np.isnan(x)
        if self.categorical[j]:
            out[:, :-1] = x[:, None] == knots
        else:
            unit = np.clip((x - self.low[j]) / self.width[j], 0.0, 1.0) if self.width[j] else np.zeros(len(x))
            out[:, :-1] = np.clip((unit[:, None] - knots[:-1]) / np.diff(knots), 0.0, 1.0) - 0.5
            out[missing, :-1] = 0.0
        out[:, -1] = missing


def gower_code(kernel: Gower, values: Any, n_thresholds: int) -> GowerCode:
    """Return the code for columns of known ranges.

    kernel: with the kinds and ranges of the columns.
    n_thresholds: most gaps between the thresholds of a column. The distinct values are the thresholds if they are not
        more.
    """
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
        rows, d = blocks[0], self.code.n_coordinates
        sums, products = np.zeros(d), np.zeros((d, d))
        with one_blas_thread():
            for part in few_at_once(len(rows)):
                some = rows[part]
                codes = np.empty((len(some), d))
                self.code.fill(some, codes)
                codes = np.rint(codes * STEPS)
                sums += codes.sum(axis=0)
                products += codes.T @ codes
        return len(rows), sums, products


@storable
@dataclass(frozen=True)
class GowerMap(GowerCode, FeatureMap):
    """Maps rows to the principal components of their codes, which are those of a `GowerCode`."""

    centre: Floats
    """Shape (n_coordinates,): mean of the codes over all rows."""
    projection: Floats
    """Shape (n_coordinates, n_components)."""
    spectrum: Floats
    """Shape (at least n_components,): positive variances of all components, in descending order."""

    missing = True

    @property
    def levels(self) -> LevelFeatures:
        """Return the features of levels, of gaps between few values, and of bends; see `levels_of`."""
        columns: list[ColumnValues] = []
        scaled: dict[int, tuple[Floats, Floats]] = {}
        for j, knots, own in self._columns():
            scaled[j] = knots, self.scale[own, None] * self.projection[own]
            means = self.centre[own] / self.scale[own]
            values = knots if self.categorical[j] else self.low[j] + self.width[j] * knots
            typical = values if self.categorical[j] else self.low[j] + self.width[j] * _typical(knots, means)
            # Missing is a level of categories even if no row has it: smoothing without it lost .03 of NMI on auto MPG.
            missing = bool(self.categorical[j] or means[-1] > 0)
            columns.append(ColumnValues(j, bool(self.categorical[j]), values, typical, missing))

        def features(j: int, values: Floats) -> Floats:
            knots, projected = scaled[j]
            codes = np.empty((len(values), len(projected)))
            self.fill_column(j, knots, values, codes)
            return codes @ projected

        return levels_of(columns, features, self.n_components)

    @property
    def n_features(self) -> int:
        return len(self.counts)

    @property
    def n_components(self) -> int:
        return self.projection.shape[1]

    def __call__(self, rows: AnyArray) -> Floats:
        scaled = self.scale[:, None] * self.projection
        return project_blocks(rows, self.fill, scaled, -self.centre @ self.projection)

    def facts(self) -> dict[str, str]:
        return {"Map": "Gower's dissimilarity, exact", "Coordinates": f"{self.n_coordinates:,}"}

    def check(self) -> None:
        d = np.size(self.counts)
        for name in ("counts", "categorical", "low", "width", "shares"):
            checked_array(name, getattr(self, name), (d,), -np.inf if name == "low" else 0.0)
        checked_array("knots", self.knots, (int(self.counts.sum()),))
        rising = np.concatenate([np.diff(knots) for _, knots, _ in self._columns()] or [np.ones(1)])
        if self.counts.dtype.kind != "i" or self.categorical.max(initial=0) > 1 or (rising <= 0).any():
            raise ValueError("expected ascending knots of every column in the array knots; got others")
        n, p = self.n_coordinates, np.size(self.spectrum[:0]) + np.shape(self.projection)[-1]
        checked_array("centre", self.centre, (n,))
        checked_array("projection", self.projection, (n, p))
        checked_array("spectrum", self.spectrum, (max(np.size(self.spectrum), p),), 0.0)


def gower_map(code: GowerCode, sums: tuple[int, Floats, Floats], variance: float, n_components: int | None) -> GowerMap:
    """Return the map to the principal components of the codes from the value of `CodeProducts`; see `nystrom_map`."""
    n, total, products = sums
    scale = code.scale / STEPS
    mean = total / n
    covariance = (products / n - mean[:, None] * mean) * scale[:, None] * scale
    with one_blas_thread():
        values, vectors = eigh(covariance, driver="evd") if len(mean) else (np.zeros(1), np.zeros((0, 1)))
    values, vectors = values[::-1], vectors[:, ::-1]
    n_kept, spectrum = dimension(values, 1.0, variance, n_components)
    vectors = vectors[:, :n_kept]
    projection = np.ascontiguousarray(vectors * signs_of(vectors)) if spectrum[0] > 0 else np.zeros((len(mean), 1))
    return GowerMap(**vars(code), centre=mean * scale, projection=projection, spectrum=spectrum)


def _typical(knots: Floats, means: Floats) -> Floats:
    """Return values within [0, 1] that as many rows have, from the mean codes of the gaps between thresholds."""
    fill = means[:-1] / max(1 - means[-1], np.finfo(float).tiny)  # missing values fill no gap
    # A gap is full in about as many rows as have values beyond its middle.
    below = np.maximum.accumulate(0.5 - fill)
    if len(knots) <= FEW_VALUES:
        return knots[np.searchsorted(below, SHARES_BELOW)]
    return np.interp(SHARES_BELOW, below, (knots[1:] + knots[:-1]) / 2)
