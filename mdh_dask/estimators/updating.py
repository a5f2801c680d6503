"""Updates of fitted trees by batches of new rows."""

from abc import abstractmethod
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from .._random import generator
from .._typing import AnyArray, Integers
from ..chunks import merge_chunks, run_together
from ..growth.branches import GrowthSettings
from ..growth.exemplars import Exemplars
from ..growth.scaling import Standardiser
from ..growth.update import update
from ..summaries.level_drift import weighted
from ..tree.structure import Tree
from .base import ClusterEstimator
from .level_counts import LevelCounts, level_plans
from .missing import complete_rows, filled_rows, rows_to_count
from .transformer import FeatureTransformer
from .validation import check_first_look, given_rows


class Updating(ClusterEstimator):
    """A mixin for estimators of one tree that adds `partial_fit`."""

    decay: float
    feature_map_: FeatureTransformer | None
    tree_: Tree
    n_batches_: int
    level_counts_: LevelCounts | None = None
    known_labels_: AnyArray | None
    label_counts_: Integers | None
    _exemplars: Exemplars | None
    updates: ClassVar[bool] = True
    """Whether the estimator has the method `partial_fit`."""

    @abstractmethod
    def _settings(self, n_rows: int, seed: int) -> GrowthSettings:
        """Return how the tree is grown, from the estimator's parameters."""

    @abstractmethod
    def _keep(self, standardise: Standardiser, updated: bool = False) -> None:
        """Set what an estimator keeps besides the tree of a fit, or of an update."""

    @abstractmethod
    def _most_clusters(self) -> int | None:
        """Return the largest number of clusters, if it is limited."""

    @abstractmethod
    def _merges(self) -> bool:
        """Return whether the leaves of a grown tree are merged."""

    @available_if(lambda estimator: estimator.updates)
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Update the tree with a batch of new rows; the first batch is fitted.

        Parameters
        ----------
        X : array-like, Dask array or Zarr array of shape (n_samples, n_features)
            As for `fit`, with the same columns as before.
        y : ignored

        Returns
        -------
        self
            `tree_` and `n_clusters_` are updated, `labels_` are those of the batch, and `n_passes_` is 1.

        Raises
        ------
        ValueError
            As for `fit`; the model then stays unchanged.

        Notes
        -----
        One pass over the batch. With every batch, the weight of all earlier rows is multiplied by `decay`; the tree
        holds their counts along its directions, but none of the rows. A split stays while old and new rows together
        show it, and follows its valley. A split whose valley has filled is removed, and the branch is grown anew from
        a sample of the batch; if one side gets no more rows, the other replaces it. Clusters in which the batch shows
        a valley are split. A new split is based on the batch only, and is counted on all rows from the next batch on.

        The feature map and the hyperplanes turned by `refine` stay as `fit` found them. Clusters are numbered by their
        first leaves from left to right, so labels change when clusters are added or removed. With `merge`, clusters
        are never split by an update.

        Examples
        --------
        >>> import numpy as np
        >>> from mdh_dask import RandomProjectionTree
        >>> rng = np.random.default_rng(0)
        >>> def night(*centres):
        ...     return np.concatenate([rng.normal(centre, 1, (500, 2)) for centre in centres])
        >>> model = RandomProjectionTree().fit(night(0, 8))
        >>> model.partial_fit(night(0, 8)).n_clusters_, model.partial_fit(night(0, 8, 16)).n_clusters_
        (2, 3)
        """
        if not hasattr(self, "tree_"):
            return self.fit(X, y)
        given = given_rows(self, X, reset=False)
        rows = filled_rows(self, given)
        n_batches = self.n_batches_ + 1
        first = self._seed()
        seed = int(generator(first, n_batches).integers(2**31))
        n_old = round(self.decay * int(self.tree_.n_rows[0]))
        complete, n_passes = complete_rows(self, rows)
        there = complete
        settings = self._settings(n_old + there.shape[0], seed)
        if settings.direction_seed is not None:
            settings = replace(settings, direction_seed=first)
        if (feature_map := self.feature_map_) is not None:
            settings = replace(settings, scale=False)
            there = self._features_of(there, feature_map)
        plan = update(
            self.tree_,
            settings,
            (there.shape[0], there.shape[1]),
            self.decay,
            partial(check_first_look, names=self._names),
            merged=self._merges(),
        )
        n_passes += self._input_passes
        plans = [plan, *level_plans(self.columns, array=1)]
        arrays = (merge_chunks(there), rows_to_count(self, given, complete))
        outcome = run_together(plans, *arrays[: len(plans)], announce=self._bar, n_passes=n_passes)
        (grown, *levels), self.n_passes_ = outcome
        self.tree_ = grown.tree if (most := self._most_clusters()) is None else grown.tree.cut(most)
        self.n_batches_ = n_batches
        self.known_labels_ = self.label_counts_ = None  # of other clusters
        self._exemplars = None
        if self.level_counts_ is not None and levels:
            old = weighted(self.level_counts_, self.decay)
            self.level_counts_ = tuple(map(np.add, old, levels[0]))
        self._keep(grown.standardise, updated=True)
        self._finish(rows, X)
        return self
