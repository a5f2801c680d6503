"""Groups that differ by the level of one category only, which are not two clusters."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._levels import MOST_COLUMNS, categories_of, upper_values
from .._typing import Floats, Integers

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
    """Return the categories among the two-valued columns of rows in cells."""
    two, upper, own_gaps = upper_values(rows)
    if not 0 < len(two) <= MOST_COLUMNS:
        return no_factors(n_cells)
    gaps, counts, sums = np.zeros(rows.shape[1]), np.zeros((n_cells, rows.shape[1]), np.int64), []
    gaps[two] = own_gaps
    for k in range(n_cells):
        counts[k, two] = upper[cell == k].sum(axis=0)
        sums.append(rows[cell == k].sum(axis=0))
    groups = [two[own] for own in categories_of(upper)]
    return Factors(groups, gaps, counts, np.array(sums), np.bincount(cell, minlength=n_cells))


def no_factors(n_cells: int) -> Factors:
    """Return no categories."""
    none = np.empty((n_cells, 0))
    return Factors([], np.empty(0), none.astype(np.int64), none, np.zeros(n_cells, dtype=np.int64))
