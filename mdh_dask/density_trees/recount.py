"""The test of a density tree on rows that had no part in the sample: all places are fixed, and one pass counts."""

from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from .._typing import Floats, Integers
from .evidence import RADII, Half
from .structure import Structure

LANDMARKS = 3000
"""Largest number of sample rows that may be centres of balls."""

IN_CORE, ON_CUT = 4, 5
"""Weights of a row in a core and on the cut, as the density of the core must be higher by more than a quarter.

A cut also has places beside its densest one, so with many rows any smaller difference would be significant."""


class Places(NamedTuple):
    """Balls around places of several tests, and for each landmark the balls in which its nearest rows may be."""

    places: Floats
    """Shape (n_balls, n_columns)."""
    test: Integers
    """Test of each ball, in ascending order."""
    weight: Integers
    """Weight of the rows in each ball, below zero on a cut."""
    radii: Floats
    """Squared radii, shape (n_tests, n_radii)."""
    start: Integers
    """The balls of landmark i are ``listed[start[i]:start[i + 1]]``, in ascending order; shape (n_landmarks + 1,)."""
    listed: Integers
    links: Integers
    """Tests 2 i and 2 i + 1 are those of both groups of link ``links[i]`` of the structure."""


def places_of(points: Floats, structure: Structure, n_landmarks: int) -> Places | None:
    """Return the balls that test the links that separate in the sample again, or None if there is no such link.

    Parameters
    ----------
    points : array of shape (n_rows, n_columns), float64
        The sample; its first `n_landmarks` rows are the landmarks of the model.
    structure : Structure
        The structure of the sample.
    n_landmarks : int

    Notes
    -----
    A row in a ball of radius r is nearer than r + s to its nearest landmark, if s is the distance from the place to the
    nearest landmark; so only landmarks within 2 r + s of a place can have rows in its ball.
    """
    promising = np.flatnonzero(structure.evidence >= structure.threshold)[: len(structure.sides)]
    if len(promising) == 0:
        return None
    every = Half(points, np.ones(len(points), dtype=bool), LANDMARKS)
    chosen = {int(link): every.chosen(structure.sides[link][structure.cell], (0, 1)) for link in promising}
    links = [link for link, pair in chosen.items() if pair is not None]
    found = [balls for pair in chosen.values() if pair is not None for balls in pair]
    if not found:
        return None
    at = points[every.places]
    places = np.concatenate([np.concatenate([at[b.core], (at[b.ends[0]] + at[b.ends[1]]) / 2]) for b in found])
    sizes = np.array([len(b.core) for b in found])
    test = np.repeat(np.arange(len(found)), 2 * sizes)
    weight = np.concatenate([np.repeat([IN_CORE, -ON_CUT], n) for n in sizes])
    radii = np.array([b.radii for b in found])
    tree = cKDTree(points[:n_landmarks])
    reach = 2 * np.sqrt(radii.max(axis=1))[test] + tree.query(places)[0]
    near = tree.query_ball_point(places, reach * (1 + 1e-9), return_sorted=True)
    landmark = np.concatenate([np.array(own, dtype=np.int64) for own in near])
    ball = np.repeat(np.arange(len(places)), [len(own) for own in near])
    order = np.argsort(landmark, kind="stable")
    start = np.searchsorted(landmark[order], np.arange(min(n_landmarks, len(points)) + 1))
    return Places(places, test, weight, radii, start, ball[order], np.array(links))


def tested_again(structure: Structure, again: Places, sums: Integers, level: float) -> Structure:
    """Return the structure with the evidence of sums of `rows_in_balls`, of rows that are not in the sample.

    The rows chose nothing, so the threshold is that of a normal distribution. The other links stay in their order below
    it.
    """
    evidence, in_core, in_cut = np.zeros((3, len(structure.evidence)))
    evidence[again.links], in_core[again.links], in_cut[again.links] = _evidence(sums)
    threshold = NormalDist().inv_cdf(1 - level / (len(again.links) * len(RADII)))
    untested = np.setdiff1d(np.arange(len(evidence)), again.links)
    evidence[untested] = structure.evidence[untested] * min(threshold / structure.threshold / 2, 1)
    return structure._replace(evidence=evidence, core_rows=in_core, cut_rows=in_cut, threshold=threshold)


def _evidence(sums: Integers) -> tuple[Floats, Floats, Floats]:
    """Return the evidence of links, and the rows in the core and on the cut, from sums of `rows_in_balls` for all."""
    by_side = sums.reshape(-1, 2, *sums.shape[1:])
    errors = by_side[..., 0] / np.sqrt(np.maximum(by_side[..., 1], 1))
    best = errors.min(axis=1).argmax(axis=1)
    links = np.arange(len(best))
    side = errors[links, :, best].argmin(axis=1)
    counts = by_side[links, side, best].astype(np.float64)
    return errors[links, side, best], counts[:, 2], counts[:, 3]
