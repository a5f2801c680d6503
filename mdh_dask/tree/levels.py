"""Levels of a tree: the same tree cut at several depths of its valleys."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from .structure import Tree


class Level(NamedTuple):
    """A cut of a tree that keeps all splits with a valley of some least depth, if their parents stay."""

    n_clusters: int
    relative_depth: float
    """Least relative depth of the splits; infinite for a single cluster."""
    evidence: float
    """Least evidence of the splits, in standard errors; see `mdh_dask.density.evidence.valley_evidence`."""


def levels_of(tree: "Tree") -> tuple[Level, ...]:
    """Return the levels of a tree, from one cluster to all, each a refinement of the one before.

    Examples
    --------
    >>> from mdh_dask.tree.structure import tree_from_nodes
    >>> root = {"left": 1, "right": 2, "n_rows": 9, "plane": [1.0], "threshold": 0.5, "relative_depth": 8.0}
    >>> inner = {"left": 3, "right": 4, "n_rows": 5, "plane": [1.0], "threshold": 0.2, "relative_depth": 3.0}
    >>> leaves = [{"left": -1, "right": -1, "n_rows": n} for n in (4, 3, 2)]
    >>> [(level.n_clusters, level.relative_depth) for level in levels_of(tree_from_nodes([root, inner, *leaves], 1))]
    [(1, inf), (2, 8.0), (3, 3.0)]
    """
    order = list(tree.split_order())
    depth = np.nan_to_num(tree.relative_depth[order], nan=0.0)
    least = np.minimum.accumulate(depth)
    evidence = np.fmin.accumulate([tree.evidence(node) for node in order])
    levels = [Level(1, np.inf, np.inf)]
    for last in range(len(order)):
        if last + 1 < len(order) and depth[last + 1] >= least[last]:
            continue  # the next split is at the same level
        n_clusters = _clusters_of_first(tree, order, last + 1)
        if n_clusters > levels[-1].n_clusters:
            levels.append(Level(n_clusters, float(least[last]), float(evidence[last])))
    return tuple(levels)


def _clusters_of_first(tree: "Tree", order: list[int], n_splits: int) -> int:
    if tree.n_clusters == tree.n_leaves:
        return n_splits + 1
    kept = np.zeros(tree.n_nodes, dtype=bool)
    kept[order[:n_splits]] = True
    return tree.with_splits(kept).n_clusters
