"""The test whether rows are sparser on the cut between two groups than in the core of either.

One half of the rows chooses places on the cut and in the cores, the other half is counted in balls around them.
"""

from typing import NamedTuple

import numpy as np

from .._jit.communities import excess_in_balls
from .._typing import Booleans, Floats, Integers
from ..splits.cuts import BLOCK, TIES, distinct, middle, squared_distances

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

RADII = (2, 5, 10, 20)
"""Balls in the core hold about these numbers of choosing rows. The smallest fit into narrow gaps, the largest count the
most rows."""


class Balls(NamedTuple):
    """Balls in the core of a group and as many on a cut, as indices of landmarks."""

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
    """

    def __init__(self, points: Floats, choosing: Booleans, n_landmarks: int = LANDMARKS) -> None:
        ours = np.flatnonzero(choosing)
        self.places = ours[distinct(points[ours])[:n_landmarks]]
        self.to_choosing = squared_distances(points[self.places], points[ours])
        self.to_counted = squared_distances(points[self.places], points[~choosing])
        self.apart = squared_distances(points[self.places], points[self.places])
        self.k = min(NEIGHBOUR, len(ours) - 1)
        self.reach = np.partition(self.to_choosing, self.k, axis=1)[:, self.k]

    def counts(self, group: Integers, pair: tuple[int, int]) -> Integers | None:
        """Return the sums of `excess_in_balls` for both groups, shape (2, n_radii, 4), or None without landmarks.

        Parameters
        ----------
        group : array of shape (n_rows,), int
            Group of each row.
        pair : two groups
        """
        sums = np.zeros((2, len(RADII), 4), dtype=np.int64)
        chosen = self.chosen(group, pair)
        if chosen is None:
            return None
        for side, balls in zip(sums, chosen):
            excess_in_balls(self.to_counted, balls.core, balls.ends, balls.apart, balls.radii, side)
        return sums

    def chosen(self, group: Integers, pair: tuple[int, int]) -> tuple[Balls, Balls] | None:
        """Return the balls that compare the core of either group with the cut, or None if a group has no landmarks."""
        ours = group[self.places]
        one, other = (np.flatnonzero(ours == side) for side in pair)
        size = min(len(one), len(other))
        if size == 0:
            return None
        ends, apart = self._cut(one, other, min(max(size // ROWS_OF_PLACE, LEAST_PLACES), PLACES))
        cores = [self._core(side, len(apart)) for side in (one, other)]
        first, second = (Balls(core, ends[:, : len(core)], apart[: len(core)], self._radii(core)) for core in cores)
        return first, second

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
        halfway, nearest = np.empty((2, len(first)), dtype=np.float32)
        for i in range(0, len(first), BLOCK):
            a, b, between = first[i : i + BLOCK], second[i : i + BLOCK], apart[i : i + BLOCK, None]
            to_rows = middle(self.to_choosing[a], self.to_choosing[b], between)
            halfway[i : i + BLOCK] = np.partition(to_rows, self.k - 1, axis=1)[:, self.k - 1]
            nearest[i : i + BLOCK] = middle(self.apart[a], self.apart[b], between).min(axis=1)
        meet = nearest >= apart / 4 * (1 - TIES)
        if meet.any():
            first, second, apart, halfway = first[meet], second[meet], apart[meet], halfway[meet]
        candidates = np.stack([self.reach[first], halfway, self.reach[second]])
        sparsest, reach = candidates.argmax(axis=0), candidates.max(axis=0)
        ends = np.stack([np.where(sparsest == 2, second, first), np.where(sparsest == 0, first, second)])
        order = _unpaired(np.lexsort((second, first, reach)), first, second, most)
        order = order[reach[order] <= SPREAD * reach[order[0]]]
        return ends[:, order], np.where(sparsest == 1, apart, 0)[order].astype(np.float64)

    def _core(self, side: Integers, size: int) -> Integers:
        """Return `size` of the landmarks of a group that are nearest to its densest one, the densest first.

        The densest landmarks of a thin group all lie on its ridge, but those on a cut through it do not. Landmarks are
        in the order of hashes, so the first of those around the densest one are a random choice.
        """
        peak = side[self.reach[side].argmin()]
        around = side[np.argsort(self.apart[peak, side], kind="stable")[: WIDTH * size]]
        around = np.sort(around)[:size]
        return around[np.argsort(self.reach[around], kind="stable")]

    def _radii(self, core: Integers) -> Floats:
        """Return the squared radii of balls, the medians of the squared distances to some neighbours."""
        n = self.to_choosing.shape[1] - 1
        which = [min(k, n) for k in RADII]
        near = np.partition(self.to_choosing[core], sorted(set(which)), axis=1)[:, which]
        return np.median(near, axis=0).astype(np.float64) * (1 + TIES)


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
