"""The test of a valley of the density between two groups of cells: core against cut, for all pairs of a merge at once.

What places balls, lines and regions is one half of the rows, what is counted in them the other half, and vice versa.
All counts are integers, of which evidence is a function.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, TypeVar

import numpy as np

from .._jit.hashing import hash_again, in_first_half
from .._jit.pairs import COLUMNS_OF_BALLS
from .._random import normal_of
from .._typing import Booleans, Floats, Integers
from ..splits.dependence import N_PARTS, halves_of_parts, parts_in
from .landmarks import ELSEWHERE, LANDMARKS, RADII, Found, Half, Landmarks
from .lines import FEW_COLUMNS, Bandwidth, n_varying
from .neighbours import Distances
from .regions import found_in_regions
from .views import Views, Whole

Pair = tuple[int, int]

Halves = tuple[Booleans, Booleans]
"""Which rows choose the places, and which are counted."""

T = TypeVar("T")

Values = tuple[float, float, float]
"""Evidence, rows in the core and rows on the cut."""

LEVELS = 2
"""Key of the hashes of the rows' displacements, as others divide the rows into halves."""

HALVES = 1
"""Key of the hashes whose bits divide the rows, as values of few levels are spread by the bits of the hashes."""

ROWS_OF_SPLITS = 24_000
"""Fewer rows are halved repeatedly, at most `MOST_SPLITS` times, until about this many are compared in all.

The evidence of valleys grows with the halvings, that of clouds without clusters does not: of 5000 rows, it was a fifth
larger with four than with one. With more rows, each halving takes longer and adds less."""

MOST_SPLITS = 6

SHARED_EVIDENCE = 0.5
"""Correlation of the evidence of several halvings of the same rows: the mean of several is
steadier than one, but much less so than that of independent ones. ``python -m tests.benchmarks honesty`` checks it."""

PROMISING = 0.5
"""Where merges have an order, groups with less evidence by the first halving are merged without the others, which take
most of the time. With that correlation, three more halvings would raise it to two standard errors, the least that
clusters need, for one such pair in 200."""


class Counted(NamedTuple):
    """What the rows show of pairs of groups."""

    evidence: Floats
    """By how many standard errors the cut has fewer rows than either core, shape (n_pairs,): the mean of the most that
    balls and slabs show in few columns and in views, otherwise the most. Infinite for groups that are no neighbours,
    whose rows are not counted."""
    core_rows: Floats
    """Rows in the balls or the slab of the core there, on the side of the least evidence; a mean over halves."""
    cut_rows: Floats
    """Rows in as many balls, or in the slab, on the cut."""

    def values(self, which: int) -> Values:
        """Return what is known of one pair."""
        return float(self.evidence[which]), float(self.core_rows[which]), float(self.cut_rows[which])

    def of(self, which: Integers | Booleans) -> "Counted":
        """Return what is known of some of the pairs."""
        return Counted(*(values[which] for values in self))

    def and_of(self, other: "Counted") -> "Counted":
        """Return what is known of these pairs and of others."""
        return Counted(*(np.concatenate(both) for both in zip(self, other)))


