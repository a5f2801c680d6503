"""The test whether rows are sparser on the cut between two groups than in the core of either.

One half of the rows chooses places on the cut and in the cores, the other half is counted in balls around them.
"""

import sys
from copy import copy
from typing import NamedTuple

import numpy as np

from .._jit.communities import rows_by_radius
from .._typing import Booleans, Floats, Integers
from ..valleys.balls import of_parts
from ..valleys.neighbours import BLOCK, TIES, distinct, middle, squared_distances
from .errors import errors_among_parts, errors_in_balls, errors_in_slabs
from .slabs import rows_in_slabs

LANDMARKS = 1500
"""Largest number of rows of one half that may be centres of balls."""

NEIGHBOUR = 3
"""Places are ranked by the distance to this neighbour. With the fifth, the sparsest place between thin curves is seldom
that in the gap."""

PLACES = 40
"""Largest number of balls on a cut and in a core."""

ROWS_OF_PLACE, LEAST_PLACES = 3, 5
"""Landmarks of the smaller group for each place, and least number of places. Further places on a cut would be far from
the densest one, and sparser than a core even if no valley is between."""

SPREAD = 8.0
"""Largest ratio of the squared distances to the neighbours of places on a cut."""

WIDTH = 3
"""Landmarks around the densest one of a group for each ball of its core. The balls of neighbouring landmarks would hold
the same rows."""

SHARE_OF_GROUP = 0.7
"""Share of the landmarks of a group around its densest one that have balls in its core, where a cut has few places: at
least `WIDTH` times as many as these, at most `PLACES`. As few balls in a core would be as uncertain: many clusters of
less than a hundred rows were merged."""

RADII = (2, 5, 10, 20)
"""Balls in the core hold about these numbers of choosing rows. The smallest fit into narrow gaps, the largest count the
most rows."""


WIDE_RADII = (10, 20, 40, 80)
"""The same for one ball in the core, as many of the smallest would be needed to count enough rows."""

NO_BALL = -1.0
"""Squared radius of a ball without rows."""


class Balls(NamedTuple):
    """Balls in the core of a group, or one at its peak, and balls on a cut; indices of landmarks."""

    core: Integers
    ends: Integers
    """Two landmarks for each place on the cut, which is in their middle; they may be equal. Shape (2, n_places)."""
    apart: Floats
    """Squared distances of the ends."""
    radii: Floats
    """Squared radii, shape (n_radii,)."""


