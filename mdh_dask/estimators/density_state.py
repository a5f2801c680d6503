"""The state of density trees of features, and its merges: as a table, in words, and undone or made further."""

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._state import ComparedState, FeatureMap
from .._typing import AnyArray, Floats, Integers
from ..chunks import Plan
from ..density_trees.comparison import recount, tree_of
from ..density_trees.model import DensityModel
from ..summaries.evidence import MERGES_DTYPE, p_values_of_merges, rows_of_sides
from ..tree.structure import Tree
from .editing import check_fewer, renamed
from .history import unite
from .states import MappedState


@dataclass(frozen=True)
class DensityState(MappedState, ComparedState):
    """A density tree and the map of the rows to its features."""

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

    def check(self) -> None:
        """Raise a ValueError unless a fit could have given all values of the model."""
        self.model.check()


def table_of(model: DensityModel, level: float) -> AnyArray:
    """Return the merges of a model as an array of `MERGES_DTYPE`; `level` is that of its threshold."""
    columns = (*model.links.T, model.evidence, model.core_rows, model.cut_rows, model.separates)
    sides = rows_of_sides(model.links, model.cell_rows, len(model.links))
    p_values = p_values_of_merges(model.evidence, model.threshold, level)
    return np.array(list(zip(*columns, *sides.T, p_values)), dtype=MERGES_DTYPE)


def why_merged(state: DensityModel) -> str:
    """Return in words why no more cells of a model are clusters."""
    united = np.flatnonzero(~state.separates)
    if not len(united):
        return "every cell of the sample is a cluster" if len(state.clusters) > 1 else "the sample has a single cell"
    best = int(united[state.evidence[united].argmax()])
    evidence = float(state.evidence[best])
    if evidence >= state.threshold:
        return "clusters of fewer rows than min_cluster_size, or without a landmark, were united with others"
    said = (
        f"of the merges that were made, the one with the most evidence for two clusters has "
        f"{evidence:.2g} standard errors, and a cluster needs {state.threshold:.2g}"
    )
    in_core, in_cut = state.core_rows[best], state.cut_rows[best]
    if not in_core and not in_cut:  # in many columns, neither is known
        return said
    return f"{said}; {in_core:.0f} held-out rows are in the less dense of the cores, and {in_cut:.0f} between them"


def cut_cells(model: Any, n_clusters: int) -> Any:
    """Return a `DensityTree` with fewer clusters; see `DensityTree.cut`."""
    check_fewer(n_clusters, model.n_clusters_)
    other, before = copy(model), model._model.clusters
    other._adopt(model._model.cut(n_clusters))
    united = np.empty(model.n_clusters_ + 1, dtype=np.int64)
    united[before], united[-1] = other._model.clusters, -1
    unite(other, model.history_, united[:-1], model._model.sizes)
    if (labels := getattr(model, "labels_", None)) is not None:
        other.labels_, other._labelled, other._probabilities = renamed(labels, united), model._labelled, None
    return other
