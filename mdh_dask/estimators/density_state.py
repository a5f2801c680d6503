"""The state of density trees of features: landmarks among the features, and the feature map."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from .._state import ComparedState, FeatureMap
from .._typing import AnyArray, Floats, Integers
from ..chunks import Plan
from ..density_trees.comparison import recount, tree_of
from ..density_trees.model import DensityModel
from ..tree.structure import Tree
from .tree_state import MappedState

PREFIX = "density_"
"""Begins the names of the arrays of a model of features, so that they differ from those of its feature map."""


@dataclass(frozen=True)
class DensityState(MappedState, ComparedState):
    """A density tree and the map of the rows to its features.

    Parameters
    ----------
    model : DensityModel
    feature_map : FeatureMap or None
    """

    kind = "density-tree"
    model: DensityModel
    feature_map: FeatureMap | None = None

    @property
    def n_clusters(self) -> int:
        """Return the number of clusters."""
        return self.model.n_clusters

    @property
    def n_columns(self) -> int:
        """Return the number of features, or of columns without a map."""
        return self.model.n_features

    @property
    def sizes(self) -> Integers:
        """Return the number of rows in every cluster."""
        return self.model.sizes

    def labels(self, rows: AnyArray) -> Integers:
        """Return the label of every row; see `DensityModel.labels`."""
        return self.by_features(self.model.labels, rows)

    def distances(self, rows: AnyArray) -> Floats:
        """Return how far inside the density level each row is; see `DensityModel.excess`."""
        return self.by_features(self.model.excess, rows)

    def agreeing(self, rows: AnyArray) -> Floats:
        """Return the share of the nearest landmarks that agree with the label of every row."""
        return self.by_features(self.model.agreeing, rows)

    @property
    def compared(self) -> Tree:
        """The splits between clusters with the rows of `fit`."""
        return tree_of(self.model)

    def recount(self) -> Plan[Tree]:
        """Plan the count of other rows, or their features, in the same splits; one pass."""
        return recount(self.model)

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """Return the settings and arrays of the model and of the map."""
        own, arrays = self.model.to_arrays()
        settings, others = self.map_to_arrays()
        return own | settings, others | {PREFIX + name: array for name, array in arrays.items()}

    @classmethod
    def from_arrays(cls, settings: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Self:
        """Return the model that `to_arrays` took apart, without the map, which the estimator restores."""
        own = {name: value for name, value in settings.items() if name != "feature_map"}
        return cls(DensityModel.from_arrays(own, {name.removeprefix(PREFIX): a for name, a in arrays.items()}))

    def check(self) -> None:
        """Raise a ValueError unless a fit could have given all values of the model."""
        self.model.check()
