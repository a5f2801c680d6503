"""What single columns of few levels change: features of their levels, two-valued columns, and categories of these."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ._storable import storable
from ._typing import AnyArray, Booleans, Floats, Integers

LITTLE = 1.0
"""Largest change by single columns, in standard deviations of the rows, in directions that they hardly change."""

MOST_COLUMNS = 1000
"""More two-valued columns are not compared with each other, which takes time and memory with their square."""

EXPECTED = 10.0
"""Two columns code one factor if some combination of their values never occurs, but would in so many rows if they were
independent. Rarer combinations are missing by chance."""

COVERED = 0.9
"""Columns that exclude each other are the indicators of one category, however rare, if so many rows have one."""

ROUNDING = 1e-9
"""Smaller axes of jitter, as a share of the largest variance, are rounding errors."""

FIRST_KEY = 1 << 40
"""Key of the first axis along features, which have no values of their own to tell them apart."""


@storable
class LevelFeatures(NamedTuple):
    """Features that differ by the value of one column only, in groups: its levels, or the bend of its curve."""

    positions: Floats
    """Shape (n_positions, n_components); only their differences within a group count."""
    starts: Integers
    """First position of every group, ascending."""
    shares: Floats
    """Weights of the variances of the groups, of which changes by the same column share one; shape (n_groups,)."""

    def widths_along(self, directions: Floats) -> Floats:
        """Return the largest change of a projection within a group, shape (n_directions,)."""
        if not len(self.starts):
            return np.zeros(len(directions))
        projections = self.positions @ directions.T
        highest, lowest = (reduce(projections, self.starts) for reduce in (np.maximum.reduceat, np.minimum.reduceat))
        return (highest - lowest).max(axis=0)

    @property
    def of_numbers(self) -> Booleans:
        """Which features are columns of numbers that no level changes, beside others; shape (n_components,)."""
        return np.asarray(~self.positions.any(axis=0) & bool(len(self.starts)))

    def without(self, rows: AnyArray, scale: Floats) -> list[AnyArray]:
        """Return standardised rows along the directions that single columns hardly change, if there are any.

        If some features are columns of numbers, which no level changes, the rows of these alone, too.

        `rows` has shape (n_rows, n_components), and `scale`, (n_components,), the factors that standardised the
        features.
        """
        if not len(self.starts) or len(rows) < 2:
            return []
        straight = (scale > 0) & self.of_numbers
        numbers = [rows * straight.astype(rows.dtype)] if straight.any() else []
        whitener, changes = _whitener(rows), self._changes(scale)
        squares, components = np.linalg.eigh(whitener.T @ (changes.T @ changes) @ whitener)
        little = whitener @ components[:, squares < LITTLE**2]
        if not 0 < little.shape[1] < whitener.shape[1]:
            return numbers
        basis = np.linalg.qr(little)[0]
        return [(rows @ basis @ basis.T).astype(rows.dtype), *numbers]

    def axes(self) -> tuple[Floats, Integers]:
        """Return axes that vary, along the main directions of each group, by its width, and their keys."""
        if not len(self.starts):
            return np.empty((0, 0)), np.empty(0, dtype=np.int64)
        own = []
        for group, share in zip(np.split(self.positions, self.starts[1:]), self.shares):
            _, _, directions = np.linalg.svd(group - group.mean(axis=0), full_matrices=False)
            own.append(np.sqrt(share) * np.ptp(group @ directions.T, axis=0)[:, None] * directions)
        stacked = np.concatenate(own)
        variances, directions = np.linalg.eigh(stacked.T @ stacked)
        kept = variances > ROUNDING * variances[-1]
        axes = np.ascontiguousarray((directions[:, kept] * np.sqrt(variances[kept])).T)
        return axes, FIRST_KEY + np.arange(len(axes))

    def _changes(self, scale: Floats) -> Floats:
        """Return the differences of positions from the mean of their group, whose squares sum to a variance."""
        sizes = np.diff(self.starts, append=len(self.positions))
        means = np.add.reduceat(self.positions, self.starts) / sizes[:, None]
        own = np.repeat(np.arange(len(sizes)), sizes)
        return (self.positions - means[own]) * scale * np.sqrt(self.shares / sizes)[own, None]


def _whitener(rows: AnyArray) -> Floats:
    """Return directions along which the rows vary by one and without correlation, as columns."""
    centred = rows.astype(np.float64) - rows.mean(axis=0, dtype=np.float64)
    variances, axes = np.linalg.eigh(centred.T @ centred / len(rows))
    varying = variances > 1e-9 * variances[-1]
    return axes[:, varying] / np.sqrt(variances[varying])


def has_levels(levels: LevelFeatures | None) -> bool:
    """Return whether rows are features that levels of single columns change."""
    return levels is not None and len(levels.starts) > 0


def changed_by_levels(rows: AnyArray, levels: LevelFeatures | None) -> Integers:
    """Return the columns of rows that levels of single columns change: features of a map, or the two-valued ones.

    >>> changed_by_levels(np.array([[0.0, 1.0, 0.0], [0.5, 1.0, 1.0], [1.5, 1.0, 1.0]]), None)
    array([2])
    """
    if levels is None:
        return upper_values(rows)[0]
    return np.flatnonzero(has_levels(levels) & ~levels.of_numbers)


@storable
class TwoValued(NamedTuple):
    """Columns of two values, which are codes: two levels of one column are not two clusters."""

    columns: Integers
    """Indices of the columns."""
    gaps: Floats
    """Differences between the two values of each."""
    pairs: Integers
    """Pairs of these columns that code one factor, as positions in `columns`, shape (n_pairs, 2)."""
    signs: Floats
    """For each pair, -1 if both columns change in the same direction, and 1 if one rises where the other falls."""
    keys: Integers
    """Keys that make the random numbers of different columns independent, int64."""

    def without(self, rows: AnyArray, scale: Floats) -> list[AnyArray]:
        """Return standardised rows without these columns, if any other column varies."""
        others = (scale > 0).astype(np.float32)
        others[self.columns] = 0.0
        return [rows * others] if others.any() else []

    def widths_along(self, directions: Floats) -> Floats:
        """Return the largest change of a projection by the level of one column or pair, shape (n_directions,)."""
        changes = directions[:, self.columns] * self.gaps
        widest: Floats = np.abs(changes).max(axis=1, initial=0.0)
        if len(self.pairs):
            first, second = changes[:, self.pairs.T].transpose(1, 0, 2)
            widest = np.maximum(widest, np.abs(first - self.signs * second).max(axis=1))
        return widest

    def axes(self) -> tuple[Floats, Integers]:
        """Return the change by the level of each column, longer where it changes a second column, and their keys."""
        axes = np.zeros((len(self.columns), int(self.columns.max()) + 1))
        changed = np.where(np.isin(np.arange(len(self.columns)), self.pairs), np.sqrt(2), 1.0)
        axes[np.arange(len(axes)), self.columns] = self.gaps * changed
        return axes, self.keys


def two_valued(rows: AnyArray, hashes: Integers) -> TwoValued | None:
    """Return the two-valued columns, or None without any, or if no other column varies that could change with it.

    Pairs are columns that exclude or include each other, as the indicators of a category do: changing its level changes
    both. Keys depend on the values, so that permuted columns have the same random numbers.
    """
    columns, upper, gaps = upper_values(rows)
    if len(columns) == 0 or np.count_nonzero(rows.min(axis=0) < rows.max(axis=0)) == 1:
        return None
    keys = np.array([hashes[own].sum(dtype=np.uint64) for own in upper.T]) >> np.uint64(1)
    return TwoValued(columns, gaps, *_pairs(upper), keys.astype(np.int64))


def upper_values(rows: AnyArray) -> tuple[Integers, Booleans, Floats]:
    """Return the columns of two values, where rows have the upper one, and the differences between both."""
    low, high = rows.min(axis=0), rows.max(axis=0)
    columns = np.flatnonzero((low < high) & ((rows == low) | (rows == high)).all(axis=0))
    gaps: Floats = high[columns].astype(np.float64) - low[columns].astype(np.float64)
    return columns, rows[:, columns] == high[columns], gaps


def _pairs(upper: Booleans) -> tuple[Integers, Floats]:
    n, n_columns = upper.shape
    if n_columns > MOST_COLUMNS:
        return np.empty((0, 2), dtype=np.int64), np.empty(0)
    counts, both = _together(upper)
    one, shares = counts[:, None] - both, counts / n
    exclude = _missing(both, shares, shares, n) | _missing(n - counts - one, 1 - shares, 1 - shares, n)
    include = _missing(one, shares, 1 - shares, n)
    pairs = [np.argwhere(np.triu(kind, 1)) for kind in (exclude, include | include.T)]
    return np.concatenate(pairs), np.repeat([1.0, -1.0], [len(of_kind) for of_kind in pairs])


def _together(upper: Booleans) -> tuple[Integers, Integers]:
    """Return the number of rows with the upper value of each column, and of both columns of each pair."""
    ones = upper.astype(np.float32)  # sums of ones are exact up to 2^24
    return upper.sum(axis=0), (ones.T @ ones).astype(np.int64)


def _missing(observed: AnyArray, first: Floats, second: Floats, n: int) -> Booleans:
    return np.asarray((observed == 0) & (n * np.outer(first, second) >= EXPECTED))


def categories_of(upper: Booleans) -> list[Integers]:
    """Return the columns of each category: columns of upper values that exclude each other, the most frequent first.

    Examples
    --------
    >>> levels = np.array([0, 1, 2, 1, 0, 2])
    >>> [columns.tolist() for columns in categories_of(np.eye(3, dtype=bool)[levels])]
    [[0, 1, 2]]
    """
    counts, both = _together(upper)
    exclude, expected = both == 0, np.outer(counts, counts) >= EXPECTED * len(upper)
    left = np.argsort(-counts, kind="stable")
    found = []
    while len(left):
        own, free = [left[0]], exclude[left[0]]
        frequent = own.copy()
        while len(others := left[free[left]]):
            own.append(others[0])
            if expected[others[0], frequent].all():
                frequent.append(others[0])
            free = free & exclude[others[0]]
        if counts[own].sum() < COVERED * len(upper):
            own = frequent
        found.append(np.array(own))
        left = left[~np.isin(left, own)]
    return found


def level_features(groups: Sequence[Floats], n_components: int, shares: Sequence[float] | None = None) -> LevelFeatures:
    """Return the groups, arrays of shape (n_positions of the group, n_components), as one value."""
    starts = np.cumsum([0, *(len(group) for group in groups)])[:-1]
    positions = np.concatenate([np.empty((0, n_components)), *groups])
    return LevelFeatures(
        positions, starts.astype(np.int64), np.ones(len(groups)) if shares is None else np.array(shares)
    )


NO_LEVELS = level_features([], 0)
"""For features that are not levels of columns, whatever their values."""
