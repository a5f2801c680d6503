"""The balls in which a pass counts rows, to test the merges of a density tree on all of them."""

import sys
from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from .._jit.pairs import Marks, balls_of_group, cut_between, radii_of
from .._storable import storable
from .._typing import Booleans, Floats, Integers
from ..valleys.graph import nearest_others
from ..valleys.landmarks import PLACES, RADII, RANKED_BY, ROWS_OF_PLACE, limits_of, links_of, meeting_of, reaches_of
from ..valleys.neighbours import distinct, squared_distances
from ..valleys.structure import Structure, spanned

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


LANDMARKS = 3000
"""Largest number of sample rows that may be centres of balls."""

IN_CORE, ON_CUT = 4, 5
"""Weights of a row in a core and on the cut, as the density of the core must be higher by more than a quarter.

A cut also has places beside its densest one, so with many rows any smaller difference would be significant."""

SMOOTH = 30
"""Places of links that the sample does not show are ranked by the distance to this neighbour. By a nearer one, the
places on a long cut would be those where the sample is dense by chance, and so would the peaks: the balls around them
would be small and hold too few rows. With ten, 15 of 100 clusters at four standard deviations are missed; with thirty,
one."""

VOTES, ROUNDS = 15, 3
"""Neighbours that vote on the side of a row, and how often. Borders of basins are rough: a few rows of one side in the
flank of the other would be the densest place on the cut."""

NEAR_CUT = 20
"""Landmarks of a group around a place on its cut, of which the densest is the end of a path. With 10 to 50 of them, as
many of a hundred normal clusters are found."""

BENT = 5
"""Places on a cut, the densest first, at which paths bend. In eight columns, cuts have up to forty: further places are
paths of their own, as each row would have to be compared with several times as many balls."""

NO_PATH = -1
"""Path of balls in a core, and of those on cuts that the sample shows."""


@storable
class Places(NamedTuple):
    """Balls around places of several tests, and for each landmark the balls in which its nearest rows may be."""

    places: Floats
    """Shape (n_balls, n_columns)."""
    test: Integers
    """Test of each ball, in ascending order."""
    weight: Integers
    """Weight of the rows in each ball, below zero on a cut."""
    path: Integers
    """Path of each ball from group to group, numbered by tests, or `NO_PATH`."""
    radii: Floats
    """Squared radii, shape (n_tests, n_radii)."""
    start: Integers
    """The balls of landmark i are ``listed[start[i]:start[i + 1]]``, in ascending order; shape (n_landmarks + 1,)."""
    listed: Integers
    links: Integers
    """Tests 2 i and 2 i + 1 are those of both groups of link ``links[i]`` of the structure."""
    shown: Booleans
    """Whether the sample shows the link of each pair of tests. If not, the core has one ball."""


def places_of(points: Floats, structure: Structure, n_landmarks: int) -> Places | None:
    """Return the balls that test all links again, or None if there is no link with two groups.

    A row in a ball of radius r is nearer than r + s to its nearest landmark, if s is the distance from the place to the
    nearest landmark; so only landmarks within 2 r + s of a place can have rows in its ball.

    points (n_rows, n_columns) float64: the sample; its first `n_landmarks` rows are the landmarks of the model.
    structure: the structure of the sample.
    """
    if len(structure.sides) == 0:
        return None
    shown = structure.evidence >= structure.threshold
    every = Cuts(spanned(points), LANDMARKS)
    smooth = every.ranked_by(SMOOTH, WIDE_RADII)
    near = nearest_others(points, min(VOTES, len(points) - 1))[0]
    groups = [sides[structure.cell] for sides in structure.sides]
    groups = [group if own else _smoothed(group, near) for group, own in zip(groups, shown)]
    chosen = {link: every.chosen(group) if shown[link] else smooth.peaks(group) for link, group in enumerate(groups)}
    links = np.array([link for link, pair in chosen.items() if pair is not None], dtype=np.int64)
    if len(links) == 0:
        return None
    at, found, radii = points[every.places], list[tuple[Floats, Floats, Integers]](), []
    for link in links:
        for balls in chosen[link] or ():
            cut = (at[balls.ends[0]] + at[balls.ends[1]]) / 2
            alone = cut, np.full(len(cut), NO_PATH)
            found.append((at[balls.core], *(alone if shown[link] else _paths(at, cut, smooth, groups[link], balls))))
            radii.append(balls.radii)
    return _listed(points[:n_landmarks], found, np.array(radii), links, shown[links])


