"""Groups that differ by the level of one category only, which are not two clusters."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._typing import Booleans, Floats, Integers

COVERED = 0.9
"""Columns of two values that exclude each other are the indicators of one category if so many rows have one of them."""

MOST_COLUMNS = 1000
"""With more two-valued columns, categories are not looked for, which takes time with the square of their number."""

EXPECTED = 10.0
"""Columns that exclude each other are indicators of one category, too, if chance would have so many rows with both."""

WIDE = 0.25
"""Two groups may be levels of a category by which the rows vary so much along the line between them, as a share of the
distance of their means: by half of that half the distance."""


@dataclass(frozen=True)
class Factors:
    """The two-valued columns of rows as categories, each a column or the indicators of a category.

    Parameters
    ----------
    columns : list of int arrays
        Columns of each category.
    gaps : array of shape (n_columns,)
        Differences between the two values of columns, zero for others.
    upper : array of shape (n_cells, n_columns), int
        Number of rows of each cell with the upper value.
    sums : array of shape (n_cells, n_columns)
        Sums of the rows of each cell.
    n_rows : array of shape (n_cells,), int
    """

    columns: Sequence[Integers]
    gaps: Floats
    upper: Integers
    sums: Floats
    n_rows: Integers

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return len(self.columns) > 0

    def between(self, group: Integers, pair: tuple[int, int]) -> Integers | None:
        """Return the columns of the categories of which two groups may be levels, or None.

        Rows vary much by them along the line through the means of both groups, where these are equally large. Values
        that are rare in both groups hardly vary, and of many columns that differ, none varies by much.
        """
        if not self:
            return None
        sides = [group == side for side in pair]
        n_rows = [max(int(self.n_rows[side].sum()), 1) for side in sides]
        one, other = (self.sums[side].sum(axis=0) / n for side, n in zip(sides, n_rows))
        shares = np.mean([self.upper[side].sum(axis=0) / n for side, n in zip(sides, n_rows)], axis=0)
        away = other - one
        changes, least = away * self.gaps, (WIDE * float(away @ away)) ** 2
        wide = [own for own in self.columns if _variance(changes[own], shares[own]) > least]
        return np.concatenate(wide) if wide else None


def _variance(changes: Floats, shares: Floats) -> float:
    """Return the variance of changes of which at most one happens, each to a share of the rows."""
    return max(float(shares @ np.square(changes)) - float(shares @ changes) ** 2, 0.0)


def factors_of(rows: Floats, cell: Integers, n_cells: int) -> Factors:
    """Return the categories among the two-valued columns of rows.

    Examples
    --------
    >>> levels = np.array([0, 1, 2, 1, 0, 2])
    >>> [columns.tolist() for columns in factors_of(np.eye(3)[levels], levels, 3).columns]
    [[0, 1, 2]]
    """
    low, high = rows.min(axis=0), rows.max(axis=0)
    two = np.flatnonzero((low < high) & ((rows == low) | (rows == high)).all(axis=0))
    if not 0 < len(two) <= MOST_COLUMNS:
        return no_factors(n_cells)
    upper = rows[:, two] == high[two]
    gaps, counts, sums = np.zeros(rows.shape[1]), np.zeros((n_cells, rows.shape[1]), np.int64), []
    gaps[two] = high[two] - low[two]
    for k in range(n_cells):
        counts[k, two] = upper[cell == k].sum(axis=0)
        sums.append(rows[cell == k].sum(axis=0))
    groups = [two[own] for own in _categories(upper)]
    return Factors(groups, gaps, counts, np.array(sums), np.bincount(cell, minlength=n_cells))


def no_factors(n_cells: int) -> Factors:
    """Return no categories."""
    none = np.empty((n_cells, 0))
    return Factors([], np.empty(0), none.astype(np.int64), none, np.zeros(n_cells, dtype=np.int64))


def _categories(upper: Booleans) -> list[Integers]:
    """Return the columns of each category: columns that exclude each other, the most frequent first."""
    counts = upper.sum(axis=0)
    left = np.argsort(-counts, kind="stable").tolist()
    found = []
    while left:
        own, covered, expected = [left[0]], upper[:, left[0]].copy(), [left[0]]
        for j in left[1:]:
            if not (covered & upper[:, j]).any():
                own.append(j)
                covered |= upper[:, j]
                if (counts[expected] * counts[j] >= EXPECTED * len(upper)).all():
                    expected.append(j)
        if covered.mean() < COVERED:
            own = expected
        found.append(np.array(own))
        left = [j for j in left if j not in own]
    return found
