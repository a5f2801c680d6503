"""Gower's similarity of rows of mixed columns, whose features are a constant shift embedding."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np

from .._jit.affinities import GowerLandmarks, gower_similarities
from .._levels import LevelFeatures
from .._random import any_rows
from .._state import checked_array
from .._typing import AnyArray, Booleans, Floats, Integers
from .base import Evaluator, FittedArray, Kernel
from .levels import ColumnValues, levels_of

Missing = Literal["pairs", "level"]

Shift = Literal["constant", "clip"]

FAR, NO_LEVEL = 3.0, -1.0
"""Codes of missing values: more than one apart from all values within [0, 1], and equal to no level."""

NEARLY_ALL = 0.95
"""Share of the rows whose levels are smoothed out where rows lack values: fewer rows are hardly a cluster."""


@dataclass(frozen=True)
class Gower(Kernel):
    """One minus Gower's dissimilarity, the weighted mean over the columns of the difference of two rows.

    Two values differ by their distance over the range of the column, or, if it is categorical, by 0 if they are equal
    and by 1 otherwise.

    Parameters
    ----------
    weights : sequence of float, optional
        Weight of each column, non-negative; all equal by default. A column with a single value has none.
    missing : {"level", "pairs"}
        ``"level"``: missing is one more value, which differs by 1 from all others. ``"pairs"``: a column that is
        missing in either row leaves the mean of this pair.
    shift : {"constant", "clip"}
        With missing values, ``"pairs"`` gives a matrix with negative eigenvalues. ``"constant"``: the least of them is
        subtracted from all, which keeps the dissimilarities up to a constant. ``"clip"``: they become zero.
    categorical : array of shape (n_features,), optional
        1 for categorical columns, 0 for others; set by `of_columns`, as are `low`, the smallest values, the ranges
        `width`, and the `shares` of the columns in the mean.
    undefined : float
        Kernel of rows that have no column in common: the mean kernel of the landmarks, set by `fit`.

    Notes
    -----
    For complete rows, and with missing values as a level, a Mercer kernel: half the squared distance between the images
    of two rows is their dissimilarity, and no shift is needed. Source: J. Gower, A general coefficient of
    similarity and some of its properties (1971); V. Roth and others, Optimal cluster preserving embedding of nonmetric
    proximity data (2003); thesis equations 2.5 to 2.7 and 3.4.

    Examples
    --------
    >>> rows = np.array([[0.0, 1.0], [5.0, 1.0], [10.0, 2.0]])
    >>> kernel = Gower().of_columns(np.array([False, True]), rows.min(axis=0), rows.max(axis=0))
    >>> kernel.matrix(rows, rows).tolist()
    [[1.0, 0.75, 0.0], [0.75, 1.0, 0.25], [0.0, 0.25, 1.0]]
    """

    weights: Sequence[float] | None = None
    missing: Missing = "level"
    shift: Shift = "constant"
    categorical: FittedArray = field(default=None, repr=False, compare=False)
    low: FittedArray = field(default=None, repr=False, compare=False)
    width: FittedArray = field(default=None, repr=False, compare=False)
    shares: FittedArray = field(default=None, repr=False, compare=False)
    undefined: float = field(default=1.0, repr=False, compare=False)
    affinity: ClassVar[bool] = True
    typed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name, value, choices in (("missing", self.missing, Missing), ("shift", self.shift, Shift)):
            if value not in get_args(choices):
                raise ValueError(f"{name} must be one of {', '.join(get_args(choices))}; got {value!r}")
        if self.weights is not None:
            # A list from JSON is equal to the tuple that was saved.
            object.__setattr__(self, "weights", checked_weights(self.weights))

    def of_columns(self, categorical: Booleans, low: Floats, high: Floats, incomplete: Booleans | None = None) -> Self:
        """Return the kernel for columns of these kinds and ranges.

        categorical (n_features,) bool.
        low, high (n_features,): smallest and largest values over all rows.
        incomplete (n_features,) bool: columns with missing values, which are a second level of constant ones.
        """
        d = len(categorical)
        weights = np.ones(d) if self.weights is None else np.asarray(self.weights)
        if len(weights) != d:
            raise ValueError(f"expected {d} weights for Gower's dissimilarity, one for each column; got {len(weights)}")
        known = low <= high
        varies = known & (low < high)
        if self.missing == "level" and incomplete is not None:
            varies |= known & incomplete
        used = np.where(varies, weights, 0.0)
        return replace(
            self,
            categorical=np.asarray(categorical, dtype=np.int64),
            low=np.where(known, low, 0.0).astype(np.float64),
            width=np.where(known & (low < high), np.subtract(high, low, where=known, out=np.zeros(d)), 0.0),
            shares=used / (used.sum() or 1.0),
        )

    def fit(self, landmarks: Floats) -> Self:
        """Set the kernel of rows without a common column, and the ranges unless they are known from all rows."""
        kernel = self
        if kernel.shares is None:
            continuous = np.zeros(landmarks.shape[1], dtype=bool)
            low, high = np.fmin.reduce(landmarks), np.fmax.reduce(landmarks)
            kernel = kernel.of_columns(continuous, low, high, np.any(np.isnan(landmarks), axis=0))
        defined = replace(kernel, undefined=np.nan).matrix(landmarks, landmarks)
        mean = float(np.nanmean(defined)) if np.isfinite(defined).any() else 1.0
        return replace(kernel, undefined=mean)

    def bind(self, landmarks: Floats) -> Evaluator:
        absent = np.isnan(landmarks.T) if self.missing == "pairs" else np.zeros(landmarks.T.shape, dtype=bool)
        missing_codes = np.where(self.categorical > 0, NO_LEVEL, FAR)

        def complete(rows: AnyArray) -> Floats:
            codes = self._coded(rows)
            return np.where(np.isnan(codes), missing_codes, codes)

        known = GowerLandmarks(
            np.ascontiguousarray(complete(landmarks).T), (~absent).astype(np.float64), np.any(absent, axis=1),
            self.categorical.astype(bool), self.shares, self.undefined,
        )  # fmt: skip

        def fill(rows: Floats, out: Floats) -> None:
            gower_similarities(complete(rows) if self.missing == "level" else self._coded(rows), known, out)

        return fill

    def eigenvalue_shift(self, smallest: float) -> float:
        """Return the constant to add to all eigenvalues, the smallest of which is given."""
        return max(-smallest, 0.0) if self.shift == "constant" else 0.0

    def levels(self, landmarks: Floats, projection: Floats) -> LevelFeatures:
        """Return the features of levels, of gaps between few values, and of bends; see `levels_of`.

        Where a missing value is no level of its own, leaving a column out of the means of pairs is a further group.
        """
        coded, shares, categorical = self._coded(landmarks), self.shares, self.categorical > 0
        known = ~np.isnan(coded)
        missing = self.missing == "level"
        weights = _largest_weights(known & (shares > 0), shares, missing)

        def features(j: int, values: Floats) -> Floats:
            column, value = coded[:, j], values[:, None]
            alike = (column == value).astype(np.float64) if categorical[j] else 1 - np.abs(column - value)
            return np.where(np.isnan(value), ~known[:, j], np.where(known[:, j], alike, 0.0)) @ (
                weights[j][:, None] * projection
            )

        used = np.flatnonzero((shares > 0) & known.any(axis=0)).tolist()
        columns = (ColumnValues.among(j, coded[:, j], bool(categorical[j]), missing) for j in used)
        absent: list[tuple[Floats, float]] = []
        if not missing and not known[:, shares > 0].all():
            for changes in _absences(coded, categorical, shares, projection):
                absent += [(np.stack([np.zeros_like(change), change]), 1 / len(changes)) for change in changes]
        return levels_of(columns, features, projection.shape[1], absent)

    def diagonal(self, rows: Floats, landmarks: Floats) -> Floats:
        """Return the kernel of every row with itself: 1 unless all its values are missing."""
        if self.missing == "level":
            return np.ones(len(rows))
        return np.where((np.isnan(rows) | (self.shares == 0)).all(axis=1), self.undefined, 1.0)

    def check_fitted(self, n_landmarks: int, n_features: int) -> None:
        for name in ("categorical", "low", "width", "shares"):
            checked_array(name, getattr(self, name), (n_features,), -np.inf if name == "low" else 0.0)
        if not isinstance(self.undefined, float) or not 0 <= self.undefined <= 1:
            raise ValueError(f"expected a number from 0 to 1 for undefined, got {self.undefined!r}")

    def _coded(self, rows: AnyArray) -> Floats:
        """Return values within [0, 1] and levels, shape (n_rows, n_features), float64; missing values stay NaN."""
        scale = np.divide(1.0, self.width, out=np.zeros(len(self.width)), where=self.width > 0)
        return np.where(self.categorical > 0, rows, np.clip((rows - self.low) * scale, 0.0, 1.0))


def _absences(coded: Floats, categorical: Booleans, shares: Floats, projection: Floats) -> list[Floats]:
    """Return the mean changes of features where a column leaves the means of rows, for each such column.

    Rows without a column are less like those that have it, if its values are more alike than those of other columns,
    and the other columns then weigh more. So rows of every level of another column have a mean change of their own.
    """
    some = any_rows(np.arange(len(coded)), 200)
    rows, known, used = coded[some], ~np.isnan(coded), np.flatnonzero(shares)
    common = (known[some] * shares) @ known.T
    least = max((1 - NEARLY_ALL) * len(rows), 1)
    groups = _groups_of(rows, categorical, used, least)

    def alike(j: Any) -> Floats:
        x, own = rows[:, j, None], coded[:, j]
        similar = x == own if categorical[j] else 1 - np.abs(x - own)
        return shares[j] * np.where(np.isnan(x) | np.isnan(own), 0.0, similar)

    total = reduce(np.add, map(alike, used))
    incomplete = used[known[:, used].any(axis=0) & ~known[:, used].all(axis=0)]
    found = []
    for j in incomplete:
        left = common - shares[j] * known[:, j]
        defined = ~np.isnan(rows[:, j, None]) & (left > 1e-9)  # less is rounding
        before = np.divide(total, common, out=np.zeros_like(total), where=defined)
        after = np.divide(total - alike(j), left, out=np.zeros_like(total), where=defined)
        sizes = groups @ defined.any(axis=1)
        enough = sizes >= least
        changes = groups[enough] / sizes[enough, None] @ ((after - before) @ projection)
        # Rows of every level of every other column have one.
        largest = np.argsort(-(changes**2).sum(axis=1), kind="stable")[: -(-1000 // len(incomplete))]
        found.append(changes[largest])
    return found


def _groups_of(rows: Floats, categorical: Booleans, used: Integers, least: float) -> Floats:
    """Return which rows have a level or no value of a column, or a value in either half, shape (n_groups, n_rows).

    Only groups of at least so many rows, as columns may have as many levels as rows.
    """
    groups = [np.ones(len(rows), dtype=bool)]
    for j in used:
        x = rows[:, j]
        absent = np.isnan(x)
        present = x[~absent]
        own = [absent]
        if categorical[j]:
            levels, sizes = np.unique(present, return_counts=True)
            own += [x == level for level in levels[sizes >= least]]
        elif len(present):
            own += [x <= np.median(present), x > np.median(present)]
        groups += [rows_of for rows_of in own if rows_of.sum() >= least]
    return np.array(groups, dtype=np.float64)


def _largest_weights(present: Booleans, shares: Floats, missing: bool) -> Floats:
    """Return the weights of the columns in the kernel with every landmark, shape (n_features, n_landmarks).

    Where a column leaves the mean of a pair, the others weigh more, so that their levels are further apart in rows with
    few values. These weights are those of nearly all landmarks with the column.
    """
    weights = np.repeat(shares[:, None], len(present), axis=1)
    if missing or present[:, shares > 0].all():
        return weights
    known = present.astype(np.float64)
    common = (known * shares) @ known.T
    factors = np.divide(1.0, common, out=np.zeros_like(common), where=common > 0)
    of_rows = factors.mean(axis=1)
    for j in np.flatnonzero(present.any(axis=0)):
        own = present[:, j]
        weights[j] *= np.quantile(of_rows[own], NEARLY_ALL) / of_rows[own].mean() * factors[own].mean(axis=0)
    return weights


def checked_weights(weights: Sequence[float]) -> tuple[float, ...]:
    """Return the weights of columns as numbers, or raise an error."""
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"weights must be numbers, one for each column; got {weights!r:.99}") from error
    if values.ndim != 1 or not np.isfinite(values).all() or (values < 0).any() or not (values > 0).any():
        raise ValueError(
            f"weights must be finite numbers of at least 0, one for each column and not all 0; got {weights!r:.99}"
        )
    return tuple(values.tolist())
