"""States of models with a feature map, and that of models of one tree: no scikit-learn, as workers load them."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from .._cached import cached_property
from .._state import ComparedState, FeatureMap, State
from .._typing import AnyArray, Floats, Integers
from ..chunks import Plan
from ..growth.trees import recount
from ..tree.routing import Margins, margins_of
from ..tree.structure import Tree

ROWS_AT_ONCE = 8192
"""Rows whose features are in memory at once while rows are labelled."""


class MappedState(State):
    """A state of the features of rows, or of the rows themselves if `feature_map` is None."""

    feature_map: FeatureMap | None

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """Return the number of features, or of columns without a map."""

    @property
    def n_features(self) -> int:
        """Return the number of columns that rows must have."""
        return self.n_columns if self.feature_map is None else self.feature_map.n_features

    @property
    def takes_sparse(self) -> bool:
        """Return whether the map takes sparse rows."""
        return self.feature_map is not None and self.feature_map.takes_sparse

    @property
    def missing(self) -> bool:
        """Return whether the map accepts missing values."""
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

    tree: Tree
    feature_map: FeatureMap | None = None
    """Maps rows to the features that the tree splits."""

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

    def decision(self, rows: AnyArray) -> Floats:
        """Return the signed distance of every row from the first hyperplane, positive on the upper side."""
        features = rows if self.feature_map is None else self.feature_map(rows)
        return np.asarray(features @ self.tree.planes[0] - self.tree.thresholds[0])

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
