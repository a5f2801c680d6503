"""The map of the tree: a tile for every node, as wide as its share of the rows."""

from dataclasses import dataclass

import numpy as np

from ..tree.structure import Tree
from .entries import Entry

MAP_LEVELS = 40
"""Most levels on the map."""

THINNEST = 0.0008
"""Least share of the rows for a tile on the map: about a pixel."""


@dataclass(frozen=True)
class Tile:
    """A node on the map of the tree; lengths in per cent of the map's width, levels down."""

    entry: Entry
    left: float
    width: float
    level: int
    n_levels: int


def map_of(tree: Tree, entries: list[Entry]) -> tuple[list[Tile], int]:
    """Return the tiles of the map and its levels; children lie under their parent, as wide as their shares of rows."""
    start = np.zeros(tree.n_nodes)
    for node in np.flatnonzero(tree.left >= 0):
        left, right = tree.left[node], tree.right[node]
        start[left], start[right] = start[node], start[node] + entries[left].share
    n_levels = min(max(entry.level for entry in entries) + 1, MAP_LEVELS)
    shown = [entry for entry in entries if entry.level < n_levels and entry.share >= THINNEST]
    return [
        Tile(e, 100 * start[e.node], 100 * e.share, e.level, n_levels - e.level if e.label is not None else 1)
        for e in shown
    ], n_levels