class PairTests:
    """The tests of cells of rows, for as many ways to halve the rows as their number allows.

    rows (n_rows, n_columns) float64: in the order of their hashes.
    hashes (n_rows,) uint64: their bits are the halves.
    cell (n_rows,) int: rows of `ELSEWHERE` are in no group.
    in_groups: as for `mdh_dask.valleys.merging.merge_cells`.
    slabs: whether rows are also counted in slabs. In one column, balls are slabs, and both together split too many
        clouds.
    halves: as for `mdh_dask.valleys.merging.merge_cells`.
    views: whether rows of four to eight columns are counted in a view of each pair.
    most_splits: largest number of ways to halve the rows.
    """

    def __init__(
        self,
        rows: Floats,
        hashes: Integers,
        cell: Integers,
        in_groups: bool = False,
        slabs: bool = True,
        halves: Sequence[Halves] = (),
        views: bool = False,
        most_splits: int = MOST_SPLITS,
    ) -> None:
        self.halves, self.shared = halves, 1.0 if halves else SHARED_EVIDENCE
        self.rows, self.hashes, self.cell, self.in_groups = rows, hashes, cell, in_groups
        parts = parts_in(hashes) if in_groups else None
        normal = normal_of(hash_again(hashes, LEVELS))
        n_columns = n_varying(rows)
        self.slabs, self.views = slabs and n_columns > 1, views and COLUMNS_OF_BALLS < n_columns <= FEW_COLUMNS
        self.n_balls = len(RADII) if self.slabs and (self.views or n_columns <= COLUMNS_OF_BALLS) else 0
        ways = [[one] for one in halves] if halves else [*_splits(hashes, parts, most_splits)]
        n_landmarks = min(int(np.count_nonzero(cell != ELSEWHERE)) // 2, LANDMARKS)
        distances = Distances(rows, n_landmarks * (len(rows) + n_landmarks) * sum(map(len, ways)))

        def seen(half: Half) -> Whole | Views:
            if self.views:
                return Views(half, distances, normal)
            return Whole(half, distances, normal if self.slabs else None)

        self.splits, self.known = _seen_by(seen, ways, rows, cell, parts), dict[bytes, Values]()
        self.neighbours = np.unique(np.concatenate([own.joined.T[own.near] for own in self._landmarks()]), axis=0)

    def counted(
        self, group: Integers, pairs: Integers, left_out: Booleans | None = None, promising: float = -np.inf
    ) -> Counted:
        """Return what the rows show of pairs of groups, shape (n_pairs, 2), the smaller group of each first.

        Rows of groups that are left out are not counted in slabs, shape (n_pairs, n_cells). Pairs with less evidence
        than `promising` are compared by the first halving only.
        """
        n, nothing = len(group), np.inf
        met = np.isin(pairs @ [n, 1], np.sort(group[self.neighbours], axis=1) @ [n, 1])
        if self.in_groups:  # groups of dependent rows are no neighbours without being clusters
            nothing, met = 0.0, np.ones_like(met)
        found = Counted(np.full(len(pairs), nothing), *np.zeros((2, len(pairs))))
        if met.any():
            none = np.zeros((len(pairs), n), dtype=np.bool_) if left_out is None else left_out
            of_met = self._counted(group, np.ascontiguousarray(pairs[met]), none[met], promising)
            for every, some in zip(found, of_met):
                every[met] = some
            found.evidence[~np.isfinite(found.evidence)] = nothing
        return found

    def rows_between(self, group: Integers, pair: Pair) -> tuple[float, float]:
        """Return the rows in the core and on the cut of a pair, also of groups that are no neighbours."""
        _, core, cut = self._counted(group, np.array([pair]), np.zeros((1, len(group)), dtype=np.bool_)).values(0)
        return core, cut

    def _counted(self, group: Integers, pairs: Integers, left_out: Booleans, promising: float = -np.inf) -> Counted:
        """Return what the rows show of pairs, and count those of the same cells, without the same, only once."""
        of_first, of_second = (group == side for side in pairs.T[..., None])
        roles = np.select([of_first, of_second, left_out[:, group]], [np.int8(1), np.int8(2), np.int8(3)], np.int8(0))
        keys = [role.tobytes() for role in roles]
        new = [i for i, key in enumerate(keys) if key not in self.known]
        if new:
            counted = self._by_halvings(group, pairs[new], left_out[new], promising)
            self.known |= {keys[i]: counted.values(at) for at, i in enumerate(new)}
        return Counted(*np.transpose([self.known[key] for key in keys]))

    def _by_halvings(self, group: Integers, pairs: Integers, left_out: Booleans, promising: float) -> Counted:
        """Return what all halvings show of promising pairs, and the first one of others."""

        def found(split: Sequence[Whole | Views], some: Integers) -> list[Found]:
            return [half.found(group, pairs[some], left_out[some]) for half in split]

        by_first = found(self.splits[0], np.arange(len(pairs)))
        counted = _combined([by_first], self.shared, self.n_balls)
        more = np.flatnonzero((counted.evidence >= promising) | np.isinf(counted.evidence))
        if len(self.splits) > 1 and len(more):
            halvings = [[Found(*(of[more] for of in half)) for half in by_first]]
            halvings += [found(split, more) for split in self.splits[1:]]
            for every, some in zip(counted, _combined(halvings, self.shared, self.n_balls)):
                every[more] = some
        return counted

    def without(self, columns: Integers, group: Integers, pair: Pair, promising: float = -np.inf) -> float:
        """Return the evidence of a pair without some columns, by the first halving only if less than `promising`."""
        rows = np.delete(self.rows, columns, axis=1)
        if not np.ptp(rows, axis=0).any():
            return np.inf
        sides = np.where(group == pair[0], 0, np.where(group == pair[1], 1, ELSEWHERE))
        cell, (in_groups, halves, views) = sides[self.cell], (self.in_groups, self.halves, self.views)
        n_splits = len(self.splits)
        for most_splits in sorted({n_splits if promising == -np.inf else 1, n_splits}):
            tests = PairTests(rows, self.hashes, cell, in_groups, True, halves, views, most_splits)
            evidence = float(tests.counted(np.arange(2), np.array([[0, 1]])).evidence[0])
            if evidence < promising:
                break
        return evidence

    def smoothed(self, bandwidth: Bandwidth, group: Integers, pair: Pair) -> float:
        """Return the evidence of a pair in slabs where a bandwidth hides the levels of columns, zero without a cut."""
        if not self.slabs:
            return np.inf
        errors = [[half.smoothed(group, np.array(pair), bandwidth) for half in split] for split in self.splits]
        weaker = pooled(np.moveaxis(np.array(errors), 2, 0), self.shared).min(axis=-1)
        return float(np.nan_to_num(weaker, nan=0.0).max())

    def seen(self) -> Integers:
        """Return the cells with landmarks."""
        return np.unique(np.concatenate([landmarks.cell for landmarks in self._landmarks()]))

    def meeting(self, group: Integers) -> Integers:
        """Return the pairs of groups with neighbouring landmarks, shape (n_pairs, 2).

        Groups of dependent rows are connected by further pairs, as rows of different donors may be far from each other.
        """
        ends = np.sort(group[self.neighbours], axis=1)
        links = [ends[ends[:, 0] < ends[:, 1]]]
        if self.in_groups:
            links += [landmarks.spanning(group) for landmarks in self._landmarks()]
        return np.unique(np.concatenate(links), axis=0)

    def _landmarks(self) -> list[Landmarks]:
        return [half.landmarks for split in self.splits for half in split]


def counted_in_regions(rows: Floats, hashes: Integers, cell: Integers, pairs: Integers) -> Counted:
    """Return what rows in convex regions show of pairs of cells in contact; parameters are those of `PairTests`."""
    n_cells = int(cell.max()) + 1
    ways = [*_splits(hashes, None)]
    found = _seen_by(lambda half: found_in_regions(half, n_cells, pairs), ways, rows, cell, None)
    return _combined(found, SHARED_EVIDENCE, 0)


def _seen_by(
    seen: Callable[[Half], T], ways: Sequence[Sequence[Halves]], rows: Floats, cell: Integers, parts: Integers | None
) -> list[list[T]]:
    """Return how the halves of each way to divide the rows are seen."""
    return [
        [seen(Half(rows, np.flatnonzero(one), np.flatnonzero(other), cell, parts)) for one, other in split]
        for split in ways
    ]


def _combined(found: Sequence[Sequence[Found]], shared: float, n_balls: int) -> Counted:
    """Return what all halves show together, by the kind with the most evidence.

    `n_balls` is the number of kinds that are balls if the mean of the most in these and in the others counts, otherwise
    zero.
    """
    errors, rows = (np.array([[half[i] for half in split] for split in found]) for i in range(2))
    by_side = pooled(np.moveaxis(errors, (2, 3), (0, 1)), shared)
    weaker = np.nan_to_num(by_side.min(axis=-1), nan=-np.inf)
    best, each = weaker.argmax(axis=1), np.arange(len(weaker))
    evidence = weaker[each, best]
    if n_balls:
        evidence = (weaker[:, :n_balls].max(axis=1) + weaker[:, n_balls:].max(axis=1)) / 2
    side = np.nan_to_num(by_side[each, best], nan=np.inf).argmin(axis=-1)
    in_core, in_cut = np.moveaxis(rows, (2, 3), (0, 1))[each, best][each, :, :, side].mean(axis=(1, 2)).T
    return Counted(evidence, in_core, in_cut)


def _splits(hashes: Integers, parts: Integers | None, most: int = MOST_SPLITS) -> Iterator[list[Halves]]:
    """Return ways to halve rows, or the parts of dependent rows: either half chooses, and the other is counted."""
    n_splits = max(min(ROWS_OF_SPLITS // len(hashes), most), 1)
    if parts is None:
        again = hash_again(hashes, HALVES)
        every = (in_first_half(again, number) for number in range(64))
    else:
        every = (halves_of_parts(number)[parts] for number in range(N_PARTS - 1))
    # Of few rows or parts, all may be in one half.
    halves = [*islice((first for first in every if 0 < np.count_nonzero(first) < len(first)), n_splits)]
    for first in halves:
        yield [(first, ~first), (~first, first)]


def pooled(errors: Floats, shared: float) -> Floats:
    """Return the evidence for each group: the mean of all halvings, NaN if none found a cut, shape (..., 2 groups).

    `shared` is the correlation of the evidence of several halvings, one if the same rows are counted in all.
    `errors` of both groups have shape (..., n_splits, 2 halves, 2 groups) and are NaN without a cut.
    """
    found = ~np.isnan(errors)
    n_halves = found.sum(axis=-2)
    of_split = np.where(found, errors, 0).sum(axis=-2) / np.sqrt(np.maximum(n_halves, 1))
    n_splits = (n_halves > 0).sum(axis=-2)
    standard_error = (shared + (1 - shared) / np.maximum(n_splits, 1)) ** 0.5
    return np.where(n_splits > 0, of_split.sum(axis=-2) / np.maximum(n_splits, 1) / standard_error, np.nan)
