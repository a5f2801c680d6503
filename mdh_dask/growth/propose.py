"""The directions of a branch: those of its projection, of its columns of few values, its labels and its near rows."""

from collections.abc import Iterator

import numpy as np

from .._levels import LevelFeatures
from .._random import any_rows
from .._typing import AnyArray, Integers
from ..projections.directions import Proposal, StandardDirections, row_combinations
from ..projections.pursuit import labelled_hyperplane
from ..projections.starts import near_means
from .branches import GrowthSettings
from .labelled import Groups
from .scoring import Scorer

N_SEEDS = 128
"""Number of rows whose neighbourhoods are looked at where all splits of a branch come from them."""

LEAST_ROWS = 10
"""Sample rows that a cluster needs to be told from hundreds of others, unless users say how many: half of them test it,
and that none of these is in a valley has the probability exp(-5) by chance. The square root of the number of all rows,
as usual, would be several of their clusters."""

FEWEST_ROWS = 200
"""With fewer sample rows, a branch has no more than tens of clusters of `LEAST_ROWS` rows, which other lines show."""


def propose(settings: GrowthSettings, scorer: Scorer, rng: np.random.Generator) -> Proposal:
    """Return directions for the rows that score them, or none if all rows are equal.

    Labelled rows of a branch propose directions of their own.
    """
    rows, standardise = scorer.rows, scorer.standardise
    if len(rows) < 2:
        return Proposal(StandardDirections(np.empty((0, rows.shape[1]))))
    coarse, levels = standardise.discrete.jitter.columns, standardise.discrete.levels
    proposal = settings.propose(rows, rng, coarse, scorer.min_rows)
    in_valleys = proposal.thresholds is None or settings.selector.rule.at.limits_depth
    # Directions that do not depend on the rows are drawn again by workers, which do not know the others.
    if in_valleys and settings.family is None and levels is not None:
        for others in levels.without(rows, standardise.scale):
            # The smoothing of levels would hide clusters that only the other directions show.
            proposal = proposal.joined(settings.propose(others, rng, coarse, scorer.min_rows))
    if proposal.family is not None and isinstance(levels, LevelFeatures) and len(levels.starts):
        # Pursuits end at the deepest valleys, which may be those of single columns, and are smoothed out.
        proposal = proposal.joined(Proposal(StandardDirections(row_combinations(rng, 100, rows))))
    if scorer.groups is not None:
        proposal = proposal.joined(between_groups(scorer.groups.standardised(standardise), rows))
    proposal = proposal[proposal.directions.vectors.any(axis=1)]
    # A bandwidth shared by all directions is for unit directions.
    return proposal.of_length_one() if settings.bandwidth.principal else proposal


def between_groups(groups: Groups, rows: AnyArray) -> Proposal:
    """Return hyperplanes of low density that separate groups of labelled rows from those to be separated from them."""
    some = any_rows(rows, 1000)  # they only add directions to those scored on all sample rows
    largest = np.argsort(-np.bincount(groups.group), kind="stable").tolist()
    wanted = [g for g in largest if len(groups.apart_from(g))][:4]
    ends = []
    for g in wanted[1:] if len(wanted) == 2 else wanted:
        ours, others = groups.group == g, np.isin(groups.group, groups.apart_from(g))
        both = ours | others
        signs = np.where(ours[both], 1.0, -1.0)
        between = groups.rows[ours].mean(axis=0) - groups.rows[others].mean(axis=0)
        if between.any() and some.std(axis=0).any():
            ends.append(labelled_hyperplane(some, groups.rows[both], signs, starts=(between.astype(np.float64),)))
    directions = np.array([end.direction for end in ends]).reshape(-1, rows.shape[1])
    return Proposal(StandardDirections(directions), np.array([end.offset for end in ends]))


def shaves(scorer: Scorer, rng: np.random.Generator) -> Proposal:
    """Return directions along which different groups of near rows are apart from all others, the deepest valleys first.

    Along most lines, hundreds of clusters look like a single one. The mean of a few near rows lies within a cluster. On
    the line through it and the mean of all rows, one cluster of hundreds is farther out than nearly all others, so
    there is a valley between it and them. This cluster is split off; then another one is split off from the rest.
    """
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
    for _, projections, thresholds, valleys in scorer.valleys(proposal):
        left = projections <= thresholds[:, None]
        for side, depth in zip(left, valleys.lower.tolist()):
            yield depth, np.flatnonzero(side if 2 * np.count_nonzero(side) <= len(side) else ~side)
