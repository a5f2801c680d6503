"""Splits and clusters in words."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .._typing import Floats
from .export import checked_names, top_features

if TYPE_CHECKING:
    from .structure import Tree

MOSTLY = 0.6
"""Share of the variance along a direction that one column must have to be named with a threshold of its own."""

SOME = 0.04
"""Least share of the variance along a direction of a column that is named at all."""


def side_in_words(
    tree: "Tree",
    node: int,
    above: bool,
    names: Sequence[str] | None = None,
    means: Floats | None = None,
    n_top: int = 3,
) -> str:
    """Return in words which rows lie on one side of a split, by the columns that move its projections most.

    Parameters
    ----------
    tree : Tree
    node : int
    above : bool
        Whether the side above the threshold is described, which is the right child.
    names : sequence of str, optional
        One name for each column; by default as for `Tree.to_dict`.
    means : array of shape (n_features,), optional
        Means of the columns in the node. With these the threshold is given in the units of a column that has most of
        the variance along the direction: where the split lies if the other columns are at their means.
    n_top : int, default 3
        Most columns to name.

    Examples
    --------
    >>> from mdh_dask.tree.structure import tree_from_nodes
    >>> root = {"left": 1, "right": 2, "n_rows": 9, "plane": [0.9, 0.3], "threshold": 2.5, "deviation": [1.0, 1.0]}
    >>> leaves = [{"left": -1, "right": -1, "n_rows": n} for n in (5, 4)]
    >>> tree, names = tree_from_nodes([root, *leaves], 2), ["length", "width"]
    >>> side_in_words(tree, 0, True, names)
    'high length and width'
    >>> side_in_words(tree, 0, False, names, means=np.array([2.0, 1.0]))
    'length up to 2.44, some width'
    """
    texts, plane = checked_names(tree, names, n_top), tree.planes[node]
    moved = np.abs(plane) * np.where(np.isnan(tree.deviations[node]), 1.0, tree.deviations[node])
    share = moved**2 / max(float((moved**2).sum()), np.finfo(float).tiny)
    top = top_features(tree, node, max(n_top, 1))
    if not top:
        return "all rows"
    first, others = top[0], [j for j in top[1:] if share[j] >= SOME]
    alone = np.count_nonzero(plane) == 1
    if share[first] >= MOSTLY and (alone or means is not None):
        rest = 0.0 if alone or means is None else float(plane @ means - plane[first] * means[first])
        side = "above" if above == (plane[first] > 0) else "up to"
        text = f"{texts[first]} {side} {(tree.thresholds[node] - rest) / plane[first]:.3g}"
        same = plane[others] * plane[first] > 0
        return ", ".join([text, *(f"{'some' if s else 'minus some'} {texts[j]}" for j, s in zip(others, same))])
    high = [texts[j] for j in (first, *others) if (plane[j] > 0) == above]
    low = [texts[j] for j in (first, *others) if (plane[j] > 0) != above]
    return ", ".join(f"{word} {' and '.join(part)}" for word, part in (("high", high), ("low", low)) if part)


def cluster_in_words(tree: "Tree", label: int, names: Sequence[str] | None = None) -> list[str]:
    """Return for each leaf of a cluster the splits that bound it in words, those nearest to the root first."""
    parent, described = tree.parent, []
    for leaf in tree.leaves[tree.cluster[tree.leaves] == label]:
        sides, node = [], int(leaf)
        while parent[node] >= 0:
            above = bool(tree.right[parent[node]] == node)
            sides.append(side_in_words(tree, int(parent[node]), above, names))
            node = int(parent[node])
        described.append("; ".join(reversed(sides)))
    return described
