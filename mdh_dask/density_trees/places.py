"""The balls in which a pass counts rows, to test the merges of a density tree on all of them."""

import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from .._jit.pairs import PLACES, ROWS_OF_PLACE, Marks, cut_between, radii_of
from .._storable import storable
from .._typing import Floats, Integers
from ..valleys.graph import nearest_others
from ..valleys.landmarks import links_of, meeting_of, reaches_of
from ..valleys.neighbours import distinct, squared_distances
from ..valleys.structure import spanned

LANDMARKS = 3000
"""Largest number of sample rows that may be centres of balls."""

RADII = (10, 20, 40, 80)
"""Balls at a peak hold about these numbers of rows of the sample: only one is there."""

SMOOTH = 30
"""Places are ranked by the distance to this neighbour. By a nearer one, the places on a long cut would be those where
the sample is dense by chance, and so would the peaks: the balls around them would be small and hold too few rows. With
ten, 15 of 100 clusters at four standard deviations are missed; with thirty, one."""

VOTES, ROUNDS = 15, 3
"""Neighbours that vote on the side of a row, and how often. Borders of basins are rough: a few rows of one side in the
flank of the other would be the densest place on the cut."""

NEAR_CUT = 20
"""Landmarks of a group around a place on its cut, of which the densest is the end of a path. With 10 to 50 of them, as
many of a hundred normal clusters are found."""

BENT = 5
"""Places on a cut, the densest first, at which paths bend. In eight columns, cuts have up to forty: further places are
paths of their own, as each row would have to be compared with several times as many balls."""

AT_PEAK = -1
"""Path of the ball at a peak."""


@storable
class Places(NamedTuple):
    """Balls at peaks and on paths of several tests, and for each landmark those in which its nearest rows may be."""

    places: Floats
    """Shape (n_balls, n_columns)."""
    test: Integers
    """Test of each ball, in ascending order."""
    path: Integers
    """Path of each ball from group to group, numbered by tests, or `AT_PEAK`."""
    radii: Floats
    """Squared radii, shape (n_tests, n_radii)."""
    start: Integers
    """The balls of landmark i are ``listed[start[i]:start[i + 1]]``, in ascending order; shape (n_landmarks + 1,)."""
    listed: Integers
    links: Integers
    """Tests 2 i and 2 i + 1 are those of both groups of link ``links[i]``."""


def places_of(points: Floats, sides: Integers, n_landmarks: int) -> Places | None:
    """Return the balls that test links with other rows, or None if there is no link with two groups.

    A row in a ball of radius r is nearer than r + s to its nearest landmark, if s is the distance from the place to the
    nearest landmark; so only landmarks within 2 r + s of a place can have rows in its ball.

    points (n_rows, n_columns) float64: the sample; its first `n_landmarks` rows are the landmarks of the model.
    sides (n_links, n_rows) int8: 0 and 1 for the rows of the two groups of each link, otherwise -1.
    """
    near = nearest_others(points, min(VOTES, len(points) - 1))[0]
    landmarks, links, found, radii = PeaksAndCuts(spanned(points)), [], list[tuple[Floats, Floats, Integers]](), []
    at = points[landmarks.places]
    for link, own in enumerate(sides):
        group = _smoothed(own, near)
        for peak, ends, of_sizes in landmarks.peaks(group):
            found.append((at[peak][None], *_paths(at, landmarks, group, ends, of_sizes[0])))
            radii.append(of_sizes)
            links.append(link)
    return _listed(points[:n_landmarks], found, np.array(radii), np.array(links[::2])) if links else None


