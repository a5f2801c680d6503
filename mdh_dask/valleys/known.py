"""What is known of the pairs of groups that may be merged, which is the weakest, and what levels of columns explain.

Groups that differ by the level of one category, or by combinations of levels, are not two clusters.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from .._levels import MOST_COLUMNS, categories_of, upper_values
from .._typing import Booleans, Floats, Integers
from .lines import Bandwidth
from .pair_tests import Pair, PairTests, Values

WIDE = 0.25
"""Two groups may be levels of a category by which the rows vary so much along the line between them, as a share of the
distance of their means: by half of that half the distance."""

WithoutLevels = Callable[[Integers, Pair, float], float]


class Known:
    """What is known of the pairs of groups that may be merged.

    without_levels: returns the evidence between two groups if levels of single columns are none, infinite where they do
        not count; its last argument is that of `PairTests.without`.
    group (n_cells,) int: group of each cell, which merges change.
    pairs (n_pairs, 2) int.
    apart: their groups are kept apart whatever the evidence.
    enough: evidence that keeps groups apart.
    """

    def __init__(
        self,
        tests: PairTests,
        without_levels: WithoutLevels,
        group: Integers,
        pairs: Integers,
        apart: Collection[Pair],
        enough: float,
    ) -> None:
        self.tests, self.without_levels, self.group, self.enough = tests, without_levels, group, enough
        self.apart = np.array([*apart], dtype=np.int64).reshape(-1, 2)
        self.pairs, self.counted = pairs, tests.counted(group, pairs)
        self.kept, self.most = self._kept(pairs), np.full(len(pairs), np.nan)

    def merge(self, pair: Pair) -> None:
        """Merge two groups, and test their neighbours again."""
        changed = np.isin(self.pairs, pair)
        others = np.setdiff1d(self.pairs[changed.any(axis=1)], pair)
        left = np.all(~changed, axis=1)
        kept, gone = pair
        self.group[self.group == gone] = kept
        new = np.sort(np.column_stack([np.full(len(others), kept), others]), axis=1)
        self.pairs = np.concatenate([self.pairs[left], new])
        self.counted = self.counted.of(left).and_of(self.tests.counted(self.group, new))
        self.kept = np.concatenate([self.kept[left], self._kept(new)])
        self.most = np.concatenate([self.most[left], np.full(len(new), np.nan)])

    def joined(self, most_groups: int) -> tuple[dict[Pair, Values], tuple[tuple[Pair, float], ...]]:
        """Join groups until there are at most so many, those with the least evidence first.

        Returns the pairs in turn, and the pairs of neighbours that are left with their evidence. What is known of
        united groups is the mean of what is known of two of theirs: rows are not counted again.
        """
        names, merged = np.unique(self.group), dict[Pair, Values]()
        sums = self._sums(names)
        while len(names) > most_groups:
            linked = np.triu(sums[..., 3], 1)
            means = np.where(linked > 0, sums[..., 0] / np.maximum(linked, 1), np.inf)
            i, j = np.unravel_index(means.argmin(), means.shape) if linked.any() else (0, 1)
            pair = int(names[i]), int(names[j])
            if linked.any():
                strength, core, cut = (sums[i, j, :3] / linked[i, j]).tolist()
            else:
                strength, (core, cut) = np.inf, self.tests.rows_between(self.group, pair)
            merged[pair] = strength, core, cut
            self.group[self.group == pair[1]] = pair[0]
            sums[i] += sums[j]
            sums[:, i] += sums[:, j]
            sums, names = np.delete(np.delete(sums, j, axis=0), j, axis=1), np.delete(names, j)
        left = np.transpose(np.triu(sums[..., 3], 1).nonzero())
        pairs = [(int(names[i]), int(names[j])) for i, j in left]
        return merged, tuple(zip(pairs, (float(sums[i, j, 0] / sums[i, j, 3]) for i, j in left)))

    def _sums(self, names: Integers) -> Floats:
        """Return evidence, rows in the core and on the cut, and number of the pairs between groups, which is 0 or 1.

        Pairs whose evidence does not count are none.
        """
        evidence = np.fmin(self._without_third_groups(), self.most)
        counts = np.isfinite(evidence) & ~self.kept
        values = np.column_stack([evidence, self.counted.core_rows, self.counted.cut_rows, np.ones(len(counts))])
        sums, ends = np.zeros((len(names), len(names), 4)), np.searchsorted(names, self.pairs[counts])
        for one, other in (ends.T, ends.T[::-1]):
            sums[one, other] = values[counts]
        return sums

    def weakest(self) -> tuple[Pair, Values]:
        """Return the pair with the least evidence, and this; the first of several.

        Where all have enough, they must have it without the levels of single columns, too.
        """
        shown, counted = np.where(self.kept, np.inf, self._without_third_groups()), self.counted
        while True:
            evidence = np.fmin(shown, self.most)
            order = np.lexsort((*self.pairs.T[::-1], evidence))
            unknown = order[np.isnan(self.most[order]) & ~self.kept[order]]
            if evidence[order[0]] < self.enough or not len(unknown):
                first, second = self.pairs[order[0]].tolist()
                _, core, cut = counted.values(order[0])
                return (first, second), (float(evidence[order[0]]), core, cut)
            i = unknown[0]
            first, second = self.pairs[i].tolist()
            self.most[i] = self.without_levels(self.group, (first, second), -np.inf)
            if np.isinf(counted.evidence[i]) and np.isfinite(self.most[i]):
                # These groups are no neighbours, so their rows were not counted; without levels, they may be merged.
                counted.core_rows[i], counted.cut_rows[i] = self.tests.rows_between(self.group, (first, second))

    def _kept(self, pairs: Integers) -> Booleans:
        """Return which pairs are kept apart whatever their evidence."""
        kept = np.sort(self.group[self.apart], axis=1)
        n = len(self.group)
        return np.isin(pairs @ [n, 1], kept @ [n, 1])

    def _without_third_groups(self) -> Floats:
        """Return the evidence of pairs without the rows of groups that are apart from both, where it is more.

        The slab between two groups may be full of a third one. As pairs become stronger, more groups are apart from
        others.
        """
        evidence = self.counted.evidence
        while True:
            apart = np.zeros((len(self.group), len(self.group)), dtype=np.bool_)
            # Most pairs without links are of one cloud.
            first, second = self.pairs[(evidence >= self.enough) & np.isfinite(evidence)].T
            apart[first, second] = apart[second, first] = True
            third = apart[self.pairs[:, 0]] & apart[self.pairs[:, 1]]
            weak = np.flatnonzero((evidence < self.enough) & third.any(axis=1))
            more = evidence.copy()
            if len(weak):
                more[weak] = np.fmax(
                    evidence[weak], self.tests.counted(self.group, self.pairs[weak], third[weak]).evidence
                )
            if (more == evidence).all():
                return evidence
            evidence = more


@dataclass(frozen=True)
class Factors:
    """The two-valued columns of rows as categories, each a column or the indicators of a category.

    columns: columns of each category.
    gaps (n_columns,): differences between the two values of columns, zero for others.
    upper (n_cells, n_columns) int: number of rows of each cell with the upper value.
    sums (n_cells, n_columns): sums of the rows of each cell.
    n_rows (n_cells,) int.
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
        if squares[self.gaps > 0].sum() < squares.sum() / 2:
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


def without_levels_of(tests: PairTests, bandwidth: Bandwidth | None, factors: Factors | None) -> WithoutLevels:
    """Return the least evidence between two groups without the columns that may have levels, and with levels hidden.

    Once either is less than `promising`, no further halvings are compared.
    """

    def evidence(group: Integers, pair: Pair, promising: float) -> float:
        columns = None if factors is None else factors.between(group, pair)
        hides = bandwidth if factors is None else factors.bandwidth(group, pair)
        found = np.inf if hides is None else tests.smoothed(hides, group, pair)
        if columns is None or found < promising:
            return found
        return min(found, tests.without(columns, group, pair, promising))

    return evidence
