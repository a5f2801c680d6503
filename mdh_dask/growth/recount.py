"""Recounts of a tree on other rows, in the same bins and on the same hyperplanes."""

from dataclasses import replace

import numpy as np

from .._typing import Integers
from ..chunks import Pass, Plan
from ..projections.directions import Axes, RawDirections
from ..tree.structure import Tree
from .lattices import lattices_of
from .sweeps import BranchCounts, BranchPass


def recount(tree: Tree) -> Plan[Tree]:
    """Plan the count of other rows in the nodes of a tree and in the bins of their histograms.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    generator
        A plan for `mdh_dask.chunks.run`; its result is the tree with the same splits. `n_rows` and `bins` are those
        of the new rows; the relative depths and the deviations of the columns are unknown, and NaN.

    Notes
    -----
    One pass, which counts every row at all nodes on its way. The outermost bins also count the rows beyond.

    Examples
    --------
    >>> from mdh_dask.tree.structure import tree_from_nodes
    >>> root = {"left": 1, "right": 2, "n_rows": 2, "plane": [1.0], "threshold": 0.5}
    >>> root |= {"origin": -1.0, "width": 1.0, "bandwidth": 1.0, "bins": [0, 1, 1, 0]}
    >>> leaf = {"left": -1, "right": -1, "n_rows": 1}
    >>> from mdh_dask.chunks import run
    >>> tree, _ = run(recount(tree_from_nodes([root, leaf, leaf], n_features=1)), np.array([[0.0], [0.2], [9.0]]))
    >>> tree.n_rows.tolist(), tree.histogram(0).tolist()
    ([3, 2, 1], [0, 2, 0, 1])
    """
    axes = axes_of(tree)
    counted: BranchCounts = yield Pass("counting", tree_pass(tree, axes))
    along = counted.counts[:, :2].sum(axis=1)
    parts = [folded(row, n) for row, n in zip(along, axes.n_bins)]
    return replace(
        tree,
        n_rows=rows_of_nodes(tree, counted.arrivals),
        bins=np.concatenate([np.empty(0, dtype=np.int64), *parts]),
        relative_depth=np.full(tree.n_nodes, np.nan),
        deviations=np.full_like(tree.deviations, np.nan),
    )


def recounted(tree: Tree) -> Plan[Tree]:
    """Plan the count of the rows to which a tree belongs, whose relative depths and deviations stay."""
    counted = yield from recount(tree)
    return replace(counted, relative_depth=tree.relative_depth, deviations=tree.deviations)


def axes_of(tree: Tree) -> Axes:
    """Return the directions and bins of the nodes with a histogram, node by node."""
    n_bins = np.diff(tree.first_bin)
    measured = np.flatnonzero(n_bins)
    directions = RawDirections(tree.planes[measured])
    return Axes(directions, tree.origin[measured], tree.width[measured], n_bins[measured])


def tree_pass(tree: Tree, axes: Axes) -> BranchPass:
    """Return the statistic that counts rows along the axes of a tree, all with as many bins as the largest."""
    n = tree.n_nodes
    return BranchPass(
        seed=0, left=tree.left, right=tree.right, planes=tree.planes, thresholds=tree.thresholds,
        first=np.cumsum([0, *(np.diff(tree.first_bin) > 0)]),
        directions=axes.directions.vectors, origin=axes.origin, width=axes.width,
        n_bins=int(axes.n_bins.max(initial=0)),
        bit=np.zeros(n, dtype=np.int64), limit=np.zeros(n, dtype=np.uint64), lattices=lattices_of(tree.steps),
    )  # fmt: skip


def folded(counts: Integers, n_bins: int) -> Integers:
    """Return counts in fewer bins; the last one includes all rows beyond it."""
    return np.append(counts[: n_bins - 1], counts[n_bins - 1 :].sum())


def rows_of_nodes(tree: Tree, arrivals: Integers) -> Integers:
    """Return the number of rows of every node from those of the leaves."""
    n_rows = arrivals.astype(np.int64)
    for node in np.flatnonzero(tree.left >= 0)[::-1]:
        n_rows[node] = n_rows[tree.left[node]] + n_rows[tree.right[node]]
    return n_rows
