"""Merging cells until the density of the rows has a valley between any two neighbouring groups."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from .._typing import Floats, Integers
from .cuts import ELSEWHERE, Landmarks
from .factors import Factors, factors_of
from .slabs import Slabs, slabs
from .smoothing import smoothed_cells

Pair = tuple[int, int]

LEVEL = 0.05
"""Probability that two cells without a valley between them are kept apart, shared among all neighbouring pairs."""

KINDS = 2
"""Kinds of evidence that share the level: balls, and slabs. Those of small and large balls and of two kinds of slabs
rise and fall together, and each is the smaller of two. ``python -m tests.benchmarks honesty`` checks it."""

AGREEING = 1.0
"""Least evidence of the slabs near the contact of two groups for that of balls to count in many columns, unless these
hold clearly more rows. ``python -m tests.benchmarks honesty --cloud "common factor"`` checks it."""

BALLS, NEAR = 2, -2
"""Number of sizes of balls, whose evidence comes first, and place of that of slabs near the contact."""

MOST_FACTORS = 2
"""Groups that differ by more categories are more than levels of one: other columns change with it."""

FEWEST = 30
"""With fewer rows, cells are not merged."""

ROWS_OF_SPLITS = 20_000
"""Fewer rows are halved repeatedly, at most `MOST_SPLITS` times, until about this many are compared in all."""

MOST_SPLITS = 6

SHARED_EVIDENCE = 0.5
"""Correlation of the evidence of several halvings of the same rows: the mean of several is
steadier than one, but much less so than that of independent ones. ``python -m tests.benchmarks honesty`` checks it."""


class Merged(NamedTuple):
    """Groups of cells."""

    group: Integers
    """Group of each cell; groups are numbered by their first cells."""
    evidence: tuple[float, ...]
    """For each merge in turn, by how many standard errors the density was lower between the two groups; zero for a cell
    without landmarks, which joins another one first."""
    pairs: tuple[Pair, ...]
    """The groups of each merge, of which the first gives its name to both; cells are the first groups."""
    threshold: float
    """Evidence that keeps groups apart."""


def merge_cells(
    rows: Floats,
    hashes: Integers,
    cell: Integers,
    n_cells: int,
    most_groups: int | None = None,
    fewest_groups: int = 1,
    apart: Collection[Pair] = (),
) -> Merged:
    """Merge cells of rows until a valley separates each group from its neighbours.

    The pair with the least evidence of a valley is merged first. Two groups have a valley between them if balls around
    the densest points of each group hold more rows than as many balls around the densest points of their border; the
    difference in standard errors must be larger than chance makes it in all but `LEVEL` of cases. Half of the rows
    choose the points, the other half is counted, and vice versa. In many columns, slabs between and through the groups
    are compared in the same way and are enough; balls are if slabs agree or the difference is clear. Few rows are
    halved repeatedly and their evidence is averaged. Where two groups differ by a two-valued column, or by the
    indicators of one category, the valley must also be there without these columns, which is looked at where a merge
    would otherwise end.

    Parameters
    ----------
    rows : array of shape (n_rows, n_columns), float64
        Points whose distances are compared.
    hashes : array of shape (n_rows,), uint64
        Hashes of the rows: their order decides the landmarks, their bits the halves.
    cell : array of shape (n_rows,), int
        Cell of each row, from 0 to ``n_cells - 1``.
    n_cells : int
    most_groups : int, optional
        Largest number of groups, which is reached by further merges; groups that are not neighbours are merged last.
    fewest_groups : int, default=1
        Number of groups at which merging stops, whatever the evidence.
    apart : collection of pairs of cells
        Cells that are merged only to reach `most_groups`, or because one has no rows.

    Returns
    -------
    Merged

    Notes
    -----
    Source: peaks and bottlenecks of a neighbour graph as in Chazal, Guibas, Oudot and Skraba, Persistence-based
    clustering in Riemannian manifolds (2013), here with counts of rows that did not choose the peaks.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = np.sort(np.concatenate([rng.normal(0, 1, 300), rng.normal(8, 1, 300)]))
    >>> hashes = rng.integers(2**64, size=600, dtype=np.uint64)
    >>> merge_cells(x[:, None], hashes, np.arange(600) // 100, n_cells=6).group
    array([0, 0, 0, 1, 1, 1])
    """
    if n_cells == 1 or (len(rows) < FEWEST and most_groups is None):
        return _numbered(np.arange(n_cells), {}, np.inf)
    order = np.argsort(hashes, kind="stable")
    rows, hashes, cell = rows[order], hashes[order], cell[order]
    smoothed = smoothed_cells(rows, cell, n_cells)
    n_splits = max(min(ROWS_OF_SPLITS // len(rows), MOST_SPLITS), 1)
    halves = [(hashes >> np.uint64(bit)) & np.uint64(1) for bit in range(n_splits)]

    splits = [list(_both_ways(rows, half, smoothed)) for half in halves]
    seen = np.unique([ours for split in splits for half in split for ours in half.landmarks.cell])
    group = _swallowed(cell, smoothed, n_cells, seen)
    tests = _Tests(splits, rows, halves, smoothed, factors_of(rows, cell, n_cells))
    return _merged(tests, group, most_groups, fewest_groups, apart)


class _Test(NamedTuple):
    """What one half of the rows chose for the other half to confirm."""

    rows: Floats
    landmarks: Landmarks
    slabs: Slabs | None

    def evidence(self, group: Integers, pair: Pair) -> Floats | None:
        """Return the evidence of balls, and of slabs with many columns, for each group; None if there is no cut."""
        balls = self.landmarks.evidence(group, pair)
        if balls is None or self.slabs is None:
            return balls
        contact = self.rows[self.landmarks.contact(group, pair)].mean(axis=0)
        return np.concatenate([balls, self.slabs.evidence(group, pair, contact)])


class _Tests(NamedTuple):
    """Tests of groups of cells with all columns, and without those of one category."""

    splits: list[list[_Test]]
    """For each way to halve the rows, the tests of either half."""
    rows: Floats
    halves: Sequence[Integers]
    cell: Integers
    factors: Factors

    def evidence(self, group: Integers, pairs: Iterable[Pair]) -> dict[Pair, float]:
        """Return the evidence of a valley between two groups, for pairs; infinite if they are not neighbours."""
        return {pair: _pooled([_mean(split, group, pair) for split in self.splits]) for pair in pairs}

    def without(self, columns: Integers, group: Integers, pair: Pair) -> float:
        """Return the evidence without some columns, that of the first halving without a valley if there is any.

        These tests are not kept, as each may take a hundred MB.
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

    def meeting(self, group: Integers) -> set[Pair]:
        """Return the pairs of groups that have a link."""
        chosen = [half.landmarks for split in self.splits for half in split]
        ends = [group[landmarks.cell[np.stack(landmarks.balls[0].links[:2])]] for landmarks in chosen]
        return {_pair(a, b) for both in ends for a, b in np.unique(both, axis=1).T.tolist() if a != b}


def _mean(split: Iterable[_Test], group: Integers, pair: Pair) -> Floats | None:
    """Return the evidence of both halves of one split together, or None if neither found a cut."""
    halves = [e for half in split if (e := half.evidence(group, pair)) is not None]
    return np.sum(halves, axis=0) / len(halves) ** 0.5 if halves else None


def _pooled(splits: Sequence[Floats | None]) -> float:
    """Return the mean evidence of all splits that found a cut, or infinity."""
    found = [evidence for evidence in splits if evidence is not None]
    standard_error = (SHARED_EVIDENCE + (1 - SHARED_EVIDENCE) / len(splits)) ** 0.5
    if not found:
        return np.inf
    # Both groups must be denser than what lies between them, by balls or by slabs.
    of_kinds = np.mean(found, axis=0).min(axis=-1) / standard_error
    if len(of_kinds) > BALLS and of_kinds[NEAR] < AGREEING:
        of_kinds = of_kinds[BALLS:]
    return float(of_kinds.max())


def _both_ways(rows: Floats, half: Integers, cell: Integers) -> Iterator[_Test]:
    first, second = np.flatnonzero(half == 0), np.flatnonzero(half)
    for way in ((rows, first, second, cell), (rows, second, first, cell)):
        yield _Test(rows, Landmarks(*way), slabs(*way))


def _swallowed(cell: Integers, smoothed: Integers, n_cells: int, seen: Integers) -> Integers:
    """Return the initial groups: a cell without landmarks joins the cell to which most of its rows were moved."""
    group = np.arange(n_cells)
    for lost in np.setdiff1d(group, seen):
        counts = np.bincount(smoothed[cell == lost], minlength=n_cells)[seen]
        # A cell without rows in the sample joins its neighbour in the tree.
        group[lost] = seen[counts.argmax()] if counts.any() else seen[np.searchsorted(seen[1:], lost)]
    return group


def _merged(
    tests: _Tests,
    group: Integers,
    most_groups: int | None,
    fewest_groups: int,
    apart: Collection[Pair],
) -> Merged:
    meeting = tests.meeting(group)
    enough = NormalDist().inv_cdf(1 - LEVEL / KINDS / max(len(meeting), 2))
    confirmed: set[Pair] = set()

    def evidence(pairs: Collection[Pair]) -> dict[Pair, float]:
        kept = {_pair(int(group[a]), int(group[b])) for a, b in apart} & {*pairs}
        confirmed.difference_update(pairs)
        confirmed.update(kept)
        return tests.evidence(group, sorted({*pairs} - kept)) | dict.fromkeys(kept, np.inf)

    # Levels of a category may be so far apart that they have no link, and are neighbours nevertheless.
    pairs = combinations(np.unique(group).tolist(), 2) if tests.factors else sorted(meeting)
    known = evidence([*pairs])
    merged = {(int(group[lost]), lost): 0.0 for lost in np.flatnonzero(group != np.arange(len(group))).tolist()}
    while len(groups := np.unique(group)) > fewest_groups:
        too_many = most_groups is not None and len(groups) > most_groups
        if not known and too_many:  # no two groups are neighbours
            known = {pair: np.inf for pair in combinations(groups.tolist(), 2)}
        pair = _weakest(tests, group, known, confirmed, enough)
        if pair is None or (known[pair] >= enough and not too_many):
            break
        merged[pair] = known[pair]
        kept, gone = pair
        group[group == gone] = kept
        changed = {_pair(kept, other) for both in known if set(both) & set(pair) for other in both if other not in pair}
        known = {both: z for both, z in known.items() if not set(both) & set(pair)}
        known |= evidence(changed)
    return _numbered(group, merged, enough)


def _weakest(
    tests: _Tests, group: Integers, known: dict[Pair, float], confirmed: set[Pair], enough: float
) -> Pair | None:
    """Return the pair with the least evidence; tests without a category are made only if all others have enough."""
    weakest = min(known, key=lambda p: (known[p], p), default=None)
    if weakest is None or known[weakest] < enough:
        return weakest
    between = {pair: tests.factors.between(group, pair) for pair in known.keys() - confirmed}
    # Levels of one category first: groups of unequal levels of several would look like more than levels.
    for pair in sorted(between, key=lambda p: (len(between[p]), known[p], p)):
        confirmed.add(pair)
        if 0 < len(between[pair]) <= MOST_FACTORS:
            known[pair] = min(known[pair], tests.without(between[pair][0], group, pair))
            if known[pair] < enough:
                return pair
    return min(known, key=lambda p: (known[p], p))


def _pair(a: int, b: int) -> Pair:
    return (a, b) if a < b else (b, a)


def _numbered(group: Integers, merged: dict[Pair, float], threshold: float) -> Merged:
    _, first, number = np.unique(group, return_index=True, return_inverse=True)
    return Merged(np.argsort(np.argsort(first))[number], tuple(merged.values()), tuple(merged), threshold)
