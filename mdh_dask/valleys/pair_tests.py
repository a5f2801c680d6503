"""The test of a valley of the density between two groups of cells: core against cut, for all pairs of a merge at once.

What places balls and lines is one half of the rows, what is counted in them the other half, and vice versa. All counts
are integers, of which evidence is a function.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._jit.hashing import hash_again
from .._random import normal_of
from .._typing import AnyArray, Booleans, Floats, Integers
from ..splits.dependence import halves_of_parts, parts_in
from .balls import ELSEWHERE, Landmarks
from .lines import N_KINDS, Slabs, errors_among_parts, errors_in_slabs, slabs

Pair = tuple[int, int]

AGREEING = 1.0
"""Least evidence of slabs between two groups for that of balls to count in many columns, unless these
hold clearly more rows. ``python -m tests.benchmarks honesty --cloud "common factor"`` checks it."""

LEVELS = 2
"""Key of the hashes of the rows' displacements, as their own bits divide the rows into halves."""

ROWS_OF_SPLITS = 20_000
"""Fewer rows are halved repeatedly, at most `MOST_SPLITS` times, until about this many are compared in all."""

MOST_SPLITS = 6

SHARED_EVIDENCE = 0.5
"""Correlation of the evidence of several halvings of the same rows: the mean of several is
steadier than one, but much less so than that of independent ones. ``python -m tests.benchmarks honesty`` checks it."""


class Counted(NamedTuple):
    """What the rows show of pairs of groups."""

    balls: Floats
    """Evidence of balls, and of balls that clearly more rows are in, shape (n_pairs, n_times); infinite for groups that
    are no neighbours."""
    slabs: AnyArray
    """Rows of each cell in the slabs of each halving, shape (n_pairs, N_KINDS, n_splits, 2, 3, n_cells + 1), int; of
    dependent rows, the standard errors, shape (n_pairs, N_KINDS, n_splits, 2, 2), float64."""
    met: Booleans
    """Whether each half found a cut, shape (n_pairs, n_splits, 2)."""
    smoothed: Floats
    """Evidence of slabs where the levels of single columns are smoothed out, shape (n_pairs,)."""

    def of(self, which: Integers | Booleans) -> "Counted":
        """Return what is known of some of the pairs."""
        return Counted(self.balls[which], self.slabs[which], self.met[which], self.smoothed[which])

    def and_of(self, other: "Counted") -> "Counted":
        """Return what is known of these pairs and of others."""
        return Counted(*(np.concatenate(both) for both in zip(self, other)))

    def evidence(self, kept: Booleans | None = None) -> Floats:
        """Return the evidence of each pair, shape (n_pairs,).

        `kept` are the cells whose rows are counted in slabs, by default all, shape (n_pairs, n_cells).
        """
        in_slabs = self._in_slabs(kept)
        # In few columns there are no slabs to agree. In many, what is clearly more is evidence without them.
        balls = np.where(in_slabs >= AGREEING, self.balls[:, 0], self.balls[:, -1])
        return np.fmax(balls, in_slabs)

    def _in_slabs(self, kept: Booleans | None) -> Floats:
        """Return the evidence of slabs."""
        if self.slabs.dtype.kind == "f":
            return pooled(np.where(self.met[:, None, ..., None], self.slabs, np.nan)).max(axis=1)
        if kept is None:
            kept = np.ones((len(self.slabs), self.slabs.shape[-1] - 1), dtype=bool)
        kept = np.pad(kept, ((0, 0), (0, 1)), constant_values=True)[:, None, None, None]
        return pooled(np.where(self.met[:, None, ..., None], errors_in_slabs(self.slabs, kept), np.nan)).max(axis=1)


