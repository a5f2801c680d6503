"""Clusters of the leaves of a tree, the best clusters among its nodes, and its cuts at several depths.

Each leaf is a cluster, unless leaves were merged after growing. Clusters of a tree of merges, at any strength of
evidence.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from .._fields import nearest
from .._typing import AnyArray, Booleans, Floats, Integers
from ..valleys.graph import groups_of

if TYPE_CHECKING:
    from .structure import Tree

T = TypeVar("T", bound="Tree")

Quality = Callable[["Tree"], AnyArray]
"""A function that returns the quality of each node of a tree as a cluster, shape (n_nodes,)."""


def largest_first(n_rows: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return the numbers of clusters by their numbers of rows: 0 for the largest, the first of equal ones.

    >>> largest_first(np.array([5, 9, 5, 7]))
    array([2, 0, 3, 1])
    """
    number = np.empty(np.size(n_rows), dtype=np.int64)
    number[np.argsort(-np.asarray(n_rows), kind="stable")] = np.arange(np.size(n_rows))
    return number


def clusters_of(
    links: Integers, evidence: Floats, rows: Integers, threshold: float, least: float = 0, most: int | None = None
) -> Integers:
    """Return the cluster of each cell, the largest first.

    links (n_cells - 1, 2) int.
    evidence (n_cells - 1,).
    rows (n_cells,) int: rows in each cell.
    threshold: links with less evidence join their cells.
    least: clusters of fewer rows are joined to others along the link of least evidence.
    most: if there are more clusters, the links of least evidence join some of them.
    """
    separate = evidence >= threshold
    while True:
        group = groups_of(links[~separate], len(rows))
        sizes = np.bincount(group, weights=rows)
        ends = group[links]
        small = separate & (sizes[ends] < least).any(axis=1)
        if not small.any() and most is not None and len(sizes) > most:
            small = separate
        if not small.any():
            break
        candidates = np.flatnonzero(small)
        separate[candidates[evidence[candidates].argmin()]] = False
    return largest_first(sizes)[group]


def renumbered(cluster: Integers) -> Integers:
    """Return clusters numbered by their first leaves.

    >>> renumbered(np.array([-1, 2, -1, 0, 2]))
    array([-1,  0, -1,  1,  0], dtype=int32)
    """
    numbers, first, number = np.unique(cluster, return_index=True, return_inverse=True)
    first[numbers < 0] = -1
    return (np.argsort(np.argsort(first))[number] - np.count_nonzero(numbers < 0)).astype(np.int32)


def numbered(tree: T) -> T:
    """Return the tree with its clusters numbered as those of all models: the largest first, equal ones from the left.

    Examples
    --------
    >>> from mdh_dask.tree.structure import tree_from_nodes
    >>> root = {"left": 1, "right": 2, "n_rows": 9, "plane": [1.0], "threshold": 0.5}
    >>> leaves = [{"left": -1, "right": -1, "n_rows": n} for n in (4, 5)]
    >>> numbered(tree_from_nodes([root, *leaves], 1)).cluster.tolist()
    [-1, 1, 0]
    """
    place = renumbered(tree.cluster)
    n_rows = np.bincount(place[tree.left < 0], weights=tree.n_rows[tree.left < 0])
    return replace(tree, cluster=np.append(largest_first(n_rows), -1).astype(np.int32)[place])


def sums_below(tree: "Tree", of_leaves: AnyArray) -> AnyArray:
    """Return the sum over the leaves below each node; values of inner nodes do not count."""
    sums = of_leaves.copy()
    for node in np.flatnonzero(tree.left >= 0)[::-1]:  # children follow their parents
        sums[node] = sums[tree.left[node]] + sums[tree.right[node]]
    return sums


def clusters_below(tree: "Tree") -> list[set[int]]:
    """Return the labels of the clusters below every node."""
    below = [{cluster} for cluster in tree.cluster.tolist()]
    for node in np.flatnonzero(tree.left >= 0)[::-1].tolist():
        below[node] = below[tree.left[node]] | below[tree.right[node]]
    return below


