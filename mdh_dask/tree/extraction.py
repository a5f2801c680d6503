"""The best clusters of a tree: nodes of which no two lie on one path and that hold all rows, by a sum of qualities."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .._typing import AnyArray, Booleans, Floats

if TYPE_CHECKING:
    from .structure import Tree

Quality = Callable[["Tree"], AnyArray]
"""A function that returns the quality of each node of a tree as a cluster, shape (n_nodes,)."""


def stability(tree: "Tree") -> Floats:
    """Return the stability of each node: its rows, times how long it is a cluster as the least depth falls.

    A node is a cluster below the least relative depth of the splits above it, until its own split is made, both on the
    scale of ``log(1 + depth)``. The root, a cluster for any least depth, has the stability zero.

    Examples
    --------
    >>> from mdh_dask.tree.structure import tree_from_nodes
    >>> root = {"left": 1, "right": 2, "n_rows": 9, "plane": [1.0], "threshold": 0.5, "relative_depth": 7.0}
    >>> inner = {"left": 3, "right": 4, "n_rows": 5, "plane": [1.0], "threshold": 0.2, "relative_depth": 1.0}
    >>> leaves = [{"left": -1, "right": -1, "n_rows": n} for n in (4, 3, 2)]
    >>> (stability(tree_from_nodes([root, inner, *leaves], 1)) / np.log(2)).round(1).tolist()
    [0.0, 10.0, 3.0, 2.0, 12.0]
    """
    own = np.where(tree.left >= 0, np.log1p(np.nan_to_num(tree.relative_depth, nan=0.0).clip(0)), 0.0)
    above = np.zeros(tree.n_nodes)
    for node, parent in enumerate(tree.parent):
        if parent >= 0:
            above[node] = own[parent] if parent == 0 else min(above[parent], own[parent])
    return np.asarray(tree.n_rows * (above - own).clip(0))


QUALITIES: dict[str, Quality] = {"stability": stability}


def best_splits(tree: "Tree", quality: str | Quality) -> Booleans:
    """Return a mask of the splits above the clusters with the largest sum of qualities, of several the fewest.

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
    if isinstance(quality, str) and quality not in QUALITIES:
        raise ValueError(f"expected a quality of {', '.join(QUALITIES)}, or a function of the tree; got {quality!r}")
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
