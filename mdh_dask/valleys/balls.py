"""Balls that compare the density of rows on the cut between two groups of cells with that in the core of either.

Some rows choose the densest points of each group and of the cut between them. Other rows are counted in balls around
these points, so the points are not tested on the rows that chose them. Groups may have any shape.
"""

from itertools import combinations

import numpy as np

from .._jit.pairs import BallsOfPairs, Limits, Listed, rows_in_balls_of_pairs
from .._typing import Floats, Integers
from ..splits.dependence import errors_of_parts
from .neighbours import BLOCK, TIES, distinct, middle, nearest, squared_distances

LANDMARKS = 2000
"""Largest number of rows of one half that may be centres of balls."""

NEIGHBOURS = 10
"""Number of rows in a small ball, of the half that chose it, and number of others that each landmark is linked to."""

MANY_NEIGHBOURS = 40
"""Number of rows in a large ball. The difference of counts in large balls is clearer."""

ROWS_FOR_A_NEIGHBOUR = 16
"""With few rows, a ball holds one row for this many rows of the half that chose it, but at least 3 if it is small."""

PLACES = 40
"""Largest number of balls on a cut and in a core; with 60, more clouds without a valley were split."""

SPREAD = 2.0
"""Largest ratio of the squared radii of balls on a cut. Without it, balls on a cut through a thin cluster reach into
its margins, where rows are sparser than in its core."""

FEW_COLUMNS = 8
"""In more columns, rows are far apart: balls are blunt, and lines hardly leave curved groups. In at most as many, two
moons were cut by slabs."""

CLEARLY = 1.5
"""In many columns, cores that hold so many times the rows of a cut are evidence of their own. With less, slabs must
agree: landmarks have few others in the thin space along a border there, so the cut seems sparser than it is, and leaves
have borders where their rows happen to be sparse. ``python -m tests.benchmarks honesty --cloud "common factor"`` checks
it."""

ELSEWHERE = -1
"""Cell of rows that are in none of the groups to be compared. They are neighbours and counted like others."""