def siblings_of(tree: "Tree") -> list[Integers]:
    """Return for each cluster those on the other side of the last split above its first leaf."""
    # Views of the clusters of all leaves, as those below the nodes of a chain are many.
    order, parent = tree.cluster[tree.leaves], tree.parent
    n_leaves = sums_below(tree, (tree.left < 0).astype(np.int64))
    found = [np.empty(0, dtype=order.dtype)] * tree.n_clusters
    for leaf in tree.leaves[::-1].tolist():
        if (above := int(parent[leaf])) >= 0:
            other, own = tree.right[above] if tree.left[above] == leaf else tree.left[above], tree.cluster[leaf]
            first = np.searchsorted(tree.leaves, other)  # nodes under another one follow it
            beside = order[first : first + n_leaves[other]]
            found[own] = beside if tree.n_clusters == tree.n_leaves else np.setdiff1d(beside, own)
    return found


def collapsed(tree: "Tree", kept: Booleans) -> Integers:
    """Return the clusters of nodes when only some splits are kept; clusters within one new leaf become one.

    kept (n_nodes,) bool: mask of the inner nodes that stay; the parent of a node that stays must stay, too.
    Returns (n_nodes,) int32: clusters of the new leaves, -1 at all other nodes.
    """
    leaf_of = np.arange(tree.n_nodes)
    for node in np.flatnonzero((tree.left >= 0) & ~kept):
        leaf_of[[tree.left[node], tree.right[node]]] = leaf_of[node]
    new, cluster = leaf_of[tree.leaves], tree.cluster[tree.leaves]
    _, first, number = np.unique(new, return_index=True, return_inverse=True)
    result = np.full_like(tree.cluster, -1)
    result[new] = groups_of(np.column_stack([cluster, cluster[first[number]]]), tree.n_clusters)[cluster]
    return result


def parting(tree: "Tree") -> Booleans:
    """Return a mask of the nodes with leaves of several clusters below them, shape (n_nodes,), bool."""
    low, high = tree.cluster.copy(), tree.cluster.copy()
    for node in np.flatnonzero(tree.left >= 0)[::-1]:
        children = [tree.left[node], tree.right[node]]
        low[node], high[node] = low[children].min(), high[children].max()
    return low < high


def coarser(fine: "Tree", coarse: "Tree") -> Integers:
    """Return for each cluster of a tree its cluster in the same tree with fewer splits, shape (n_clusters,), int32."""
    result = np.empty(fine.n_clusters, dtype=np.int32)
    above = np.zeros(fine.n_nodes, dtype=np.int64)  # the node of the coarse tree that holds each node
    for node in range(fine.n_nodes):
        held = above[node]
        if fine.left[node] < 0:
            result[fine.cluster[node]] = coarse.cluster[held]
            continue
        leaf = coarse.left[held] < 0
        above[fine.left[node]] = held if leaf else coarse.left[held]
        above[fine.right[node]] = held if leaf else coarse.right[held]
    return result


def overlaps(old: "Tree", new: "Tree") -> Integers:
    """Return the rows of each cluster of a tree in each of another, without those below splits in which they differ.

    Returns (old.n_clusters, new.n_clusters) int64: at least one row for each pair of leaves that overlap.
    """
    rows = np.zeros((old.n_clusters, new.n_clusters), dtype=np.int64)
    stack = [(0, 0)]
    while stack:
        one, other = stack.pop()
        is_leaf, is_new_leaf = old.left[one] < 0, new.left[other] < 0
        if is_leaf and is_new_leaf:
            rows[old.cluster[one], new.cluster[other]] += max(min(old.n_rows[one], new.n_rows[other]), 1)
        elif is_leaf:
            stack += [(one, new.left[other]), (one, new.right[other])]
        elif is_new_leaf:
            stack += [(old.left[one], other), (old.right[one], other)]
        elif old.thresholds[one] == new.thresholds[other] and np.array_equal(old.planes[one], new.planes[other]):
            stack += [(old.left[one], new.left[other]), (old.right[one], new.right[other])]
    return rows


def stability(tree: "Tree") -> Floats:
    """Return the stability of each node: its rows, times how long it is a cluster as the least depth falls.

    A node is a cluster below the least relative depth of the splits above it, until its own split is made, both on the
    scale of ``log(1 + depth)``. The root, a cluster for any least depth, has the stability zero.
    """
    own = np.where(tree.left >= 0, np.log1p(np.nan_to_num(tree.relative_depth, nan=0.0).clip(0)), 0.0)
    above = np.zeros(tree.n_nodes)
    for node, parent in enumerate(tree.parent):
        if parent >= 0:
            above[node] = own[parent] if parent == 0 else min(above[parent], own[parent])
    return np.asarray(tree.n_rows * (above - own).clip(0))


