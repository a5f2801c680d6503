"""A small map of a tree for notebooks, and the colours of its clusters and splits."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

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


class Tile(NamedTuple):
    """The place of a node on a map of the tree."""

    node: int
    level: int
    n_levels: int
    """Levels that the tile covers: one at a split, and at a leaf all down to the end of the map."""
    start: float
    share: float
    """Left end and width, as shares of the width of the map."""


def tiles_of(tree: "Tree", most_levels: int, thinnest: float) -> tuple[list[Tile], int]:
    """Return the tiles of a map of the tree and its levels; children lie under their parent, as wide as their shares.

    There are no tiles below `most_levels`, nor of nodes with less than a share of `thinnest` of all rows.
    """
    level, share, start = tree.level, tree.n_rows / max(int(tree.n_rows[0]), 1), np.zeros(tree.n_nodes)
    for node in np.flatnonzero(tree.left >= 0):
        left, right = tree.left[node], tree.right[node]
        start[left], start[right] = start[node], start[node] + share[left]
    n_levels = min(int(level.max()) + 1, most_levels)
    height = np.where(tree.left < 0, n_levels - level, 1)
    shown = np.flatnonzero((level < n_levels) & (share >= thinnest))
    places = zip(*(of[shown].tolist() for of in (level, height, start, share)))
    return [Tile(node, *place) for node, place in zip(shown.tolist(), places)], n_levels


def map_of(tree: "Tree", names: Sequence[str] | None = None) -> str:
    """Return the tree as a drawing in HTML: all rows at the top, divided downwards in proportion to their numbers."""
    paint = colours_of(tree, palette(tree.n_clusters))
    tiles, n_levels = tiles_of(tree, MOST_LEVELS, THINNEST)
    drawn = [_drawn(tree, tile, paint[tile.node], names) for tile in tiles]
    clusters = f"{tree.n_clusters} cluster{'' if tree.n_clusters == 1 else 's'}"
    title = f"{clusters}, {tree.n_rows[0]:,} rows, {tree.n_features} columns"
    return (
        f'<div style="max-width:{WIDTH}px;font:12px sans-serif"><div>{title}</div>'
        f'<svg viewBox="0 0 {WIDTH} {LEVEL * n_levels}" width="100%" role="img" aria-label="{title}">'
        f"{''.join(drawn)}</svg></div>"
    )


def _drawn(tree: "Tree", tile: Tile, colour: AnyArray, names: Sequence[str] | None) -> str:
    node = tile.node
    rows = f"{tree.n_rows[node]:,} rows ({tile.share:.0%})".replace("%", " %")
    label = str(tree.cluster[node]) if tree.left[node] < 0 else ""
    about = f"cluster {label}: {rows}" if label else f"{rows}, right: {side_in_words(tree, node, True, names)}"
    x, y, width = WIDTH * tile.start, LEVEL * tile.level, max(WIDTH * tile.share - 1, 0.5)
    ink = ink_on(colour)
    text = f'<text x="{x + width / 2:.1f}" y="{y + 15}" fill="{ink}" text-anchor="middle" font-size="12">{label}</text>'
    return (
        f'<g><title>{escape(about)}</title><rect x="{x:.1f}" y="{y}" width="{width:.1f}" '
        f'height="{LEVEL * tile.n_levels - 1}" fill="{hex_of(colour)}"/>{text if label and width > 14 else ""}</g>'
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


def ink_on(colour: Floats | Integers) -> str:
    """Return black or white, whichever text is easier to read on a colour."""
    # Black and white contrast equally with the luminance 0.18 (WCAG 2).
    linear = (np.asarray(colour) / 255) ** 2.2
    return "#000" if linear @ [0.2126, 0.7152, 0.0722] > 0.18 else "#fff"


def hex_of(colour: AnyArray) -> str:
    """Return a colour as HTML writes it."""
    return "#{:02x}{:02x}{:02x}".format(*colour)
