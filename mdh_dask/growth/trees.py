"""Conversion of grown branches to a tree, and of a tree to branches that can grow further."""

from dataclasses import replace
from typing import Any

import numpy as np

from .._typing import Floats, Integers
from ..chunks import Pass, Plan
from ..density.histograms import Histograms
from ..density.kde import BANDWIDTHS, Bandwidth
from ..projections.directions import Axes, RawDirections
from ..splits.choose import Decision
from ..tree.clusters import sums_below
from ..tree.editing import scaled_counts
from ..tree.structure import Tree, tree_from_nodes
from .branches import Branch, SampleRows, State
from .passes import Columns, Sample, columns_of, merge_columns
from .scaling import to_few_bits
from .sweeps import BranchCounts, BranchPass


def tree_of(root: Branch, merged: bool = False) -> Tree:
    """Return the grown tree; if leaves were merged, new leaves belong to the cluster of the branch above them."""
    branches = list(root.walk())
    place = {branch: i for i, branch in enumerate(branches)}
    deviations = deviations_of(root)
    nodes = []
    for branch in branches:
        left, right = (place[child] for child in branch.children) if branch.children else (-1, -1)
        node: dict[str, Any] = {"left": left, "right": right, "n_rows": int(branch.n_rows), "plane": branch.plane}
        known, own = branch.deviation, deviations[branch]
        node["deviation"] = own if known is None else np.where(np.isnan(own), known, own)
        if (decision := branch.decision) is not None:
            histogram = decision.histogram
            node |= {
                "threshold": decision.threshold,
                "relative_depth": decision.depth,
                "p_value": decision.p_value,
                "n_tested": decision.n_tested,
                "origin": histogram.origin[0],
                "width": histogram.width[0],
                "bandwidth": histogram.bandwidth[0],
                "bins": histogram.counts[0],
            }
        nodes.append(node)
    tree = tree_from_nodes(nodes, root.sample.n_columns)
    return tree.merged(_clusters_of(root)) if merged else tree


def _clusters_of(root: Branch) -> Integers:
    """Return the clusters of the leaves, from left to right."""
    clusters, stack = [], [(root, root.cluster)]
    while stack:
        branch, above = stack.pop()
        cluster = above if branch.cluster is None else branch.cluster
        if branch.children:
            stack += [(child, cluster) for child in reversed(branch.children)]
        else:
            clusters.append(cluster)
    return np.array(clusters)


def deviations_of(root: Branch) -> dict[Branch, Floats]:
    """Return the standard deviation of every column in every branch, shape (n_features,); NaN without sample rows.

    Leaves are measured on their samples, which may be newer than those of their parents, and merged upwards in
    proportion to their rows. No pass.
    """
    moments: dict[Branch, Columns] = {}
    for branch in reversed(list(root.walk())):
        children = branch.children
        merged = merge_columns(*(moments[child] for child in children)) if children else _measured(branch, root.n_rows)
        moments[branch] = merged
    return {branch: _deviation(columns) for branch, columns in moments.items()}


def _measured(leaf: Branch, n_all: float) -> Columns:
    """Return the columns of a leaf's sample, weighted by the leaf's share of all rows."""
    columns = columns_of(leaf.sample.load().rows)
    if not columns.n:
        return columns
    # Shares instead of numbers of rows, as their products with squares of large values would overflow.
    share = leaf.n_rows / n_all
    return columns._replace(n=share, deviations=columns.deviations * (share / columns.n))


def _deviation(columns: Columns) -> Floats:
    """Return the standard deviations of columns, rounded; NaN without rows."""
    # A few bits suffice to rank features, and compress well when saved.
    return to_few_bits(np.sqrt(columns.deviations / columns.n)) if columns.n else np.full(len(columns.mean), np.nan)


def branches_of(tree: Tree, rule: Bandwidth) -> Branch:
    """Return the root of the branches of a tree, the inverse of `tree_of`.

    rule: rule for the densities along new directions; the tree's own directions keep their bandwidths.
    Returns the root; walking it yields the branches in the order of the nodes. They have no sample rows, without which
        they cannot be split further.
    """
    none = SampleRows.of_all(Sample(np.empty((0, tree.n_features)), np.empty(0, np.uint64), np.empty(0, np.int64)))
    branches: list[Branch] = []
    node_ids = np.ones(tree.n_nodes, dtype=object)  # Python integers, as a tree may have more than 64 levels
    for node in range(tree.n_nodes):
        inner = tree.left[node] >= 0
        if inner:
            node_ids[tree.left[node]], node_ids[tree.right[node]] = 2 * node_ids[node], 2 * node_ids[node] + 1
        branch = Branch(node_ids[node], none, int(tree.n_rows[node]), counted=True)
        branch.state, branch.deviation = State.SPLIT if inner else State.LEAF, tree.deviations[node]
        known = [getattr(tree, name)[node] for name in ("thresholds", "relative_depth", "origin", "width", "bandwidth")]
        if inner or len(tree.histogram(node)) or tree.planes[node].any() or np.isfinite(known).any():
            branch.candidates = histogram_of(tree, node, rule)
            branch.decision = _decision(tree, node, branch.candidates)
        branches.append(branch)
    for node in np.flatnonzero(tree.left >= 0).tolist():
        branches[node].children = branches[tree.left[node]], branches[tree.right[node]]
    for branch, cluster in zip(branches, largest_clusters(tree)):
        branch.cluster = cluster
    return branches[0]


