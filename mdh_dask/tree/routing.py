"""Rows against a tree: the leaves of rows, and their distances to the separators and densities of its nodes."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from .._jit.branches import Measures, Routes, row_margins, sweep_branches
from .._jit.hashing import NO_JITTER
from .._jit.rows import loop_ready
from .._typing import AnyArray, Booleans, Floats, Integers
from ..density.histograms import no_extremes
from ..density.kde import threshold_error

if TYPE_CHECKING:
    from .structure import Tree


def leaves_of(rows: AnyArray, routes: Routes) -> Integers:
    """Return the leaf of every row, shape (n_rows,), int32."""
    n, d = routes.planes.shape
    zeros, nothing = np.zeros(n + 1, dtype=np.int64), np.empty(0)
    bins = np.empty((0, d)), nothing, nothing, np.empty((0, 2, 0), dtype=np.int64), no_extremes(0, 2, 0)
    measures = Measures(zeros, zeros, *bins)
    return sweep_branches(loop_ready(rows), routes, measures, np.empty(0, dtype=np.uint64), NO_JITTER)


@dataclass(frozen=True)
class Margins:
    """The tables of a tree."""

    tree: "Tree"
    scale: Floats
    """Shape (n_nodes,), float64: standard error of the threshold of each split; zero where there is no histogram."""
    first_bin: Integers
    """Shape (n_nodes + 1,), int64: start of each node's bins in `tails`."""
    tails: Floats
    """Shape (n_bins,), float64: for each bin of a node, the share of the node's rows in bins of no higher density,
    times the mean number of nodes with bins on the way of a row."""

    def of_rows(self, rows: AnyArray) -> Floats:
        """Return distance, agreement and rarity of every row, shape (n_rows, 3); see `_jit.branches.row_margins`."""
        out = np.full((len(rows), 3), np.inf)
        bins = np.column_stack([self.tree.origin, self.tree.width])
        row_margins(loop_ready(rows), self.tree.routes, self.scale, self.first_bin, bins, self.tails, out)
        return out


def margins_of(tree: "Tree") -> Margins:
    """Return the tables of a tree."""
    scale = np.zeros(tree.n_nodes)
    tails: list[Floats] = []
    for node in range(tree.n_nodes):
        # A direction of zeros does not count, as those of leaves of trees with a feature map.
        density = tree.density(node) if tree.planes[node].any() else None
        reach = np.abs(tree.planes[node]) @ tree.steps / 2 / tree.width[node]
        tails.append(np.empty(0) if density is None else _tails(tree.histogram(node), density.density, reach))
        if density is not None and tree.left[node] >= 0:
            n_rows = float(tree.histogram(node)[1:-1].sum())
            scale[node] = threshold_error(*density, n_rows, float(tree.bandwidth[node]))
    first_bin = np.cumsum([0, *map(len, tails)])
    # Then at most a share of p has less than p at any node: that of each node is p times its rows over those of all.
    n_nodes = max(tree.n_rows[np.diff(first_bin) > 0].sum() / max(int(tree.n_rows[0]), 1), 1.0)
    return Margins(tree, scale, first_bin, n_nodes * np.concatenate(tails))


def _tails(counts: Integers, density: Floats, reach: float) -> Floats:
    """Return for each bin the share of rows in bins of no higher density; the outermost bins are least dense.

    At least that of one row, if any was counted up to `reach` bins away: it may be the same, as values were spread.
    """
    density = density.copy()
    density[[0, -1]] = 0.0
    order = np.argsort(density, kind="stable")
    n_rows = max(int(counts.sum()), 1)
    below = np.cumsum(counts[order]) / n_rows
    # Bins of equal density have the same share.
    last = np.searchsorted(density[order], density[order], side="right") - 1
    result = np.empty(len(counts))
    result[order] = below[last]
    bins, up_to, beside = np.arange(len(counts)), np.cumsum([0, *counts]), ceil(min(reach, len(counts)))
    near = up_to[np.minimum(bins + beside + 1, len(counts))] > up_to[np.maximum(bins - beside, 0)]
    return np.where(near, np.maximum(result, 1 / n_rows), result)


PER_NODE = ("thresholds", "relative_depth", "p_value", "n_tested", "origin", "width", "bandwidth", "deviations")
"""Arrays with NaN for unknown values."""

FIELDS = (
    dict.fromkeys(("left", "right", "cluster"), "int32")
    | dict.fromkeys(("n_rows", "bins", "first_bin", "keys", "leaders"), "int64")
    | dict.fromkeys((*PER_NODE, "planes", "steps", "predictions"), "float64")
)
"""The arrays of a tree as they are stored, and their dtypes."""


