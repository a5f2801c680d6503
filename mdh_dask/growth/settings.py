"""The settings of growing a tree."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._levels import LevelFeatures
from .._typing import Integers
from ..density.bandwidth import Bandwidth
from ..projections.directions import Proposal
from ..splits.choose import Chooser

Proposer = Callable[[Any, np.random.Generator, Integers, float], Proposal]
"""A function ``(rows, rng, coarse, min_rows) -> proposal`` of the standardised rows of a branch, of the columns whose
values were spread, and of the least number of these rows on each side of a split."""


@dataclass(frozen=True)
class GrowthSettings:
    """The settings for growing one tree.

    Parameters
    ----------
    propose : callable
        Proposes the directions of a branch; see `Proposer`.
    chooser : Chooser
    bandwidth : Bandwidth
    n_candidates : int
        Number of directions of a branch to count on all rows, if directions are scored on a sample.
    sample_size : int or None
        Number of rows on which the directions of a branch are scored; None to score every direction on all rows.
    scale : bool
        Whether directions are proposed for columns of unit variance.
    max_levels : int or None
        Most splits above a leaf.
    seed : int
    order : str or None
        A name in `ORDERS`: clusters are split in this order until there are enough. None to make all possible splits.
    max_clusters : int or None
        Number of clusters that is enough for an order; None to let the order decide.
    n_clusters : int or None
        Number of clusters to reach: if fewer pass the test, leaves are split at their best valleys without it.
    family : str or None
        Family of random directions that `propose` draws independently of the rows, so that workers can make them.
    levels : LevelFeatures or None
        Where the levels of single columns lie, if the rows are features; None to look for two-valued columns.
    from_origin : bool
        Whether rows are not centred before directions are proposed, as their inner products are affinities.
    direction_seed : int or None
        Seed of random directions that are the same in all branches; None if each branch draws its own.
    sample_seed : int or None
        Seed of the hashes that choose the first sample, shared by trees that grow together; None for `seed`, from whose
        hashes everything else comes.
    """

    propose: Proposer
    chooser: Chooser
    bandwidth: Bandwidth
    n_candidates: int
    sample_size: int | None
    scale: bool
    max_levels: int | None
    seed: int
    order: str | None = None
    max_clusters: int | None = None
    n_clusters: int | None = None
    family: str | None = None
    levels: LevelFeatures | None = None
    sample_seed: int | None = None
    direction_seed: int | None = None
    from_origin: bool = False

    def stream_of(self, path: int) -> tuple[int, int]:
        """Return the key of the random directions of a branch."""
        return (self.seed, path) if self.direction_seed is None else (self.direction_seed, 0)
