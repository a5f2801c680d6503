"""A tree as a linkage matrix, as plain Python objects, as text, and its splits and clusters in words."""

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import Floats
from .._words import listed

if TYPE_CHECKING:
    from .structure import Tree

SOME = 0.04
"""Least share of the variance along a direction of a column that is named at all."""

N_TOP = 3
"""Most columns of a direction that are named."""


def to_linkage(tree: "Tree") -> Floats:
    """Return the tree as a linkage matrix of `scipy.cluster.hierarchy`, whose observations are the leaves.

    Returns
    -------
    array of shape (n_leaves - 1, 4), float64
        The two clusters, left and right, the height at which they merge and the number of tree clusters in both.
        Observation ``i`` is the leaf ``i`` from the left, whose cluster is ``tree.cluster[tree.leaves[i]]``.

    Raises
    ------
    ValueError
        If the tree has only one leaf.

    Notes
    -----
    Heights are ranks, 1 to ``n_leaves - 1``: splits are undone in the reverse of `Tree.split_order`, those of the
    smallest relative depth first. Cutting between the heights ``h`` and ``h + 1`` leaves ``k = n_leaves - h``
    clusters, the same as ``tree.cut(k)``. Relative depths themselves cannot be heights, since a branch
    often has a deeper valley than its parent.

    Examples
    --------
    >>> from mdh_dask.tree.structure import tree_from_nodes
    >>> root = {"left": 1, "right": 2, "n_rows": 9, "plane": [1.0], "threshold": 0.5, "relative_depth": 3.0}
    >>> leaves = [{"left": -1, "right": -1, "n_rows": n} for n in (5, 4)]
    >>> tree_from_nodes([root, *leaves], 1).to_linkage()
    array([[0., 1., 1., 2.]])
    """
    if tree.n_leaves == 1:
        raise ValueError("expected a tree of at least 2 clusters, got 1: it has no split, so there is no linkage")
    cluster = np.cumsum(tree.left < 0) - 1
    size = (tree.left < 0).astype(np.int64)
    linkage = np.empty((tree.n_leaves - 1, 4))
    for i, node in enumerate(reversed(list(tree.split_order()))):
        pair = [tree.left[node], tree.right[node]]
        size[node] = size[pair].sum()
        linkage[i] = *cluster[pair], i + 1, size[node]
        cluster[node] = tree.n_leaves + i
    return linkage


def to_dict(tree: "Tree", feature_names: Sequence[str] | None = None, n_top: int = 5) -> dict[str, Any]:
    """Return the tree as plain Python objects that `json` can write.

    Parameters
    ----------
    feature_names : sequence of str, optional
        One name for each column of the rows; by default the names of the fitted rows, if they had any, else
        ``x0``, ``x1`` and so on.
    n_top : int, default 5
        Number of features to list for each direction, starting with those that move the projections of the node's
        rows most: ordered by absolute weight times the standard deviation among these rows, or by weight alone in
        trees without deviations. Zero weights are not listed.

    Returns
    -------
    dict
        ``n_features``, ``n_leaves`` and ``nodes``: a flat list, the root first and the descendants of a node right
        after it, of dicts with ``id`` (index in the list), ``rows``, ``relative_depth``, ``p_value``, ``threshold``,
        ``features`` (dicts of ``name``, ``weight`` and ``deviation``) and either ``children`` (ids of the left child,
        where direction times row is at most the threshold, and of the right one) or ``label``. At a cluster, depth,
        threshold and features describe the rejected split. None replaces NaN and infinity.

    Raises
    ------
    ValueError
        If there is not one name for each column, or `n_top` is negative.

    Examples
    --------
    >>> from mdh_dask.tree.structure import tree_from_nodes
    >>> tree = tree_from_nodes([{"left": -1, "right": -1, "n_rows": 9, "plane": [0.0, 1.0]}], 2)
    >>> tree.to_dict(feature_names=["height", "width"])["nodes"]  # doctest: +NORMALIZE_WHITESPACE
    [{'id': 0, 'rows': 9, 'relative_depth': None, 'p_value': None, 'threshold': None,
      'features': [{'name': 'width', 'weight': 1.0, 'deviation': None}], 'label': 0}]
    """
    names = checked_names(tree, feature_names, n_top)
    nodes: list[dict[str, Any]] = []
    for i in range(tree.n_nodes):
        children = {"children": [int(tree.left[i]), int(tree.right[i])]}
        outcome = children if tree.left[i] >= 0 else {"label": int(tree.cluster[i])}
        features = [
            {"name": names[j], "weight": float(tree.planes[i, j]), "deviation": _finite(tree.deviations[i, j])}
            for j in top_features(tree, i, n_top)
        ]
        nodes.append(
            {
                "id": i,
                "rows": int(tree.n_rows[i]),
                "relative_depth": _finite(tree.relative_depth[i]),
                "p_value": _finite(tree.p_value[i]),
                "threshold": _finite(tree.thresholds[i]),
                "features": features,
                **outcome,
            }
        )
    return {"n_features": tree.n_features, "n_leaves": tree.n_leaves, "n_clusters": tree.n_clusters, "nodes": nodes}


