"""Places on the cut between two groups of sample rows and in their cores, around which a pass counts other rows."""

import sys
from copy import copy
from typing import NamedTuple

import numpy as np

from .._typing import Booleans, Floats, Integers
from ..valleys.landmarks import LEAST_PLACES, PLACES, RADII, RANKED_BY, ROWS_OF_PLACE, SPREAD, WIDTH
from ..valleys.neighbours import BLOCK, TIES, distinct, middle, squared_distances

WIDE_RADII = (10, 20, 40, 80)
"""Balls at a peak hold about these numbers of rows, as many of the smallest would be needed to count enough rows."""

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


class Cuts:
    """Landmarks among the rows of a sample, from which places are chosen.

    points (n_rows, n_columns) float64.
    n_landmarks: largest number of rows that may be centres of balls.
    """

    def __init__(self, points: Floats, n_landmarks: int) -> None:
        self.places = distinct(points)[:n_landmarks]
        self.to_rows = squared_distances(points[self.places], points)
        self.apart = np.ascontiguousarray(self.to_rows[:, self.places])
        self.k = min(RANKED_BY, len(points) - 1)
        self.reach = np.partition(self.to_rows, self.k, axis=1)[:, self.k]
        self.fair = _fair_share(points.shape[1])

    def chosen(self, group: Integers, pair: tuple[int, int]) -> tuple[Balls, Balls] | None:
        """Return as many balls in the core of either group as on the cut, or None if a group has no landmarks."""
        ours = group[self.places]
        one, other = (np.flatnonzero(ours == side) for side in pair)
        size = min(len(one), len(other))
        if size == 0:
            return None
        ends, apart = self._cut(one, other, min(max(size // ROWS_OF_PLACE, LEAST_PLACES), PLACES))
        n_one, n_other = (int(np.sum(group == side)) for side in pair)
        return self._balls(one, n_one, ends, apart), self._balls(other, n_other, ends, apart)

    def ranked_by(self, neighbour: int) -> "Cuts":
        """Return the same landmarks with places ranked by the distance to another neighbour."""
        other = copy(self)
        other.k = min(neighbour, self.to_rows.shape[1] - 1)
        other.reach = np.partition(self.to_rows, other.k, axis=1)[:, other.k]
        return other

    def peaks(self, group: Integers, pair: tuple[int, int]) -> tuple[Balls, Balls] | None:
        """Return one ball at the densest place of either group, and those on the whole cut, or None."""
        ours = group[self.places]
        one, other = (np.flatnonzero(ours == side) for side in pair)
        if min(len(one), len(other)) == 0:
            return None
        ends, apart = self._cut(one, other, PLACES)
        tops = [side[self.reach[side].argmin()][None] for side in (one, other)]
        sizes = [int(np.sum(group == side)) for side in pair]
        first, second = (Balls(top, ends, apart, self._radii(top, WIDE_RADII, n)) for top, n in zip(tops, sizes))
        return first, second

    def _balls(self, side: Integers, n_rows: int, ends: Integers, apart: Floats) -> Balls:
        """Return the balls in the core of a group of so many rows, and those on a cut as near to its densest place.

        Rows grow sparser along a cut, too. Its places would be farther from the densest one than those of a core are
        from theirs, as a cut has a dimension less: in skewed and curved clouds they would be sparser without a valley.
        """
        core, farthest = self._core(side, len(apart))
        near = self._squares_from_first(ends, apart) <= farthest * self.fair * (1 + TIES)
        core = core[: -(-len(core) * int(near.sum()) // len(near))]  # the densest, as those on the cut are
        ends, apart = ends[:, near][:, : len(core)], apart[near][: len(core)]
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
            to_rows = middle(self.to_rows[a], self.to_rows[b], between)
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

    def _core(self, side: Integers, size: int) -> tuple[Integers, float]:
        """Return `size` landmarks of a group near its densest one, and the squared distance that they reach at most.

        They are in descending order of density. The densest landmarks of a thin group all lie on its ridge,
        but those on a cut through it do not. Landmarks are in the order of hashes, so the first of those around the
        densest one are a random choice.
        """
        peak = side[self.reach[side].argmin()]
        around = side[np.argsort(self.apart[peak, side], kind="stable")]
        farthest = float(self.apart[peak, around[: WIDTH * size][-1]])
        around = np.sort(around[: WIDTH * size])[:size]
        return around[np.argsort(self.reach[around], kind="stable")], farthest

    def _radii(self, core: Integers, neighbours: tuple[int, ...], n_rows: int) -> Floats:
        """Return the squared radii of balls, the medians of the squared distances to some neighbours.

        A ball that would hold more rows than the group, which has `n_rows`, is given a radius below zero: no row is in
        it.
        """
        n = self.to_rows.shape[1] - 1
        which = [min(k, n) for k in neighbours]
        near = np.partition(self.to_rows[core], sorted(set(which)), axis=1)[:, which]
        radii = np.median(near, axis=0).astype(np.float64) * (1 + TIES)
        return np.where(np.array(neighbours) <= max(n_rows, neighbours[0]), radii, NO_BALL)


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
