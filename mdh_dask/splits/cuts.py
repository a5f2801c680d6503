"""The test whether the density of rows is lower on the cut between two groups of cells than in the core of either.

Some rows choose the densest points of each group and of the cut between them. Other rows are counted in balls around
these points, so the points are not tested on the rows that chose them. Groups may have any shape.
"""

from typing import NamedTuple

import numpy as np

from .._jit.communities import rows_in_core_and_cut
from .._typing import Floats, Integers
from .by_group import ByGroup
from .distances import BLOCK, TIES, Distances, distinct, middle, nearest, squared_distances

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


class Links(NamedTuple):
    """Pairs of near landmarks in different cells, ordered from the densest bottleneck to the sparsest.

    The bottleneck of a pair is the sparsest of three points: the two landmarks and the middle between them.
    """

    first: Integers
    second: Integers
    reach: Floats
    """Squared distance of the bottleneck to its k-th neighbour."""
    ends: Integers
    """Landmarks with the bottleneck in their middle, shape (2, n_links); equal if the bottleneck is a landmark."""
    apart: Floats
    """Squared distance between `ends`."""


class Balls(NamedTuple):
    """Balls of one number of rows."""

    links: Links
    reach: Floats
    """Squared radii around the landmarks."""


class Landmarks:
    """Landmarks chosen from one half of the rows, with their distances to the rows of the other half.

    Parameters
    ----------
    rows : array of shape (n_rows, n_columns), float64
    choosing, counted : arrays of int
        Indices of the rows of both halves; the landmarks are the first distinct rows of `choosing`.
    cell : array of shape (n_rows,), int
        Rows of `ELSEWHERE` are no centres of balls.
    """

    def __init__(self, rows: Floats, choosing: Integers, counted: Integers, cell: Integers) -> None:
        drawn = choosing[distinct(rows[choosing])[:LANDMARKS]]
        own = np.flatnonzero(cell[drawn] != ELSEWHERE)
        self.places, self.cell = drawn[own], cell[drawn[own]]
        centres = rows[self.places]
        to_choosing = squared_distances(centres, rows[choosing])
        apart = to_choosing[:, np.searchsorted(choosing, drawn)]
        pairs = _neighbours(apart, own, self.cell)
        self.apart = apart if len(own) == len(drawn) else apart[:, own]
        most = len(choosing) // ROWS_FOR_A_NEIGHBOUR
        sizes = max(min(NEIGHBOURS, most), 3), max(min(MANY_NEIGHBOURS, most), 3)
        self.balls = _balls(to_choosing, self.apart, pairs, *sizes)
        self.to_counted = Distances(centres, rows, counted)
        self.times = (1.0, CLEARLY) if has_many_columns(rows) else (1.0,)
        self.seen: tuple[bytes, ByGroup] | None = None

    def meet(self, group: Integers, pair: tuple[int, int]) -> bool:
        """Return whether two groups have a cut."""
        return len(self._view(group).cut(0, pair)) > 0

    def evidence(self, size: int, group: Integers, pair: tuple[int, int]) -> Floats:
        """Return by how many standard errors each core has more rows than the cut between two groups that meet.

        Parameters
        ----------
        size : int
            0 for small balls, 1 for large ones.
        group : array of shape (n_cells,), int
            Group of each cell.
        pair : two groups

        Returns
        -------
        array of shape (n_times, 2)
            In many columns, then for cores with clearly more rows, see `CLEARLY`.
        """
        view, (links, reach) = self._view(group), self.balls[size]
        cut = view.cut(size, pair)
        beside = np.zeros(len(view.ours), dtype=bool)
        beside[links.first[cut]] = beside[links.second[cut]] = True
        least = links.reach[cut[0]]
        cut = cut[:PLACES]
        cut = cut[links.reach[cut] <= SPREAD * least]
        radius = least * np.float32(1 + TIES)
        found = np.empty((len(self.times), 2))
        for column, side in enumerate(pair):
            ours = view.landmarks(side)
            core = self._core(reach, ours, int(beside[ours].sum()))[: len(cut)]
            own = cut[: len(core)]
            sums = np.zeros(5, dtype=np.int64)
            squares = self.to_counted.of(np.concatenate([core, links.ends[0, own], links.ends[1, own]]))
            rows_in_core_and_cut(squares, core, links.ends[:, own], links.apart[own], radius, sums)
            found[:, column] = [_standard_errors(sums, times) for times in self.times]
        return found

    def _view(self, group: Integers) -> ByGroup:
        """Return the landmarks and links by group, which are kept while groups do not change."""
        key = group.tobytes()
        if self.seen is None or self.seen[0] != key:
            self.seen = key, ByGroup(group[self.cell], len(group), [balls.links[:2] for balls in self.balls])
        return self.seen[1]

    def contact(self, group: Integers, pair: tuple[int, int]) -> Integers:
        """Return the rows of the landmarks at both ends of the densest link between two groups, which have a cut."""
        links = self.balls[0].links
        densest = self._view(group).cut(0, pair)[0]
        return self.places[[links.first[densest], links.second[densest]]]

    def _core(self, reach: Floats, group: Integers, size: int) -> Integers:
        """Return the `size` landmarks of a group that are nearest to its densest one, the densest first.

        They are as many as those along the cut: the densest points of a thin cluster all lie on its ridge, but
        only few of those on a cut through it.
        """
        peak = group[reach[group].argmin()]
        around = group[np.argsort(self.apart[peak, group], kind="stable")[:size]]
        return around[np.argsort(reach[around], kind="stable")]


def _standard_errors(sums: Integers, times: float) -> float:
    """Return by how many standard errors balls of the core hold more than `times` the rows of as many of the cut.

    `sums` are those of `mdh_dask._jit.communities.rows_in_core_and_cut`.
    """
    in_core, in_cut, cores, both, cuts = sums.tolist()
    squares = cores - 2 * times * both + times**2 * cuts
    return float((in_core - times * in_cut) / squares**0.5) if squares else 0.0


def has_many_columns(rows: Floats) -> bool:
    """Return whether there are more than `FEW_COLUMNS`, constant ones aside."""
    return bool(np.count_nonzero(np.ptp(rows, axis=0)) > FEW_COLUMNS)


def _balls(to_choosing: Floats, among: Floats, pairs: tuple[Integers, Integers], *numbers: int) -> tuple[Balls, ...]:
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
    return tuple(Balls(_ordered(first, second, apart, own, between), own) for own, between in zip(reach.T, halfway.T))


def _ordered(first: Integers, second: Integers, apart: Floats, reach: Floats, halfway: Floats) -> Links:
    candidates = np.stack([reach[first], halfway, reach[second]])
    sparsest = candidates.argmax(axis=0)
    ends = np.stack([np.where(sparsest == 2, second, first), np.where(sparsest == 0, first, second)])
    apart = np.where(sparsest == 1, apart, 0)
    bottleneck = candidates.max(axis=0)
    order = np.lexsort((second, first, bottleneck))
    return Links(first[order], second[order], bottleneck[order], ends[:, order], apart[order])


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
