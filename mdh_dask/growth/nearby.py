"""Clusters that only their neighbourhoods show: along most lines, hundreds of clusters look like a single one.

The mean of a few near rows lies within a cluster. On the line through it and the mean of all rows, one cluster of
hundreds is farther out than nearly all others, so there is a valley between it and them. This cluster is
split off; then another one is split off from the rest.
"""

from collections.abc import Iterator

import numpy as np

from .._typing import Integers
from ..density.kde import BINS_PER_BANDWIDTH, deepest_valleys
from ..projections.directions import Proposal, StandardDirections
from ..projections.starts import near_means
from .scoring import Scorer, sample_counts

N_SEEDS = 128
"""Number of rows whose neighbourhoods are looked at where all splits of a branch come from them."""

LEAST_ROWS = 10
"""Sample rows that a cluster needs to be told from hundreds of others, unless users say how many: half of them test it,
and that none of these is in a valley has the probability exp(-5) by chance. The square root of the number of all rows,
as usual, would be several of their clusters."""

FEWEST_ROWS = 200
"""With fewer sample rows, a branch has no more than tens of clusters of `LEAST_ROWS` rows, which other lines show."""


def shaves(scorer: Scorer, rng: np.random.Generator) -> Proposal:
    """Return directions along which different groups of rows are apart from all others, the deepest valleys first."""
    proposal = Proposal(StandardDirections(near_means(scorer.rows, rng, N_SEEDS)))
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