def check_tree(tree: "Tree") -> None:
    """Raise a ValueError unless the arrays have the dtypes and shapes of a tree, and form one that a fit could return.

    The message names the array.
    """
    arrays = {name: getattr(tree, name) for name in FIELDS}
    for name, dtype in FIELDS.items():
        if arrays[name].dtype != np.dtype(dtype):
            raise ValueError(f"expected {dtype} for the array {name}, got {arrays[name].dtype}")
    n, wide = tree.left.shape[:1], tree.planes.shape[-1:]
    shapes = {"planes": n + wide, "deviations": n + wide, "bins": tree.bins.shape[:1]}
    shapes |= {"steps": wide, "keys": wide, "leaders": wide, "predictions": (*wide, 3)}
    shapes["first_bin"] = tuple(size + 1 for size in n)
    for name, array in arrays.items():
        if array.shape != shapes.get(name, n):
            raise ValueError(f"expected shape {shapes.get(name, n)} for the array {name}, got {array.shape}")
    _check_values(arrays)
    if tree.feature_names is not None and len(tree.feature_names) != tree.n_features:
        raise ValueError(f"expected {tree.n_features} feature_names, got {len(tree.feature_names)}")


def _check_values(arrays: Mapping[str, AnyArray]) -> None:
    check_children(arrays["left"], arrays["right"])
    first_bin, n_bins = arrays["first_bin"], len(arrays["bins"])
    # Neighbours are compared, as differences of integers could wrap around.
    if first_bin[0] != 0 or first_bin[-1] != n_bins or (first_bin[1:] < first_bin[:-1]).any():
        raise ValueError(f"first_bin must ascend from 0 to the number of bins, {n_bins}")
    splits, pictured = arrays["left"] >= 0, first_bin[1:] > first_bin[:-1]
    _check("planes", np.isfinite(arrays["planes"]), "finite numbers")
    for name in PER_NODE:
        _check(name, ~np.isinf(arrays[name]), "finite numbers, or NaN for none")
    _check("thresholds", np.isfinite(arrays["thresholds"][splits]), "finite numbers at splits")
    _check("origin", np.isfinite(arrays["origin"][pictured]), "finite numbers where there is a histogram")
    for name in ("width", "bandwidth"):
        _check(name, arrays[name][pictured] > 0, "numbers above 0 where there is a histogram")
    for name in ("steps", "predictions"):
        _check(name, np.isfinite(arrays[name]), "finite numbers")
    _check_leaders(arrays["leaders"], arrays["predictions"])
    for name in ("n_rows", "bins", "deviations", "steps", "p_value", "n_tested"):
        _check(name, ~(arrays[name] < 0), "no negative numbers")
    _check("p_value", ~(arrays["p_value"] > 1), "numbers up to 1")
    check_clusters(arrays["left"], arrays["cluster"])


def _check_leaders(leaders: Integers, predictions: Floats) -> None:
    led = leaders >= 0
    _check("leaders", (leaders >= -1) & (leaders < len(leaders)), "columns, or -1 for none")
    _check("predictions", predictions[led, 2] > 0, "errors above 0")
    above = leaders
    for _ in range(np.count_nonzero(led)):  # as many steps up at most, unless they lead in a circle
        above = np.where(above >= 0, leaders[above], -1)
    _check("leaders", above == -1, "no circles")


def check_clusters(left: Integers, cluster: Integers) -> None:
    """Check that inner nodes have the cluster -1, and leaves clusters from 0, each of them some."""
    leaves = cluster[left < 0]
    known = np.unique(leaves)
    if (cluster[left >= 0] != -1).any() or not np.array_equal(known, np.arange(len(known))):
        raise ValueError("cluster must be -1 at splits and number the clusters of the leaves from 0, without gaps")


def check_children(left: Integers, right: Integers) -> None:
    """Check that every node is followed by its left and then its right subtree, which excludes cycles."""
    n = len(left)
    size = [1] * n
    for node in range(n - 1, -1, -1):
        if left[node] == -1 and right[node] == -1:
            continue
        after = node + 1 + size[node + 1] if node + 1 < n else n
        if left[node] != node + 1 or right[node] != after or after >= n:
            raise ValueError(f"node {node} has the children {left[node]} and {right[node]}, which is out of order")
        size[node] = 1 + size[node + 1] + size[after]
    if n == 0 or size[0] != n:
        raise ValueError(f"expected one tree of {n} nodes, at least 1, got {size[:1]} under the root")


def _check(name: str, good: Booleans, expected: str) -> None:
    if not good.all():
        raise ValueError(f"expected {expected} in the array {name}, got {good.size - int(good.sum())} others")
