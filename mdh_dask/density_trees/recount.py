"""The test of a density tree on rows that had no part in the sample: all places are fixed, and one pass counts."""

from statistics import NormalDist

import numpy as np

from .._typing import Floats, Integers
from ..valleys.landmarks import RADII
from .places import NO_PATH, Places
from .structure import Structure

AT_PEAK, ON_PATH = 8, 9
"""Weights of a row at a peak and in the sparsest ball on a path: the peak must be denser by more than an eighth, as the
sparsest of several balls is sparse by chance."""

WIDE = 2
"""Radius of balls that have to show a valley, too: on a cut through a thin ridge, all smaller ones may be beside it."""

MORE_ROWS = np.iinfo(np.int64).max
"""More rows than in any ball."""


def tested_again(structure: Structure, again: Places, sums: Integers, in_balls: Integers, level: float) -> Structure:
    """Return the structure with the evidence of `rows_in_balls`, of rows that are not in the sample.

    These rows chose nothing, so levels are those of a normal distribution. Links that the sample shows have to be
    confirmed. Another link separates if every path across its cut has a ball with significantly fewer rows than the
    balls at both peaks. There are many of these, and `level` is the share of false ones among them: in a cloud without
    clusters, the probability of any. Their evidence is divided by the ratio of their threshold to that of the others.
    """
    n_shown = int(again.shown.sum())
    threshold = NormalDist().inv_cdf(1 - level / (max(n_shown, 1) * len(RADII)))
    counts = _in_core_and_cut(again, in_balls)
    shown = np.repeat(again.shown, 2)[:, None]
    errors = np.where(shown, sums[..., 0] / np.sqrt(np.maximum(sums[..., 1], 1)), _against_the_path(counts))
    strength, *rows = _weaker_side(errors, counts)
    ratio = threshold / _least_of_discoveries(strength[~again.shown], level)
    evidence, in_core, in_cut = np.zeros((3, len(structure.evidence)))
    evidence[again.links] = np.where(again.shown, strength, strength * ratio)
    in_core[again.links], in_cut[again.links] = rows
    return structure._replace(evidence=evidence, core_rows=in_core, cut_rows=in_cut, threshold=threshold)


def _least_of_discoveries(errors: Floats, level: float) -> float:
    """Return the least standard errors, the largest over radii, of tests of which a share of `level` is false at most.

    Source: Y. Benjamini and Y. Hochberg, Controlling the false discovery rate, 1995.
    """
    n = max(len(errors), 1)
    least = [NormalDist().inv_cdf(1 - level * rank / (n * len(RADII))) for rank in range(1, n + 1)]
    reached = np.flatnonzero(-np.sort(-errors) >= least[: len(errors)])
    return least[reached[-1] if len(reached) else 0]


def _in_core_and_cut(again: Places, in_balls: Integers) -> Integers:
    """Return the rows in the core and on the cut of each test, shape (n_tests, n_radii, 2).

    They are sums over as many balls, or the rows at the peak and those of the sparsest ball on the densest path.
    """
    counts = np.zeros((*again.radii.shape, 2), dtype=np.int64)
    core, across = again.weight > 0, again.path != NO_PATH
    cut = ~core & ~across
    np.add.at(counts[..., 0], again.test[core], in_balls[core])
    np.add.at(counts[..., 1], again.test[cut], in_balls[cut])
    sparsest = np.full((len(again.radii), again.path.max() + 2, again.radii.shape[1]), MORE_ROWS)
    np.minimum.at(sparsest, (again.test[across], again.path[across]), in_balls[across])
    counts[..., 1] += np.where(sparsest < MORE_ROWS, sparsest, 0).max(axis=1)
    return counts


def _against_the_path(counts: Integers) -> Floats:
    """Return by how many standard errors the weighted rows at the peak exceed those of the sparsest ball on a path.

    Rows in both balls make the difference more certain, which is left out.
    """
    excess = counts @ np.array([AT_PEAK, -ON_PATH])
    variance = counts @ np.array([AT_PEAK**2, ON_PATH**2])
    errors = excess / np.sqrt(np.maximum(variance, 1))
    wide = np.where(counts[:, WIDE, 0] > 0, errors[:, WIDE], np.inf)  # small groups have no balls so wide
    return np.minimum(errors, wide[:, None])


def _weaker_side(errors: Floats, counts: Integers) -> tuple[Floats, Floats, Floats]:
    """Return the evidence of each link at its best radius, and the rows in the core and on the cut."""
    by_side, counts = errors.reshape(-1, 2, errors.shape[1]), counts.reshape(-1, 2, *counts.shape[1:])
    best = by_side.min(axis=1).argmax(axis=1)
    links = np.arange(len(best))
    side = by_side[links, :, best].argmin(axis=1)
    rows = counts[links, side, best].astype(np.float64)
    return by_side[links, side, best], rows[:, 0], rows[:, 1]
