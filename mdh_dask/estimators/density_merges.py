"""The merges of the cells of a density tree: as a table, in words, and undone or made further."""

from copy import copy
from typing import Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._typing import AnyArray
from ..density_trees.model import DensityModel
from ..tree.levels import Level
from .base import ClusterEstimator
from .editing import check_fewer, renamed

MERGES_DTYPE = np.dtype(
    [("first", "i8"), ("second", "i8"), ("evidence", "f8"), ("core", "f8"), ("cut", "f8"), ("separates", "?")]
)
"""Columns of the table of merges."""


def table_of(model: DensityModel) -> AnyArray:
    """Return the merges of a model as an array of `MERGES_DTYPE`."""
    columns = (*model.links.T, model.evidence, model.core_rows, model.cut_rows, model.separates)
    return np.array(list(zip(*columns)), dtype=MERGES_DTYPE)


class MergedCells(ClusterEstimator):
    """A mixin for `DensityTree` that explains the merges of its cells, and makes more of them."""

    _model: DensityModel

    @property
    def levels_(self) -> tuple[Level, ...]:
        """Numbers of clusters from one to all, with the least evidence that keeps so many apart; see `cut`."""
        check_is_fitted(self)
        return self._model.levels

    def _reason(self) -> str:
        state = self._model
        united = np.flatnonzero(~state.separates)
        if not len(united):
            return (
                "every cell of the sample is a cluster" if len(state.clusters) > 1 else "the sample has a single cell"
            )
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

    def cut(self, n_clusters: int) -> Self:
        """Return a model with fewer clusters, each a union of clusters of this one.

        Parameters
        ----------
        n_clusters : int
            Number of clusters, at most `n_clusters_`; those with the least evidence between them are united.

        Returns
        -------
        DensityTree
            A fitted model, which predicts and is saved like any, with `labels_` if this one has them. No pass.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If there are fewer clusters.

        Examples
        --------
        >>> import numpy as np
        >>> from mdh_dask import DensityTree
        >>> x = np.random.default_rng(0).normal(size=(900, 2)) + np.repeat([[0], [7], [20]], 300, axis=0)
        >>> model = DensityTree().fit(x)
        >>> [level.n_clusters for level in model.levels_]
        [1, 2, 3]
        >>> model.cut(2).n_clusters_
        2
        """
        check_is_fitted(self)
        check_fewer(n_clusters, self.n_clusters_)
        model, before = copy(self), self._model.clusters
        model._adopt(self._model.cut(n_clusters))
        united = np.empty(self.n_clusters_ + 1, dtype=np.int64)
        united[before], united[-1] = model._model.clusters, -1
        if (labels := getattr(self, "labels_", None)) is not None:
            model.labels_ = renamed(labels, united)
        return model
