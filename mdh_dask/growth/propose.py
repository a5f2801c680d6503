"""The directions of a branch: what its projection proposes, and what its columns of few values and its labels add."""

import numpy as np

from .._levels import LevelFeatures
from .._random import any_rows
from .._typing import AnyArray
from ..projections.directions import Proposal, StandardDirections, row_combinations
from ..projections.pursuit import labelled_hyperplane
from .branches import GrowthSettings
from .labelled import Groups
from .scaling import Standardiser


def propose(
    settings: GrowthSettings,
    standardise: Standardiser,
    rows: AnyArray,
    min_rows: float,
    groups: Groups | None,
    rng: np.random.Generator,
) -> Proposal:
    """Return directions for the standardised rows that score them, or none if all rows are equal.

    rows (n, n_features): the rows that choose a split.
    min_rows: least number of these on each side of it.
    groups: labelled rows of the branch, which propose directions of their own.
    """
    if len(rows) < 2:
        return Proposal(StandardDirections(np.empty((0, rows.shape[1]))))
    coarse, levels = standardise.discrete.jitter.columns, standardise.discrete.levels
    proposal = settings.propose(rows, rng, coarse, min_rows)
    in_valleys = proposal.thresholds is None or settings.selector.rule.at.limits_depth
    # Directions that do not depend on the rows are drawn again by workers, which do not know the others.
    if in_valleys and settings.family is None and levels is not None:
        for others in levels.without(rows, standardise.scale):
            # The smoothing of levels would hide clusters that only the other directions show.
            proposal = joined(proposal, settings.propose(others, rng, coarse, min_rows))
    if proposal.family is not None and isinstance(levels, LevelFeatures) and len(levels.starts):
        # Pursuits end at the deepest valleys, which may be those of single columns, and are smoothed out.
        proposal = joined(proposal, Proposal(StandardDirections(row_combinations(rng, 100, rows))))
    if groups is not None:
        proposal = joined(proposal, between_groups(groups.standardised(standardise), rows))
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


def joined(proposal: Proposal, more: Proposal) -> Proposal:
    """Return two proposals as one, with thresholds if the first has any, and equal families together."""
    vectors = np.concatenate([proposal.directions.vectors, more.directions.vectors])
    both = proposal, more
    family = None
    if any(one.family is not None for one in both):
        family = np.concatenate([np.zeros(len(one), dtype=int) if one.family is None else one.family for one in both])
    if proposal.thresholds is None or more.thresholds is None:
        return Proposal(StandardDirections(vectors), family=family)
    return Proposal(StandardDirections(vectors), np.concatenate([proposal.thresholds, more.thresholds]), family)
