"""Rows that stand for clusters."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._sparse import SparseRows
from .._typing import AnyArray, Integers, RowArray
from ..chunks import is_dask
from ..growth.exemplars import SAVED, Exemplars, medoids
from ..growth.growth import Grown
from ..tree.structure import Tree
from .base import ClusterEstimator
from .weighted import Weighted


class WithExemplars(ClusterEstimator):
    """A mixin for estimators that choose a row for each cluster, from the sample of a fit.

    A plan sets `_drawn`, from the sample that it holds; it becomes `_exemplars` when the plan has ended. A state
    without exemplars of its own leaves saving them to this mixin.
    """

    _drawn: Exemplars | None = None
    _exemplars: Exemplars | None = None

    def _learn(self, rows: RowArray, seed: int) -> int:
        self._drawn = self._exemplars = None
        n_passes = super()._learn(rows, seed)
        self._take_drawn(rows)
        return n_passes

    def _take_drawn(self, rows: RowArray) -> None:
        """Set the exemplars that a plan has drawn from the rows."""
        drawn, self._drawn = self._drawn, None
        if drawn is not None and drawn.rows is not None:
            self._exemplars = self._exemplars_among(rows, drawn.rows, drawn.numbers)

    def _original(self, numbers: Integers) -> Integers:
        """Return the numbers of the rows of `fit` for those of rows from which the model was learnt."""
        return numbers

    def _saved_arrays(self, arrays: dict[str, AnyArray]) -> dict[str, AnyArray]:
        known = {} if self._exemplars is None else self._exemplars.to_arrays()
        return super()._saved_arrays(arrays) | known

    def _restore_all(self, saved: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> None:
        own = {name: array for name, array in arrays.items() if name in SAVED}
        super()._restore_all(saved, {name: array for name, array in arrays.items() if name not in own})
        if own:
            self._exemplars = Exemplars.from_arrays(own, self.n_clusters_)

    @property
    def exemplar_indices_(self) -> Integers:
        """Row numbers of `exemplars_` among the rows of `fit`, shape (n_clusters,), int64."""
        return self._known_exemplars().numbers

    @property
    def exemplars_(self) -> AnyArray:
        """A row of `fit` for each cluster, shape (n_clusters, n_features).

        Of the sample rows of its cluster: in trees, the one with the least sum of distances to the others, in the
        scaled columns or the features in which the tree was grown; of ensembles, the same in the scaled columns, or in
        the features of the representative tree; in a density tree or inside a contour, the one where rows are densest;
        of centroids, the nearest. NaN for a cluster without sample rows. Not known for lazy rows with a feature map,
        which has no sample of the rows themselves: use `exemplar_indices_` there.
        """
        rows, numbers = self._known_exemplars()
        if rows is None:
            raise AttributeError("exemplars_ of lazy rows with a feature map are not in memory: use exemplar_indices_")
        return rows if (numbers >= 0).all() else np.where(numbers[:, None] >= 0, rows, np.nan)

    def _known_exemplars(self) -> Exemplars:
        if self._exemplars is None and self.missing == "drop":
            raise AttributeError(
                "exemplars need row numbers, which are not known if rows are left out: fit complete rows, or "
                "use another rule than missing='drop'"
            )
        if self._exemplars is None:
            raise AttributeError(
                f"this {type(self).__name__} has no exemplars: fit chooses them, and changes of the clusters drop them"
            )
        return self._exemplars

    def _exemplars_among(self, rows: RowArray, sampled: AnyArray, numbers: Integers) -> Exemplars | None:
        """Return exemplars by their numbers among the rows from which the model was learnt, or -1.

        None if rows with missing values were left out, as numbers are then those of other rows. With a feature map,
        `sampled` are features, and the rows are only known if all are in memory.
        """
        if self.missing == "drop":
            return None
        chosen: AnyArray | None = sampled
        if getattr(self, "feature_map_", None) is not None:
            chosen = None if is_dask(rows) else rows[numbers]
            chosen = chosen.dense() if isinstance(chosen, SparseRows) else chosen
        if chosen is not None:
            chosen = np.where(numbers[:, None] >= 0, chosen, np.zeros(1, dtype=chosen.dtype))
        return Exemplars(chosen, self._original(numbers))


class Exemplary(Weighted, WithExemplars):
    """A mixin for estimators of one tree that adds `exemplars_`; by medoids."""

    feature_map_: Any
    tree_: Tree
    _grown_from: Grown | None

    def _choose_exemplars(self, rows: RowArray) -> None:
        """Set the exemplars from the sample on which the tree was grown."""
        self._exemplars, grown = None, self._grown_from
        if grown is None or grown.sample is None:
            return
        sample, mapped = grown.sample, self.feature_map_ is not None
        points = np.asarray(sample.rows if mapped else grown.standardise(sample.rows), dtype=np.float64)
        best = medoids(points, sample.hashes, self.tree_.labels(sample.rows), self.tree_.n_clusters)
        chosen = Exemplars.among(sample, best)
        assert chosen.rows is not None
        self._exemplars = self._exemplars_among(rows, chosen.rows, chosen.numbers)
