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


@dataclass(frozen=True)
class Factors:
    """The two-valued columns of rows as categories, each a column or the indicators of a category.

    Parameters
    ----------
    columns : list of int arrays
        Columns of each category.
    counts : array of shape (n_cells, n_levels), int
        Number of rows of each cell with each level, of all categories in turn.
    first : array of shape (n_categories,), int
        First level of each category.
    """

    columns: Sequence[Integers]
    counts: Integers
    first: Integers

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return len(self.columns) > 0

    def between(self, group: Integers, pair: tuple[int, int]) -> list[Integers]:
        """Return the columns of each category by which the most alike cells of two groups differ.

        Groups may have different shares of the levels of many categories, though some of their cells are levels of one.
        The category by which the cells differ most is the first one.
        """
        if not self:
            return []
        one, other = (self.counts[group == side] for side in pair)
        alike = [self._different(a, b) for a in one if a.any() for b in other if b.any()]
        return min(alike, key=len, default=[])

    def _different(self, one: Integers, other: Integers) -> list[Integers]:
        counts = np.stack([one, other])
        n_rows = np.add.reduceat(counts, self.first, axis=1)[:, :1]  # each row has one level of the first category
        # Half of the absolute differences of shares is the total variation distance.
        apart = np.add.reduceat(np.abs(np.subtract(*counts / n_rows)), self.first) / 2
        return [self.columns[i] for i in np.argsort(-apart, kind="stable") if apart[i] >= DIFFERENT]


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
    groups = _categories(upper)
    counts = [_counts(upper[:, own], cell, n_cells) for own in groups]
    first = np.cumsum([0, *(of.shape[1] for of in counts[:-1])])
    return Factors([two[own] for own in groups], np.concatenate(counts, axis=1), first)


def no_factors(n_cells: int) -> Factors:
    """Return no categories."""
    return Factors([], np.empty((n_cells, 0), dtype=np.int64), np.empty(0, dtype=np.int64))


def _counts(upper: Booleans, cell: Integers, n_cells: int) -> Integers:
    """Return the number of rows of each cell with each level of a category; the last is that of no indicator."""
    n_levels = upper.shape[1] + 1
    level = np.where(upper.any(axis=1), upper.argmax(axis=1), n_levels - 1)
    return np.bincount(cell * n_levels + level, minlength=n_cells * n_levels).reshape(n_cells, n_levels)


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