def to_text(tree: "Tree", feature_names: Sequence[str] | None = None, n_top: int = 3) -> str:
    """Return the tree as text, one line for each node, followed by the child whose rows satisfy its inequality.

    Parameters
    ----------
    feature_names, n_top
        As for `to_dict`; an ellipsis replaces the features that are not listed.

    Raises
    ------
    ValueError
        If there is not one name for each column, or `n_top` is negative.

    Examples
    --------
    >>> from mdh_dask.tree.structure import tree_from_nodes
    >>> root = {"left": 1, "right": 2, "n_rows": 9, "plane": [0.6, -0.8], "threshold": 1.25, "relative_depth": 12.3}
    >>> leaves = [{"left": -1, "right": -1, "n_rows": n} for n in (5, 4)]
    >>> print(tree_from_nodes([root, *leaves], 2).to_text())
    rows=9 depth=12.3  -0.8*x1 + 0.6*x0 <= 1.25
    |--- cluster 0: rows=5
    |--- cluster 1: rows=4
    """
    names = checked_names(tree, feature_names, n_top)
    lines = []
    for node, level in tree.walk():
        indent = "|   " * (level - 1) + "|--- " * (level > 0)
        rows = f"rows={tree.n_rows[node]}"
        if tree.left[node] < 0:
            lines.append(f"{indent}cluster {tree.cluster[node]}: {rows}")
        else:
            depth = "" if np.isnan(tree.relative_depth[node]) else f" depth={tree.relative_depth[node]:.3g}"
            inequality = f"{_sum_text(tree, node, names, n_top)} <= {tree.thresholds[node]:.3g}"
            lines.append(f"{indent}{rows}{depth}  {inequality}")
    return "\n".join(lines)


def direction_text(tree: "Tree", node: int) -> str:
    """Return the direction of a node as a sum of weighted features, as in `to_text`."""
    return _sum_text(tree, node, checked_names(tree, None), N_TOP)


def columns_of(tree: "Tree", node: int) -> list[str]:
    """Return the names of the columns that make up the direction of a node, or an empty list if they have none."""
    if tree.feature_names is None:
        return []
    share = _shares_along(tree, node)
    return [tree.feature_names[j] for j in top_features(tree, node, N_TOP) if share[j] >= SOME]


def _shares_along(tree: "Tree", node: int) -> Floats:
    """Return the share of each column in the variance along the direction of a node, as if they were independent."""
    moved = _moved(tree, node)
    return moved**2 / max(float((moved**2).sum()), np.finfo(float).tiny)


def checked_names(tree: "Tree", feature_names: Sequence[str] | None, n_top: int = N_TOP) -> list[str]:
    """Return the names of the columns, or raise an error unless there is one for each."""
    if not isinstance(n_top, Integral) or n_top < 0:
        raise ValueError(f"expected n_top as a whole number from 0; got {n_top!r}")
    if feature_names is None:
        feature_names = tree.feature_names or [f"x{j}" for j in range(tree.n_features)]
    names = [str(name) for name in feature_names]
    if len(names) != tree.n_features:
        raise ValueError(f"expected {tree.n_features} feature names, one for each column; got {len(names)}")
    return names


