"""Merging cells until the density of the rows has a valley between any two neighbouring groups."""

from collections.abc import Collection
from itertools import combinations
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from .._typing import Floats, Integers
from .cuts import BLOCK, Landmarks, squared_distances
from .slabs import Slabs, slabs

LEVEL = 0.05
"""Probability that two cells without a valley between them are kept apart, shared among all neighbouring pairs."""

FEWEST = 30
"""With fewer rows, cells are not merged."""

ROWS_OF_SPLITS = 20_000
"""Fewer rows are halved repeatedly, at most `MOST_SPLITS` times, until about this many are compared in all."""

MOST_SPLITS = 6

SHARED_EVIDENCE = 0.5
"""Correlation of the evidence of several halvings of the same rows: the mean of several is
steadier than one, but much less so than that of independent ones. ``python -m tests.benchmarks honesty`` checks it."""

VOTERS = 4000
"""Number of rows among which neighbours vote on the cells of rows."""

VOTES = 15

OWN_VOTE = 1.5

ROUNDS = 5


class Merged(NamedTuple):
    """Groups of cells."""

    group: Integers
    """Group of each cell; groups are numbered by their first cells."""
    evidence: tuple[float, ...]
    """For each merge in turn, by how many standard errors the density was lower between the two groups; zero for a cell
    without landmarks, which joins another one first."""
    pairs: tuple[tuple[int, int], ...]
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
    apart: Collection[tuple[int, int]] = (),
) -> Merged:
    """Merge cells of rows until a valley separates each group from its neighbours.

    The pair with the least evidence of a valley is merged first. Two groups have a valley between them if balls around
    the densest points of each group hold more rows than as many balls around the densest points of their border; the
    difference in standard errors must be larger than chance makes it in all but `LEVEL` of cases. Half of the rows
    choose the points, the other half is counted, and vice versa. In many columns, slabs between and through the groups
    are compared in the same way, and either of the two kinds is enough. Few rows are halved repeatedly and their
    evidence is averaged.

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
    splits = [_both_ways(rows, (hashes >> np.uint64(bit)) & np.uint64(1), smoothed) for bit in range(n_splits)]
    seen = np.unique([ours for split in splits for half in split for ours in half.landmarks.cell])
    group = _swallowed(cell, smoothed, n_cells, seen)
    return _merged(splits, group, most_groups, fewest_groups, apart)


class _Test(NamedTuple):
    """What one half of the rows chose for the other half to confirm."""

    rows: Floats
    landmarks: Landmarks
    slabs: Slabs | None

    def evidence(self, group: Integers, pair: tuple[int, int]) -> Floats | None:
        """Return the evidence of balls, and of slabs with many columns, for each group; None if there is no cut."""
        balls = self.landmarks.evidence(group, pair)
        if balls is None or self.slabs is None:
            return balls
        contact = self.rows[self.landmarks.contact(group, pair)].mean(axis=0)
        return np.concatenate([balls, self.slabs.evidence(group, pair, contact)[None]])


def _both_ways(rows: Floats, half: Integers, cell: Integers) -> tuple[_Test, _Test]:
    first, second = np.flatnonzero(half == 0), np.flatnonzero(half)
    ways = (rows, first, second, cell), (rows, second, first, cell)
    one, other = (_Test(rows, Landmarks(*way), slabs(*way)) for way in ways)
    return one, other


def smoothed_cells(rows: Floats, cell: Integers, n_cells: int) -> Integers:
    """Return the cell of each row after repeated majority votes of its neighbours.

    Borders between leaves cross dense regions here and there, and a border is judged by its densest points.
    """
    voters = rows[:VOTERS]
    n_votes = min(VOTES, len(voters) - 1)
    near = _nearest(voters, voters, n_votes, others=True)
    smoothed = cell[: len(voters)]
    for _ in range(ROUNDS):
        votes = _votes(smoothed[near], n_cells)
        votes[np.arange(len(votes)), smoothed] += OWN_VOTE
        smoothed = votes.argmax(axis=1)
    rest = _votes(smoothed[_nearest(rows[VOTERS:], voters, n_votes)], n_cells).argmax(axis=1)
    return np.concatenate([smoothed, rest])


def _nearest(rows: Floats, places: Floats, k: int, others: bool = False) -> Integers:
    nearest = np.empty((len(rows), k), dtype=np.int64)
    for i in range(0, len(rows), BLOCK):
        distances = squared_distances(rows[i : i + BLOCK], places)
        if others:
            distances[np.arange(len(distances)), np.arange(i, i + len(distances))] = np.inf
        nearest[i : i + BLOCK] = np.argpartition(distances, k - 1, axis=1)[:, :k]
    return nearest


def _votes(cells: Integers, n_cells: int) -> Floats:
    n = len(cells)
    ballots = (np.arange(n)[:, None] * n_cells + cells).ravel()
    return np.bincount(ballots, minlength=n * n_cells).reshape(n, n_cells).astype(np.float64)


def _swallowed(cell: Integers, smoothed: Integers, n_cells: int, seen: Integers) -> Integers:
    """Return the initial groups: a cell without landmarks joins the cell to which most of its rows were moved."""
    group = np.arange(n_cells)
    for lost in np.setdiff1d(group, seen):
        counts = np.bincount(smoothed[cell == lost], minlength=n_cells)[seen]
        # A cell without rows in the sample joins its neighbour in the tree.
        group[lost] = seen[counts.argmax()] if counts.any() else seen[np.searchsorted(seen[1:], lost)]
    return group


def _merged(
    splits: list[tuple[_Test, _Test]],
    group: Integers,
    most_groups: int | None,
    fewest_groups: int,
    apart: Collection[tuple[int, int]],
) -> Merged:
    standard_error = (SHARED_EVIDENCE + (1 - SHARED_EVIDENCE) / len(splits)) ** 0.5

    def evidence(pair: tuple[int, int]) -> float:
        if any(_pair(int(group[a]), int(group[b])) == pair for a, b in apart):
            return np.inf
        found = [[e for half in split if (e := half.evidence(group, pair)) is not None] for split in splits]
        means = [np.sum(halves, axis=0) / len(halves) ** 0.5 for halves in found if halves]
        # Both groups must be denser than what lies between them, by balls or by slabs.
        return float(np.mean(means, axis=0).min(axis=-1).max()) / standard_error if means else np.inf

    known = {pair: evidence(pair) for pair in sorted(_meeting(splits, group))}
    kinds = 2 if splits[0][0].slabs is None else 3
    enough = NormalDist().inv_cdf(1 - LEVEL / kinds / max(len(known), 2))
    merged = {(int(group[lost]), lost): 0.0 for lost in np.flatnonzero(group != np.arange(len(group))).tolist()}
    while len(groups := np.unique(group)) > fewest_groups:
        too_many = most_groups is not None and len(groups) > most_groups
        if not known and too_many:  # no two groups are neighbours
            known = {pair: np.inf for pair in combinations(groups.tolist(), 2)}
        pair = min(known, key=lambda p: (known[p], p), default=None)
        if pair is None or (known[pair] >= enough and not too_many):
            break
        merged[pair] = known[pair]
        kept, gone = pair
        group[group == gone] = kept
        changed = {_pair(kept, other) for both in known if set(both) & set(pair) for other in both if other not in pair}
        known = {both: z for both, z in known.items() if not set(both) & set(pair)}
        known |= {both: evidence(both) for both in sorted(changed)}
    return _numbered(group, merged, enough)


def _meeting(splits: list[tuple[_Test, _Test]], group: Integers) -> set[tuple[int, int]]:
    chosen = [half.landmarks for split in splits for half in split]
    ends = [group[landmarks.cell[np.stack(landmarks.balls[0].links[:2])]] for landmarks in chosen]
    return {_pair(a, b) for both in ends for a, b in np.unique(both, axis=1).T.tolist() if a != b}


def _pair(a: int, b: int) -> tuple[int, int]:
    return (a, b) if a < b else (b, a)


def _numbered(group: Integers, merged: dict[tuple[int, int], float], threshold: float) -> Merged:
    _, first, number = np.unique(group, return_index=True, return_inverse=True)
    return Merged(np.argsort(np.argsort(first))[number], tuple(merged.values()), tuple(merged), threshold)
