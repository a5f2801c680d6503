"""The state of models of one tree: the tree, and the map of the rows to its features, if there is one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._state import State
from .._typing import AnyArray, Integers
from ..kernels import NystromMap, map_from_arrays, map_to_arrays
from ..tree.saving import FIELDS, tree_from_arrays, tree_to_arrays
from ..tree.structure import Tree

ROWS_AT_ONCE = 8192
"""Rows whose features are in memory while they are labelled."""


@dataclass(frozen=True)
class TreeState(State):
    """A tree of separators.

    Parameters
    ----------
    tree : Tree
    feature_map : NystromMap or None
        Maps rows to the features that the tree splits.
    """

    kind = "tree"
    tree: Tree
    feature_map: NystromMap | None = None

    @property
    def n_clusters(self) -> int:
        """Return the number of leaves."""
        return self.tree.n_leaves

    @property
    def n_features(self) -> int:
        """Return the number of columns that rows must have."""
        return self.tree.n_features if self.feature_map is None else len(self.feature_map.centre)

    @property
    def sizes(self) -> Integers:
        """Return the number of rows in every leaf."""
        return self.tree.n_rows[self.tree.leaves]

    def labels(self, rows: AnyArray) -> Integers:
        """Return the leaf of every row, counted from the left."""
        if self.feature_map is None:
            return self.tree.labels(rows)
        # A long block of rows may have more features than fit into memory.
        starts = range(0, max(len(rows), 1), ROWS_AT_ONCE)
        return np.concatenate([self.tree.labels(self.feature_map(rows[i : i + ROWS_AT_ONCE])) for i in starts])

    def for_labels(self) -> "TreeState":
        """Return the state with a map to the projections that the splits ask for: mostly these are fewer."""
        if self.feature_map is None:
            return self
        planes, asking = self.tree.on_projections()
        if not 0 < len(planes) < self.feature_map.n_components:
            return self
        return TreeState(asking, self.feature_map.along(planes))

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """Return the settings of the map, and the arrays of the tree and of the map."""
        settings, arrays = (None, {}) if self.feature_map is None else map_to_arrays(self.feature_map)
        return {"feature_map": settings}, tree_to_arrays(self.tree) | arrays

    @classmethod
    def from_arrays(cls, settings: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Self:
        """Return the state that `to_arrays` took apart, checked."""
        tree = tree_from_arrays({name: array for name, array in arrays.items() if name in FIELDS})
        others = {name: array for name, array in arrays.items() if name not in FIELDS}
        given = settings.get("feature_map")
        if given is None:
            if others:
                raise ValueError(f"expected the arrays of a tree alone, as there is no feature map; got {[*others]}")
            return cls(tree)
        if not isinstance(given, Mapping):
            raise ValueError(f"expected a dict for feature_map, got a {type(given).__name__}")
        feature_map = map_from_arrays(given, others)
        if tree.n_features != feature_map.n_components:
            raise ValueError(f"expected {feature_map.n_components} columns in the array planes, got {tree.n_features}")
        return cls(tree, feature_map)