class Landmarks:
    """Landmarks chosen from one half of the rows, with their distances to the rows of the other half.

    Parameters
    ----------
    rows : array of shape (n_rows, n_columns), float64
    choosing, counted : arrays of int
        Indices of the rows of both halves; the landmarks are the first distinct rows of `choosing`.
    cell : array of shape (n_rows,), int
        Rows of `ELSEWHERE` are no centres of balls.
    parts : array of shape (n_rows,), int, optional
        Parts of dependent rows, whose counts are compared; see `mdh_dask.splits.dependence`.
    """

    def __init__(
        self, rows: Floats, choosing: Integers, counted: Integers, cell: Integers, parts: Integers | None = None
    ) -> None:
        drawn = choosing[distinct(rows[choosing])[:LANDMARKS]]
        own = np.flatnonzero(cell[drawn] != ELSEWHERE)
        places = drawn[own]
        self.cell = cell[places]
        self.to_choosing = to_choosing = squared_distances(rows[places], rows[choosing])
        apart = to_choosing[:, np.searchsorted(choosing, drawn)]
        pairs = _neighbours(apart, own, self.cell)
        if parts is not None:  # groups of rows far from others are no evidence of clusters
            pairs = _with_closest(*pairs, np.ascontiguousarray(apart[:, own]), self.cell)
        most = len(choosing) // ROWS_FOR_A_NEIGHBOUR
        sizes = max(min(NEIGHBOURS, most), 3), max(min(MANY_NEIGHBOURS, most), 3)
        self.balls = _balls(to_choosing, np.ascontiguousarray(apart[:, own]), pairs, *sizes)
        self.to_counted = squared_distances(rows[places], rows[counted])
        self.of_parts = None if parts is None else of_parts(self.to_counted, parts[counted])
        self.times = (1.0, CLEARLY) if has_many_columns(rows) else (1.0,)

    def links(self, group: Integers) -> Integers:
        """Return the groups at both ends of each link between two groups, the smaller first, shape (n_links, 2)."""
        ends = np.sort(group[self.cell[self.balls[0].ends]], axis=0)
        return ends[:, ends[0] < ends[1]].T

    def contacts(self, group: Integers, pairs: Integers) -> Integers:
        """Return the landmarks at both ends of the densest link of each pair, -1 without one, shape (n_pairs, 2)."""
        cuts = self._cuts(0, group, pairs)
        met = np.diff(cuts.start) > 0
        found = np.full((len(pairs), 2), -1)
        found[met] = self.balls[0].ends[:, cuts.items[cuts.start[:-1][met]]].T
        return found

    def _cuts(self, size: int, group: Integers, pairs: Integers) -> Listed:
        """Return the links between the groups of each pair for balls of one size, the densest first."""
        low, high = np.sort(group[self.cell][self.balls[size].ends], axis=0)
        return listed(low * len(group) + high, pairs[:, 0] * len(group) + pairs[:, 1])

    def errors(self, group: Integers, pairs: Integers) -> Floats:
        """Return by how many standard errors each core has more rows than the cut between the groups of each pair.

        Parameters
        ----------
        group : array of shape (n_cells,), int
            Group of each cell.
        pairs : array of shape (n_pairs, 2), int
            The smaller group first.

        Returns
        -------
        array of shape (n_pairs, 2, n_times, 2)
            For small balls and large ones, by the share that the rows of a core must exceed and by groups; NaN without
            a cut. In many columns, cores have to have more rows, or clearly more rows, see `CLEARLY`.
        """
        ours = group[self.cell]
        members = listed(ours, np.arange(len(group)))
        limits = Limits(PLACES, np.float32(SPREAD), np.float32(1 + TIES))
        found = []
        for size, balls in enumerate(self.balls):
            cuts = self._cuts(size, group, pairs)
            sums = np.zeros((len(self.of_parts or "1"), len(pairs), 2, 5), dtype=np.int64)
            for own, to_rows in zip(sums, self.of_parts or [self.to_counted]):
                rows_in_balls_of_pairs(to_rows, balls, members, cuts, pairs, limits, own)
            met = np.diff(cuts.start)[:, None] > 0
            errors = [
                _standard_errors(sums[0], times) if self.of_parts is None else _errors_among_parts(sums, times)
                for times in self.times
            ]
            found.append(np.stack([np.where(met, of_times, np.nan) for of_times in errors], axis=1))
        return np.stack(found, axis=1)


def listed(numbers: Integers, wanted: Integers) -> Listed:
    """Return the places of each wanted number in ascending order."""
    order = np.argsort(numbers, kind="stable")
    first, last = (np.searchsorted(numbers[order], wanted, side=side) for side in ("left", "right"))
    items = [order[a:b] for a, b in zip(first, last)]
    return Listed(np.concatenate([order[:0], *items]), np.concatenate([[0], np.cumsum(last - first)]))


def _standard_errors(sums: Integers, times: float) -> Floats:
    """Return by how many standard errors balls of the core hold more than `times` the rows of as many of the cut.

    `sums` are those of `mdh_dask._jit.communities.rows_in_core_and_cut`.
    """
    in_core, in_cut, cores, both, cuts = np.moveaxis(sums.astype(np.float64), -1, 0)
    squares = cores - 2 * times * both + times**2 * cuts
    return np.asarray((in_core - times * in_cut) / np.sqrt(np.where(squares > 0, squares, np.inf)))


def _errors_among_parts(sums: Integers, times: float) -> Floats:
    """Return what `_standard_errors` does for dependent rows, of which there are sums for each part."""
    in_core, in_cut = np.moveaxis(sums[..., :2].astype(np.float64), -1, 0)
    return errors_of_parts(in_core - times * in_cut)


def of_parts(to_rows: Floats, parts: Integers) -> list[Floats]:
    """Return the columns of distances to the rows of each part."""
    return [np.ascontiguousarray(to_rows[:, parts == part]) for part in np.unique(parts)]