def weighted_errors(counts: Integers, in_core: int, on_cut: int) -> Floats:
    """Return by how many standard errors the weighted rows of cores exceed those of cuts, from counts of both.

    counts (..., 2) int64: rows in the core and on the cut. Rows in both make the difference more certain, which is left
        out.
    """
    excess, variance = counts @ np.array([in_core, -on_cut]), counts @ np.array([in_core**2, on_cut**2])
    return np.asarray(excess / np.sqrt(np.maximum(variance, 1)))


def _smoothed(group: Integers, near: Integers) -> Integers:
    """Return groups 0 and 1 of rows after some rounds in which each row joins most of its neighbours of both."""
    for _ in range(ROUNDS):
        of_near = group[near]
        votes = (of_near == 0).sum(axis=1) - (of_near == 1).sum(axis=1)
        group = np.where(group < 0, group, np.where(votes > 0, 0, np.where(votes < 0, 1, group)))
    return group


def _paths(at: Floats, cut: Floats, landmarks: Cuts, group: Integers, balls: Balls) -> tuple[Floats, Integers]:
    """Return places on paths from group 0 to group 1, at most a ball's radius apart, and the path of each.

    Somewhere on any path, rows are as sparse as at the densest place between both groups, or sparser. A place on the
    cut may be in the flank of a group, as borders are rough, and the cut leads through places where rows of the sample
    are sparse by chance. So the first path is a line across the densest place, and others bend at each place.
    """
    away, ours = landmarks.apart[balls.ends].mean(axis=0), group[landmarks.places]
    sides = [np.flatnonzero(ours == side) for side in (0, 1)]
    near = [own[np.argsort(away[:, own], axis=1, kind="stable")[:, :NEAR_CUT]] for own in sides]
    ends = [at[np.take_along_axis(own, landmarks.reach[own].argmin(axis=1)[:, None], 1)[:, 0]] for own in near]
    step = max(float(balls.radii[0]), sys.float_info.min) ** 0.5
    paths = [_between(ends[0][0], ends[1][0], step)]
    for place, start, end in zip(cut[:BENT], *ends):
        paths.append(np.concatenate([_between(start, place, step), place[None], _between(place, end, step)]))
    paths += [*cut[BENT:, None]]
    return np.concatenate(paths), np.repeat(np.arange(len(paths)), [len(path) for path in paths])


def _between(start: Floats, end: Floats, step: float) -> Floats:
    """Return places on the line between two points, their middle at least; none on a long line."""
    n_steps = max(np.ceil(np.linalg.norm(end - start) / step), 2)
    return start + np.arange(1, n_steps)[:, None] / n_steps * (end - start) if n_steps <= PLACES else start[None][:0]


def _listed(
    landmarks: Floats, found: Sequence[tuple[Floats, Floats, Integers]], radii: Floats, links: Integers, shown: Booleans
) -> Places:
    """Return the balls of all tests with the balls near each landmark of the model."""
    places = np.concatenate([of_kind for core, cut, _ in found for of_kind in (core, cut)])
    sizes = np.array([(len(core), len(cut)) for core, cut, _ in found])
    test = np.repeat(np.arange(len(found)), sizes.sum(axis=1))
    weight = np.repeat(np.tile([IN_CORE, -ON_CUT], len(found)), sizes.ravel())
    path = np.full(len(places), NO_PATH)
    path[weight < 0] = np.concatenate([own for _, _, own in found])
    tree = cKDTree(landmarks)
    reach = 2 * np.sqrt(np.maximum(radii.max(axis=1), 0))[test] + tree.query(places)[0]
    near = tree.query_ball_point(places, reach * (1 + 1e-9), return_sorted=True)
    landmark = np.concatenate([np.array(own, dtype=np.int64) for own in near])
    ball = np.repeat(np.arange(len(places)), [len(own) for own in near])
    order = np.argsort(landmark, kind="stable")
    start = np.searchsorted(landmark[order], np.arange(len(landmarks) + 1))
    return Places(places, test, weight, path, radii, start, ball[order], links, shown)