def top_features(tree: "Tree", node: int, n_top: int) -> list[int]:
    """Return the columns that move the projections of the node's rows most."""
    plane = tree.planes[node]
    order = np.lexsort((-np.abs(plane), -_moved(tree, node)))
    return [int(j) for j in order[:n_top] if plane[j] != 0]


def _moved(tree: "Tree", node: int) -> Floats:
    """Return by how much each column moves the projections of the node's rows."""
    # Weights alone do not compare columns of different units, or columns in which the node's rows hardly differ.
    return np.abs(tree.planes[node]) * np.where(np.isnan(tree.deviations[node]), 1.0, tree.deviations[node])


def _sum_text(tree: "Tree", node: int, names: list[str], n_top: int) -> str:
    plane, top = tree.planes[node], top_features(tree, node, n_top)
    text = ""
    for j in top:
        sign = ("-" if plane[j] < 0 else "") if not text else (" - " if plane[j] < 0 else " + ")
        text += f"{sign}{abs(plane[j]):.3g}*{names[j]}"
    if len(top) < np.count_nonzero(plane):
        text += " + ..." if text else "..."
    return text or "0"


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def side_in_words(
    tree: "Tree",
    node: int,
    above: bool,
    names: Sequence[str] | None = None,
    means: Floats | None = None,
    value_text: Callable[[str, float], str] = lambda name, value: f"{value:.3g}",
) -> str:
    """Return in words which rows lie on one side of a split, by the columns that move its projections most.

    above: whether the side above the threshold is described, which is the right child.
    names: one name for each column; by default as for `Tree.to_dict`.
    means (n_features,): means of the columns in the node. With these the threshold is given in the units of a column
        that has most of the variance along the direction: where the split lies if the other columns are at their means.
    value_text: returns a value of a column of that name as text.
    """
    texts, plane = checked_names(tree, names), tree.planes[node]
    share, top = _shares_along(tree, node), top_features(tree, node, N_TOP)
    if not top:
        return "all rows"
    first, others = top[0], [j for j in top[1:] if share[j] >= SOME]
    alone = np.count_nonzero(plane) == 1
    if share[first] >= 0.6 and (alone or means is not None):
        rest = 0.0 if alone or means is None else float(plane @ means - plane[first] * means[first])
        side = "above" if above == (plane[first] > 0) else "up to"
        text = f"{texts[first]} {side} {value_text(texts[first], (tree.thresholds[node] - rest) / plane[first])}"
        same = plane[others] * plane[first] > 0
        return ", ".join([text, *(f"{'some' if s else 'minus some'} {texts[j]}" for j, s in zip(others, same))])
    high = [texts[j] for j in (first, *others) if (plane[j] > 0) == above]
    low = [texts[j] for j in (first, *others) if (plane[j] > 0) != above]
    return ", ".join(f"{word} {listed(part)}" for word, part in (("high", high), ("low", low)) if part)


def cluster_in_words(tree: "Tree", label: int, names: Sequence[str] | None = None) -> list[str]:
    """Return for each leaf of a cluster the splits that bound it in words, those nearest to the root first.

    Of more than 20, only those nearest to the leaf: above are hundreds that split off other clusters.
    """
    parent, described = tree.parent, []
    for leaf in tree.leaves[tree.cluster[tree.leaves] == label]:
        sides: list[str] = []
        node = int(leaf)
        while parent[node] >= 0 and len(sides) < 20:
            above = bool(tree.right[parent[node]] == node)
            sides.append(side_in_words(tree, int(parent[node]), above, names))
            node = int(parent[node])
        if parent[node] >= 0:
            sides.append(f"under {tree.level[node]} other splits")
        described.append("; ".join(reversed(sides)))
    return described
