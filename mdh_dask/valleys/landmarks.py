"""Balls that compare the density of rows on the cut between two groups of cells with that in the core of either.

One half of the rows chooses landmarks, and by them the densest places of each group and of the cut between two. The
other half is counted in balls around these places, so they are not tested on the rows that chose them. Groups may have
any shape.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree

from .._jit.landmarks import nearest_columns
from .._jit.pairs import (
    Links,
    Listed,
    Marks,
    count_in_balls,
    find_closest,
    find_halfway,
    find_meeting,
    list_places,
)
from .._typing import Booleans, Floats, Integers
from ..splits.dependence import errors_of_parts
from .neighbours import Distances, distinct

LANDMARKS = 1500
"""Largest number of rows of one half that may be centres of balls."""

NEIGHBOURS = 10
"""Number of other landmarks that each landmark is linked to."""

RANKED_BY = 3
"""Places are ranked by the distance to this neighbour. With the fifth, the sparsest place between thin curves is seldom
that in the gap."""

RADII = (2, 5, 10, 20)
"""Balls in the core hold about these numbers of choosing rows. The smallest fit into narrow gaps, the largest count the
most rows."""

ELSEWHERE = -1
"""Cell of rows that are in none of the groups to be compared. They are neighbours and counted like others."""


class Half(NamedTuple):
    """One half of the rows, which chooses places, and the other half, which is counted."""

    rows: Floats
    """All rows in the order of their hashes, shape (n_rows, n_columns)."""
    choosing: Integers
    counted: Integers
    cell: Integers
    """Cell of each row; rows of `ELSEWHERE` choose nothing, but are counted."""
    parts: Integers | None = None
    """Parts of dependent rows, whose counts are compared; see `mdh_dask.splits.dependence`."""


class Found(NamedTuple):
    """What one half of the rows shows of pairs of groups."""

    errors: Floats
    """By how many standard errors cores have more rows than the cut, NaN without a cut, shape (n_pairs, n_kinds, 2)."""
    rows: Floats
    """The rows of each core and those of the cut, shape (n_pairs, n_kinds, 2 groups, 2)."""


class Landmarks:
    """The first distinct rows of each cell in one half of the rows, with their distances to those of the other half.

    distances: those of the rows, which several halves share.
    n_landmarks: largest number of landmarks.

    `near` says which links join neighbours, and `joined`, shape (2, n_links), the cells of both landmarks of each.
    """

    def __init__(self, half: Half, distances: Distances | None = None, n_landmarks: int = LANDMARKS) -> None:
        rows, choosing, counted, cell, parts = half
        distances = distances or Distances(rows)
        ours = choosing[cell[choosing] != ELSEWHERE]
        drawn = ours[distinct(np.column_stack([rows[ours], cell[ours]]))[:n_landmarks]]
        self.places, self.cell, self.by_parts = rows[drawn], cell[drawn], parts is not None
        if parts is not None:
            counted = counted[np.argsort(parts[counted], kind="stable")]
        starts = [0] if parts is None else np.unique(parts[counted], return_index=True)[1].tolist()
        self.starts = np.array([*starts, len(counted)], dtype=np.int64)
        self.to_counted = distances.between(drawn, counted)
        self.n_rows = np.bincount(cell[ours])
        apart, to_choosing = distances.between(drawn, drawn), distances.between(drawn, choosing)
        reach, reaches = reaches_of(to_choosing, RANKED_BY, RADII)
        first, second, near = _pairs(apart, self.cell)
        meets = meeting_of(apart, first, second)
        links, order = links_of(to_choosing, apart, reach, RANKED_BY, first, second, meets)
        self.marks, self.near = Marks(apart, reach, reaches, np.array(RADII), links), near[order]
        self.joined = self.cell[np.stack([links.first, links.second])]

    def spanning(self, group: Integers) -> Integers:
        """Return the pairs of groups in a least spanning tree by their closest landmarks, shape (n_groups - 1, 2)."""
        links, apart = self.marks.links, np.full((len(group), len(group)), np.inf)
        between = np.maximum(self.marks.apart[links.first, links.second], np.finfo(np.float32).tiny)
        np.minimum.at(apart, tuple(group[self.joined]), between)
        np.fill_diagonal(apart, np.inf)
        return np.sort(np.transpose(minimum_spanning_tree(apart).nonzero()), axis=1)

    def cuts(self, group: Integers, pairs: Integers) -> Listed:
        """Return the links between the groups of each pair, the densest first."""
        n, (one, other) = len(group), group.take(self.joined)
        number_of = np.full((n, n), -1)
        number_of[pairs.T, pairs.T[::-1]] = np.arange(len(pairs))
        return members_of(number_of.take(one * n + other), len(pairs))  # two indices would take twice as long

    def contacts(self, cuts: Listed) -> Floats:
        """Return the densest place on the cut of each pair, NaN without a cut, shape (n_pairs, n_columns)."""
        places, met = np.full((len(cuts.start) - 1, self.places.shape[1]), np.nan), np.diff(cuts.start) > 0
        places[met] = self.places[self.marks.links.ends[:, cuts.items[cuts.start[:-1][met]]]].mean(axis=0)
        return places

    def errors(self, group: Integers, pairs: Integers, cuts: Listed) -> tuple[Floats, Floats]:
        """Return by how many standard errors balls of each core hold more rows than those on the cut, and the rows.

        group (n_cells,) int: group of each cell.
        pairs (n_pairs, 2) int: the smaller group first.
        Returns errors (n_pairs, n_radii, 2): NaN without a cut.
        Returns rows (n_pairs, n_radii, 2, 2): the rows in as many balls of the core as are on the cut, and those on the
            cut.
        """
        sums = np.zeros((len(pairs), 2, len(self.starts) - 1, len(RADII), 5), dtype=np.int64)
        n_balls = np.ones((len(pairs), 2, 2), dtype=np.int64)
        n_rows = np.zeros(len(group), dtype=np.int64)
        np.add.at(n_rows, group[: len(self.n_rows)], self.n_rows)
        members, d = members_of(group[self.cell], len(group)), self.places.shape[1]
        count_in_balls(self.to_counted, self.starts, self.marks, members, n_rows, cuts, pairs, d, sums, n_balls)
        n_balls = np.maximum(n_balls, 1)
        n_core, n_cut = n_balls[..., :1], n_balls[..., 1:]
        total = sums.sum(axis=2)
        core, cut = total[..., 0] * (n_cut / n_core), total[..., 1].astype(np.float64)
        errors = errors_in_balls(total, n_core, n_cut)
        if self.by_parts:
            of_parts = np.moveaxis(sums, 2, 0)
            errors = errors_of_parts(of_parts[..., 0] / n_core - of_parts[..., 1] / n_cut, errors)
        errors[np.diff(cuts.start) == 0] = np.nan
        return errors.swapaxes(1, 2), np.stack([core, cut], axis=-1).swapaxes(1, 2)


def reaches_of(to_rows: Floats, ranked_by: int, radii: Sequence[int]) -> tuple[Floats, Floats]:
    """Return the squared distances to the neighbour by which landmarks are ranked, and to those that size balls."""
    k, *sizes = np.minimum((ranked_by, *radii), to_rows.shape[1] - 1).tolist()
    near = nearest_columns(to_rows, max(k, *sizes) + 1)  # a partition by all of them takes much longer
    reached = np.take_along_axis(to_rows, near[:, [k, *sizes]], axis=1)
    return np.ascontiguousarray(reached[:, 0]), np.ascontiguousarray(reached[:, 1:])


def meeting_of(apart: Floats, first: Integers, second: Integers) -> Booleans:
    """Return whether no other landmark is in the ball between two, as their middle may be in a third place."""
    meets = np.zeros(len(first), dtype=np.bool_)
    find_meeting(apart, first, second, meets)
    return meets


def links_of(
    to_rows: Floats, apart: Floats, reach: Floats, ranked_by: int, first: Integers, second: Integers, meets: Booleans
) -> tuple[Links, Integers]:
    """Return the links of pairs of landmarks, those that meet and the densest first, and this order.

    The place of a link is the sparsest of both landmarks and their middle. Other landmarks are near the middle of links
    that do not meet: how dense rows are there says nothing, so their length counts.
    """
    halfway, k = apart[first, second].astype(np.float64) / 4, min(ranked_by, to_rows.shape[1] - 1)
    found = np.empty(np.count_nonzero(meets))
    find_halfway(to_rows, apart, first[meets], second[meets], k, found)
    halfway[meets] = found
    candidates = np.stack([reach[first], halfway.astype(np.float32), reach[second]])
    sparsest, reaches = candidates.argmax(axis=0), candidates.max(axis=0).astype(np.float64)
    ends = np.stack([np.where(sparsest == 2, second, first), np.where(sparsest == 0, first, second)])
    between = np.where(sparsest == 1, apart[first, second], 0).astype(np.float64)
    order = np.lexsort((second, first, reaches, ~meets))
    links = Links(first[order], second[order], ends[:, order].copy(), between[order], reaches[order], meets[order])
    return links, order


def errors_in_balls(sums: Integers, n_core: Integers | int, n_cut: Integers | int) -> Floats:
    """Return by how many standard errors a ball of the core holds more rows than one on the cut.

    The standard error is that of equal densities: a cut without rows would seem certain of them. A row in several balls
    counts once for each, by which the variance of a sum exceeds that of a Poisson distribution; if a row is in balls of
    both, the difference is the more certain.

    sums (..., 5) int: sums of `mdh_dask._jit.communities.rows_by_radius`.
    n_core, n_cut: numbers of balls.

    >>> errors_in_balls(np.array([[12, 4, 12, 0, 4]]), n_core=1, n_cut=1)
    array([2.])
    """
    core, cut, core_squares, both, cut_squares = (sums[..., i].astype(np.float64) for i in range(5))
    of_ball = (core + cut) / (n_core + n_cut)
    repeated = core_squares / np.maximum(core, 1), np.maximum(cut_squares / np.maximum(cut, 1), 1)
    variance = of_ball * (repeated[0] / n_core + repeated[1] / n_cut) - 2 * both / (n_core * n_cut)
    # One row in one ball is the least difference.
    least = 1 / np.square(np.float64(n_core) * n_cut)
    return np.asarray((core / n_core - cut / n_cut) / np.sqrt(np.maximum(variance, least)))


def members_of(group: Integers, n_groups: int) -> Listed:
    """Return the places of each of the first groups in ascending order; places of others and `ELSEWHERE` are in none.

    >>> members_of(np.array([1, 0, ELSEWHERE, 1]), n_groups=2)
    Listed(items=array([1, 0, 3]), start=array([0, 1, 3]))
    """
    items, start = np.empty(len(group), dtype=np.int64), np.zeros(n_groups + 1, dtype=np.int64)
    list_places(group, start, items)
    return Listed(items[: start[-1]], start)


def _pairs(apart: Floats, cell: Integers) -> tuple[Integers, Integers, Booleans]:
    """Return the pairs of landmarks in different cells that are neighbours, or the closest of two cells.

    The smaller landmark of each pair is first; the third array says which pairs are neighbours. The closest landmarks
    of two cells are a cut in those halves of the rows in which the cells have no neighbours.
    """
    n, others = len(apart), apart.copy()
    np.fill_diagonal(others, np.inf)
    near = nearest_columns(others, min(NEIGHBOURS, max(n - 1, 0)))
    cells, own = np.unique(cell, return_inverse=True)
    closest = np.full((2, len(cells), len(cells)), -1)
    find_closest(apart, own, *closest)
    of_near, of_closest = (
        _in_different_cells(own, *ends) for ends in ((np.repeat(np.arange(n), near.shape[1]), near.ravel()), closest)
    )
    numbers = np.union1d(of_near, of_closest)
    return numbers // n, numbers % n, np.isin(numbers, of_near)


def _in_different_cells(cell: Integers, first: Integers, second: Integers) -> Integers:
    """Return the numbers of pairs of landmarks in different cells, whichever of both is first."""
    ends = np.stack([first, second])[:, cell[first] != cell[second]]
    return np.asarray(ends.min(axis=0) * len(cell) + ends.max(axis=0))
