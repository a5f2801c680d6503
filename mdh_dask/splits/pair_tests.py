"""The tests of a valley of the density between two groups of cells, by all kinds of evidence and ways to halve rows."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .._jit.hashing import hash_again
from .._random import normal_of
from .._typing import Floats, Integers
from .cuts import ELSEWHERE, Landmarks
from .discriminants import Discriminants, discriminants
from .factors import Factors, factors_of, no_factors
from .slabs import Levels, Slabs, slabs

Pair = tuple[int, int]

AGREEING = 1.0
"""Least evidence of slabs between two groups for that of balls to count in many columns, unless these
hold clearly more rows. ``python -m tests.benchmarks honesty --cloud "common factor"`` checks it."""

BALLS = 2
"""Number of sizes of balls, whose evidence comes first, and of kinds of slabs."""

LEVELS = 2
"""Key of the hashes of the rows' displacements, as their own bits divide the rows into halves."""

ROWS_OF_SPLITS = 20_000
"""Fewer rows are halved repeatedly, at most `MOST_SPLITS` times, until about this many are compared in all."""

MOST_SPLITS = 6

SHARED_EVIDENCE = 0.5
"""Correlation of the evidence of several halvings of the same rows: the mean of several is
steadier than one, but much less so than that of independent ones. ``python -m tests.benchmarks honesty`` checks it."""


def pair_of(a: int, b: int) -> Pair:
    """Return two groups in order."""
    return (a, b) if a < b else (b, a)


class HalfTest(NamedTuple):
    """What one half of the rows chose for the other half to confirm."""

    rows: Floats
    landmarks: Landmarks
    slabs: Slabs | None
    discriminants: Discriminants | None
    levels: Levels | None
    """Of the rows that are counted."""

    def evidence(self, kind: int, group: Integers, pair: Pair, left_out: Collection[int]) -> Floats | None:
        """Return the evidence of one kind for each group, shape (n_values, 2); None if there is no cut.

        Kinds are small balls and large ones, and with many columns, slabs and slabs in combinations of columns.
        """
        if not self.landmarks.meet(group, pair):
            return None
        if kind < BALLS:
            return self.landmarks.evidence(kind, group, pair)
        if kind > BALLS:
            across = self.discriminants
            return np.zeros((1, 2)) if across is None else across.evidence(group, pair, left_out)[None]
        if self.slabs is None:
            raise ValueError("There are no slabs with few columns.")
        return self.slabs.evidence(group, pair, self._contact(group, pair), left_out)[None]

    def between_levels(self, group: Integers, pair: Pair) -> Floats:
        """Return the evidence of both kinds of slabs where the levels of single columns are smoothed out, shape (2, 2).

        Levels of a category may be so far apart that the groups have no link.
        """
        found = np.zeros((2, 2))
        if self.slabs is not None and self.landmarks.meet(group, pair):
            found[0] = self.slabs.evidence(group, pair, self._contact(group, pair), levels=self.levels)
        if self.discriminants is not None:
            found[1] = self.discriminants.evidence(group, pair, levels=self.levels)
        return found

    def _contact(self, group: Integers, pair: Pair) -> Floats:
        """Return a point between two groups that have a link."""
        return np.asarray(self.rows[self.landmarks.contact(group, pair)].mean(axis=0))


class PairTests(NamedTuple):
    """Tests of groups of cells with all columns, and without those of one category."""

    splits: list[list[HalfTest]]
    """For each way to halve the rows, the tests of either half."""
    rows: Floats
    halves: Sequence[Integers]
    """For each way, the half of each row."""
    cell: Integers
    factors: Factors

    def kind(self, kind: int, group: Integers, pair: Pair, left_out: Collection[int] = ()) -> Floats | None:
        """Return the evidence of one kind of a valley between two groups, or None if they are not neighbours.

        No row of the groups that are left out is counted in slabs.
        """
        return _pooled([_mean(split, kind, group, pair, left_out) for split in self.splits])

    def evidence(self, group: Integers, pair: Pair, left_out: Collection[int] = ()) -> float:
        """Return the evidence of all kinds, infinite if the groups are not neighbours."""
        return together([self.kind(kind, group, pair, left_out) for kind in range(self.n_kinds())])

    def n_kinds(self) -> int:
        """Return the number of kinds of evidence."""
        return 2 * BALLS if self.have_slabs() else BALLS

    def without(self, columns: Integers, group: Integers, pair: Pair) -> float:
        """Return the evidence without some columns, that of the first halving without a valley if there is any.

        These tests are not kept, as each may take a hundred MB. Slabs count the rows of third groups: without them,
        more levels of independent categories stayed apart.
        """
        rows = np.delete(self.rows, columns, axis=1)
        if not np.ptp(rows, axis=0).any():
            return np.inf
        side = np.where(group == pair[0], 0, np.where(group == pair[1], 1, ELSEWHERE))[self.cell]
        found = []
        for half in self.halves:
            own = PairTests([list(_both_ways(rows, half, side))], rows, [half], side, self.factors)
            found.append([_mean(own.splits[0], kind, np.arange(2), (0, 1)) for kind in range(own.n_kinds())])
            if (evidence := together([_pooled([each]) for each in found[-1]])) <= 0:
                return evidence
        return together([_pooled(of_kind) for of_kind in zip(*found)])

    def between_levels(self, group: Integers, pair: Pair) -> float:
        """Return the evidence of slabs where the levels of single columns are smoothed out."""
        splits = [[half.between_levels(group, pair) for half in split] for split in self.splits]
        found = _pooled([np.sum(halves, axis=0) / len(halves) ** 0.5 for halves in splits])
        return 0.0 if found is None else float(found.max())

    def have_levels(self) -> bool:
        """Return whether the levels of single columns are known."""
        return self.splits[0][0].levels is not None

    def have_slabs(self) -> bool:
        """Return whether slabs are compared."""
        return self.splits[0][0].slabs is not None

    def seen(self) -> Integers:
        """Return the cells with landmarks."""
        return np.unique([cell for split in self.splits for half in split for cell in half.landmarks.cell])

    def meeting(self, group: Integers) -> set[Pair]:
        """Return the pairs of groups that have a link."""
        chosen = [half.landmarks for split in self.splits for half in split]
        ends = [group[landmarks.cell[np.stack(landmarks.balls[0].links[:2])]] for landmarks in chosen]
        return {pair_of(a, b) for both in ends for a, b in np.unique(both, axis=1).T.tolist() if a != b}


