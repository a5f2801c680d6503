"""Merging cells until the density of the rows has a valley between any two neighbouring groups."""

from collections.abc import Callable, Collection
from itertools import combinations
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from .._blas import one_blas_thread
from .._typing import Floats, Integers
from .known import Known
from .pair_tests import Pair, PairTests, pair_of, pair_tests
from .smoothing import smoothed_cells

LEVEL = 0.05
"""Probability that two cells without a valley between them are kept apart, shared among all neighbouring pairs."""

KINDS = 2
"""Kinds of evidence that share the level: balls, and slabs. Those of small and large balls and of two kinds of slabs
rise and fall together, and each is the smaller of two. ``python -m tests.benchmarks honesty`` checks it."""

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


@one_blas_thread()  # several threads take longer for so small products
def merge_cells(
    rows: Floats,
    hashes: Integers,
    cell: Integers,
    n_cells: int,
    most_groups: int | None = None,
    fewest_groups: int = 1,
    apart: Collection[Pair] = (),
    smooth: bool = True,
    bandwidth: Callable[[Floats], float] | None = None,
) -> Merged:
    """Merge cells of rows until a valley separates each group from its neighbours.

    The pair with the least evidence of a valley is merged first. Two groups have a valley between them if balls around
    the densest points of each group hold more rows than as many balls around the densest points of their border; the
    difference in standard errors must be larger than chance makes it in all but `LEVEL` of cases. Half of the rows
    choose the points, the other half is counted, and vice versa. In many columns, slabs between and through the groups
    are compared in the same way and are enough, in all columns or in the combinations that tell the cells apart; balls
    are if slabs agree or the difference is clear. Slabs of two groups do not count the rows of a third one that is
    apart from both. Few rows are halved repeatedly and their evidence is averaged. Where two groups may be levels of
    two-valued columns, or of categories with indicators, the valley must also be there without these columns, which is
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
    smooth : bool, default=True
        Whether the borders of cells follow the majority of their neighbours, as those of leaves have to.
    bandwidth : callable, optional
        Returns how far single columns change a projection on a direction, shape (n_columns,). For many columns only.

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
    tests = pair_tests(rows, hashes, cell, smoothed if smooth else cell, n_cells, bandwidth)
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
    known = Known(tests, group)

    def add(pairs: Collection[Pair]) -> None:
        kept = {pair_of(int(group[a]), int(group[b])) for a, b in apart} & {*pairs}
        for pair in pairs:
            confirmed.pop(pair, None)
        confirmed.update(dict.fromkeys(kept, np.inf))
        known.add(sorted({*pairs} - kept))
        known.keep(kept)

    add([*combinations(np.unique(group).tolist(), 2)] if tests.factors or tests.have_levels() else meeting)
    merged = {(int(group[lost]), lost): 0.0 for lost in np.flatnonzero(group != np.arange(len(group))).tolist()}
    while len(groups := np.unique(group)) > fewest_groups:
        too_many = most_groups is not None and len(groups) > most_groups
        if not known.bounds and too_many:  # no two groups are neighbours
            known.keep(combinations(groups.tolist(), 2))
        if not known.bounds:
            break
        shown = _without_third_groups(known, enough)
        pair, strength = _weakest(known, shown, confirmed, enough)
        if strength >= enough and not too_many:
            break
        merged[pair] = strength
        kept, gone = pair
        group[group == gone] = kept
        add({pair_of(kept, other) for other in known.drop(pair)})
    return _numbered(group, merged, enough)


def _without_third_groups(known: Known, enough: float) -> dict[Pair, float]:
    """Return the evidence of the weakest pairs without the rows of groups that are apart from both, where it is more.

    The slab between two groups may be full of a third one. As pairs become stronger, more groups are apart from others.
    """
    found, left_out = dict[Pair, float](), dict[Pair, list[int]]()

    def evidence(pair: Pair) -> float:
        return max(known.bounds.get(pair, np.inf), found.get(pair, -np.inf))

    def apart(third: int, pair: Pair) -> bool:
        """Return whether valleys were found between a group and both others; most without links are of one cloud."""
        both = [pair_of(third, of) for of in pair]
        if not all(enough <= known.most(p, evidence(p)) < np.inf for p in both):
            return False
        return all(evidence(p) >= enough or known.reaches(p, enough) for p in both)

    tests, group = known.tests, known.group
    groups = np.unique(group).tolist() if tests.have_slabs() else []
    while evidence(pair := known.least(evidence)) < enough:
        third = [g for g in groups if g not in pair and apart(g, pair)]
        if third == left_out.get(pair, []):
            break
        left_out[pair] = third
        found[pair] = max(evidence(pair), tests.evidence(group, pair, third))
    return found


def _weakest(known: Known, shown: dict[Pair, float], confirmed: dict[Pair, float], enough: float) -> tuple[Pair, float]:
    """Return the pair with the least evidence, and this; tests without a category are made only if all have enough.

    Evidence without third groups is in `shown`, that without a category is added to `confirmed`.
    """

    def evidence(pair: Pair) -> float:
        return min(max(known.bounds[pair], shown.get(pair, -np.inf)), confirmed.get(pair, np.inf))

    weakest = known.least(evidence)
    tests, group = known.tests, known.group
    if evidence(weakest) < enough:
        return weakest, evidence(weakest)
    if tests.have_levels():
        unknown = known.bounds.keys() - confirmed
        confirmed.update((pair, tests.between_levels(group, pair)) for pair in unknown)
        weakest = known.least(evidence)
        return weakest, evidence(weakest)
    between = {pair: tests.factors.between(group, pair) for pair in known.bounds.keys() - confirmed}
    levels = {pair: columns for pair, columns in between.items() if columns is not None}
    confirmed.update(dict.fromkeys(between.keys() - levels.keys(), np.inf))
    for pair in levels:
        known.full(pair)
    for pair in sorted(levels, key=lambda p: (evidence(p), p)):
        confirmed[pair] = tests.without(levels[pair], group, pair)
        if evidence(pair) < enough:
            return pair, evidence(pair)
    weakest = known.least(evidence)
    return weakest, evidence(weakest)


def _numbered(group: Integers, merged: dict[Pair, float], threshold: float) -> Merged:
    _, first, number = np.unique(group, return_index=True, return_inverse=True)
    return Merged(np.argsort(np.argsort(first))[number], tuple(merged.values()), tuple(merged), threshold)
