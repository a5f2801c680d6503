"""New hyperplanes, units and counts for the nodes of a tree, which keeps its shape."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from .._typing import Floats, Integers
from ..projections.directions import Axes, RawDirections

if TYPE_CHECKING:
    from .structure import Tree

T = TypeVar("T", bound="Tree")


def turned(tree: T, nodes: Integers, directions: RawDirections, thresholds: Floats) -> T:
    """Return the tree with new hyperplanes at some nodes, which then have no histogram and no relative depth.

    Examples
    --------
    >>> from mdh_dask.tree.structure import tree_from_nodes
    >>> root = {"left": 1, "right": 2, "n_rows": 2, "plane": [1.0, 0.0], "threshold": 0.5, "bins": [0, 1, 1, 0]}
    >>> leaf = {"left": -1, "right": -1, "n_rows": 1}
    >>> tree = tree_from_nodes([root, leaf, leaf], n_features=2)
    >>> other = turned(tree, np.array([0]), RawDirections(np.array([[0.0, 2.0]])), np.array([3.0]))
    >>> other.planes[0].tolist(), other.thresholds[0].tolist(), other.histogram(0).tolist()
    ([0.0, 2.0], 3.0, [])
    """
    none = np.full(len(nodes), np.nan)
    empty = [np.empty(0, dtype=np.int64)] * len(nodes)
    changes = {"planes": directions.vectors, "thresholds": thresholds, "origin": none, "width": none, "bandwidth": none}
    return _changed(tree, nodes, changes | {"relative_depth": none}, empty)


def with_axes(tree: T, nodes: Integers, axes: Axes, thresholds: Floats, bandwidth: Floats) -> T:
    """Return the tree with new hyperplanes at some nodes and empty bins along them for a recount."""
    empty = [np.zeros(n, dtype=np.int64) for n in axes.n_bins]
    changes = {"planes": axes.directions.vectors, "thresholds": thresholds, "origin": axes.origin, "width": axes.width}
    none = np.full(len(nodes), np.nan)
    return _changed(tree, nodes, changes | {"bandwidth": bandwidth, "relative_depth": none}, empty)


def multiplied(tree: T, unit: float) -> T:
    """Return the same tree in another unit of the projections; multiplying by a power of two is exact.

    Examples
    --------
    >>> from mdh_dask.tree.structure import tree_from_nodes
    >>> root = {"left": 1, "right": 2, "n_rows": 2, "plane": [1.0], "threshold": 0.5, "bandwidth": 0.25}
    >>> leaf = {"left": -1, "right": -1, "n_rows": 1}
    >>> tree = multiplied(tree_from_nodes([root, leaf, leaf], n_features=1), 4.0)
    >>> tree.planes[0].tolist(), tree.thresholds[0].tolist(), tree.bandwidth[0].tolist()
    ([4.0], 2.0, 1.0)
    """
    names = ("planes", "thresholds", "origin", "width", "bandwidth")
    return tree if unit == 1 else replace(tree, **{name: getattr(tree, name) * unit for name in names})


def proportioned(tree: T, n_rows: int) -> T:
    """Return the tree scaled to another number of rows, with all its counts in proportion.

    Counts are rounded so that two children, and the bins of a node, still add up.

    Examples
    --------
    >>> from mdh_dask.tree.structure import tree_from_nodes
    >>> root = {"left": 1, "right": 2, "n_rows": 10, "plane": [1.0], "threshold": 0.5, "bins": [0, 3, 3, 4]}
    >>> leaves = [{"left": -1, "right": -1, "n_rows": n} for n in (4, 6)]
    >>> tree = proportioned(tree_from_nodes([root, *leaves], n_features=1), 5)
    >>> tree.n_rows.tolist(), tree.histogram(0).tolist()
    ([5, 2, 3], [0, 2, 1, 2])
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
