"""Columns of numbers as features of their own, beside those of a kernel of mixed columns."""

from dataclasses import dataclass

import numpy as np

from .._levels import LevelFeatures
from .._state import checked_array
from .._typing import AnyArray, Floats, Integers
from .gower import Gower
from .levels import FEW_VALUES
from .nystrom import BasedMap, NystromMap


@dataclass(frozen=True)
class NumbersMap(BasedMap):
    """Maps rows to the features of Gower's kernel, and to their columns of numbers.

    A column is a curve among the features of the kernel, along which a valley is bent and hidden by the other columns;
    here it is straight, so that trees find what the numbers alone show.

    base: of Gower's kernel.
    columns: columns of numbers without missing values.
    middle, factors: features are ``(x - middle) * factors``; a missing value of a new row is in the middle.
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
        numbers = (rows[:, self.columns].astype(np.float64) - self.middle) * self.factors
        return np.hstack([self.base(rows), np.nan_to_num(numbers, nan=0.0).astype(np.float32)])

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
    """Return a map of Gower's kernel with the columns of numbers that its landmarks have.

    Two values of a column differ on average as those of a column of two even levels, whatever its range, which a single
    far row sets. Columns of few values are left out: their gaps are no valleys.
    """
    kernel = base.kernel
    assert isinstance(kernel, Gower)
    assert kernel.categorical is not None
    assert kernel.shares is not None
    rows = base.raw_landmarks
    varied = [len(np.unique(column)) > FEW_VALUES for column in rows.T]
    columns = np.flatnonzero((kernel.categorical == 0) & (kernel.shares > 0) & varied & ~np.isnan(rows).any(axis=0))
    values = rows[:, columns]
    factors = 0.5 * np.sqrt(kernel.shares[columns]) / _mean_differences(values)
    return NumbersMap(base, columns.astype(np.int64), values.mean(axis=0), factors)


def _mean_differences(values: Floats) -> Floats:
    """Return the mean absolute difference of two rows in each column."""
    n = len(values)
    weights = 2 * np.arange(1, n + 1) - n - 1
    return 2 * (weights @ np.sort(values, axis=0)) / n**2