QUALITIES: dict[str, Quality] = {"stability": stability}


def extract(tree: T, quality: str | Quality = "stability") -> T:
    """Return the tree with the clusters of the largest sum of qualities among its nodes, of several the fewest.

    Parameters
    ----------
    tree : Tree
    quality : str or callable
        A name in `QUALITIES`, or a function of the tree that returns the quality of each node as a cluster.

    Raises
    ------
    ValueError
        If there is no such name, or the qualities are not a finite number for each node.

    Notes
    -----
    R. Campello, D. Moulavi, A. Zimek and J. Sander, A framework for semi-supervised and unsupervised optimal extraction
    of clusters from hierarchies, Data Mining and Knowledge Discovery 27 (2013).
    """
    return tree.with_splits(best_splits(tree, quality))


def best_splits(tree: "Tree", quality: str | Quality) -> Booleans:
    """Return a mask of the splits above the best clusters; see `extract`."""
    if not callable(quality) and str(quality) not in QUALITIES:
        known, meant = ", ".join(QUALITIES), nearest(str(quality), QUALITIES)
        raise ValueError(f"expected a quality of {known}, or a function of the tree; got {quality!r}{meant}")
    own = np.asarray((QUALITIES[quality] if isinstance(quality, str) else quality)(tree), dtype=np.float64)
    if own.shape != (tree.n_nodes,) or not np.isfinite(own).all():
        raise ValueError(
            f"expected a finite quality for each of {tree.n_nodes} nodes; got an array of shape {own.shape}"
            + (" with NaN or infinity" if own.shape == (tree.n_nodes,) else "")
        )
    best, kept = own.copy(), np.zeros(tree.n_nodes, dtype=bool)
    for node in np.flatnonzero(tree.left >= 0)[::-1]:  # children follow their parents
        below = best[tree.left[node]] + best[tree.right[node]]
        kept[node], best[node] = below > own[node], max(below, own[node])
    for node, parent in enumerate(tree.parent):
        kept[node] &= parent < 0 or kept[parent]
    return kept


class Level(NamedTuple):
    """A cut of a tree that keeps all splits with a valley of some least depth, if their parents stay."""

    n_clusters: int
    relative_depth: float
    """Least relative depth of the splits; infinite for a single cluster."""
    evidence: float
    """Least evidence of the splits, in standard errors; see `mdh_dask.density.kde.valley_evidence`."""


def levels(tree: "Tree") -> tuple[Level, ...]:
    """Return the levels of a tree, from one cluster to all, each a refinement of the one before.

    Examples
    --------
    >>> from mdh_dask.tree.structure import tree_from_nodes
    >>> root = {"left": 1, "right": 2, "n_rows": 9, "plane": [1.0], "threshold": 0.5, "relative_depth": 8.0}
    >>> inner = {"left": 3, "right": 4, "n_rows": 5, "plane": [1.0], "threshold": 0.2, "relative_depth": 3.0}
    >>> leaves = [{"left": -1, "right": -1, "n_rows": n} for n in (4, 3, 2)]
    >>> [(level.n_clusters, level.relative_depth) for level in levels(tree_from_nodes([root, inner, *leaves], 1))]
    [(1, inf), (2, 8.0), (3, 3.0)]
    """
    order = list(tree.split_order())
    depth = np.nan_to_num(tree.relative_depth[order], nan=0.0)
    least = np.minimum.accumulate(depth)
    evidence = np.fmin.accumulate([tree.evidence(node) for node in order])
    found = [Level(1, np.inf, np.inf)]
    for last in range(len(order)):
        if last + 1 < len(order) and depth[last + 1] >= least[last]:
            continue  # the next split is at the same level
        separate = tree.n_clusters == tree.n_leaves
        n_clusters = last + 2 if separate else with_first(tree, order, last + 1).n_clusters
        if n_clusters > found[-1].n_clusters:
            found.append(Level(n_clusters, float(least[last]), float(evidence[last])))
    return tuple(found)


def with_first(tree: T, order: list[int], n_splits: int) -> T:
    """Return the tree with the first splits of an order alone."""
    kept = np.zeros(tree.n_nodes, dtype=bool)
    kept[order[:n_splits]] = True
    return tree.with_splits(kept)
