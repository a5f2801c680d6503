"""The state of density trees of features: landmarks among the features, and the feature map."""

from dataclasses import dataclass

from .._state import ComparedState, FeatureMap
from .._typing import AnyArray, Floats, Integers
from ..chunks import Plan
from ..density_trees.comparison import recount, tree_of
from ..density_trees.model import DensityModel
from ..tree.structure import Tree
from .states import MappedState


@dataclass(frozen=True)
class DensityState(MappedState, ComparedState):
    """A density tree and the map of the rows to its features."""

    of_columns = "points"
    model: DensityModel
    feature_map: FeatureMap | None = None

    @property
    def n_clusters(self) -> int:
        return self.model.n_clusters

    @property
    def n_columns(self) -> int:
        return self.model.n_features

    @property
    def sizes(self) -> Integers:
        return self.model.sizes

    def labels(self, rows: AnyArray) -> Integers:
        return self.by_features(self.model.labels, rows)

    def distances(self, rows: AnyArray) -> Floats:
        """Return how far inside the density level each row is; see `DensityModel.excess`."""
        return self.by_features(self.model.excess, rows)

    def agreeing(self, rows: AnyArray) -> Floats:
        """Return the share of the nearest landmarks that agree with the label of every row."""
        return self.by_features(self.model.agreeing, rows)

    @property
    def compared(self) -> Tree:
        return tree_of(self.model)

    def recount(self) -> Plan[Tree]:
        return recount(self.model)

    def check(self) -> None:
        self.model.check()
