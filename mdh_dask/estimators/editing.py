"""Fitted trees with other splits: fewer clusters, or a tree that was edited by hand."""

from copy import copy
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._typing import Integers
from ..chunks import is_dask, merge_chunks, run_together
from ..growth.exemplars import Exemplars
from ..growth.trees import recounted
from ..tree.clusters import coarser
from ..tree.extraction import Quality
from ..tree.levels import Level
from ..tree.structure import Tree
from .aligned import labels_like, plain_labels, with_values
from .base import ClusterEstimator
from .level_counts import level_plans
from .missing import complete_rows, filled_rows, rows_to_count
from .validation import given_rows


class Editing(ClusterEstimator):
    """A mixin for estimators of one tree that adds models of the same fit with other splits."""

    tree_: Tree
    feature_map_: Any
    _exemplars: Exemplars | None

    @property
    def levels_(self) -> tuple[Level, ...]:
        """Cuts of the tree at several depths of its valleys, from one cluster to all; `cut` makes models of them."""
        return self.tree_.levels()

    def cut(self, n_clusters: int) -> Self:
        """Return a model with fewer clusters, each a union of clusters of this one.

        Parameters
        ----------
        n_clusters : int
            Number of clusters, at most `n_clusters_`; the splits with the largest relative depth stay, each after its
            parent.

        Returns
        -------
        estimator
            A fitted model, which predicts and is saved like any, with `labels_` if this one has them. No pass.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If there are fewer clusters.

        Examples
        --------
        >>> from mdh_dask import RandomProjectionTree
        >>> from mdh_dask.simulate import gaussian_mixture
        >>> X, y = gaussian_mixture(3000, 10, 4, sd=1.0, random_state=0)
        >>> model = RandomProjectionTree(n_projections=100).fit(X)
        >>> model.levels_[-1].n_clusters
        4
        >>> model.cut(2).n_clusters_
        2
        """
        check_is_fitted(self)
        check_fewer(n_clusters, self.n_clusters_)
        return self._united(self.tree_.cut(n_clusters))

    def extract(self, quality: str | Quality = "stability") -> Self:
        """Return a model with the best clusters among all nodes of the tree, each a union of clusters of this one.

        Unlike those of `cut`, the splits above them need not be the deepest: a cluster that stands out is kept where
        another is divided by shallower valleys.

        Parameters
        ----------
        quality : "stability" or callable
            ``"stability"``: the rows of a node, times how long it is a cluster as the least depth of splits falls; or a
            function of `tree_` that returns the quality of each node as a cluster, shape (tree_.n_nodes,). The sum over
            the clusters is the largest there is.

        Returns
        -------
        estimator
            A fitted model, which predicts and is saved like any, with `labels_` if this one has them. No pass.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If there is no such quality, or it is not a finite number for each node.

        Examples
        --------
        >>> from mdh_dask import RandomProjectionTree
        >>> from mdh_dask.simulate import gaussian_mixture
        >>> X, y = gaussian_mixture(3000, 10, 4, sd=1.0, random_state=0)
        >>> model = RandomProjectionTree(n_projections=100).fit(X)
        >>> model.extract(lambda tree: tree.n_rows > 1000).n_clusters_ < model.extract().n_clusters_
        True
        """
        check_is_fitted(self)
        return self._united(self.tree_.extract(quality))

    def _united(self, tree: Tree) -> Self:
        """Return a model of this tree with fewer splits."""
        model = self.with_tree(tree)
        united = coarser(self.tree_, model.tree_)
        if (labels := getattr(self, "labels_", None)) is not None:
            model.labels_ = renamed(labels, np.append(united, -1))
        if self._exemplars is not None:
            model._exemplars = self._exemplars.united(united, self.tree_.cluster_rows)
        return model

    def with_tree(self, tree: Tree, X: Any = None) -> Self:
        """Return a model with another tree, such as `tree_` after `Tree.prune` and `Tree.split`.

        Parameters
        ----------
        tree : Tree
            A tree for the same columns, or features of the map.
        X : array-like, Dask array or Zarr array of shape (n_samples, n_features), optional
            Rows to count in the nodes of the tree, in one pass, and to label. Without them counts stay as they are.

        Returns
        -------
        estimator
            A fitted model, with `labels_` for `X` only.

        Raises
        ------
        ValueError
            If the tree has another number of columns.

        Examples
        --------
        >>> import numpy as np
        >>> from mdh_dask import RandomProjectionTree
        >>> X = np.random.default_rng(0).normal(size=(400, 2))
        >>> model = RandomProjectionTree().fit(X)
        >>> halves = model.with_tree(model.tree_.split(0, [1.0, 0.0], 0.0), X)
        >>> halves.n_clusters_, halves.tree_.n_rows.tolist() == [400, *np.bincount(halves.labels_)]
        (2, True)
        """
        check_is_fitted(self)
        if tree.n_features != self.tree_.n_features:
            raise ValueError(f"expected a tree for {self.tree_.n_features} columns, got one for {tree.n_features}")
        model = copy(self)
        for name in ("labels_", "known_labels_", "label_counts_", "_exemplars"):
            model.__dict__.pop(name, None)
        model.tree_ = tree
        if X is not None:
            given = given_rows(model, X, reset=False)
            rows = filled_rows(model, given)
            complete, _ = complete_rows(model, rows)
            there = complete if model.feature_map_ is None else model._features_of(complete, model.feature_map_)
            plans = [recounted(tree), *level_plans(model.columns, array=1)]
            arrays = (merge_chunks(there), rows_to_count(model, given, complete))[: len(plans)]
            (model.tree_, *levels), model.n_passes_ = run_together(plans, *arrays, announce=model._bar)
            model.level_counts_ = levels[0] if levels else None
            model.labels_ = labels_like(X, model._labels_of(rows))
        return model


def check_fewer(n_clusters: int, there: int) -> None:
    """Raise an error unless a number of clusters to cut to is a whole one from 1 to as many as there are."""
    if not (isinstance(n_clusters, Integral) and 1 <= n_clusters <= there):
        raise ValueError(
            f"expected n_clusters from 1 to {there}, as many as there are; got {n_clusters!r}: fit with n_clusters= "
            "for more"
        )


def renamed(labels: Any, names: Integers) -> Any:
    """Return the new names of `labels_` of any kind; the last name is that of -1."""
    rename = partial(np.take, names.astype(np.int32))
    plain = plain_labels(labels)
    return with_values(labels, plain.map_blocks(rename, dtype=np.int32) if is_dask(plain) else rename(plain))
