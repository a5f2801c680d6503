"""The state of models of one tree: the tree and the feature map, if there is one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._state import ComparedState, FeatureMap
from .._typing import AnyArray, Floats, Integers
from ..chunks import Plan
from ..growth.trees import recount
from ..tree.saving import FIELDS, tree_from_arrays, tree_to_arrays
from ..tree.structure import Tree
from .mapped_state import MappedState

OWN = {*FIELDS}
"""Arrays of a tree in saved models; others belong to its feature map."""

OF_MAP = "map_"
"""Begins the names of those arrays of a map that a tree has, too."""


@dataclass(frozen=True)
class TreeState(MappedState, ComparedState):
    """A tree of separators.

    Parameters
    ----------
    tree : Tree
    feature_map : FeatureMap or None
        Maps rows to the features that the tree splits.
    """

    kind = "tree"
    tree: Tree
    feature_map: FeatureMap | None = None

    @property
    def n_clusters(self) -> int:
        """Return the number of clusters, of one leaf each unless leaves were merged."""
        return self.tree.n_clusters

    @property
    def n_columns(self) -> int:
        """Return the number of features, or of columns without a map."""
        return self.tree.n_features

    @property
    def sizes(self) -> Integers:
        """Return the number of rows in every cluster."""
        return self.tree.cluster_rows

    def labels(self, rows: AnyArray) -> Integers:
        """Return the label of every row: the cluster of its leaf.

        The features of rows are those that were counted, to the last bit. Products of the map with the planes would be
        rounded differently, so that rows at a threshold would have other labels than the counts of the tree say.
        """
        return self.by_features(self.tree.labels, rows)

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

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """Return the settings of the map, and the arrays of the tree and of the map."""
        settings, arrays = self.map_to_arrays()
        of_map = {OF_MAP + name if name in OWN else name: array for name, array in arrays.items()}
        return settings, tree_to_arrays(self.tree) | of_map

    @classmethod
    def from_arrays(cls, settings: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Self:
        """Return the tree that `to_arrays` took apart; with a feature map, `TreeEstimator` puts both together."""
        if others := [name for name in arrays if name not in OWN]:
            raise ValueError(f"expected the arrays of a tree alone; got {', '.join(others)}, too")
        tree = tree_from_arrays({name: array for name, array in arrays.items() if name in FIELDS})
        return cls(tree)

    def check(self) -> None:
        """Do nothing: `tree_from_arrays` checks the tree."""
