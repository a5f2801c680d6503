"""Merging cells until the density of the rows has a valley between any two neighbouring groups."""

from collections.abc import Collection
from itertools import combinations
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from .._typing import Floats, Integers
from .pair_tests import Pair, PairTests, pair_of, pair_tests
from .smoothing import smoothed_cells

LEVEL = 0.05
"""Probability that two cells without a valley between them are kept apart, shared among all neighbouring pairs."""

KINDS = 2
"""Kinds of evidence that share the level: balls, and slabs. Those of small and large balls and of two kinds of slabs
rise and fall together, and each is the smaller of two. ``python -m tests.benchmarks honesty`` checks it."""

MOST_FACTORS = 2
"""Groups that differ by more categories are more than levels of one: other columns change with it."""

FEWEST = 30
"""With fewer rows, cells are not merged."""


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
    are compared in the same way and are enough, in all columns or in the combinations that tell the cells apart; balls
    are if slabs agree or the difference is clear. Slabs of two groups do not count the rows of a third one that is
    apart from both. Few rows are halved repeatedly and their evidence is averaged. Where two groups differ by a two-
    valued column, or by the indicators of one category, the valley must also be there without these columns, which is
    looked at where a merge would otherwise end.

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
    tests = pair_tests(rows, hashes, cell, smoothed, n_cells)
    group = _swallowed(cell, smoothed, n_cells, tests.seen())
    return _merged(tests, group, most_groups, fewest_groups, apart)


def _swallowed(cell: Integers, smoothed: Integers, n_cells: int, seen: Integers) -> Integers:
    """Return the initial groups: a cell without landmarks joins the cell to which most of its rows were moved."""
    group = np.arange(n_cells)
    for lost in np.setdiff1d(group, seen):
        counts = np.bincount(smoothed[cell == lost], minlength=n_cells)[seen]
        # A cell without rows in the sample joins its neighbour in the tree.
        group[lost] = seen[counts.argmax()] if counts.any() else seen[np.searchsorted(seen[1:], lost)]
    return group


def _merged(
    tests: PairTests, group: Integers, most_groups: int | None, fewest_groups: int, apart: Collection[Pair]
) -> Merged:
    meeting = tests.meeting(group)
    enough = NormalDist().inv_cdf(1 - LEVEL / KINDS / max(len(meeting), 2))
    confirmed: dict[Pair, float] = {}

    def evidence(pairs: Collection[Pair]) -> dict[Pair, float]:
        kept = {pair_of(int(group[a]), int(group[b])) for a, b in apart} & {*pairs}
        for pair in pairs:
            confirmed.pop(pair, None)
        confirmed.update(dict.fromkeys(kept, np.inf))
        return {pair: tests.evidence(group, pair) for pair in sorted({*pairs} - kept)} | dict.fromkeys(kept, np.inf)

    # Levels of a category may be so far apart that they have no link, and are neighbours nevertheless.
    pairs = combinations(np.unique(group).tolist(), 2) if tests.factors else sorted(meeting)
    known = evidence([*pairs])
    merged = {(int(group[lost]), lost): 0.0 for lost in np.flatnonzero(group != np.arange(len(group))).tolist()}
    while len(groups := np.unique(group)) > fewest_groups:
        too_many = most_groups is not None and len(groups) > most_groups
        if not known and too_many:  # no two groups are neighbours
            known = {pair: np.inf for pair in combinations(groups.tolist(), 2)}
        shown = _without_third_groups(tests, group, known, enough)
        shown |= {both: min(shown[both], z) for both, z in confirmed.items() if both in shown}
        pair = _weakest(tests, group, shown, confirmed, enough)
        if pair is None or (shown[pair] >= enough and not too_many):
            break
        merged[pair] = shown[pair]
        kept, gone = pair
        group[group == gone] = kept
        changed = {
            pair_of(kept, other) for both in known if set(both) & set(pair) for other in both if other not in pair
        }
        known = {both: z for both, z in known.items() if not set(both) & set(pair)}
        known |= evidence(changed)
    return _numbered(group, merged, enough)


def _without_third_groups(
    tests: PairTests, group: Integers, known: dict[Pair, float], enough: float
) -> dict[Pair, float]:
    """Return the evidence of all pairs, that of the weakest without the rows of groups that are apart from both.

    The slab between two groups may be full of a third one. As pairs become stronger, more groups are apart from others.
    """
    found, left_out = dict(known), dict[Pair, list[int]]()
    groups = np.unique(group).tolist() if tests.have_slabs() else []
    while found and found[pair := _least(found)] < enough:
        apart = [g for g in groups if g not in pair and all(_apart(found, g, of, enough) for of in pair)]
        if apart == left_out.get(pair, []):
            break
        left_out[pair] = apart
        found[pair] = max(found[pair], tests.evidence(group, pair, apart))
    return found


def _apart(known: dict[Pair, float], one: int, other: int, enough: float) -> bool:
    """Return whether a valley was found between two groups; most pairs without links are parts of one cloud."""
    return enough <= known.get(pair_of(one, other), np.inf) < np.inf


def _weakest(
    tests: PairTests, group: Integers, known: dict[Pair, float], confirmed: dict[Pair, float], enough: float
) -> Pair | None:
    """Return the pair with the least evidence; tests without a category are made only if all others have enough.

    Their evidence is added to `confirmed`, and that in `known` is at most as large.
    """
    weakest = _least(known) if known else None
    if weakest is None or known[weakest] < enough:
        return weakest
    between = {pair: tests.factors.between(group, pair) for pair in known.keys() - confirmed}
    # Levels of one category first: groups of unequal levels of several would look like more than levels.
    for pair in sorted(between, key=lambda p: (len(between[p]), known[p], p)):
        confirmed[pair] = np.inf
        if 0 < len(between[pair]) <= MOST_FACTORS:
            confirmed[pair] = tests.without(between[pair][0], group, pair)
            known[pair] = min(known[pair], confirmed[pair])
            if known[pair] < enough:
                return pair
    return _least(known)


def _least(known: dict[Pair, float]) -> Pair:
    """Return the pair with the least evidence, the first of several."""
    return min(known, key=lambda p: (known[p], p))


def _numbered(group: Integers, merged: dict[Pair, float], threshold: float) -> Merged:
    _, first, number = np.unique(group, return_index=True, return_inverse=True)
    return Merged(np.argsort(np.argsort(first))[number], tuple(merged.values()), tuple(merged), threshold)
