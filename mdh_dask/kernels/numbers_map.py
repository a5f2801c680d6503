"""Map of mixed columns to the features of Gower's kernel, and to their columns of numbers beside them."""

from dataclasses import dataclass, replace

import numpy as np

from .._jit.hashing import hash_again
from .._jit.rows import few_at_once
from .._levels import LevelFeatures
from .._state import checked_array
from .._typing import AnyArray, Floats, Integers
from .gower import Gower
from .levels import FEW_VALUES
from .nystrom import BasedMap, NystromMap

LEAST_PRESENT, WITH_ANY = 0.8, 0.99
"""Least share of landmarks with a value of a column of numbers, and of those with a value of any such column.

With more missing values, rows that are filled in from another cluster may be a third one. Rows without any number are
equal if their levels are, so that the rows of each combination of levels would be filled in with the same values."""

DONORS = 10
"""Number of landmarks of which one fills in a missing value. Rows that a single one fills in would lie on a line."""

NUMBERS_FIRST = 1000.0
"""Weight of columns of numbers among those that choose donors: levels, which may be noise, decide only without any."""


@dataclass(frozen=True)
class NumbersMap(BasedMap):
    """Maps rows to the features of Gower's kernel, and to their columns of numbers.

    A column is a curve among the features of the kernel, along which a valley is bent and hidden by the other columns;
    here it is straight, so that trees find what the numbers alone show.

    base: of Gower's kernel.
    columns: columns of numbers of which few values are missing.
    middle, factors: features are ``(x - middle) * factors``. A missing value is that of a landmark which is like the
        row in what both have, mostly in numbers (hot-deck imputation).
    """

    columns: Integers
    middle: Floats
    factors: Floats

    @property
    def n_components(self) -> int:
        return self.base.n_components + len(self.columns)

    @property
    def spectrum(self) -> Floats:
        """Variances of all components of the kernel."""
        return self.base.spectrum

    @property
    def levels(self) -> LevelFeatures | None:
        """Return where levels lie among the features of the kernel: columns of numbers are straight."""
        if (levels := self.base.levels) is None:
            return None
        straight = np.zeros((len(levels.positions), len(self.columns)))
        return levels._replace(positions=np.hstack([levels.positions, straight]))

    def __call__(self, rows: AnyArray) -> Floats:
        numbers = rows[:, self.columns].astype(np.float64)
        incomplete = np.flatnonzero(np.isnan(numbers).any(axis=1))
        for part in few_at_once(len(incomplete)):
            own = incomplete[part]
            numbers[own] = self._filled(rows[own])
        numbers = (numbers - self.middle) * self.factors
        return np.hstack([self.base(rows), numbers.astype(np.float32)])

    def _filled(self, rows: AnyArray) -> Floats:
        """Return the numbers of rows, with those of landmarks for missing ones; no row depends on the others."""
        kernel = self.base.kernel
        assert isinstance(kernel, Gower)
        shares = kernel.shares.copy()
        shares[self.columns] *= NUMBERS_FIRST
        # Landmarks that lack other columns are less like a row that has them.
        compared = replace(kernel, missing="level", shares=shares / shares.sum())
        unlike = -compared.matrix(self.base.standardised(rows), self.base.landmarks)
        donated, bits = self.base.raw_landmarks[:, self.columns], _hashed(rows)
        numbers = rows[:, self.columns].astype(np.float64)
        for own, column in zip(numbers.T, donated.T):
            lacks, donors = np.flatnonzero(np.isnan(own)), np.flatnonzero(~np.isnan(column))
            n = min(DONORS, len(donors))
            near = np.argsort(unlike[np.ix_(lacks, donors)], axis=1, kind="stable")[:, :n]
            which = (bits[lacks] % np.uint64(n)).astype(np.int64)
            own[lacks] = column[donors[near[np.arange(len(lacks)), which]]]
        return numbers

    def facts(self) -> dict[str, str]:
        return self.base.facts() | {"Columns of numbers beside them": f"{len(self.columns):,}"}

    def check(self) -> None:
        self.base.check()
        for name in ("columns", "middle", "factors"):
            least = -np.inf if name == "middle" else 0.0
            checked_array(name, getattr(self, name), (np.size(self.columns),), least)
        if self.columns.dtype.kind != "i" or self.columns.max(initial=0) >= self.n_features:
            raise ValueError(f"expected columns from 0 to {self.n_features - 1} in the array columns")


def with_numbers(base: NystromMap) -> NumbersMap:
    """Return a map of Gower's kernel with the columns of numbers that most of its landmarks have.

    Two values of a column differ on average as those of a column of two even levels, whatever its range, which a single
    far row sets. Columns of few values are left out: their gaps are no valleys.
    """
    kernel = base.kernel
    assert isinstance(kernel, Gower)
    rows = base.raw_landmarks
    present = ~np.isnan(rows)
    varied = [len(np.unique(column[known])) > FEW_VALUES for column, known in zip(rows.T, present.T)]
    numbers = (kernel.categorical == 0) & (kernel.shares > 0) & varied
    used = numbers & (present.mean(axis=0) >= LEAST_PRESENT)
    if present[:, used].any(axis=1).mean() < WITH_ANY:
        used = numbers & present.all(axis=0)
    columns = np.flatnonzero(used)
    values = [rows[present[:, j], j] for j in columns]
    middle, apart = (np.array([of(own) for own in values], dtype=np.float64) for of in (np.mean, _mean_difference))
    return NumbersMap(base, columns.astype(np.int64), middle, 0.5 * np.sqrt(kernel.shares[columns]) / apart)


def _mean_difference(values: Floats) -> float:
    """Return the mean absolute difference of two values."""
    n = len(values)
    return float(2 * ((2 * np.arange(1, n + 1) - n - 1) @ np.sort(values)) / n**2)


def _hashed(rows: AnyArray) -> Integers:
    """Return random bits of each row, the same for equal rows."""
    bits = np.where(np.isnan(rows), 0.0, rows).astype(np.float64).view(np.uint64)
    keys = hash_again(np.arange(1, bits.shape[1] + 1, dtype=np.uint64), 1)
    return hash_again((bits * keys).sum(axis=1, dtype=np.uint64), 1)