class Half:
    """Landmarks chosen from one half of the rows, with their distances to all rows.

    Parameters
    ----------
    points : array of shape (n_rows, n_columns), float64
    choosing : array of shape (n_rows,), bool
        The rows that choose the places; the others are counted.
    n_landmarks : int, default=1500
    slabs : bool, default=False
        Whether rows are counted in slabs, too.
    parts : array of shape (n_rows,), int, optional
        Parts of dependent rows, whose counts are compared; see `mdh_dask.splits.dependence`.
    """

    def __init__(
        self,
        points: Floats,
        choosing: Booleans,
        n_landmarks: int = LANDMARKS,
        slabs: bool = False,
        parts: Integers | None = None,
    ) -> None:
        ours = np.flatnonzero(choosing)
        self.points, self.choosing, self.counted, self.slabs = points, ours, np.flatnonzero(~choosing), slabs
        self.places = ours[distinct(points[ours])[:n_landmarks]]
        self.to_choosing = squared_distances(points[self.places], points[ours])
        self.to_counted = squared_distances(points[self.places], points[~choosing])
        self.of_parts = None if parts is None else of_parts(self.to_counted, parts[~choosing])
        self.apart = squared_distances(points[self.places], points[self.places])
        self.k = min(NEIGHBOUR, len(ours) - 1)
        self.reach = np.partition(self.to_choosing, self.k, axis=1)[:, self.k]
        self.fair = _fair_share(points.shape[1])

    def errors(self, group: Integers, pair: tuple[int, int]) -> Floats | None:
        """Return `errors_in_balls` for two groups of rows, shape (2, n_radii, 3), or None if one has no landmarks.

        With slabs, those of `errors_in_slabs` follow.
        """
        chosen = self.chosen(group, pair, SHARE_OF_GROUP)
        if chosen is None:
            return None
        if self.of_parts is not None:
            sums = [[_sums(to_rows, balls) for to_rows in self.of_parts] for balls in chosen]
            return np.stack([errors_among_parts(own, len(b.core), len(b.apart)) for own, b in zip(sums, chosen)])
        errors = np.stack([errors_in_balls(_sums(self.to_counted, b), len(b.core), len(b.apart)) for b in chosen])
        if not self.slabs:
            return errors
        contact = self.points[self.places[chosen[0].ends[:, 0]]].mean(axis=0)
        slabs = rows_in_slabs(self.points, self.choosing, self.counted, group, pair, contact)
        return np.concatenate([errors, errors_in_slabs(slabs)], axis=1)

    def chosen(self, group: Integers, pair: tuple[int, int], share: float = 0.0) -> tuple[Balls, Balls] | None:
        """Return the balls that compare the core of either group with the cut, or None if a group has no landmarks.

        A core has as many balls as the cut. With a share, more: see `SHARE_OF_GROUP`.
        """
        ours = group[self.places]
        one, other = (np.flatnonzero(ours == side) for side in pair)
        size = min(len(one), len(other))
        if size == 0:
            return None
        ends, apart = self._cut(one, other, min(max(size // ROWS_OF_PLACE, LEAST_PLACES), PLACES))
        n_one, n_other = (int(np.sum(group[self.choosing] == side)) for side in pair)
        return self._balls(one, n_one, ends, apart, share), self._balls(other, n_other, ends, apart, share)

    def ranked_by(self, neighbour: int) -> "Half":
        """Return the same landmarks with places ranked by the distance to another neighbour."""
        other = copy(self)
        other.k = min(neighbour, self.to_choosing.shape[1] - 1)
        other.reach = np.partition(self.to_choosing, other.k, axis=1)[:, other.k]
        return other

    def peaks(self, group: Integers, pair: tuple[int, int]) -> tuple[Balls, Balls] | None:
        """Return one ball at the densest place of either group, and those on the whole cut, or None."""
        ours = group[self.places]
        one, other = (np.flatnonzero(ours == side) for side in pair)
        if min(len(one), len(other)) == 0:
            return None
        ends, apart = self._cut(one, other, PLACES)
        tops = [side[self.reach[side].argmin()][None] for side in (one, other)]
        sizes = [int(np.sum(group[self.choosing] == side)) for side in pair]
        first, second = (Balls(top, ends, apart, self._radii(top, WIDE_RADII, n)) for top, n in zip(tops, sizes))
        return first, second

    def _balls(self, side: Integers, n_rows: int, ends: Integers, apart: Floats, share: float) -> Balls:
        """Return the balls in the core of a group of so many rows, and those on a cut as near to its densest place.

        Rows grow sparser along a cut, too. Its places would be farther from the densest one than those of a core are
        from theirs, as a cut has a dimension less: in skewed and curved clouds they would be sparser without a valley.
        """
        core, farthest = self._core(side, len(apart), share)
        near = self._squares_from_first(ends, apart) <= farthest * self.fair * (1 + TIES)
        core = core[: -(-len(core) * int(near.sum()) // len(near))]  # the densest, as those on the cut are
        ends, apart = ends[:, near], apart[near]
        if not share:
            ends, apart = ends[:, : len(core)], apart[: len(core)]
        return Balls(core, ends, apart, self._radii(core, RADII, n_rows))

    def _squares_from_first(self, ends: Integers, apart: Floats) -> Floats:
        """Return the squared distances of places on a cut from the first of them."""
        to_first = self.apart[ends[:, 0]].mean(axis=0) - apart[0] / 4
        return to_first[ends].mean(axis=0) - apart / 4

    def _cut(self, one: Integers, other: Integers, most: int) -> tuple[Integers, Floats]:
        """Return the densest places between two groups, as the landmarks in whose middles they are, and their distance.

        Each landmark is paired with the nearest of the other group, and is in one pair at most, as the same rows would
        otherwise be counted in many balls. The place is the sparsest of both landmarks and their middle. No other
        landmark is in the ball between both, or their middle could be in one of the groups (a Gabriel graph).
        """
        squares = self.apart[np.ix_(one, other)]
        first = np.concatenate([one, one[squares.argmin(axis=0)]])
        second = np.concatenate([other[squares.argmin(axis=1)], other])
        n = len(self.places)
        pairs = np.unique(first * n + second)
        first, second = pairs // n, pairs % n
        apart = self.apart[first, second]
        meet = self._meet(first, second, apart)
        if meet.any():
            first, second, apart = first[meet], second[meet], apart[meet]
        halfway = np.empty(len(first), dtype=np.float32)
        for i in range(0, len(first), BLOCK):
            a, b, between = first[i : i + BLOCK], second[i : i + BLOCK], apart[i : i + BLOCK, None]
            to_rows = middle(self.to_choosing[a], self.to_choosing[b], between)
            halfway[i : i + BLOCK] = np.partition(to_rows, self.k - 1, axis=1)[:, self.k - 1]
        candidates = np.stack([self.reach[first], halfway, self.reach[second]])
        sparsest, reach = candidates.argmax(axis=0), candidates.max(axis=0)
        ends = np.stack([np.where(sparsest == 2, second, first), np.where(sparsest == 0, first, second)])
        order = _unpaired(np.lexsort((second, first, reach)), first, second, most)
        order = order[reach[order] <= SPREAD * reach[order[0]]]
        return ends[:, order], np.where(sparsest == 1, apart, 0)[order].astype(np.float64)

    def _meet(self, first: Integers, second: Integers, apart: Floats) -> Booleans:
        """Return whether no other landmark is in the ball between two."""
        nearest = np.empty(len(first), dtype=np.float32)
        for i in range(0, len(first), BLOCK):
            a, b, between = first[i : i + BLOCK], second[i : i + BLOCK], apart[i : i + BLOCK, None]
            nearest[i : i + BLOCK] = middle(self.apart[a], self.apart[b], between).min(axis=1)
        return nearest >= apart / 4 * (1 - TIES)

    def _core(self, side: Integers, size: int, share: float) -> tuple[Integers, float]:
        """Return landmarks of a group near its densest one, and the largest squared distance of `WIDTH` times `size`.

        There are `size` of them; with a share, that of all, but at least `WIDTH` times `size`, and no more than
        `PLACES`. They are in descending order of density. The densest landmarks of a thin group all lie on its ridge,
        but those on a cut through it do not. Landmarks are in the order of hashes, so the first of those around the
        densest one are a random choice.
        """
        peak = side[self.reach[side].argmin()]
        around = side[np.argsort(self.apart[peak, side], kind="stable")]
        farthest = float(self.apart[peak, around[: WIDTH * size][-1]])
        n = max(size, min(max(WIDTH * size, int(share * len(side))), PLACES) if share else 0)
        around = np.sort(around[: max(WIDTH * size, n)])[:n]
        return around[np.argsort(self.reach[around], kind="stable")], farthest

    def _radii(self, core: Integers, neighbours: tuple[int, ...], n_rows: int) -> Floats:
        """Return the squared radii of balls, the medians of the squared distances to some neighbours.

        A ball that would hold more rows than the group, which has `n_rows`, is given a radius below zero: no row is in
        it.
        """
        n = self.to_choosing.shape[1] - 1
        which = [min(k, n) for k in neighbours]
        near = np.partition(self.to_choosing[core], sorted(set(which)), axis=1)[:, which]
        radii = np.median(near, axis=0).astype(np.float64) * (1 + TIES)
        return np.where(np.array(neighbours) <= max(n_rows, neighbours[0]), radii, NO_BALL)


def _sums(to_rows: Floats, balls: Balls) -> Integers:
    """Return the sums of `mdh_dask._jit.communities.rows_by_radius` of rows at these distances from the landmarks."""
    sums = np.zeros((len(RADII), 5), dtype=np.int64)
    rows_by_radius(to_rows, balls.core, balls.ends, balls.apart, balls.radii, sums)
    return sums


def _fair_share(n_columns: int) -> float:
    """Return by how much the squared radius of a cut may exceed that of a core.

    The mean squared distance from the middle is then the same, so a density that falls with it has the same mean on a
    cut through the middle, which has one dimension less, as in the core.

    Examples
    --------
    >>> _fair_share(2), _fair_share(1) * 0.0
    (1.5, 0.0)
    """
    d = n_columns
    return d * (d + 1) / ((d + 2) * (d - 1)) if d > 1 else sys.float_info.max  # finite, as zero times it is zero


def _unpaired(order: Integers, first: Integers, second: Integers, most: int) -> Integers:
    """Return up to `most` pairs in their order, each landmark in one pair only."""
    chosen: list[int] = []
    used: set[int] = set()
    for i in order.tolist():
        ends = {int(first[i]), int(second[i])}
        if not used & ends:
            chosen.append(i)
            used |= ends
            if len(chosen) == most:
                break
    return np.array(chosen)
