"""The state of models of one tree: the tree and the feature map, if there is one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._state import FeatureMap, State
from .._typing import AnyArray, Floats, Integers
from ..chunks import Plan
from ..growth.exemplars import Exemplars
from ..growth.recount import recount
from ..tree.saving import FIELDS, tree_from_arrays, tree_to_arrays
from ..tree.structure import Tree

NYSTROM = "nystrom"
"""The kind of saved maps without a kind, as from 0.1.0."""

ROWS_AT_ONCE = 8192
"""Rows whose features are in memory at once while rows are labelled."""

THROUGH_ORIGIN = 1e-12
"""Size of thresholds that are zero but for rounding; those of other splits lie between rows."""

EXEMPLARS = "exemplars", "exemplar_numbers"
"""Arrays of `Exemplars` in saved models, in the order of its fields; neither must be there."""


@dataclass(frozen=True)
class TreeState(State):
    """A tree of separators.

    Parameters
    ----------
    tree : Tree
    feature_map : FeatureMap or None
        Maps rows to the features that the tree splits.
    exemplars : Exemplars or None
        A row for each cluster.
    """

    kind = "tree"
    tree: Tree
    feature_map: FeatureMap | None = None
    exemplars: Exemplars | None = None

    @property
    def n_clusters(self) -> int:
        """Return the number of clusters, of one leaf each unless leaves were merged."""
        return self.tree.n_clusters

    @property
    def n_features(self) -> int:
        """Return the number of columns that rows must have."""
        return self.tree.n_features if self.feature_map is None else self.feature_map.n_features

    @property
    def takes_sparse(self) -> bool:
        """Return whether the map takes sparse rows."""
        return self.feature_map is not None and self.feature_map.takes_sparse

    @property
    def missing(self) -> bool:
        """Return whether the map accepts missing values."""
        return self.feature_map is not None and self.feature_map.missing

    @property
    def sizes(self) -> Integers:
        """Return the number of rows in every cluster."""
        return self.tree.cluster_rows

    def labels(self, rows: AnyArray) -> Integers:
        """Return the label of every row: the cluster of its leaf."""
        return by_features(self.tree.labels, rows, self.feature_map)

    @property
    def compared(self) -> Tree:
        """The tree."""
        return self.tree

    def recount(self) -> Plan[Tree]:
        """Plan the count of other rows, or their features, in the nodes of the tree; one pass."""
        return recount(self.tree)

    def distances(self, rows: AnyArray) -> Floats:
        """Return the signed distance of every row from the first hyperplane, positive on the upper side."""
        features = rows if self.feature_map is None else self.feature_map(rows)
        return np.asarray(features @ self.tree.planes[0] - self.tree.thresholds[0])

    def for_labels(self) -> "TreeState":
        """Return the state with a map to the projections on the splits, which are mostly fewer than the features.

        Rows that mirror each other lie on hyperplanes through the origin. Only the features themselves, rounded as when
        they were counted, divide such rows as the counts say.
        """
        if self.feature_map is None or (np.abs(self.tree.thresholds[self.tree.left >= 0]) < THROUGH_ORIGIN).any():
            return self
        planes, asking = self.tree.on_projections()
        if not 0 < len(planes) < self.feature_map.n_components:
            return self
        along = self.feature_map.along(planes)
        return self if along is None else TreeState(asking, along)

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """Return the settings of the map, and the arrays of the tree and of the map."""
        settings, arrays = (None, {}) if self.feature_map is None else map_settings(self.feature_map)
        if shared := arrays.keys() & (FIELDS.keys() | set(EXEMPLARS)):
            raise TypeError(f"expected other names for the arrays of a map than those of a tree; got {sorted(shared)}")
        chosen = {} if self.exemplars is None else dict(zip(EXEMPLARS, self.exemplars))
        known = {name: array for name, array in chosen.items() if array is not None}
        return {"feature_map": settings}, tree_to_arrays(self.tree) | known | arrays

    @classmethod
    def from_arrays(cls, settings: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Self:
        """Return the tree that `to_arrays` took apart; with a feature map, `TreeEstimator` puts both together."""
        if others := [name for name in arrays if name not in FIELDS and name not in EXEMPLARS]:
            raise ValueError(f"expected the arrays of a tree alone; got {', '.join(others)}, too")
        tree = tree_from_arrays({name: array for name, array in arrays.items() if name in FIELDS})
        return cls(tree, exemplars=_exemplars_from(arrays, tree.n_clusters))


def map_settings(feature_map: FeatureMap) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return the settings and arrays of a map for a saved model."""
    settings, arrays = feature_map.to_arrays()
    return settings if feature_map.kind == NYSTROM else {"map": feature_map.kind, **settings}, arrays


def by_features(function: Callable[[AnyArray], AnyArray], rows: AnyArray, feature_map: FeatureMap | None) -> AnyArray:
    """Return what a function returns for the features of rows, or for the rows themselves without a map."""
    if feature_map is None:
        return function(rows)
    # The features of a long block of rows may not fit into memory at once.
    starts = range(0, max(len(rows), 1), ROWS_AT_ONCE)
    return np.concatenate([function(feature_map(rows[i : i + ROWS_AT_ONCE])) for i in starts])


def _exemplars_from(arrays: Mapping[str, AnyArray], n_clusters: int) -> Exemplars | None:
    """Return the exemplars among saved arrays, or raise an error if they cannot belong to as many clusters."""
    rows, numbers = (arrays.get(name) for name in EXEMPLARS)
    if rows is None and numbers is None:
        return None
    if numbers is None or numbers.shape != (n_clusters,) or numbers.dtype != np.int64 or (numbers < -1).any():
        raise ValueError(f"expected int64 numbers of {n_clusters} rows, or -1, for the array exemplar_numbers")
    if rows is not None and (rows.ndim != 2 or len(rows) != n_clusters or rows.dtype.kind not in "biuf"):
        raise ValueError(f"expected {n_clusters} rows of numbers for the array exemplars, got shape {rows.shape}")
    return Exemplars(rows, numbers)
