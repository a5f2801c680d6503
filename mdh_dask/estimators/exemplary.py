"""Rows that stand for the clusters of a tree."""

from typing import Any

import numpy as np

from .._sparse import SparseRows
from .._typing import AnyArray, Integers, RowArray
from ..chunks import is_dask
from ..growth.exemplars import Exemplars, medoids
from ..growth.growth import Grown
from ..tree.structure import Tree
from .weighted import Weighted


class Exemplary(Weighted):
    """A mixin for estimators of one tree that adds `exemplars_`."""

    tree_: Tree
    feature_map_: Any
    _grown_from: Grown | None
    _exemplars: Exemplars | None = None

    @property
    def exemplar_indices_(self) -> Integers:
        """Row numbers of `exemplars_` among the rows of `fit`, shape (n_clusters,), int64."""
        return self._known_exemplars().numbers

    @property
    def exemplars_(self) -> AnyArray:
        """A row of `fit` for each cluster, shape (n_clusters, n_features).

        It has the least sum of distances to other sample rows of its cluster, in the scaled columns or the features in
        which the tree was grown. NaN for a cluster without sample rows. Not known for lazy rows with a feature map,
        which has no sample of the rows themselves: use `exemplar_indices_` there.
        """
        rows, numbers = self._known_exemplars()
        if rows is None:
            raise AttributeError("exemplars_ of lazy rows with a feature map are not in memory: use exemplar_indices_")
        return rows if (numbers >= 0).all() else np.where(numbers[:, None] >= 0, rows, np.nan)

    def _known_exemplars(self) -> Exemplars:
        if self._exemplars is None:
            raise AttributeError(
                f"this {type(self).__name__} has no exemplars: fit chooses them, and changes of the clusters drop them"
            )
        return self._exemplars

    def _choose_exemplars(self, rows: RowArray) -> None:
        """Set the exemplars from the sample on which the tree was grown."""
        self._exemplars, grown = None, self._grown_from
        if grown is None or grown.sample is None or self.missing == "drop":  # then numbers are those of other rows
            return
        sample, mapped = grown.sample, self.feature_map_ is not None
        points = np.asarray(sample.rows if mapped else grown.standardise(sample.rows), dtype=np.float64)
        best = medoids(points, sample.hashes, self.tree_.labels(sample.rows), self.tree_.n_clusters)
        numbers = np.where(best >= 0, sample.numbers[best], -1).astype(np.int64)
        in_memory = None if is_dask(rows) else rows[numbers]
        in_memory = in_memory.dense() if isinstance(in_memory, SparseRows) else in_memory
        chosen = in_memory if mapped else sample.rows[best]
        if chosen is not None:
            chosen = np.where(numbers[:, None] >= 0, chosen, np.zeros(1, dtype=chosen.dtype))
        self._exemplars = Exemplars(chosen, self._original(numbers))
