"""Clusters that only their neighbourhoods show: along most lines, hundreds of clusters look like a single one.

The mean of a few near rows lies within a cluster. On the line through it and the mean of all rows, one cluster of
hundreds is farther out than nearly all others, so there is a valley between it and them. This cluster is
split off; then another one is split off from the rest.
"""

from collections.abc import Iterator

import numpy as np

from .._typing import AnyArray, Floats, Integers
from ..density.kde import BINS_PER_BANDWIDTH, deepest_valleys
from ..projections.directions import Proposal, StandardDirections
from .scoring import Scorer, product, sample_counts

NEAR_ROWS = (4, 16)
"""Numbers of near rows whose means give directions: a few of one cluster, or those of a few clusters."""

N_SEEDS = 128
"""Number of rows whose neighbourhoods are looked at."""

AT_ONCE = 16
"""Seeds whose distances from all rows are held at once."""

IDENTITY = 0.1
"""Share of the identity in the covariance of near rows, which few rows would make singular."""

LEAST_ROWS = 30
"""Sample rows that a cluster needs to be told from hundreds of others, unless users say how many. The square root of
the number of all rows, as usual, would be several of their clusters."""

FEWEST_ROWS = 2000
"""With fewer sample rows in a branch, there are no hundreds of clusters in it to look for."""


def shaves(scorer: Scorer, rng: np.random.Generator, n_seeds: int) -> Proposal:
    """Return directions along which different groups of rows are apart from all others, the deepest valleys first."""
    proposal = Proposal(StandardDirections(near_means(scorer.rows, rng, n_seeds)))
    proposal = proposal[proposal.directions.vectors.any(axis=1)].of_length_one()
    found = [*_smaller_sides(scorer, proposal)]
    taken, kept = np.zeros(len(scorer.rows), dtype=bool), []
    for i in sorted(range(len(found)), key=lambda i: -found[i][0]):
        depth, side = found[i]
        if depth > scorer.rule.min_relative_depth and taken[side].mean() < 0.5:
            taken[side] = True
            kept.append(i)
    return proposal[np.array(kept, dtype=np.int64)]


def _smaller_sides(scorer: Scorer, proposal: Proposal) -> Iterator[tuple[float, Integers]]:
    """Yield a lower bound of the depth of the deepest valley along each direction, and the rows on its smaller side."""
    rows = (scorer.rows - scorer.rows.mean(axis=0)).astype(np.float32)
    for _, projections, resolution in scorer.projected(proposal, rows):
        counts, origin, width = sample_counts(projections, scorer.bandwidth, resolution, BINS_PER_BANDWIDTH)
        valleys = deepest_valleys(counts, BINS_PER_BANDWIDTH, max(scorer.min_rows, 1), share=scorer.share)
        left = projections <= (origin + width * (valleys.bins + 1))[:, None]
        for side, depth in zip(left, valleys.lower.tolist()):
            yield depth, np.flatnonzero(side if 2 * np.count_nonzero(side) <= len(side) else ~side)


def near_means(rows: AnyArray, rng: np.random.Generator, n_seeds: int) -> Floats:
    """Return the means of some rows' near rows, from that of all, and the same in units of the spread of near rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = np.repeat(rng.normal(size=(50, 9)), 20, axis=0) + 0.1 * rng.normal(size=(1000, 9))
    >>> near_means(rows, rng, 128).shape
    (512, 9)
    """
    centred = np.asarray(rows - rows.mean(axis=0), dtype=np.float32)
    n, d = centred.shape
    squares = np.square(centred).sum(axis=1)
    most = min(max(NEAR_ROWS), n)
    seeds = rng.choice(n, min(n_seeds, n), replace=False)
    near = np.empty((len(seeds), most, d), dtype=np.float32)
    for i in range(0, len(seeds), AT_ONCE):
        part = slice(i, i + AT_ONCE)
        distances = squares - 2 * product(centred[seeds[part]], centred.T)
        first = np.argpartition(distances, most - 1, axis=1)[:, :most]
        order = np.argsort(np.take_along_axis(distances, first, axis=1), axis=1, kind="stable")
        near[part] = centred[np.take_along_axis(first, order, axis=1)]
    means = np.concatenate([near[:, :some].mean(axis=1) for some in NEAR_ROWS]).astype(np.float64)
    few = near[:, : NEAR_ROWS[0]]
    if near.shape[0] * (NEAR_ROWS[0] - 1) < 2 * d:
        return means
    beside = (few - few.mean(axis=1, keepdims=True)).reshape(-1, d).astype(np.float64)
    spread = beside.T @ beside / len(beside)
    own = np.trace(spread) / d
    spread = (1 - IDENTITY) * spread + (IDENTITY * own or 1.0) * np.eye(d)
    return np.concatenate([means, np.linalg.solve(spread, means.T).T])