def has_many_columns(rows: Floats) -> bool:
    """Return whether there are more than `FEW_COLUMNS`, constant ones aside."""
    return bool(np.count_nonzero(np.ptp(rows, axis=0)) > FEW_COLUMNS)


def _balls(
    to_choosing: Floats, among: Floats, pairs: tuple[Integers, Integers], *numbers: int
) -> tuple[BallsOfPairs, ...]:
    """Return balls of so many rows around all landmarks and the middles of their links, which join `pairs`.

    `to_choosing` and `among` hold the squared distances of the landmarks to the rows of their half, and to each other.
    """
    first, second = pairs
    apart = among[first, second]
    reach = np.empty((len(to_choosing), len(numbers)), dtype=np.float32)
    for i in range(0, len(to_choosing), BLOCK):
        reach[i : i + BLOCK] = np.partition(to_choosing[i : i + BLOCK], numbers, axis=1)[:, numbers]
    halfway = np.empty((len(first), len(numbers)), dtype=np.float32)
    nearest = [k - 1 for k in numbers]  # the middle is not itself a row
    for i in range(0, len(first), BLOCK):
        part = slice(i, i + BLOCK)
        distances = middle(to_choosing[first[part]], to_choosing[second[part]], apart[part][:, None])
        halfway[part] = np.partition(distances, nearest, axis=1)[:, nearest]
    return tuple(
        _ordered(first, second, among, np.ascontiguousarray(own), between) for own, between in zip(reach.T, halfway.T)
    )


def _ordered(first: Integers, second: Integers, among: Floats, reach: Floats, halfway: Floats) -> BallsOfPairs:
    """Return balls with links from the densest bottleneck to the sparsest: the sparsest of both ends and the middle."""
    candidates = np.stack([reach[first], halfway, reach[second]])
    sparsest, reaches = candidates.argmax(axis=0), candidates.max(axis=0)
    ends = np.stack([np.where(sparsest == 2, second, first), np.where(sparsest == 0, first, second)])
    between = np.where(sparsest == 1, among[first, second], 0)
    order = np.lexsort((second, first, reaches))
    links = np.stack([first, second])
    return BallsOfPairs(reach, among, links[:, order], ends[:, order], between[order], reaches[order])


def _neighbours(apart: Floats, own: Integers, cell: Integers) -> tuple[Integers, Integers]:
    """Return the pairs of neighbours in different cells, each with the smaller index first.

    `apart` holds the squared distances of landmarks to all rows that could be neighbours, of which they are `own`.
    """
    n, n_others = apart.shape
    apart = apart.copy()
    apart[np.arange(n), own] = np.inf
    k = min(NEIGHBOURS, n_others - 1)
    number = np.full(n_others, ELSEWHERE)
    number[own] = np.arange(n)
    near = number[nearest(apart, k)].ravel()
    known = near != ELSEWHERE
    first, near = np.repeat(np.arange(n), k)[known], near[known]
    pairs = np.unique(np.minimum(first, near) * n + np.maximum(first, near))
    first, second = pairs // n, pairs % n
    crossing = cell[first] != cell[second]
    return first[crossing], second[crossing]


def _with_closest(first: Integers, second: Integers, among: Floats, cell: Integers) -> tuple[Integers, Integers]:
    """Return pairs of landmarks and the closest two of every two cells, which may be no neighbours."""
    cells, own = np.unique(cell, return_inverse=True)
    closest = np.full((len(cells), len(among)), -1)  # the landmark of each cell that is nearest to each landmark
    for c in range(len(cells)):
        ours = np.flatnonzero(own == c)
        closest[c] = ours[among[:, ours].argmin(axis=1)]
    found = [first * len(among) + second]
    for a, b in combinations(range(len(cells)), 2):
        ours = np.flatnonzero(own == a)
        one = ours[among[ours, closest[b][ours]].argmin()]
        ends = sorted((int(one), int(closest[b][one])))
        found.append(np.array([ends[0] * len(among) + ends[1]]))
    pairs = np.unique(np.concatenate(found))
    return pairs // len(among), pairs % len(among)
