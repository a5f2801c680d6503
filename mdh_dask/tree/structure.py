"""The tree of separators as parallel arrays: the only state of a fitted model."""

from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from heapq import heappop, heappush
from typing import Any, NamedTuple, Self

import numpy as np

from .._jit.branches import Routes
from .._jit.hashing import Jitter, leaders_first
from .._storable import storable
from .._typing import AnyArray, Booleans, Floats, Integers
from ..density.kde import kernel_density, valley_evidence
from . import clusters, editing, export
from .clusters import collapsed, parting, renumbered
from .html import map_of
from .routing import check_tree, leaves_of


class NodeDensity(NamedTuple):
    """The density of a node's rows along the direction of its split, or of its best rejected split."""

    position: Floats
    density: Floats
    threshold: float

    @property
    def bin(self) -> int:
        """Return the bin whose density is that at the threshold."""
        return max(int(np.searchsorted(self.position, self.threshold, side="right")) - 1, 0)


@storable
@dataclass(frozen=True)
class Tree:
    """A binary tree of hyperplanes; node 0 is the root, children follow their parents, left subtrees come first.

    Parameters
    ----------
    left, right : arrays of shape (n_nodes,), int32
        Children; -1 at a leaf.
    planes : array of shape (n_nodes, n_features), float64
        Directions in the coordinates of the rows. At a leaf, the direction of the best rejected split,
        or zeros.
    thresholds : array of shape (n_nodes,), float64
        A row goes left where ``plane . x <= threshold``.
    n_rows : array of shape (n_nodes,), int64
    relative_depth : array of shape (n_nodes,), float64
        Relative depth of the split, or of the best rejected one; NaN where no valley was found.
    p_value : array of shape (n_nodes,), float64
        The p-value of the node's tests, on rows that did not choose, before it is adjusted over the tree; NaN without.
    n_tested : array of shape (n_nodes,), float64
        Rows that tested, or parts of dependent rows; NaN without.
    origin, width, bandwidth : arrays of shape (n_nodes,), float64
        Bins of the histogram along the node's direction and bandwidth of its density; NaN where there is none.
    bins : array of shape (total number of bins,), int64
        The histograms of all nodes, one after the other.
    first_bin : array of shape (n_nodes + 1,), int64
        Start of each node's histogram in `bins`.
    deviations : array of shape (n_nodes, n_features), float64
        Standard deviations of the columns among the rows of each node, to 12 bits, from the samples of the fit; NaN
        where unknown.
    steps : array of shape (n_features,), float64
        Steps between the values of coarsely rounded columns, as counts and ratings, which were spread evenly over them
        where rows were counted in bins; zero for all other columns.
    keys : array of shape (n_features,), int64
        Keys of the random numbers that spread these columns; zero for all others.
    leaders : array of shape (n_features,), int64
        The columns that predict where in their steps the values of these lie; -1 for all others.
    predictions : array of shape (n_features, 3), float64
        Slopes of these predictions, where they start, and their errors; zero where there are none.
    cluster : array of shape (n_nodes,), int32, optional
        Cluster of each leaf, -1 at a split; by default each leaf is a cluster, numbered from the left. Those of fitted
        models are numbered by `numbered`, the largest first.
    feature_names : tuple of str, optional
        Names of the columns; not compared by ``==``.
    """

    left: Integers
    right: Integers
    planes: Floats
    thresholds: Floats
    n_rows: Integers
    relative_depth: Floats
    p_value: Floats
    n_tested: Floats
    origin: Floats
    width: Floats
    bandwidth: Floats
    bins: Integers
    first_bin: Integers
    deviations: Floats
    steps: Floats
    keys: Integers
    leaders: Integers
    predictions: Floats
    cluster: Integers = None  # type: ignore[assignment]
    feature_names: tuple[str, ...] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """Make every leaf a cluster if no clusters are given: numbered from left to right, -1 at inner nodes."""
        if self.cluster is None:
            own = np.where(self.left < 0, np.cumsum(self.left < 0) - 1, -1).astype(np.int32)
            object.__setattr__(self, "cluster", own)

    @staticmethod
    def completed(values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return stored arrays with those that there were not before columns had leaders."""
        added = unspread(np.size(values.get("steps", ())))
        return {name: added[name] for name in ("leaders", "predictions")} | dict(values)

    check = check_tree
    cut, prune, split, graft = editing.cut, editing.prune, editing.split, editing.graft
    extract, levels, numbered = clusters.extract, clusters.levels, clusters.numbered
    to_linkage, to_dict, to_text = export.to_linkage, export.to_dict, export.to_text
    _repr_html_ = map_of

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.left)

    @property
    def n_features(self) -> int:
        """Number of columns that rows must have."""
        return self.planes.shape[1]

    @property
    def leaves(self) -> Integers:
        """Nodes without children, from left to right; `cluster` is the label of each."""
        return np.flatnonzero(self.left < 0)

    @property
    def n_leaves(self) -> int:
        """Number of leaves, at least as many as clusters."""
        return len(self.leaves)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.cluster.max()) + 1

    @property
    def cluster_rows(self) -> Integers:
        """Number of rows of each cluster, shape (n_clusters,), int64."""
        rows = np.zeros(self.n_clusters, dtype=np.int64)
        np.add.at(rows, self.cluster[self.leaves], self.n_rows[self.leaves])
        return rows

    @property
    def parent(self) -> Integers:
        """Parents, shape (n_nodes,); -1 for the root."""
        parent = np.full(self.n_nodes, -1)
        inner = self.left >= 0
        for children in (self.left, self.right):
            parent[children[inner]] = np.flatnonzero(inner)
        return parent

    @property
    def level(self) -> Integers:
        """Number of splits above each node, shape (n_nodes,)."""
        level = np.zeros(self.n_nodes, dtype=np.int64)
        for node, parent in enumerate(self.parent):
            level[node] = level[parent] + 1 if parent >= 0 else 0
        return level

    @property
    def routes(self) -> Routes:
        """The separators, as compiled loops take them."""
        return Routes(self.left, self.right, self.planes, self.thresholds)

    @property
    def jitter(self) -> Jitter:
        """The columns whose values were spread where rows were counted."""
        columns = np.flatnonzero(self.steps > 0)
        slopes, places, errors = np.ascontiguousarray(self.predictions[columns].T)
        keys, leaders = self.keys[columns].astype(np.uint64), self.leaders[columns]
        return leaders_first(Jitter(columns, self.steps[columns], keys, leaders, slopes, places, errors))

    def jittered_by(self, jitter: Jitter) -> Self:
        """Return the tree with these columns as those whose values were spread."""
        found = replace(self, **unspread(self.n_features))
        found.steps[jitter.columns], found.keys[jitter.columns] = jitter.steps, jitter.keys.astype(np.int64)
        found.leaders[jitter.columns] = jitter.leaders
        found.predictions[jitter.columns] = np.stack([jitter.slopes, jitter.places, jitter.errors], axis=1)
        return found

    def apply(self, rows: AnyArray) -> Integers:
        """Return the leaf of every row, shape (n_rows,), int32."""
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise ValueError(
                f"expected rows of shape (n_rows, {self.n_features}), as the tree was grown on; got shape {rows.shape}"
            )
        return leaves_of(rows, self.routes)

    def labels(self, rows: AnyArray) -> Integers:
        """Return the label of every row, shape (n_rows,), int32: the cluster of its leaf."""
        return self.cluster[self.apply(rows)]

    def histogram(self, node: int) -> Integers:
        """Return the histogram of the node's rows along its direction, or an empty array if it has none."""
        node = editing.checked_node(self, node)
        return self.bins[self.first_bin[node] : self.first_bin[node + 1]]

    def density(self, node: int) -> NodeDensity | None:
        """Return the kernel density of the node's rows along its direction, or None if it has none."""
        counts = self.histogram(node)
        if len(counts) == 0:
            return None
        position = self.origin[node] + self.width[node] * (np.arange(len(counts)) + 0.5)
        density = kernel_density(counts, self.width[node], self.bandwidth[node])
        return NodeDensity(position, density, float(self.thresholds[node]))

    def evidence(self, node: int) -> float:
        """Return the evidence of the node's valley in standard errors; NaN without a histogram or threshold."""
        density = self.density(node)
        if density is None or np.isnan(density.threshold):
            return np.nan
        n_rows = float(self.histogram(node)[1:-1].sum())
        return valley_evidence(density.density, density.bin, n_rows, float(self.bandwidth[node]))

    def walk(self) -> Iterator[tuple[int, int]]:
        """Yield every node and its level, parents before children, left before right."""
        yield from enumerate(self.level.tolist())

    def split_order(self) -> Iterator[int]:
        """Yield the inner nodes, always the one of largest relative depth among those whose parents came before."""
        depth = np.where(np.isnan(self.relative_depth), -np.inf, self.relative_depth)
        frontier = [(-depth[0], 0)]
        while frontier:
            node = heappop(frontier)[1]
            if self.left[node] >= 0:
                yield node
                for child in (int(self.left[node]), int(self.right[node])):
                    heappush(frontier, (-depth[child], child))

    def merged(self, group: Integers) -> Self:
        """Return the tree with the leaves of each group as one cluster, without the splits within a cluster.

        Parameters
        ----------
        group : array of shape (n_leaves,), int
            Group of each leaf, from left to right.

        Examples
        --------
        >>> split = {"n_rows": 3, "plane": [1.0], "threshold": 0.0}
        >>> leaf = {"left": -1, "right": -1, "n_rows": 1}
        >>> nodes = [split | {"left": 1, "right": 2}, leaf, split | {"left": 3, "right": 4}, leaf, leaf]
        >>> tree = tree_from_nodes(nodes, n_features=1)
        >>> tree.merged(np.array([0, 1, 0])).cluster.tolist(), tree.merged(np.array([0, 1, 1])).cluster.tolist()
        ([-1, 0, -1, 1, 0], [-1, 0, 1])
        """
        group = np.asarray(group)
        if group.shape != (self.n_leaves,) or group.dtype.kind not in "biu" or group.min() < 0:
            raise ValueError(
                f"expected the groups of {self.n_leaves} leaves, from left to right, as whole numbers from 0; got "
                f"{group.tolist()!r:.99}"
            )
        cluster = np.full(self.n_nodes, -1, dtype=np.int32)
        cluster[self.leaves] = renumbered(group)
        grouped = replace(self, cluster=cluster)
        return grouped.with_splits(parting(grouped))

    def per_node(self) -> dict[str, Any]:
        """Return the arrays with one value or row for each node, by name."""
        names = (f.name for f in _arrays_of(self) if f.name not in ("bins", "first_bin", *unspread(0)))
        return {name: getattr(self, name) for name in names}

    def with_splits(self, kept: Booleans) -> Self:
        """Return the tree with the splits of a mask alone; the parent of a node that stays must stay, too."""
        left, right = (np.where(kept, children, -1).astype(np.int32) for children in (self.left, self.right))
        return replace(self, left=left, right=right, cluster=collapsed(self, kept)).in_order()

    def in_order(self) -> Self:
        """Return the tree with its nodes in order, and without those that cannot be reached from the root."""
        order: list[int] = []
        stack = [0]
        while stack:
            node = stack.pop()
            order.append(node)
            if self.left[node] >= 0:
                stack += [int(self.right[node]), int(self.left[node])]
        number = np.full(self.n_nodes + 1, -1)  # the last for the children of leaves
        number[order] = np.arange(len(order))
        histograms = [self.histogram(node) for node in order]
        return replace(
            self,
            **{name: array[order] for name, array in self.per_node().items()}
            | {
                "left": number[self.left[order]].astype(np.int32),
                "right": number[self.right[order]].astype(np.int32),
                "cluster": renumbered(self.cluster[order]),
                "bins": np.concatenate(histograms),
                "first_bin": np.cumsum([0, *map(len, histograms)]),
            },
        )

    def __repr__(self) -> str:
        """Return the tree as text."""
        return self.to_text()

    def __eq__(self, other: object) -> bool:
        """Return whether two trees are equal to the last bit, apart from the names of their columns."""
        return isinstance(other, Tree) and all(
            np.array_equal(getattr(self, f.name), getattr(other, f.name), equal_nan=f.type is Floats)
            for f in _arrays_of(self)
        )

    __hash__ = None  # type: ignore[assignment]


def tree_from_nodes(nodes: list[dict[str, Any]], n_features: int) -> Tree:
    """Build a tree from one dict per node: ``left``, ``right``, ``n_rows`` and fields of its split.

    Nodes may come in any order that starts with the root.
    """
    none, unknown = np.zeros(n_features), np.full(n_features, np.nan)
    planes = np.array([none if node.get("plane") is None else node["plane"] for node in nodes], dtype=np.float64)
    deviations = np.array([node.get("deviation", unknown) for node in nodes], dtype=np.float64)
    bins = [np.asarray(node.get("bins", ()), dtype=np.int64) for node in nodes]

    def column(name: str) -> Floats:
        return np.array([node.get(name, np.nan) for node in nodes], dtype=np.float64)

    names = "relative_depth", "p_value", "n_tested", "origin", "width", "bandwidth"
    numbers: dict[str, Any] = {name: column(name) for name in names}
    return Tree(
        left=np.array([node["left"] for node in nodes], dtype=np.int32),
        right=np.array([node["right"] for node in nodes], dtype=np.int32),
        n_rows=np.array([node["n_rows"] for node in nodes], dtype=np.int64),
        planes=planes, thresholds=column("threshold"), bins=np.concatenate(bins),
        first_bin=np.cumsum([0, *map(len, bins)]), deviations=deviations,
        **unspread(n_features), **numbers,
    ).in_order()  # fmt: skip


def unspread(n_features: int) -> dict[str, Any]:
    """Return the arrays with one value or row for each column, of columns whose values are not spread, by name."""
    return {
        "steps": np.zeros(n_features),
        "keys": np.zeros(n_features, dtype=np.int64),
        "leaders": np.full(n_features, -1, dtype=np.int64),
        "predictions": np.zeros((n_features, 3)),
    }


def _arrays_of(tree: Tree) -> list[Field[Any]]:
    return [f for f in fields(tree) if f.compare]
