"""A small map of a tree for notebooks, and the colours of its clusters and splits."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from .._typing import AnyArray, Floats, Integers
from .clusters import sums_below
from .export import side_in_words

if TYPE_CHECKING:
    from .structure import Tree

LEVEL, WIDTH = 22, 720
"""Height of a level and width of the map, in pixels."""

MOST_LEVELS, THINNEST = 12, 0.002
"""Most levels, and least share of the rows of a node, that are drawn."""

PALETTE = ("#4263d9", "#1c9bd1", "#14a38b", "#74b21d", "#f0b70c", "#f0813a", "#d9486e", "#9049b8")
"""Colour map from which neighbouring clusters of the tree take similar colours."""


def map_of(tree: "Tree", names: Sequence[str] | None = None) -> str:
    """Return the tree as a drawing in HTML: all rows at the top, divided downwards in proportion to their numbers."""
    level, total = tree.level, max(int(tree.n_rows[0]), 1)
    paint, start = colours_of(tree, palette(tree.n_clusters)), np.zeros(tree.n_nodes)
    n_levels = min(int(level.max()) + 1, MOST_LEVELS)
    tiles = []
    for node in range(tree.n_nodes):
        share, inner = tree.n_rows[node] / total, tree.left[node] >= 0
        if inner:
            start[tree.left[node]] = start[node]
            start[tree.right[node]] = start[node] + tree.n_rows[tree.left[node]] / total
        if level[node] < n_levels and share >= THINNEST:
            height = 1 if inner else n_levels - int(level[node])
            tiles.append(_tile(tree, node, start[node], share, int(level[node]), height, paint[node], names))
    clusters = f"{tree.n_clusters} cluster{'' if tree.n_clusters == 1 else 's'}"
    title = f"{clusters}, {tree.n_rows[0]:,} rows, {tree.n_features} columns"
    return (
        f'<div style="max-width:{WIDTH}px;font:12px sans-serif"><div>{title}</div>'
        f'<svg viewBox="0 0 {WIDTH} {LEVEL * n_levels}" width="100%" role="img" aria-label="{title}">'
        f"{''.join(tiles)}</svg></div>"
    )


def _tile(
    tree: "Tree",
    node: int,
    start: float,
    share: float,
    level: int,
    height: int,
    colour: AnyArray,
    names: Sequence[str] | None,
) -> str:
    fill, ink = hex_of(colour), "#000" if is_light(colour) else "#fff"
    rows = f"{tree.n_rows[node]:,} rows ({share:.0%})".replace("%", " %")
    label = str(tree.cluster[node]) if tree.left[node] < 0 else ""
    about = f"cluster {label}: {rows}" if label else f"{rows}, right: {side_in_words(tree, node, True, names)}"
    x, y, width = WIDTH * start, LEVEL * level, max(WIDTH * share - 1, 0.5)
    text = f'<text x="{x + width / 2:.1f}" y="{y + 15}" fill="{ink}" text-anchor="middle" font-size="12">{label}</text>'
    return (
        f'<g><title>{escape(about)}</title><rect x="{x:.1f}" y="{y}" width="{width:.1f}" '
        f'height="{LEVEL * height - 1}" fill="{fill}"/>{text if label and width > 14 else ""}</g>'
    )


def palette(n: int) -> Integers:
    """Return red, green and blue of as many clusters, similar for neighbours, shape (n, 3)."""
    anchors = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in PALETTE])
    at = np.linspace(0, len(anchors) - 1, n) if n > 1 else np.zeros(1)
    return np.stack([np.interp(at, np.arange(len(anchors)), channel) for channel in anchors.T], axis=1).astype(int)


def colours_of(tree: "Tree", of_clusters: AnyArray) -> Integers:
    """Return the colours of all nodes: that of a split is the mean over its rows."""
    weighted = np.zeros((tree.n_nodes, 3))
    weighted[tree.leaves] = of_clusters[tree.cluster[tree.leaves]] * np.maximum(tree.n_rows[tree.leaves], 1)[:, None]
    weight = sums_below(tree, np.maximum(tree.n_rows, 1).astype(float))
    return np.rint(sums_below(tree, weighted) / weight[:, None]).astype(int)


def is_light(colour: Floats | Integers) -> bool:
    """Return whether black text is easier to read on a colour than white text."""
    # Black and white contrast equally with the luminance 0.18 (WCAG 2).
    linear = (np.asarray(colour) / 255) ** 2.2
    return bool(linear @ [0.2126, 0.7152, 0.0722] > 0.18)


def hex_of(colour: AnyArray) -> str:
    """Return a colour as HTML writes it."""
    return "#{:02x}{:02x}{:02x}".format(*colour)
