"""Single branches of fitted trees, grown again."""

from abc import abstractmethod
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._typing import AnyArray, Floats, RowArray
from ..chunks import merge_chunks, run
from ..growth.growth import Grown
from ..growth.merging import merged, merging_sample
from ..growth.update import regrow
from ..tree.structure import Tree
from .missing import complete_rows
from .updating import Updating
from .validation import as_rows, check_first_look


class Regrowing(Updating):
    """A mixin for estimators of one tree that grows single branches again."""

    @abstractmethod
    def _bounds(self) -> tuple[int | None, int]:
        """Return the largest and the smallest number of clusters that merging may leave."""

    @available_if(lambda estimator: estimator.updates)
    def regrow(self, node: int, X: Any, **parameters: Any) -> Self:
        """Return a model in which one branch of the tree is grown again, with other parameters.

        Parameters
        ----------
        node : int
            Node of `tree_`, a leaf or a split; ``tree_.leaves`` are those of the clusters.
        X : array-like, Dask array or Zarr array of shape (n_samples, n_features)
            The rows that `tree_` counts, as in `fit`.
        **parameters
            Parameters to change in this branch, such as ``min_relative_depth=0.02``. `max_clusters` and `n_clusters`
            are numbers of clusters in the branch, without a bound by default.

        Returns
        -------
        estimator
            A fitted model with the other branches as they are; clusters keep their labels but for gaps and new ones.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If there is no such node, a parameter is invalid or is `feature_map`, or `X` has other columns or another
            number of rows; before any work.

        Notes
        -----
        One pass to draw a sample of the rows in the branch, and further ones as in `fit`; with `merge`, one more.

        Examples
        --------
        >>> import numpy as np
        >>> from mdh_dask import RandomProjectionTree
        >>> rng = np.random.default_rng(0)
        >>> X = np.concatenate([rng.normal(centre, 1, (500, 2)) for centre in (0, 8, 16)])
        >>> coarse = RandomProjectionTree(max_levels=1).fit(X)
        >>> fine = coarse.regrow(coarse.tree_.leaves[coarse.tree_.cluster_rows.argmax()], X, max_levels=None)
        >>> coarse.n_clusters_, fine.n_clusters_
        (2, 3)
        """
        check_is_fitted(self)
        if "feature_map" in parameters:
            raise ValueError("expected other parameters than feature_map, which all branches share; fit a new model")
        free = {name: None for name in ("max_clusters", "n_clusters") if name in self.get_params(deep=False)}
        other = clone(self).set_params(**free | parameters)
        other._validate_params()
        rows = as_rows(self, X, reset=False)
        there, n_passes = complete_rows(self, rows)
        if there.shape[0] != (n_rows := int(self.tree_.n_rows[0])):
            raise ValueError(
                f"expected the {n_rows} rows that the tree counts; got {there.shape[0]}: count others first, by "
                "with_tree(model.tree_, X)"
            )
        for name in ("feature_map_", "n_features_in_", "columns", "missing_values_"):
            setattr(other, name, getattr(self, name))
        n_passes += self._input_passes
        model = copy(self)
        model._exemplars = None
        twig, model.n_passes_ = other._grown_again(self.tree_, int(node), there, n_passes)
        model.tree_ = self.tree_.graft(int(node), twig)
        model._finish(rows, X)
        return model

    def _grown_again(self, tree: Tree, node: int, rows: RowArray, n_passes: int) -> tuple[Tree, int]:
        """Return the tree of a node with the parameters of this estimator, and the passes, with the earlier ones."""
        seed = self._seed()
        settings, there = self._settings(rows.shape[0], seed), rows
        if self.feature_map_ is not None:
            settings, there = replace(settings, scale=False), self._features_of(rows, self.feature_map_)
        shape = (there.shape[0], there.shape[1])
        plan = regrow(tree, node, settings, shape, partial(check_first_look, names=self._names))
        grown, n_passes = run(plan, merge_chunks(there), announce=self._bar, n_passes=n_passes)
        if not self._merges():
            most, _ = self._bounds()
            return grown.tree if most is None else grown.tree.cut(most), n_passes
        return self._merged_again(tree.prune(node), node, grown, rows, seed), n_passes + 1

    def _merged_again(self, bare: Tree, node: int, grown: Grown, rows: RowArray, seed: int) -> Tree:
        """Return the tree of a node with merged leaves, by a pass over all rows."""
        map_ = self._map

        def features(rows: AnyArray) -> Floats:
            return rows if map_ is None else map_(rows)

        plan = merging_sample((rows.shape[0], rows.shape[1]), seed)
        sample, _ = run(plan, merge_chunks(rows), announce=self._bar)
        sample = sample.take(np.flatnonzero(bare.apply(features(sample.rows)) == node))
        points = grown.standardise if map_ is None else map_.points
        return merged(grown.tree, lambda rows: grown.tree.labels(features(rows)), points, sample, *self._bounds())
