"""Places on the cut between two groups of sample rows and in their cores, around which a pass counts other rows."""

from copy import copy
from typing import NamedTuple

import numpy as np

from .._jit.pairs import Marks, balls_of_group, cut_between, radii_of
from .._typing import Floats, Integers
from ..valleys.landmarks import PLACES, RADII, RANKED_BY, ROWS_OF_PLACE, limits_of, links_of, meeting_of, reaches_of
from ..valleys.neighbours import distinct, squared_distances

WIDE_RADII = (10, 20, 40, 80)
"""Balls at a peak hold about these numbers of rows, as many of the smallest would be needed to count enough rows."""


class Balls(NamedTuple):
    """Balls in the core of a group, or one at its peak, and balls on a cut; indices of landmarks."""

    core: Integers
    ends: Integers
    """Two landmarks for each place on the cut, which is in their middle; they may be equal. Shape (2, n_places)."""
    radii: Floats
    """Squared radii, below zero for balls without rows, shape (n_radii,)."""


class Cuts:
    """Landmarks among the rows of a sample, from which places are chosen.

    points (n_rows, n_columns) float64.
    n_landmarks: largest number of rows that may be centres of balls.
    """

    def __init__(self, points: Floats, n_landmarks: int) -> None:
        self.places = distinct(points)[:n_landmarks]
        self.to_rows = squared_distances(points[self.places], points)
        self.apart = np.ascontiguousarray(self.to_rows[:, self.places])
        self.limits = limits_of(points.shape[1])
        self._rank(RANKED_BY, RADII)

    def ranked_by(self, neighbour: int, radii: tuple[int, ...]) -> "Cuts":
        """Return the same landmarks with places ranked by the distance to another neighbour, and other balls."""
        other = copy(self)
        other._rank(neighbour, radii)
        return other

    def _rank(self, neighbour: int, radii: tuple[int, ...]) -> None:
        self.k, self.sizes = neighbour, np.array(radii)
        self.reach, self.reaches = reaches_of(self.to_rows, neighbour, radii)

    def chosen(self, group: Integers) -> tuple[Balls, Balls] | None:
        """Return as many balls in the core of groups 0 and 1 as on the cut, or None if one has no landmarks."""
        sides, n_rows = self._sides(group)
        if (n_least := min(map(len, sides))) == 0:
            return None
        marks, cut = self._cut(sides[0], sides[1], n_least)
        as_many = self.limits._replace(most_places=0)  # in a core as on the cut
        found = []
        for own, n in zip(sides, n_rows):
            core, near, radii = balls_of_group(own, n, cut, marks, as_many)
            found.append(Balls(core, marks.links.ends[:, near[: len(core)]], radii))
        return found[0], found[1]

    def peaks(self, group: Integers) -> tuple[Balls, Balls] | None:
        """Return one ball at the densest place of groups 0 and 1, and those on the whole cut, or None."""
        sides, n_rows = self._sides(group)
        if min(map(len, sides)) == 0:
            return None
        marks, cut = self._cut(sides[0], sides[1], PLACES * ROWS_OF_PLACE)
        tops = [own[self.reach[own].argmin()][None] for own in sides]
        first, second = (
            Balls(top, marks.links.ends[:, cut], radii_of(top, n, marks, self.limits.ties))
            for top, n in zip(tops, n_rows)
        )
        return first, second

    def _sides(self, group: Integers) -> tuple[list[Integers], list[int]]:
        """Return the landmarks of groups 0 and 1, and their numbers of rows."""
        sides: list[Integers] = [np.flatnonzero(group[self.places] == side) for side in (0, 1)]
        return sides, [int(np.sum(group == side)) for side in (0, 1)]

    def _cut(self, one: Integers, other: Integers, n_least: int) -> tuple[Marks, Integers]:
        """Return the landmarks, each linked with the nearest of the other group, and the links that are places."""
        squares = self.apart[np.ix_(one, other)]
        first = np.concatenate([one, one[squares.argmin(axis=0)]])
        second = np.concatenate([other[squares.argmin(axis=1)], other])
        n = len(self.places)
        pairs = np.unique(first * n + second)
        meets = meeting_of(self.apart, pairs // n, pairs % n)
        if meets.any():
            pairs, meets = pairs[meets], meets[meets]
        links, order = links_of(self.to_rows, self.apart, self.reach, self.k, pairs // n, pairs % n, meets)
        cut = cut_between(np.arange(len(order)), links, n_least, self.limits, np.zeros(n, dtype=np.bool_))
        return Marks(self.apart, self.reach, self.reaches, self.sizes, links), cut
