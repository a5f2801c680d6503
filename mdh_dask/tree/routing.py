"""Rows against a tree: the leaves of rows, and their distances to the separators and densities of its nodes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._jit.branches import Measures, Routes, row_margins, sweep_branches
from .._jit.jitter import NO_JITTER
from .._jit.rows import loop_ready
from .._typing import AnyArray, Floats, Integers
from ..density.histograms import no_extremes
from ..density.kde import threshold_error

if TYPE_CHECKING:
    from .structure import Tree


def leaves_of(rows: AnyArray, left: Integers, right: Integers, planes: Floats, thresholds: Floats) -> Integers:
    """Return the leaf of every row, shape (n_rows,), int32."""
    n, d = planes.shape
    zeros, nothing = np.zeros(n + 1, dtype=np.int64), np.empty(0)
    bins = np.empty((0, d)), nothing, nothing, np.empty((0, 2, 0), dtype=np.int64), no_extremes(0, 2, 0)
    routes, measures = Routes(left, right, planes, thresholds), Measures(zeros, zeros, *bins)
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
    """Shape (n_bins,), float64: for each bin of a node, the share of the node's rows in bins of no higher density."""

    def of_rows(self, rows: AnyArray) -> Floats:
        """Return distance, agreement and rarity of every row, shape (n_rows, 3); see `_jit.branches.row_margins`."""
        out = np.full((len(rows), 3), np.inf)
        tree = self.tree
        routes = Routes(tree.left, tree.right, tree.planes, tree.thresholds)
        bins = np.column_stack([tree.origin, tree.width])
        row_margins(loop_ready(rows), routes, self.scale, self.first_bin, bins, self.tails, out)
        return out


def margins_of(tree: "Tree") -> Margins:
    """Return the tables of a tree."""
    scale = np.zeros(tree.n_nodes)
    tails: list[Floats] = []
    for node in range(tree.n_nodes):
        # A direction of zeros does not count, as those of leaves of trees with a feature map.
        density = tree.density(node) if tree.planes[node].any() else None
        tails.append(np.empty(0) if density is None else _tails(tree.histogram(node), density.density))
        if density is not None and tree.left[node] >= 0:
            n_rows = float(tree.histogram(node)[1:-1].sum())
            scale[node] = threshold_error(*density, n_rows, float(tree.bandwidth[node]))
    first_bin = np.cumsum([0, *map(len, tails)])
    return Margins(tree, scale, first_bin, np.concatenate(tails))


def _tails(counts: Integers, density: Floats) -> Floats:
    """Return for each bin the share of rows in bins of no higher density; the outermost bins are least dense."""
    density = density.copy()
    density[[0, -1]] = 0.0
    order = np.argsort(density, kind="stable")
    below = np.cumsum(counts[order]) / max(int(counts.sum()), 1)
    # Bins of equal density have the same share.
    last = np.searchsorted(density[order], density[order], side="right") - 1
    result = np.empty(len(counts))
    result[order] = below[last]
    return result
