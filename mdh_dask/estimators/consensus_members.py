"""The trees of a consensus: their estimators, which of them grow together, and the sample for the others."""

from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from .._random import generator
from ..chunks import Plan
from ..growth.passes import FirstLook, Sample, first_read, rows_held
from .density_tree import DensityTree
from .models import of_form
from .tree_estimator import TreeEstimator
from .trees import HierarchicalKernelMDH, HierarchicalMDH

Member = TreeEstimator | DensityTree

Members = Sequence[tuple[Member, int]]
"""Estimators of the trees, with their seeds."""

USUAL: tuple[Member, ...] = HierarchicalMDH(), HierarchicalKernelMDH(), DensityTree()
"""The estimators of the trees, which take turns."""

SAMPLE_SIZE = 10_000
"""The `sample_size` of trees of hyperplanes, whose first sample the others share."""


def turns_of(given: Member | Sequence[Member] | None) -> list[Member]:
    """Return the estimators that take turns, or raise an error if any gives no trees."""
    turns: Any = list(USUAL) if given is None else given if isinstance(given, list) else [given]
    if not turns or not all(isinstance(own, Member) for own in turns):
        names = [type(own).__name__ for own in turns]
        raise TypeError(f"expected estimators of trees for estimator, at least one; got {names}")
    if any(own._leaves_rows for own in turns):
        raise ValueError(
            "expected estimators that give all rows a cluster; got DensityTree with unclassified='leave': leave it out"
        )
    return list(turns)


def members_of(turns: Sequence[Member], n_trees: int, n_clusters: int | None, seed: int) -> Members:
    """Return an estimator for each tree; those that can have a number of clusters, and have none, have this one."""
    members = [clone(turns[j % len(turns)]) for j in range(n_trees)]
    for own in members:
        if n_clusters is not None and getattr(own, "n_clusters", 0) is None and own.max_clusters is None:
            own.set_params(n_clusters=n_clusters)
    return [(own, int(generator(seed, j).integers(2**31))) for j, own in enumerate(members)]


def joins(own: Member) -> TypeGuard[TreeEstimator]:
    """Return whether a tree grows in the same passes as others."""
    return isinstance(own, TreeEstimator) and own.feature_map is None


def need_sample(members: Members) -> bool:
    """Return whether a sample stands for the rows, as they are mapped or compared for some of the trees."""
    pairwise = any(get_tags(own).input_tags.pairwise for own, _ in members)
    return not pairwise and not all(joins(own) for own, _ in members)


def sample_for_others(
    seed: int, shape: tuple[int, int], check: Callable[[FirstLook], None], parts_at: int | None
) -> Plan[Sample]:
    """Plan the sample of the trees that do not join, which is the first one of those that do, and so read once."""
    look = yield from first_read(seed, rows_held(SAMPLE_SIZE, shape[1]), shape[0], check, parts_at)
    return look.sample


def limit_to_sample(members: Members, n_sampled: int, n_rows: int) -> None:
    """Set a number of rows for the smallest cluster to their share, as so many rows of a sample would be too many."""
    for own in (own for own, _ in members if not joins(own)):
        own.progress = False
        if own.min_cluster_size is not None and own.min_cluster_size >= 1 and n_sampled < n_rows:
            own.min_cluster_size = own.min_cluster_size / n_rows if own.min_cluster_size < n_rows else n_sampled


def passes_of(members: Members, n_rows: int, n_columns: int) -> tuple[int, int | None]:
    """Return the fewest and the most passes in which the trees grow and are joined; None if there is no limit."""
    joined = [own._passes(n_rows, n_columns) for own, _ in members if joins(own)]
    fewest, most = (max((limits[i] or np.inf for limits in joined), default=0) for i in range(2))
    if need_sample(members):
        fewest, most = max(fewest, 1), max(most, 1)
    else:
        alone = [own._passes(n_rows, n_columns) for own, _ in members if not joins(own)]
        fewest, most = (1 + n + sum(limits[i] or np.inf for limits in alone) for i, n in enumerate((fewest, most)))
    return int(fewest), int(most) if np.isfinite(most) else None


def each(function: Callable[[Any], Any], given: Any) -> Any:
    """Return what a function returns for an estimator or each of several; None for none."""
    if isinstance(given, list):
        return [function(own) for own in given]
    return None if given is None else function(given)


def member_of_form(saved: Any) -> Member:
    """Return the estimator of trees from its saved form."""
    from .registry import estimators  # imported late, as the registry imports what uses this module

    known = {name: own for name, own in estimators().items() if issubclass(own, Member)}
    made: Member = of_form(saved, known, "an estimator of trees")
    return made
