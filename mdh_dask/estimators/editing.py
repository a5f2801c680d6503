"""Models of the same fit with other splits: fewer clusters, or a tree that was edited by hand."""

from copy import copy
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np

from .._typing import Integers
from ..chunks import is_dask, merge_chunks, run_together
from ..growth.trees import recounted
from ..tree.clusters import coarser
from ..tree.structure import Tree
from .frames import labels_like, plain_labels, with_values
from .history import follow, unite
from .level_counts import level_plans
from .missing import complete_rows, rows_to_count


def united(model: Any, tree: Tree) -> Any:
    """Return a model of a tree that has some of the splits of its own; labels and exemplars are kept."""
    other = with_tree(model, model._numbered(tree))
    union = coarser(model.tree_, other.tree_)
    unite(other, model.history_, union, model.tree_.cluster_rows)
    if (labels := getattr(model, "labels_", None)) is not None:
        other.labels_, other._labelled = renamed(labels, np.append(union, -1)), model._labelled
    if model._exemplars is not None:
        other._exemplars = model._exemplars.united(union, model.tree_.cluster_rows)
    return other


def with_tree(model: Any, tree: Tree, X: Any = None) -> Any:
    """Return a model with another tree; see `TreeEstimator.with_tree`."""
    if tree.n_features != model.tree_.n_features:
        raise ValueError(f"expected a tree for {model.tree_.n_features} columns, got one for {tree.n_features}")
    other = copy(model)
    kept = (
        "labels_",
        "known_labels_",
        "label_counts_",
        "_exemplars",
        "_probabilities",
        "_repeats",
        "_words",
        "merges_",
    )
    for name in kept:
        other.__dict__.pop(name, None)
    other.tree_ = tree
    follow(other, model.history_, model.state_.labels, other.state_.labels)
    if X is not None:
        read = other._read(X)
        complete, _ = complete_rows(other, read.array)
        there = complete if other.feature_map_ is None else other._features_of(complete, other.feature_map_)
        plans = [recounted(tree), *level_plans(other.columns, array=1)]
        arrays = (merge_chunks(there), rows_to_count(other, read.given, complete))[: len(plans)]
        (other.tree_, *levels), other.n_passes_ = run_together(plans, *arrays, announce=other._bar)
        other.level_counts_ = levels[0] if levels else None
        other.labels_, other._labelled = labels_like(X, other._labels_of_valid_rows(read.array)), X
    return other


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
