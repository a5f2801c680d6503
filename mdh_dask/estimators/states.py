"""States of models of a tree or of centroids, with or without a feature map: no scikit-learn, as workers load them."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from .._jit.rows import combine_rows, few_at_once, loop_ready
from .._state import ComparedState, FeatureMap, State, checked_array
from .._typing import AnyArray, Floats, Integers, cached_property
from ..centroids.passes import N_FAR, CentroidMargins, centroid_margins, far_shares, nearest_centroids
from ..chunks import Plan
from ..growth.trees import recount
from ..tree.routing import Margins, margins_of
from ..tree.structure import Tree

ROWS_AT_ONCE = 8192
"""Rows whose features are in memory at once while rows are labelled."""


class MappedState(State):
    """A state of the features of rows, or of the rows themselves if `feature_map` is None."""

    feature_map: FeatureMap | None
    of_columns: ClassVar[str]
    """Name of an array that has `n_columns`."""

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """Return the number of features, or of columns without a map."""

    @property
    def n_features(self) -> int:
        return self.n_columns if self.feature_map is None else self.feature_map.n_features

    @property
    def takes_sparse(self) -> bool:
        return self.feature_map is not None and self.feature_map.takes_sparse

    @property
    def missing(self) -> bool:
        return self.feature_map is not None and self.feature_map.missing

    def by_features(self, function: Callable[[AnyArray], AnyArray], rows: AnyArray) -> AnyArray:
        """Return what a function returns for the features of rows, or for the rows themselves without a map."""
        if self.feature_map is None:
            return function(rows)
        # The features of a long block of rows may not fit into memory at once.
        starts = range(0, max(len(rows), 1), ROWS_AT_ONCE)
        return np.concatenate([function(self.feature_map(rows[i : i + ROWS_AT_ONCE])) for i in starts])


@dataclass(frozen=True)
class TreeState(MappedState, ComparedState):
    """A tree of separators."""

    of_columns = "planes"
    tree: Tree
    feature_map: FeatureMap | None = None
    """Maps rows to the features that the tree splits."""

    @property
    def n_clusters(self) -> int:
        """Return the number of clusters, of one leaf each unless leaves were merged."""
        return self.tree.n_clusters

    @property
    def n_columns(self) -> int:
        return self.tree.n_features

    @property
    def sizes(self) -> Integers:
        return self.tree.cluster_rows

    def labels(self, rows: AnyArray) -> Integers:
        """Return the label of every row: the cluster of its leaf.

        The features of rows are those that were counted, to the last bit. Products of the map with the planes would be
        rounded differently, so that rows at a threshold would have other labels than the counts of the tree say.
        """
        return self.by_features(self.tree.labels, rows)

    @property
    def compared(self) -> Tree:
        return self.tree

    def recount(self) -> Plan[Tree]:
        return recount(self.tree)

    def decision(self, rows: AnyArray) -> Floats:
        """Return the signed distance of every row from the first hyperplane, positive on the upper side."""
        return self.by_features(self._beyond, rows)

    def _beyond(self, points: AnyArray) -> Floats:
        """Return the distances of points, projected as for their labels: to the same bits in blocks of any size."""
        along = np.empty(len(points))
        for part in few_at_once(len(points)):
            combine_rows(
                self.tree.planes[0], np.array(loop_ready(points[part]).T, dtype=np.float64, order="C"), along[part]
            )
        return along - self.tree.thresholds[0]

    @cached_property
    def margins(self) -> Margins:
        """The tables by which the tree judges single rows."""
        tree = self.tree
        if self.feature_map is not None:
            # With a map, the directions of the splits alone say how rare a row is, not those of leaves.
            tree = replace(tree, planes=np.where(tree.left[:, None] >= 0, tree.planes, 0.0))
        return margins_of(tree)

    def prepared(self) -> Self:
        """Return the state with its margins, which workers need not compute."""
        _ = self.margins
        return self

    def distances(self, rows: AnyArray) -> Floats:
        """Return the distances to the nearest separator, in standard errors."""
        return self.by_features(self.margins.of_rows, rows)[:, 0]

    def agreeing(self, rows: AnyArray) -> Floats:
        """Return the probabilities that the labels stay when the separators move by their standard errors."""
        return self.by_features(self.margins.of_rows, rows)[:, 1]

    def rarity(self, rows: AnyArray) -> Floats:
        """Return the shares of rows at places that are not denser, times the number of directions."""
        return self.by_features(self.margins.of_rows, rows)[:, 2]

    def check(self) -> None:
        """Do nothing: the tree and the map have checks of their own."""


@dataclass(frozen=True)
class CentroidState(MappedState):
    """Centroids of clusters; a row is in the cluster of the nearest."""

    of_columns = "centroids"
    centre: Floats
    scale: Floats
    """Both of shape (n_columns,), float64: rows, or features, become ``(x - centre) * scale``."""
    centroids: Floats
    """Shape (n_clusters, n_columns), float64: centroids of standardised rows or features."""
    counts: Integers
    """Shape (n_clusters,), int64: number of rows of `fit` in each cluster."""
    gaps: Floats
    """Shape (n_numbers,), float64: the gap statistic of 1, 2, ... clusters; empty if their number was given."""
    inertia: float
    """Sum of the squared distances of the rows of `fit` from their centroids."""
    far: Integers
    """Shape (n_clusters, N_FAR), int64: rows of each cluster in each bin of squared distances from its centroid."""
    unit: float
    """Unit of these distances."""
    feature_map: FeatureMap | None = None
    """Maps rows to features."""

    @property
    def n_clusters(self) -> int:
        return len(self.centroids)

    @property
    def n_columns(self) -> int:
        return len(self.centre)

    @property
    def sizes(self) -> Integers:
        return self.counts

    def labels(self, rows: AnyArray) -> Integers:
        return self.by_features(self._nearest, rows)

    def _nearest(self, rows: AnyArray) -> Integers:
        return nearest_centroids(rows, self.centre, self.scale, self.centroids).astype(np.int32)

    def distances(self, rows: AnyArray) -> Floats:
        """Return the distance of every row, or its features, to the border of its cell."""
        return self.by_features(lambda points: self._margins(points).distances, rows)

    def agreeing(self, rows: AnyArray) -> Floats:
        """Return the membership of every row in its cluster."""
        return self.by_features(lambda points: self._margins(points).shares, rows)

    def rarity(self, rows: AnyArray) -> Floats:
        """Return the share of the rows of the cluster of every row that are no nearer to its centroid."""
        frame = self.centre, self.scale, self.centroids
        return self.by_features(lambda points: far_shares(points, *frame, self.far, self.unit), rows)

    def _margins(self, points: AnyArray) -> CentroidMargins:
        return centroid_margins(points, self.centre, self.scale, self.centroids)

    def check(self) -> None:
        """Raise a ValueError unless a fit could have given all values: compiled loops do not check shapes."""
        if self.centroids.ndim != 2 or 0 in self.centroids.shape or self.gaps.ndim != 1:
            raise ValueError("expected centroids in rows in the array centroids, got others")
        k, d = self.centroids.shape
        for name, shape, least in (
            ("centre", (d,), -np.inf), ("scale", (d,), 0), ("centroids", (k, d), -np.inf), ("counts", (k,), 0),
            ("gaps", self.gaps.shape, -np.inf),
        ):  # fmt: skip
            checked_array(name, getattr(self, name), shape, least)
        if self.counts.dtype != np.int64 or any(getattr(self, f).dtype != np.float64 for f in ("centre", "scale")):
            raise ValueError("expected integers in the array counts and float64 numbers in the others")
        checked_array("far", self.far, (k, N_FAR), 0)
        if self.far.dtype != np.int64 or not isinstance(self.unit, float) or not 0 < self.unit < np.inf:
            raise ValueError(f"expected integers in the array far and a unit above 0, got {self.unit!r}")
        if not isinstance(self.inertia, float) or not 0 <= self.inertia < np.inf:
            raise ValueError(f"expected a number of at least 0 for inertia, got {self.inertia!r}")
