"""Changes to a tree: fewer nodes, others, or more; new hyperplanes, units and counts for nodes that stay."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._typing import AnyArray, Booleans, Floats, Integers
from .._words import full_count
from ..projections.directions import Axes, RawDirections
from .clusters import with_first

if TYPE_CHECKING:
    from .structure import Tree

T = TypeVar("T", bound="Tree")

NEW = {"left": -1, "right": -1, "n_rows": 0, "cluster": -1, "planes": 0.0}
"""Values of a new node; all others are NaN."""


def cut(tree: T, n_clusters: int) -> T:
    """Return the tree with at most `n_clusters` clusters and the first splits in `Tree.split_order`.

    This is the tree that results from growing one split at a time, always at the branch of largest relative depth
    (thesis eq. 6.2), until there are `n_clusters` clusters. Every cluster is a union of clusters of the tree.

    Examples
    --------
    >>> from mdh_dask.tree.structure import tree_from_nodes
    >>> root = {"left": 1, "right": 2, "n_rows": 9, "plane": [1.0], "threshold": 0.5, "relative_depth": 3.0}
    >>> inner = {"left": 3, "right": 4, "n_rows": 5, "plane": [1.0], "threshold": 0.2, "relative_depth": 8.0}
    >>> leaves = [{"left": -1, "right": -1, "n_rows": n} for n in (4, 3, 2)]
    >>> cut(tree_from_nodes([root, inner, *leaves], 1), 2).cluster_rows.tolist()
    [5, 4]
    """
    if not isinstance(n_clusters, Integral) or n_clusters < 1:
        raise ValueError(f"expected n_clusters as a whole number from 1; got {n_clusters!r}")
    order = list(tree.split_order())
    if tree.n_clusters == tree.n_leaves:
        return with_first(tree, order, n_clusters - 1)
    # Each split of leaves that share clusters adds one cluster or none.
    enough = bisect_left(range(len(order)), n_clusters, key=lambda n: with_first(tree, order, n).n_clusters)
    coarse = with_first(tree, order, enough)
    return coarse.merged(coarse.cluster[coarse.leaves])


def prune(tree: T, node: int) -> T:
    """Return the tree with a node as a leaf, without its descendants; their clusters become one.

    Examples
    --------
    >>> from mdh_dask.tree.structure import tree_from_nodes
    >>> root = {"left": 1, "right": 2, "n_rows": 9, "plane": [1.0], "threshold": 0.5}
    >>> leaves = [{"left": -1, "right": -1, "n_rows": n} for n in (5, 4)]
    >>> prune(tree_from_nodes([root, *leaves], 1), 0).n_clusters
    1
    """
    return tree.with_splits((tree.left >= 0) & ~nodes_below(tree, node))


def nodes_below(tree: "Tree", node: int) -> Booleans:
    """Return which nodes are a node or its descendants."""
    first = last = checked_node(tree, node)
    while tree.left[last] >= 0:
        last = int(tree.right[last])
    # A subtree is a range of nodes, as parents come first, and left subtrees before right ones.
    nodes = np.arange(tree.n_nodes)
    return (nodes >= first) & (nodes <= last)


def _parted(tree: T, node: int) -> T:
    """Return the tree with one cluster in all leaves below a node, which no other leaf has."""
    ours, leaves = nodes_below(tree, node), tree.left < 0
    cluster = np.where(ours & leaves, tree.n_clusters, tree.cluster)
    if not np.isin(tree.cluster[ours & leaves], tree.cluster[~ours & leaves]).any():
        cluster[ours & leaves] = tree.cluster[ours & leaves].min()
    cluster[leaves] = np.unique(cluster[leaves], return_inverse=True)[1]
    return replace(tree, cluster=cluster.astype(tree.cluster.dtype))


def split(tree: T, node: int, direction: AnyArray | None = None, threshold: float | None = None) -> T:
    """Return the tree with a node split by a hyperplane; a node that was split before is pruned first.

    Parameters
    ----------
    tree : Tree
    node : int
    direction : array of shape (n_features,), optional
        Normal of the hyperplane, for the rows as the tree takes them; by default that of the node. The direction of a
        leaf is that of its best rejected split.
    threshold : float, optional
        Rows with ``direction . x <= threshold`` go left; by default the threshold of the node.

    Returns
    -------
    Tree
        The left child keeps the cluster of the node, the right one is a new cluster. Along the node's own direction,
        the histogram counts the rows of the children; otherwise they are unknown, and zero, until the tree counts
        rows: see `mdh_dask.growth.trees.recount` and `with_tree` of the estimators.

    Raises
    ------
    ValueError
        If there is no such node, the direction has another shape or is zero, or a number is not finite.

    Examples
    --------
    >>> from mdh_dask.tree.structure import tree_from_nodes
    >>> tree = tree_from_nodes([{"left": -1, "right": -1, "n_rows": 9}], n_features=2)
    >>> split(tree, 0, [0.0, 1.0], 0.5).labels(np.array([[3.0, 0.0], [3.0, 1.0]])).tolist()
    [0, 1]
    """
    node = checked_node(tree, node)
    plane = np.asarray(tree.planes[node] if direction is None else direction, dtype=np.float64)
    at = float(tree.thresholds[node]) if threshold is None else float(threshold)
    if plane.shape != (tree.n_features,) or not np.isfinite(plane).all() or not plane.any():
        raise ValueError(
            f"expected a direction of {tree.n_features} finite numbers, not all zero; got {plane.shape} numbers from "
            f"{plane.min(initial=np.inf):g} to {plane.max(initial=-np.inf):g}: give another; node {node} may have none"
        )
    if not np.isfinite(at):
        raise ValueError(f"expected a finite threshold, got {at}: give one; node {node} may have none")
    own = np.array_equal(plane, tree.planes[node])
    tree = prune(tree, node)
    if not own:
        tree = turned(tree, np.array([node]), RawDirections(plane[None]), np.array([at]))
    first = tree.n_nodes
    values: dict[str, Any] = {
        name: np.concatenate([array, np.full((2, *array.shape[1:]), NEW.get(name, np.nan), dtype=array.dtype)])
        for name, array in tree.per_node().items()
    }
    values["left"][node], values["right"][node], values["cluster"][node] = first, first + 1, -1
    values["n_rows"][first:] = _sides(tree, node, at)
    values["cluster"][first:] = tree.cluster[node], tree.n_clusters
    if at != tree.thresholds[node]:
        values["thresholds"][node] = at
        for name in ("relative_depth", "p_value", "n_tested"):  # of another place
            values[name][node] = np.nan
    return replace(tree, first_bin=np.append(tree.first_bin, [len(tree.bins)] * 2), **values).in_order()


def graft(tree: T, node: int, twig: T) -> T:
    """Return the tree with another tree in place of a node and its descendants.

    The first cluster of the twig keeps the cluster of the node, unless leaves elsewhere have it, too; the others are
    new. All other nodes stay as they are.

    Examples
    --------
    >>> from mdh_dask.tree.structure import tree_from_nodes
    >>> root = {"left": 1, "right": 2, "n_rows": 9, "plane": [1.0], "threshold": 0.5}
    >>> leaves = [{"left": -1, "right": -1, "n_rows": n} for n in (5, 4)]
    >>> halves = tree_from_nodes([root, *leaves], 1)
    >>> graft(halves, 2, halves).labels(np.array([[0.0], [1.0]])).tolist()
    [0, 2]
    """
    check_columns(tree, twig)
    tree = prune(_parted(tree, node), node)
    if node == 0:
        return replace(twig, feature_names=tree.feature_names)
    first = tree.n_nodes
    own = twig.per_node()
    for side in ("left", "right"):
        own[side] = np.where(own[side] >= 0, own[side] + first, -1)
    named = np.append(tree.cluster[node], tree.n_clusters + np.arange(twig.n_clusters - 1))
    own["cluster"] = np.where(twig.cluster >= 0, named[twig.cluster], -1)
    values: dict[str, Any] = {
        name: np.concatenate([array, own[name].astype(array.dtype)]) for name, array in tree.per_node().items()
    }
    for side in ("left", "right"):
        values[side][:first][tree.per_node()[side] == node] = first
    bins = np.concatenate([tree.bins, twig.bins])
    first_bin = np.append(tree.first_bin, twig.first_bin[1:] + len(tree.bins))
    return replace(tree, bins=bins, first_bin=first_bin, **values).in_order()


def _sides(tree: "Tree", node: int, threshold: float) -> tuple[int, int]:
    """Return the rows on both sides of a threshold by the histogram of a node, or zeros without one."""
    counts = tree.histogram(node)
    if len(counts) == 0:
        return 0, 0
    n_left = int(counts[: max(round((threshold - tree.origin[node]) / tree.width[node]), 0)].sum())
    return n_left, max(int(tree.n_rows[node]) - n_left, 0)


def checked_node(tree: "Tree", node: Any) -> int:
    """Return a node of a tree; raise an error if there is none, which says which nodes are leaves."""
    is_number = isinstance(node, Integral) and not isinstance(node, bool)
    if is_number and 0 <= int(node) < tree.n_nodes:
        return int(node)
    leaves = ", ".join(map(str, tree.leaves[:20]))
    got = repr(node) if is_number or np.ndim(node) == 0 else f"a {type(node).__name__}"
    raise ValueError(f"expected a node of tree_ from 0 to {tree.n_nodes - 1}; got {got}: the leaves are {leaves}")


def check_columns(tree: "Tree", other: Any) -> None:
    """Raise an error unless `other` is a tree for the same columns."""
    if not isinstance(other, type(tree)):
        raise TypeError(f"expected a tree, as tree_ of a model; got {type(other).__name__}")
    named = tree.feature_names is not None and other.feature_names is not None
    if tree.n_features != other.n_features or (named and tree.feature_names != other.feature_names):
        raise ValueError(
            f"expected a tree for {_columns(tree)}; got one for {_columns(other)}: take one that was fitted to the same"
        )


def _columns(tree: "Tree") -> str:
    names = "" if tree.feature_names is None else f" ({', '.join(tree.feature_names):.200})"
    return full_count(tree.n_features, "column") + names


def turned(tree: T, nodes: Integers, directions: RawDirections, thresholds: Floats) -> T:
    """Return the tree with new hyperplanes at some nodes, which then have no histogram and no relative depth."""
    none = np.full(len(nodes), np.nan)
    empty = [np.empty(0, dtype=np.int64)] * len(nodes)
    changes = {"planes": directions.vectors, "thresholds": thresholds, "origin": none, "width": none, "bandwidth": none}
    return _changed(tree, nodes, changes | dict.fromkeys(("relative_depth", "p_value", "n_tested"), none), empty)


def with_axes(tree: T, nodes: Integers, axes: Axes, thresholds: Floats, bandwidth: Floats) -> T:
    """Return the tree with new hyperplanes at some nodes and empty bins along them for a recount."""
    empty = [np.zeros(n, dtype=np.int64) for n in axes.n_bins]
    changes = {"planes": axes.directions.vectors, "thresholds": thresholds, "origin": axes.origin, "width": axes.width}
    none = np.full(len(nodes), np.nan)
    return _changed(tree, nodes, changes | {"bandwidth": bandwidth, "relative_depth": none}, empty)


def multiplied(tree: T, unit: float) -> T:
    """Return the same tree in another unit of the projections; multiplying by a power of two is exact."""
    names = ("planes", "thresholds", "origin", "width", "bandwidth")
    return tree if unit == 1 else replace(tree, **{name: getattr(tree, name) * unit for name in names})


def proportioned(tree: T, n_rows: int) -> T:
    """Return the tree scaled to another number of rows, with all its counts in proportion.

    Counts are rounded so that two children, and the bins of a node, still add up.
    """
    rows = np.zeros(tree.n_nodes, dtype=np.int64)
    rows[0] = n_rows
    for node in np.flatnonzero(tree.left >= 0):
        left, right = tree.left[node], tree.right[node]
        both = tree.n_rows[left] + tree.n_rows[right]
        rows[left] = round(rows[node] * (tree.n_rows[left] / both)) if both else 0
        rows[right] = rows[node] - rows[left]
    bins = [scaled_counts(tree.histogram(node), int(n)) for node, n in enumerate(rows)]
    return replace(tree, n_rows=rows, bins=np.concatenate(bins))


def scaled_counts(counts: Integers, n_rows: int) -> Integers:
    """Return counts scaled in proportion to another number of rows, rounded so that they add up to it.

    Examples
    --------
    >>> scaled_counts(np.array([0, 3, 3, 4]), 5).tolist(), scaled_counts(np.array([0, 0]), 5).tolist()
    ([0, 2, 1, 2], [0, 0])
    """
    ends = np.cumsum(counts)
    if len(counts) == 0 or ends[-1] == 0:
        return counts
    return np.diff(np.rint(ends * (n_rows / ends[-1])).astype(np.int64), prepend=0)


def _changed(tree: T, nodes: Integers, changes: dict[str, Floats], bins: Sequence[Integers]) -> T:
    histograms = [tree.histogram(node) for node in range(tree.n_nodes)]
    for node, own in zip(nodes, bins):
        histograms[node] = own
    fields = {name: getattr(tree, name).copy() for name in changes}
    for name, values in changes.items():
        fields[name][nodes] = values
    first_bin = np.cumsum([0, *map(len, histograms)])
    return replace(tree, bins=np.concatenate(histograms), first_bin=first_bin, **fields)
