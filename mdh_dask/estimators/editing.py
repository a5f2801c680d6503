"""Methods of fitted trees that return models with other splits: fewer clusters, or a tree that was edited by hand."""

from copy import copy
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._typing import Integers
from ..chunks import merge_chunks, run_together
from ..growth.trees import recounted
from ..tree.clusters import Quality, coarser
from ..tree.editing import check_columns
from ..tree.structure import Tree
from .drift import counting_levels
from .history import follow, unite
from .missing import complete_rows
from .parameters import finite_rows
from .tables import labels_like, renamed

if TYPE_CHECKING:
    from .base import ClusterEstimator
    from .tree_estimator import TreeEstimator

M = TypeVar("M", bound="TreeEstimator")
E = TypeVar("E", bound="ClusterEstimator")


OF_CLUSTERS = (
    "labels_", "known_labels_", "label_counts_", "_exemplars", "_probabilities", "_repeats", "_words", "merges_",
)  # fmt: skip
"""Attributes of a fitted model that one with other clusters does not have."""


def cut(model: M, n_clusters: int) -> M:
    """Return a fitted model with at most `n_clusters` clusters, each a union of clusters of this one. No pass.

    The splits with the largest relative depth stay, each after its parent; `labels_` are kept.

    Examples
    --------
    >>> from mdh_dask import RandomProjectionTree
    >>> from mdh_dask.simulate import gaussian_mixture
    >>> X, y = gaussian_mixture(3000, 10, 4, sd=1.0, random_state=0)
    >>> model = RandomProjectionTree(n_projections=100).fit(X)
    >>> model.levels_[-1].n_clusters, model.cut(2).n_clusters_
    (4, 2)
    """
    check_is_fitted(model)
    check_fewer(n_clusters, model.n_clusters_)
    return _with_fewer(model, model.tree_.cut(n_clusters))


def extract(model: M, quality: str | Quality = "stability") -> M:
    """Return a fitted model with the best clusters among all nodes of the tree, each a union of clusters of this one.

    Unlike those of `cut`, the splits above them need not be the deepest: a cluster that stands out is kept where
    another is divided by shallower valleys. No pass; `labels_` are kept.

    Parameters
    ----------
    quality : "stability" or callable
        ``"stability"``: the rows of a node, times how long it is a cluster as the least depth of splits falls; or a
        function of `tree_` that returns the quality of each node as a cluster, finite numbers of shape
        (tree_.n_nodes,). The sum over the clusters is the largest there is.

    Examples
    --------
    >>> from mdh_dask import RandomProjectionTree
    >>> from mdh_dask.simulate import gaussian_mixture
    >>> X, y = gaussian_mixture(3000, 10, 4, sd=1.0, random_state=0)
    >>> model = RandomProjectionTree(n_projections=100).fit(X)
    >>> model.extract(lambda tree: tree.n_rows > 1000).n_clusters_ < model.extract().n_clusters_
    True
    """
    check_is_fitted(model)
    return _with_fewer(model, model.tree_.extract(quality))


def with_tree(model: M, tree: Tree, X: Any = None) -> M:
    """Return a fitted model with another tree, such as `tree_` after `Tree.prune` and `Tree.split`.

    Parameters
    ----------
    tree : Tree
        A tree for the same columns, or features of the map.
    X : array-like, Dask array or Zarr array of shape (n_samples, n_features), optional
        Rows to count in the nodes of the tree, in one pass, and to label. Without them counts stay as they are, and
        there are no `labels_`.

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
    check_is_fitted(model)
    check_columns(model.tree_, tree)
    other = without_clusters(copy(model))
    other.tree_ = tree
    follow(other, model)
    if X is not None:
        read = other._read(X)
        complete, _ = complete_rows(other, read.array)
        known = complete if other.feature_map_ is not None else finite_rows(complete)  # a map checks by itself
        there = merge_chunks(other._clustered(known))
        plans, arrays = counting_levels(other, recounted(tree), there, read.given, complete)
        (other.tree_, *levels), other.n_passes_ = run_together(plans, *arrays, announce=other._bar)
        other.level_counts_ = levels[0] if levels else None
        other.labels_, other._labelled = labels_like(X, other._labels_of_valid_rows(read.array)), X
    return other


def _with_fewer(model: M, tree: Tree) -> M:
    """Return a model of a tree that has some of the splits of its own."""
    other = without_clusters(copy(model))
    other.tree_ = model._numbered(tree)
    union = coarser(model.tree_, other.tree_)
    if model._exemplars is not None:
        other._exemplars = model._exemplars.united(union, model.tree_.cluster_rows)
    return united(model, other, union)


def united(model: E, other: E, union: Integers) -> E:
    """Return another model, whose clusters are unions of those of a model, with its history and its labels."""
    unite(other, model.history_, union, model.state_.sizes)
    if (labels := getattr(model, "labels_", None)) is not None:
        other.labels_, other._labelled = renamed(labels, np.append(union, -1).astype(np.int32)), model._labelled
    return other


def without_clusters(model: E) -> E:
    """Return a model after dropping what belongs to clusters that it no longer has."""
    for name in OF_CLUSTERS:
        model.__dict__.pop(name, None)
    return model


def check_fewer(n_clusters: int, there: int) -> None:
    """Raise an error unless a number of clusters to cut to is a whole one from 1 to as many as there are."""
    if not (isinstance(n_clusters, Integral) and 1 <= n_clusters <= there):
        raise ValueError(
            f"expected n_clusters from 1 to {there}, as many as there are; got {n_clusters!r}: fit with n_clusters= "
            "for more"
        )