def pair_tests(
    rows: Floats,
    hashes: Integers,
    cell: Integers,
    smoothed: Integers,
    n_cells: int,
    bandwidth: Callable[[Floats], float] | None = None,
) -> PairTests:
    """Return the tests of cells of rows, for as many ways to halve them as their number allows.

    Parameters
    ----------
    rows : array of shape (n_rows, n_columns), float64
        In the order of their hashes.
    hashes : array of shape (n_rows,), uint64
        Their bits are the halves.
    cell, smoothed : arrays of shape (n_rows,), int
        Cells before and after smoothing, which tests compare.
    n_cells : int
    bandwidth : callable, optional
        As for `mdh_dask.splits.merging.merge_cells`.
    """
    n_splits = max(min(ROWS_OF_SPLITS // len(rows), MOST_SPLITS), 1)
    halves = [(hashes >> np.uint64(bit)) & np.uint64(1) for bit in range(n_splits)]
    levels = None if bandwidth is None else Levels(bandwidth, normal_of(hash_again(hashes, LEVELS)))
    splits = [list(_both_ways(rows, half, smoothed, levels)) for half in halves]
    factors = factors_of(rows, cell, n_cells) if levels is None else no_factors(n_cells)
    return PairTests(splits, rows, halves, smoothed, factors)


def _mean(
    split: Iterable[HalfTest], kind: int, group: Integers, pair: Pair, left_out: Collection[int] = ()
) -> Floats | None:
    """Return the evidence of both halves of one split together, or None if neither found a cut."""
    halves = [e for half in split if (e := half.evidence(kind, group, pair, left_out)) is not None]
    return np.sum(halves, axis=0) / len(halves) ** 0.5 if halves else None


def _pooled(splits: Sequence[Floats | None]) -> Floats | None:
    """Return the mean evidence of all splits that found a cut, for the group where it is less, or None."""
    found = [evidence for evidence in splits if evidence is not None]
    standard_error = (SHARED_EVIDENCE + (1 - SHARED_EVIDENCE) / len(splits)) ** 0.5
    # Both groups must be denser than what lies between them, by balls or by slabs.
    return np.mean(found, axis=0).min(axis=-1) / standard_error if found else None


def together(kinds: Sequence[Floats | None]) -> float:
    """Return the evidence of several kinds, infinite for groups that are not neighbours.

    The evidence of the first kinds is a lower bound of that of all.
    """
    known = [evidence for evidence in kinds if evidence is not None]
    if not known:
        return np.inf
    balls, in_slabs = np.array(known[:BALLS]), [float(evidence[0]) for evidence in known[BALLS:]]
    # In few columns there are no slabs to agree. In many, what is clearly more is evidence without them.
    if balls.shape[1] > 1 and max(in_slabs, default=-np.inf) < AGREEING:
        balls = balls[:, 1:]
    return max([float(balls.max()), *in_slabs])


def _both_ways(rows: Floats, half: Integers, cell: Integers, levels: Levels | None = None) -> Iterator[HalfTest]:
    first, second = np.flatnonzero(half == 0), np.flatnonzero(half)
    for way in ((rows, first, second, cell), (rows, second, first, cell)):
        of_counted = None if levels is None else levels.of(way[2])
        yield HalfTest(rows, Landmarks(*way), slabs(*way), discriminants(*way), of_counted)