class PairTests:
    """The tests of cells of rows, for as many ways to halve the rows as their number allows.

    Parameters
    ----------
    rows : array of shape (n_rows, n_columns), float64
        In the order of their hashes.
    hashes : array of shape (n_rows,), uint64
        Their bits are the halves.
    cell : array of shape (n_rows,), int
        Rows of `ELSEWHERE` are in no group.
    n_cells : int
    bandwidth : callable, optional
        As for `mdh_dask.valleys.merging.merge_cells`.
    n_splits : int, optional
        Number of ways to halve the rows.
    in_groups : bool, default=False
        As for `mdh_dask.valleys.merging.merge_cells`.
    """

    def __init__(
        self,
        rows: Floats,
        hashes: Integers,
        cell: Integers,
        n_cells: int,
        bandwidth: Callable[[Floats], float] | None = None,
        n_splits: int | None = None,
        in_groups: bool = False,
    ) -> None:
        self.rows, self.hashes, self.cell, self.n_cells, self.bandwidth = rows, hashes, cell, n_cells, bandwidth
        self.in_groups = in_groups
        parts = parts_in(hashes) if in_groups else None
        normal = normal_of(hash_again(hashes, LEVELS))
        self.splits: list[list[tuple[Landmarks, Slabs | None]]] = []
        for bit in range(n_splits or max(min(ROWS_OF_SPLITS // len(rows), MOST_SPLITS), 1)):
            first = (hashes >> np.uint64(bit)) & np.uint64(1) == 0 if parts is None else halves_of_parts(bit)[parts]
            halves = np.flatnonzero(first), np.flatnonzero(~first)
            ways = (rows, *halves, cell), (rows, *halves[::-1], cell)
            chosen = [(way, Landmarks(*way, parts)) for way in ways]
            self.splits.append([(marks, slabs(*way, n_cells, marks, normal, parts)) for way, marks in chosen])

    def counted(self, group: Integers, pairs: Integers) -> Counted:
        """Return what the rows show of pairs of groups, shape (n_pairs, 2), the smaller group of each first."""
        balls = np.array([[landmarks.errors(group, pairs) for landmarks, _ in split] for split in self.splits])
        rows = np.array([[self._in_slabs(on_lines, group, pairs) for _, on_lines in split] for split in self.splits])
        of_sizes = np.moveaxis(balls, (2, 3, 4), (0, 1, 2))  # (n_pairs, 2 sizes, n_times, n_splits, 2 halves, 2 groups)
        of_kinds = np.moveaxis(rows, (2, 3), (0, 1))
        met = ~np.isnan(of_sizes[:, 0, 0, ..., 0])
        # Independent rows that are no neighbours are apart; groups of dependent rows are so without being clusters.
        best = np.nan_to_num(pooled(of_sizes).max(axis=1), nan=0.0 if self.in_groups else np.inf)
        if self.in_groups:
            return Counted(best, of_kinds[..., 0, :], met, pooled(of_kinds[..., 1, :]).max(axis=1))
        errors = errors_in_slabs(of_kinds[..., 1, :, :], np.ones(self.n_cells + 1, dtype=bool))
        return Counted(best, of_kinds[..., 0, :, :].copy(), met, pooled(errors).max(axis=1))

    def _in_slabs(self, on_lines: Slabs | None, group: Integers, pairs: Integers) -> AnyArray:
        """Return the counts in slabs, or their standard errors for dependent rows; zeros in few columns."""
        if on_lines is None:
            none = (2,) if self.in_groups else (3, self.n_cells + 1)
            return np.zeros((len(pairs), N_KINDS, 2, *none), dtype=np.float64 if self.in_groups else np.int32)
        counts = on_lines.counts(group, pairs, self.bandwidth)
        return errors_among_parts(counts) if self.in_groups else counts

    def without(self, columns: Integers, group: Integers, pair: Pair) -> float:
        """Return the evidence of a pair without some columns, that of the first halving if it shows no valley."""
        rows = np.delete(self.rows, columns, axis=1)
        if not np.ptp(rows, axis=0).any():
            return np.inf
        sides = np.where(group == pair[0], 0, np.where(group == pair[1], 1, ELSEWHERE))
        for n_splits in sorted({1, len(self.splits)}):
            tests = PairTests(rows, self.hashes, sides[self.cell], 2, n_splits=n_splits, in_groups=self.in_groups)
            evidence = float(tests.counted(np.arange(2), np.array([[0, 1]])).evidence()[0])
            if evidence <= 0:
                break
        return evidence

    def have_slabs_of_cells(self) -> bool:
        """Return whether rows of each cell are compared in slabs."""
        return self.splits[0][0][1] is not None and not self.in_groups

    def seen(self) -> Integers:
        """Return the cells with landmarks."""
        return np.unique(np.concatenate([landmarks.cell for split in self.splits for landmarks, _ in split]))

    def meeting(self, group: Integers) -> Integers:
        """Return the pairs of groups that have a link, shape (n_pairs, 2)."""
        links = [landmarks.links(group) for split in self.splits for landmarks, _ in split]
        return np.unique(np.concatenate(links), axis=0)


def pooled(errors: Floats) -> Floats:
    """Return the evidence for the group where it is less: the mean of all halvings, NaN if none found a cut.

    `errors` of both groups have shape (..., n_splits, 2 halves, 2 groups) and are NaN without a cut.
    """
    found = ~np.isnan(errors)
    n_halves = found.sum(axis=-2)
    of_split = np.where(found, errors, 0).sum(axis=-2) / np.sqrt(np.maximum(n_halves, 1))
    n_splits = (n_halves > 0).sum(axis=-2)
    standard_error = (SHARED_EVIDENCE + (1 - SHARED_EVIDENCE) / errors.shape[-3]) ** 0.5
    # Both groups must be denser than what lies between them.
    weaker = of_split.sum(axis=-2).min(axis=-1) / np.maximum(n_splits.min(axis=-1), 1) / standard_error
    return np.where(n_splits.min(axis=-1) > 0, weaker, np.nan)