class PeaksAndCuts:
    """The densest of the landmarks of a sample, and places between two groups of them.

    points (n_rows, n_columns) float64.
    """

    def __init__(self, points: Floats) -> None:
        self.places = distinct(points)[:LANDMARKS]
        self.to_rows = squared_distances(points[self.places], points)
        self.apart = np.ascontiguousarray(self.to_rows[:, self.places])
        self.reach, self.reaches = reaches_of(self.to_rows, SMOOTH, RADII)

    def peaks(self, group: Integers) -> list[tuple[int, Integers, Floats]]:
        """Return the densest landmark of group 0, the places on the cut, and the radii of balls; the same of group 1.

        Places are in the middle of two landmarks, which may be equal, shape (2, n_places). Radii are squared, below
        zero for balls without rows, shape (n_radii,). Nothing if a group has no landmarks.
        """
        sides: list[Integers] = [np.flatnonzero(group[self.places] == side) for side in (0, 1)]
        if min(map(len, sides)) == 0:
            return []
        marks, cut = self._cut(*sides)
        tops = [own[self.reach[own].argmin()] for own in sides]
        rows = [int(np.sum(group == side)) for side in (0, 1)]
        radii = [radii_of(np.array([top]), n, marks) for top, n in zip(tops, rows)]
        return [(int(top), marks.links.ends[:, cut], own) for top, own in zip(tops, radii)]

    def _cut(self, one: Integers, other: Integers) -> tuple[Marks, Integers]:
        """Return the landmarks, each linked with the nearest of the other group, and the links that are places."""
        squares = self.apart[np.ix_(one, other)]
        first = np.concatenate([one, one[squares.argmin(axis=0)]])
        second = np.concatenate([other[squares.argmin(axis=1)], other])
        n = len(self.places)
        pairs = np.unique(first * n + second)
        meets = meeting_of(self.apart, pairs // n, pairs % n)
        if meets.any():
            pairs, meets = pairs[meets], meets[meets]
        links, order = links_of(self.to_rows, self.apart, self.reach, SMOOTH, pairs // n, pairs % n, meets)
        most, unused = PLACES * ROWS_OF_PLACE, np.zeros(n, dtype=np.bool_)
        cut = cut_between(np.arange(len(order)), links, most, unused)
        return Marks(self.apart, self.reach, self.reaches, np.array(RADII), links), cut


def _smoothed(group: Integers, near: Integers) -> Integers:
    """Return groups 0 and 1 of rows after some rounds in which each row joins most of its neighbours of both."""
    inside, group = np.flatnonzero(group >= 0), group.copy()
    near = near[inside]
    for _ in range(ROUNDS):
        of_near = group[near]
        votes = (of_near == 0).sum(axis=1) - (of_near == 1).sum(axis=1)
        group[inside] = np.where(votes > 0, 0, np.where(votes < 0, 1, group[inside]))
    return group


def _paths(
    at: Floats, landmarks: PeaksAndCuts, group: Integers, ends: Integers, radius: float
) -> tuple[Floats, Integers]:
    """Return places on paths from group 0 to group 1, at most a ball's radius apart, and the path of each.

    Somewhere on any path, rows are as sparse as at the densest place between both groups, or sparser. A place on the
    cut may be in the flank of a group, as borders are rough, and the cut leads through places where rows of the sample
    are sparse by chance. So the first path is a line across the densest place, and others bend at each place.
    """
    cut = (at[ends[0]] + at[ends[1]]) / 2
    away, ours = landmarks.apart[ends].mean(axis=0), group[landmarks.places]
    sides = [np.flatnonzero(ours == side) for side in (0, 1)]
    near = [own[np.argsort(away[:, own], axis=1, kind="stable")[:, :NEAR_CUT]] for own in sides]
    dense = [at[np.take_along_axis(own, landmarks.reach[own].argmin(axis=1)[:, None], 1)[:, 0]] for own in near]
    step = max(float(radius), sys.float_info.min) ** 0.5
    paths = [_between(dense[0][0], dense[1][0], step)]
    for place, start, end in zip(cut[:BENT], *dense):
        paths.append(np.concatenate([_between(start, place, step), place[None], _between(place, end, step)]))
    paths += [*cut[BENT:, None]]
    return np.concatenate(paths), np.repeat(np.arange(len(paths)), [len(path) for path in paths])


def _between(start: Floats, end: Floats, step: float) -> Floats:
    """Return places on the line between two points, their middle at least; none on a long line."""
    n_steps = max(np.ceil(np.linalg.norm(end - start) / step), 2)
    return start + np.arange(1, n_steps)[:, None] / n_steps * (end - start) if n_steps <= PLACES else start[None][:0]


def _listed(
    landmarks: Floats, found: Sequence[tuple[Floats, Floats, Integers]], radii: Floats, links: Integers
) -> Places:
    """Return the balls of all tests with the balls near each landmark of the model."""
    places = np.concatenate([of_kind for peak, paths, _ in found for of_kind in (peak, paths)])
    test = np.repeat(np.arange(len(found)), [1 + len(paths) for _, paths, _ in found])
    path = np.concatenate([np.append(AT_PEAK, own) for _, _, own in found])
    tree = cKDTree(landmarks)
    reach = 2 * np.sqrt(np.maximum(radii.max(axis=1), 0))[test] + tree.query(places)[0]
    near = tree.query_ball_point(places, reach * (1 + 1e-9), return_sorted=True)
    landmark = np.concatenate([np.array(own, dtype=np.int64) for own in near])
    ball = np.repeat(np.arange(len(places)), [len(own) for own in near])
    order = np.argsort(landmark, kind="stable")
    start = np.searchsorted(landmark[order], np.arange(len(landmarks) + 1))
    return Places(places, test, path, radii, start, ball[order], links)
