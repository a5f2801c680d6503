"""A density tree as a tree of splits with counts of rows, which drift compares with those of other rows."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from .._typing import Floats, Integers
from ..chunks import Pass, Plan
from ..tree.structure import Tree, tree_from_nodes
from ..valleys.graph import groups_of
from .model import DensityModel
from .passes import DOUBLINGS

INSIDE = 32
"""Bins on one side of a split for rows inside the density level."""

BANDWIDTH = 4
"""Bandwidth of the densities, in bins."""

APART = 3 * BANDWIDTH
"""Bins from one doubling of the distance of rows outside to the next, whose densities should not overlap."""


def tree_of(model: DensityModel) -> Tree:
    """Return the splits between the clusters of a density tree with the rows of `fit`, that of most evidence first.

    The direction of a split is the distance from the other side, and that of a cluster the distance from its mean. Rows
    inside the density level are counted at the place of the nearest landmark of their cell, rows outside beyond all of
    these, the sparser the further out.
    """
    return _tree(model, model.counts, model.outside)


def recount(model: DensityModel) -> Plan[Tree]:
    """Plan the count of other rows in the splits and clusters of `tree_of`, in one pass."""
    counts: Integers = yield Pass("counting", model.landmarks)
    return _tree(model, counts[0], model.in_cells(counts[1:]))


def _tree(model: DensityModel, counts: Integers, outside: Integers) -> Tree:
    """Return the tree with counts of rows at the landmarks, and of those outside in the cells."""
    nodes: list[dict[str, Any]] = []
    for own, sides, link in _splits(model, np.arange(model.n_clusters)):
        landmarks = [np.isin(model.clusters[model.cells], side) for side in sides]
        cells = [np.isin(model.clusters, side) for side in sides]
        n_rows = [int(counts[at].sum() + outside[:, c].sum()) for at, c in zip(landmarks, cells)]
        node: dict[str, Any] = {"cluster": own[0], "n_rows": sum(n_rows), "left": -1, "right": -1}
        if all(at.any() for at in landmarks):
            away = _away([model.points[at] for at in landmarks])
            extent = float(max(each.max() for each in away)) or 1.0  # of equal landmarks, any will do
            parts = [
                _histogram(each, counts[at], outside[:, c].sum(axis=1), extent)
                for each, at, c in zip(away, landmarks, cells)
            ]
            first = np.zeros(0, dtype=np.int64) if link is None else parts[0][::-1]
            node |= {"bins": np.concatenate([first, parts[-1]]), "width": extent / INSIDE}
            node |= {"origin": -len(first) * node["width"], "bandwidth": BANDWIDTH * node["width"]}
        if link is not None:
            # The left child follows its parent, the right one all nodes below the left one.
            left, right = len(nodes) + 1, len(nodes) + 2 * len(sides[0])
            node |= {"cluster": -1, "left": left, "right": right, "threshold": 0.0}
            if model.cut_rows[link] > 0:
                node["relative_depth"] = model.core_rows[link] / model.cut_rows[link] - 1
        nodes.append(node)
    return replace(tree_from_nodes(nodes, n_features=1), cluster=np.array([node["cluster"] for node in nodes], "i4"))


def _splits(model: DensityModel, own: Integers) -> Iterator[tuple[Integers, list[Integers], int | None]]:
    """Yield clusters, those on either side of the link of most evidence, and the link; then each side, the left first.

    A single cluster has one side and no link.
    """
    ends = model.clusters[model.links]
    between = np.flatnonzero(model.separates & np.isin(ends, own).all(axis=1))
    if len(own) == 1:
        yield own, [own], None
        return
    link = int(between[model.evidence[between].argmax()])
    others = ends[between[between != link]]
    component = groups_of(others, model.n_clusters)
    left = component[own] == component[ends[link, 0]]
    yield own, [own[left], own[~left]], link
    yield from _splits(model, own[left])
    yield from _splits(model, own[~left])


def _away(sides: list[Floats]) -> list[Floats]:
    """Return the distances of the points of both sides to the other one, or of a single one to its mean."""
    if len(sides) == 1:
        return [np.sqrt(((sides[0] - sides[0].mean(axis=0)) ** 2).sum(axis=1))]
    return [cKDTree(other).query(own)[0] for own, other in (sides, sides[::-1])]


def _histogram(away: Floats, counts: Integers, outside: Integers, extent: float) -> Integers:
    """Return the counts of rows at distances up to an extent, then those of rows outside."""
    bins = np.zeros(INSIDE + (DOUBLINGS + 1) * APART, dtype=np.int64)
    np.add.at(bins, np.minimum((away * (INSIDE / extent)).astype(np.int64), INSIDE - 1), counts)
    bins[INSIDE + APART * np.arange(1, DOUBLINGS + 1)] = outside
    return bins
