"""Groups that differ by the level of one category only, which are not two clusters."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._typing import Booleans, Floats, Integers

COVERED = 0.9
"""Columns of two values that exclude each other are the indicators of one category if so many rows have one of them."""

MOST_COLUMNS = 1000
"""With more two-valued columns, categories are not looked for, which takes time with the square of their number."""

DIFFERENT = 0.5
"""Two groups differ by a category if the shares of its levels differ by so much in all."""

MOST_FACTORS = 2
"""Groups that differ by more categories are more than levels of one: other columns change with it."""


@dataclass(frozen=True)
class Factors:
    """The two-valued columns of rows as categories, each a column or the indicators of a category.

    Parameters
    ----------
    columns : list of int arrays
        Columns of each category.
    levels : list of int arrays of shape (n_rows,)
        Level of each row.
    cell : array of shape (n_rows,), int
        Cell of each row.
    """

    columns: Sequence[Integers]
    levels: Sequence[Integers]
    cell: Integers

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return len(self.columns) > 0

    def between(self, group: Integers, pair: tuple[int, int]) -> Integers | None:
        """Return the columns of the category by which two groups of cells differ most, or None without one.

        None also if they differ by several.
        """
        ours = group[self.cell]
        sides = [np.flatnonzero(ours == side) for side in pair]
        if not all(map(len, sides)):
            return None
        apart = [_difference(levels, *sides) for levels in self.levels]
        if not 0 < np.count_nonzero(np.array(apart) >= DIFFERENT) <= MOST_FACTORS:
            return None
        return self.columns[int(np.argmax(apart))]


def factors_of(rows: Floats, cell: Integers) -> Factors:
    """Return the categories among the two-valued columns of rows.

    Examples
    --------
    >>> levels = np.array([0, 1, 2, 1, 0, 2])
    >>> [columns.tolist() for columns in factors_of(np.eye(3)[levels], levels).columns]
    [[0, 1, 2]]
    """
    low, high = rows.min(axis=0), rows.max(axis=0)
    two = np.flatnonzero((low < high) & ((rows == low) | (rows == high)).all(axis=0))
    if not 0 < len(two) <= MOST_COLUMNS:
        return Factors([], [], cell)
    upper = rows[:, two] == high[two]
    groups = _categories(upper)
    levels = [np.where(upper[:, own].any(axis=1), upper[:, own].argmax(axis=1), len(own)) for own in groups]
    return Factors([two[own] for own in groups], levels, cell)


def _categories(upper: Booleans) -> list[Integers]:
    """Return the columns of each category: columns that exclude each other, the most frequent first."""
    left = np.argsort(-upper.sum(axis=0), kind="stable").tolist()
    found = []
    while left:
        own, covered = [left[0]], upper[:, left[0]].copy()
        for j in left[1:]:
            if not (covered & upper[:, j]).any():
                own.append(j)
                covered |= upper[:, j]
        if covered.mean() < COVERED:
            own = own[:1]
        found.append(np.array(own))
        left = [j for j in left if j not in own]
    return found


def _difference(levels: Integers, one: Integers, other: Integers) -> float:
    """Return the total variation distance between the levels of some rows and of others."""
    n_levels = int(levels.max()) + 1
    shares = [np.bincount(levels[side], minlength=n_levels) / len(side) for side in (one, other)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)
