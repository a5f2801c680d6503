"""Groups that differ by the level of one category, or by combinations of levels, which are not two clusters."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._levels import MOST_COLUMNS, categories_of, upper_values
from .._typing import Floats, Integers
from .lines import Bandwidth
from .pair_tests import Pair

WIDE = 0.25
"""Two groups may be levels of a category by which the rows vary so much along the line between them, as a share of the
distance of their means: by half of that half the distance."""

MOSTLY = 0.5
"""Two groups may be combinations of levels if these account for so much of the squared distance of their means."""


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

    def between(self, group: Integers, pair: Pair) -> Integers | None:
        """Return the columns of the categories of which two groups may be levels, or None.

        Rows vary much by them along the line through the means of both groups, where these are equally large. Values
        that are rare in both groups hardly vary, and of many columns that differ, none varies by much.
        """
        away, shares = self._differences(group, pair)
        wide = _variances(away * self.gaps, shares, self.columns) > (WIDE * float(away @ away)) ** 2
        return np.concatenate([own for own, far in zip(self.columns, wide) if far]) if wide.any() else None

    def bandwidth(self, group: Integers, pair: Pair) -> Bandwidth | None:
        """Return how far the levels of single categories displace rows of two groups along directions.

        By the standard deviation of a category's changes where both groups are equally large: half of the change by a
        column that tells them apart. None if the groups differ mostly in other columns.
        """
        away, shares = self._differences(group, pair)
        squares = np.square(away)
        if squares[self.gaps > 0].sum() < MOSTLY * squares.sum():
            return None
        return lambda direction: float(_variances(direction * self.gaps, shares, self.columns).max()) ** 0.5

    def _differences(self, group: Integers, pair: Pair) -> tuple[Floats, Floats]:
        """Return the difference of the means of two groups, and the shares of upper values where both are as large."""
        sides = [group == side for side in pair]
        n_rows = [max(int(self.n_rows[side].sum()), 1) for side in sides]
        one, other = (self.sums[side].sum(axis=0) / n for side, n in zip(sides, n_rows))
        shares = np.mean([self.upper[side].sum(axis=0) / n for side, n in zip(sides, n_rows)], axis=0)
        return other - one, shares


def _variances(changes: Floats, shares: Floats, categories: Sequence[Integers]) -> Floats:
    """Return the variances of changes, each to a share of the rows, of which at most one of a category happens."""
    columns, starts = np.concatenate(categories), np.cumsum([0, *map(len, categories[:-1])])
    means = np.add.reduceat((shares * changes)[columns], starts)
    return np.maximum(np.add.reduceat((shares * np.square(changes))[columns], starts) - np.square(means), 0.0)


def factors_of(rows: Floats, cell: Integers, n_cells: int) -> Factors | None:
    """Return the categories among the two-valued columns of rows in cells; None without any, and of too many."""
    two, upper, own_gaps = upper_values(rows)
    if not 0 < len(two) <= MOST_COLUMNS:
        return None
    gaps, counts, sums = np.zeros(rows.shape[1]), np.zeros((n_cells, rows.shape[1]), np.int64), []
    gaps[two] = own_gaps
    for k in range(n_cells):
        counts[k, two] = upper[cell == k].sum(axis=0)
        sums.append(rows[cell == k].sum(axis=0))
    groups = [two[own] for own in categories_of(upper)]
    return Factors(groups, gaps, counts, np.array(sums), np.bincount(cell, minlength=n_cells))
