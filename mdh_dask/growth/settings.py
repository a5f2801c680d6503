"""What is open to choice about growing a tree."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..density.bandwidth import Bandwidth
from ..projections.directions import Proposal
from ..splits.choose import Chooser

Proposer = Callable[[Any, np.random.Generator], Proposal]
"""Proposes directions for the standardised rows of a branch: ``(rows, rng) -> proposal``."""


@dataclass(frozen=True)
class GrowthSettings:
    """How one tree is grown.

    Parameters
    ----------
    propose : callable
        Gives the directions of a branch; see `Proposer`.
    chooser : Chooser
    bandwidth : Bandwidth
    n_candidates : int
        Directions of a branch that are counted on all rows, if they are scored on a sample.
    sample_size : int or None
        Rows on which the directions of a branch are scored; None to score every direction on all rows.
    scale : bool
        Whether directions are proposed for columns of unit variance.
    max_levels : int or None
        Splits on the way to a leaf, at most.
    seed : int
    order : str or None
        A name in `ORDERS`: clusters are split in this order until there are enough. None to split all that can be.
    max_clusters : int or None
        What is enough, for an order; None to let the order say.
    family : str or None
        Family of random directions that `propose` gives whatever the rows are, so that workers can make them.
    sample_seed : int or None
        Of the hashes that choose the first sample, which trees that grow together share; None for `seed`, of whose
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
    family: str | None = None
    sample_seed: int | None = None
