"""The tests of a valley of the density between two groups of cells, by all kinds of evidence and ways to halve rows."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .._typing import Floats, Integers
from .cuts import ELSEWHERE, Landmarks
from .discriminants import Discriminants, discriminants
from .factors import Factors, factors_of
from .slabs import Slabs, slabs

Pair = tuple[int, int]

AGREEING = 1.0
"""Least evidence of slabs between two groups for that of balls to count in many columns, unless these
hold clearly more rows. ``python -m tests.benchmarks honesty --cloud "common factor"`` checks it."""

BALLS, SLABS = 2, -2
"""Number of sizes of balls, whose evidence comes first, and place of the first of two kinds of slabs."""

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

    def evidence(self, group: Integers, pair: Pair, left_out: Collection[int]) -> Floats | None:
        """Return the evidence of balls, and of slabs with many columns, for each group; None if there is no cut."""
        balls = self.landmarks.evidence(group, pair)
        if balls is None or self.slabs is None:
            return balls
        contact = self.rows[self.landmarks.contact(group, pair)].mean(axis=0)
        near = self.slabs.evidence(group, pair, contact, left_out)
        across = np.zeros(2) if self.discriminants is None else self.discriminants.evidence(group, pair, left_out)
        return np.stack([*balls, near, across])


class PairTests(NamedTuple):
    """Tests of groups of cells with all columns, and without those of one category."""

    splits: list[list[HalfTest]]
    """For each way to halve the rows, the tests of either half."""
    rows: Floats
    halves: Sequence[Integers]
    """For each way, the half of each row."""
    cell: Integers
    factors: Factors

    def evidence(self, group: Integers, pair: Pair, left_out: Collection[int] = ()) -> float:
        """Return the evidence of a valley between two groups, infinite if they are not neighbours.

        No row of the groups that are left out is counted in slabs.
        """
        return _pooled([_mean(split, group, pair, left_out) for split in self.splits])

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
            found.append(_mean(_both_ways(rows, half, side), np.arange(2), (0, 1)))
            if (evidence := _pooled(found[-1:])) <= 0:
                return evidence
        return _pooled(found)

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


def pair_tests(rows: Floats, hashes: Integers, cell: Integers, smoothed: Integers, n_cells: int) -> PairTests:
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
    """
    n_splits = max(min(ROWS_OF_SPLITS // len(rows), MOST_SPLITS), 1)
    halves = [(hashes >> np.uint64(bit)) & np.uint64(1) for bit in range(n_splits)]
    splits = [list(_both_ways(rows, half, smoothed)) for half in halves]
    return PairTests(splits, rows, halves, smoothed, factors_of(rows, cell, n_cells))


def _mean(split: Iterable[HalfTest], group: Integers, pair: Pair, left_out: Collection[int] = ()) -> Floats | None:
    """Return the evidence of both halves of one split together, or None if neither found a cut."""
    halves = [e for half in split if (e := half.evidence(group, pair, left_out)) is not None]
    return np.sum(halves, axis=0) / len(halves) ** 0.5 if halves else None


def _pooled(splits: Sequence[Floats | None]) -> float:
    """Return the mean evidence of all splits that found a cut, or infinity."""
    found = [evidence for evidence in splits if evidence is not None]
    standard_error = (SHARED_EVIDENCE + (1 - SHARED_EVIDENCE) / len(splits)) ** 0.5
    if not found:
        return np.inf
    # Both groups must be denser than what lies between them, by balls or by slabs.
    of_kinds = np.mean(found, axis=0).min(axis=-1) / standard_error
    if len(of_kinds) > BALLS and of_kinds[SLABS:].max() < AGREEING:
        of_kinds = of_kinds[BALLS:]
    return float(of_kinds.max())


def _both_ways(rows: Floats, half: Integers, cell: Integers) -> Iterator[HalfTest]:
    first, second = np.flatnonzero(half == 0), np.flatnonzero(half)
    for way in ((rows, first, second, cell), (rows, second, first, cell)):
        yield HalfTest(rows, Landmarks(*way), slabs(*way), discriminants(*way))
