"""Methods of fitted trees that update them by batches of new rows, and grow single branches again."""

import logging
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._random import generator
from .._typing import RowArray
from .._words import full_count
from ..chunks import merge_chunks, run, run_together
from ..growth import update as growth
from ..growth.merging import merging_sample
from ..summaries.changes import weighted
from ..tree.editing import checked_node
from ..tree.structure import Tree
from .drift import counting_levels
from .editing import without_clusters
from .history import follow, follow_update
from .missing import complete_rows
from .states import TreeState

if TYPE_CHECKING:
    from .tree_estimator import TreeEstimator

M = TypeVar("M", bound="TreeEstimator")

logger = logging.getLogger(__name__)

OF_ROWS = ("feature_map_", "n_features_in_", "columns", "missing_values_")
"""Attributes of a fitted model that another one of the same rows shares."""


def refuse_groups(model: Any) -> None:
    """Raise an error for a model whose rows depend on each other in groups, which the counts of a tree do not tell."""
    if model.n_groups_ is not None:
        raise ValueError(
            f"expected a model of independent rows; this one was fitted to {full_count(model.n_groups_, 'group')}: fit "
            "a new model to all rows with their groups"
        )


def partial_fit(model: M, X: Any, y: Any = None) -> M:
    """Update the tree with a batch of new rows, and return the model; the first batch is fitted.

    `tree_` and `n_clusters_` are updated, `labels_` are those of the batch. A batch that `fit` would refuse, or of
    other columns, leaves the model unchanged, and so does an update that is interrupted.

    Parameters
    ----------
    X : array-like, Dask array or Zarr array of shape (n_samples, n_features)
        As for `fit`, with the same columns as before.
    y : ignored, but for the first batch, see `fit`

    Notes
    -----
    One pass over the batch. With every batch, the weight of all earlier rows is multiplied by `decay`; the tree
    holds their counts along its directions, but none of the rows. A split stays while old and new rows together have a
    valley there, however shallow, which the batch does not fill, and follows it. Without a split, the branch is grown
    anew from a sample of the batch; if one side gets no more rows, the other replaces it, and if the batch shows fewer
    clusters than one side had, the side of fewer clusters joins the other. Clusters in which the batch shows a valley
    are split. A new split is based on the batch only, and is counted on all rows from the next batch on.

    The feature map and the hyperplanes turned by `refine` stay as `fit` found them. Clusters keep their labels
    while there are the same, and are numbered anew, the largest first, when some are added or removed. With
    `merge`, clusters are never split by an update.

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
    if not hasattr(model, "tree_"):
        return model.fit(X, y)
    refuse_groups(model)
    model.__dict__ = _updated(copy(model), X).__dict__  # at once: an update that was interrupted can be repeated
    return model


def _updated(model: M, X: Any) -> M:
    """Update a model by a batch, and return it."""
    model._check_parameters()
    read = model._read(X)
    n_batches, first = model.n_batches_ + 1, model._seed()
    seed = int(generator(first, n_batches).integers(2**31))
    n_old = round(model.decay * int(model.tree_.n_rows[0]))
    complete, n_passes = complete_rows(model, read.array)
    there, settings = model._clustered(complete), model._settings(n_old + complete.shape[0], seed)
    if settings.direction_seed is not None:
        settings = replace(settings, direction_seed=first)
    shape = (there.shape[0], there.shape[1])
    plan = growth.update(model.tree_, settings, shape, model.decay, model._check_look, merged=model._merges())
    plans, arrays = counting_levels(model, plan, merge_chunks(there), read.given, complete)
    seeing = [] if model.feature_map_ is None else model._seeing(complete, seed, array=len(arrays))
    plans, arrays = [*plans, *seeing], [*arrays, *[merge_chunks(complete)] * len(seeing)]
    outcome = run_together(plans, *arrays, announce=model._bar, n_passes=n_passes + read.n_passes)
    (grown, *levels), model.n_passes_ = outcome
    drawn = levels.pop() if seeing else grown.sample
    tree = grown.tree if (most := model._most_clusters()) is None else grown.tree.cut(most)
    before, history, labels = model.tree_, model.history_, model.state_.labels
    # A branch that has ended may leave another one its place.
    splits = before.left >= 0
    same = np.array_equal(tree.left, before.left) and np.array_equal(tree.planes[splits], before.planes[splits])
    model.tree_ = replace(tree, cluster=before.cluster) if same else model._numbered(tree)
    rows, of_features = drawn.in_random_order().rows, model.feature_map_ is not None and not seeing
    old, new = (before.labels, model.tree_.labels) if of_features else (labels, model.state_.labels)
    usual = settings.selector.min_rows
    smaller = growth.selector_for_sizes_of(before, settings, n_old + complete.shape[0]).min_rows / max(usual, 1)
    follow_update(model, history, old, new, rows, complete.shape[0], smaller, keep=not of_features)
    without_clusters(model).n_batches_ = n_batches
    if model.level_counts_ is not None and levels:
        model.level_counts_ = tuple(map(np.add, weighted(model.level_counts_, model.decay), levels[0]))
    model._finish(read.array, X)
    return model


def regrow(model: M, node: int, X: Any, **parameters: Any) -> M:
    """Return a model in which one branch of the tree is grown again, with other parameters.

    The other branches are as they are; clusters are numbered anew, the largest first.

    Parameters
    ----------
    node : int
        Node of `tree_`, a leaf or a split, not a label: ``np.flatnonzero(tree_.cluster == label)`` is its leaf. A
        warning says which branch is grown if the number is the label of another one.
    X : array-like, Dask array or Zarr array of shape (n_samples, n_features)
        The rows that `tree_` counts, as in `fit`.
    **parameters
        Parameters to change in this branch, such as ``min_relative_depth=0.02``, but for `feature_map`.
        `max_clusters` and `n_clusters` are numbers of clusters in the branch, without a bound by default.

    Notes
    -----
    One pass to draw a sample of the rows in the branch, and further ones as in `fit`; with `merge`, one more.

    Examples
    --------
    >>> import numpy as np
    >>> from mdh_dask import RandomProjectionTree
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(centre, 1, (500, 2)) for centre in (0, 8, 16)])
    >>> coarse = RandomProjectionTree(max_clusters=2).fit(X)
    >>> fine = coarse.regrow(np.flatnonzero(coarse.tree_.cluster == 0)[0], X)
    >>> coarse.n_clusters_, fine.n_clusters_
    (2, 3)
    """
    check_is_fitted(model)
    refuse_groups(model)
    if "feature_map" in parameters:
        raise ValueError("expected other parameters than feature_map, which all branches share; fit a new model")
    node = checked_node(model.tree_, node)
    _warn_of_a_label(model.tree_, node)
    free = {name: None for name in ("max_clusters", "n_clusters") if name in model.get_params(deep=False)}
    other = clone(model).set_params(**free | parameters)
    other._validate_params()
    read = model._read(X)
    there, n_passes = complete_rows(model, read.array)
    if there.shape[0] != (n_rows := int(model.tree_.n_rows[0])):
        raise ValueError(
            f"expected the {n_rows} rows that the tree counts; got {there.shape[0]}: count others first, by "
            "with_tree(model.tree_, X)"
        )
    for name in OF_ROWS:
        setattr(other, name, getattr(model, name))
    new = without_clusters(copy(model))
    twig, new.n_passes_ = _grown_again(other, model.tree_, node, there, n_passes + read.n_passes)
    new.tree_ = model._numbered(model.tree_.graft(node, twig))
    follow(new, model)
    new._finish(read.array, X)
    return new


def _warn_of_a_label(tree: Tree, node: int) -> None:
    """Say which branch a node is, if its number may be meant as the label of a cluster in another one."""
    own = np.flatnonzero(tree.cluster == node).tolist()
    if own and node not in own:
        grown = "a split" if tree.left[node] >= 0 else f"cluster {tree.cluster[node]}"
        nodes = " and ".join(map(str, own))
        logger.warning("node %d is %s, which is grown again; cluster %d is the node %s", node, grown, node, nodes)


def _grown_again(model: Any, tree: Tree, node: int, rows: RowArray, n_passes: int) -> tuple[Tree, int]:
    """Return the tree of a node with the parameters of a model, and the passes, with the earlier ones."""
    seed = model._seed()
    there, settings = model._clustered(rows), model._settings(rows.shape[0], seed)
    plan = growth.regrow(tree, node, settings, (there.shape[0], there.shape[1]), model._check_look)
    grown, n_passes = run(plan, merge_chunks(there), announce=model._bar, n_passes=n_passes)
    if not model._merges():
        most = model._most_clusters()
        return grown.tree if most is None else grown.tree.cut(most), n_passes
    sample, _ = run(merging_sample((rows.shape[0], rows.shape[1]), seed), merge_chunks(rows), announce=model._bar)
    bare, map_ = tree.prune(node), model._map
    nodes = TreeState(bare, map_).by_features(bare.apply, sample.rows)
    sample = sample.take(np.flatnonzero(nodes == node))
    points = grown.standardise if map_ is None else map_.points
    return model._merged(grown.tree, TreeState(grown.tree, map_).labels, points, sample)[0], n_passes + 1
