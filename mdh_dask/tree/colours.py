"""Colours of clusters and of the splits above them."""

from typing import TYPE_CHECKING

import numpy as np

from .._typing import AnyArray, Floats, Integers

if TYPE_CHECKING:
    from .structure import Tree

PALETTE = ("#4263d9", "#1c9bd1", "#14a38b", "#74b21d", "#f0b70c", "#f0813a", "#d9486e", "#9049b8")
"""Colour map from which neighbouring clusters of the tree take similar colours."""


def palette(n: int) -> Integers:
    """Return red, green and blue of as many clusters, similar for neighbours, shape (n, 3)."""
    anchors = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in PALETTE])
    at = np.linspace(0, len(anchors) - 1, n) if n > 1 else np.zeros(1)
    return np.stack([np.interp(at, np.arange(len(anchors)), channel) for channel in anchors.T], axis=1).astype(int)


def colours_of(tree: "Tree", of_clusters: AnyArray) -> Integers:
    """Return the colours of all nodes: that of a split is the mean over its rows."""
    weighted = np.zeros((tree.n_nodes, 3))
    weighted[tree.leaves] = of_clusters[tree.cluster[tree.leaves]] * np.maximum(tree.n_rows[tree.leaves], 1)[:, None]
    weight = np.maximum(tree.n_rows, 1).astype(float)
    for node in np.flatnonzero(tree.left >= 0)[::-1]:
        left, right = tree.left[node], tree.right[node]
        weighted[node], weight[node] = weighted[left] + weighted[right], weight[left] + weight[right]
    return np.rint(weighted / weight[:, None]).astype(int)


def is_light(colour: Floats | Integers) -> bool:
    """Return whether black text is easier to read on a colour than white text."""
    # Black and white contrast equally with the luminance 0.18 (WCAG 2).
    linear = (np.asarray(colour) / 255) ** 2.2
    return bool(linear @ [0.2126, 0.7152, 0.0722] > 0.18)


def hex_of(colour: AnyArray) -> str:
    """Return a colour as HTML writes it."""
    return "#{:02x}{:02x}{:02x}".format(*colour)