def largest_clusters(tree: Tree) -> list[int]:
    """Return the cluster with most rows at each node."""
    rows = [{cluster: n} for cluster, n in zip(tree.cluster.tolist(), tree.n_rows.tolist())]
    for node in np.flatnonzero(tree.left >= 0)[::-1].tolist():
        sides = rows[tree.left[node]], rows[tree.right[node]]
        rows[node] = {cluster: sum(side.get(cluster, 0) for side in sides) for side in sides for cluster in side}
    return [max(held, key=lambda cluster: (held[cluster], -cluster)) for held in rows]


def scaled_to(decision: Decision, n_rows: float) -> Decision:
    """Return a decision on a sample with the histogram, and so the bandwidth, for so many rows, in proportion."""
    counts = scaled_counts(decision.histogram.counts[0], round(n_rows))
    return replace(decision, histogram=replace(decision.histogram, counts=counts[None]))


def histogram_of(tree: Tree, node: int, rule: Bandwidth = BANDWIDTHS["normal"]) -> Histograms:
    """Return the histogram of a node along its direction, with its bandwidth; the rule is for other histograms."""
    one = [node]
    return Histograms(
        tree.histogram(node)[None], tree.origin[one], tree.width[one], rule, np.zeros(1),
        known_bandwidth=tree.bandwidth[one], directions=tree.planes[one],
    )  # fmt: skip


def _decision(tree: Tree, node: int, histogram: Histograms) -> Decision:
    """Return the decision about a node."""
    inner = bool(tree.left[node] >= 0)
    n_left, n_right = (int(tree.n_rows[side[node]]) if inner else 0 for side in (tree.left, tree.right))
    threshold, depth = float(tree.thresholds[node]), float(tree.relative_depth[node])
    return Decision(
        inner, 0, threshold, depth, n_left, n_right, histogram, moved=False,
        p_value=float(tree.p_value[node]), n_tested=float(tree.n_tested[node]),
    )  # fmt: skip


def recount(tree: Tree, held: Sample | None = None) -> Plan[Tree]:
    """Plan the count of other rows in the nodes of a tree and in the bins of their histograms.

    One pass, which counts every row at all nodes on its way. The outermost bins also count the rows beyond.

    held: all rows, if a sample holds them; then there is no pass.
    Returns a plan for `mdh_dask.chunks.run`; its result is the tree with the same splits. `n_rows` and `bins` are those
        of the new rows; the relative depths and the deviations of the columns are unknown, and NaN.
    """
    statistic = tree_pass(tree)
    counted: BranchCounts = statistic.chunk(0, held.rows) if held is not None else (yield Pass("counting", statistic))
    along = counted.counts[:, :2].sum(axis=1)
    n_bins = np.diff(tree.first_bin)
    parts = [folded(row, n) for row, n in zip(along, n_bins[n_bins > 0])]
    return replace(
        tree,
        n_rows=sums_below(tree, counted.arrivals.astype(np.int64)),
        bins=np.concatenate([np.empty(0, dtype=np.int64), *parts]),
        relative_depth=np.full(tree.n_nodes, np.nan),
        deviations=np.full_like(tree.deviations, np.nan),
    )


def recounted(tree: Tree, held: Sample | None = None) -> Plan[Tree]:
    """Plan the count of the rows to which a tree belongs, whose relative depths and deviations stay."""
    counted = yield from recount(tree, held)
    return replace(counted, relative_depth=tree.relative_depth, deviations=tree.deviations)


def axes_of(tree: Tree) -> Axes:
    """Return the directions and bins of the nodes with a histogram, node by node."""
    n_bins = np.diff(tree.first_bin)
    measured = np.flatnonzero(n_bins)
    directions = RawDirections(tree.planes[measured])
    return Axes(directions, tree.origin[measured], tree.width[measured], n_bins[measured])


def tree_pass(tree: Tree, extremes: bool = False) -> BranchPass:
    """Return the statistic that counts rows along the axes of a tree, all with as many bins as the largest."""
    n, axes = tree.n_nodes, axes_of(tree)
    return BranchPass(
        seed=0, routes=tree.routes, first=np.cumsum([0, *(np.diff(tree.first_bin) > 0)]),
        directions=axes.directions.vectors, origin=axes.origin, width=axes.width,
        n_bins=int(axes.n_bins.max(initial=0)),
        bit=np.zeros(n, dtype=np.int64), limit=np.zeros(n, dtype=np.uint64),
        extremes=extremes, jitter=tree.jitter,
    )  # fmt: skip


def folded(counts: Integers, n_bins: int) -> Integers:
    """Return counts in fewer bins; the last one includes all rows beyond it."""
    return np.append(counts[: n_bins - 1], counts[n_bins - 1 :].sum())
