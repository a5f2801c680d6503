"""Drift between new rows and the rows that a model was fitted to."""

from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit
from sklearn.utils.validation import check_is_fitted

from .._state import ComparedState
from .._typing import RowArray
from ..chunks import Progress, merge_chunks, run_together
from ..metrics.contingency import contingency_table
from ..summaries.drift import Drift
from .checks import finite_rows
from .groups import parts_of_groups, without_groups
from .level_counts import compared_levels, level_plans, with_unseen_levels
from .missing import complete_rows, rows_to_count


def drift(
    model: Any,
    X: Any,
    *,
    threshold: float = 0.1,
    filled: float = 0.5,
    false_alarms: float = 1e-3,
    groups: Any = None,
    progress: Progress | None = None,
) -> Drift:
    """Compare new rows with the rows that a model was fitted to, at each of its splits and clusters.

    Parameters
    ----------
    model : estimator
        A fitted or loaded model.
    X : array-like, Dask array or Zarr array of shape (n_samples, n_features)
        New rows.
    threshold : float, default=0.1
        A larger distance is drift: the Kolmogorov-Smirnov distance of old and new rows along the direction of a split
        or cluster, or the share of the rows that is in another cluster (total variation).
    filled : float, default=0.5
        A valley has drifted if its height, its density divided by that of the lower mode beside it, rises by more than
        this share of the way to 1, where there is no valley.
    false_alarms : float, default=0.001
        Probability of reporting drift for rows of the same distribution. It is divided among all comparisons; a change
        counts by its lower confidence bound.
    groups : array-like, series, or Dask array or series of shape (n_samples,), or str, optional
        Groups of new rows that depend on each other, as for `TreeEstimator.fit`. One more pass finds how much more the
        shares of the clusters vary between them than those of independent rows would (Kish's design effect), and
        bounds count as many fewer rows; the old rows are taken to depend on each other as the new ones do.
    progress : callable, optional
        Returns the progress bar of the pass, as for `mdh_dask.chunks.reduce_rows`.

    Returns
    -------
    Drift
        `found` says whether there is drift and `alarms` where; `splits`, `clusters` and `levels` hold the changes,
        `to_text` and `to_dict` return all of them; `mdh_dask.plotting.plot_drift` draws the two densities at a node.

    Raises
    ------
    ValueError
        If the model has no tree, a threshold is not a share, or `X` has NaN, infinities or another number of columns
        than the model.

    Notes
    -----
    One pass over the new rows, which are counted in the bins of the tree; the tree holds the counts of the old rows.
    Of columns with levels, the frequencies are compared, too. If new rows have levels that the model does not know, one
    more pass over these columns of a table, or over all with ``missing="drop"``, finds their names. They raise an
    alarm if so many rows cannot have a level that no old row has by chance alone.
    Both densities have the bandwidth of the tree or, for fewer new rows, the larger bandwidth for their number. Changes
    that do not show along a direction of the tree are not detected, for example in a cluster that never had a valley.
    Few rows raise an alarm only for large changes: among 300 old and 300 new rows of two clusters, more than a quarter
    have to move.

    Examples
    --------
    >>> import numpy as np
    >>> from mdh_dask import RandomProjectionTree, drift
    >>> rng = np.random.default_rng(0)
    >>> def blobs(n_left, n_right):
    ...     return np.vstack([rng.normal(0, 1, (n_left, 3)), rng.normal(7, 1, (n_right, 3))])
    >>> model = RandomProjectionTree().fit(blobs(5000, 5000))
    >>> drift(model, blobs(500, 500)).found
    False
    >>> print(drift(model, blobs(800, 200)).alarms[-1])
    shares of the clusters: 30% of the rows are in others
    """
    check_is_fitted(model)
    state = model.state_
    if not isinstance(state, ComparedState):
        raise ValueError(
            f"expected a model of a tree, whose densities new rows are compared with; got a {type(model).__name__}: "
            "compare the sizes and profiles of its clusters instead"
        )
    tree = state.compared
    Drift(tree, tree, threshold, filled, false_alarms)  # checks the limits before any work
    X, groups = without_groups(X, groups)
    read = model._read(X)
    effect = 1.0 if groups is None else design_effect(model, X, groups, read.array.shape[0], false_alarms)
    rows, _ = complete_rows(model, read.array)
    plans = [state.recount(), *level_plans(model.columns, array=1)]
    arrays = (_rows_of_tree(model, rows), rows_to_count(model, read.given, rows))[: len(plans)]
    (counted, *new), _ = run_together(plans, *arrays, announce=lambda description: progress)
    levels = compared_levels(model, *new) if new else ()
    return with_unseen_levels(Drift(tree, counted, threshold, filled, false_alarms, levels, effect), model, X)


def design_effect(model: Any, X: Any, groups: Any, n_rows: int, chance: float) -> float:
    """Return how many times as much counts vary among rows of groups as among independent rows, at least 1.

    The shares of the clusters are compared between parts of the groups, as in `mdh_dask.splits.dependence`; as these
    are few, Student's quantile replaces that of the normal distribution. In a single cluster, whole groups count as
    one row.
    """
    parts = parts_of_groups(groups, n_rows, model._seed())
    if model.n_clusters_ == 1:
        return n_rows / parts.n_groups
    counts = contingency_table(model.cluster_labels(X), parts.of_rows).counts.astype(np.float64)
    shares, (n_of_part, n_parts) = counts.sum(axis=1) / n_rows, (counts.sum(axis=0), counts.shape[1])
    between = ((counts - shares[:, None] * n_of_part) ** 2).sum() * n_parts / max(n_parts - 1, 1)
    by_few = stdtrit(max(n_parts - 1, 1), 1 - chance) / ndtri(1 - chance)
    return max(float(between / max(n_rows * (shares * (1 - shares)).sum(), 1.0) * by_few**2), 1.0)


def _rows_of_tree(model: Any, rows: RowArray) -> RowArray:
    """Return the rows for the tree, mapped if the model maps them; values that are not finite raise an error."""
    if (feature_map := getattr(model, "feature_map_", None)) is not None:
        return model._features_of(rows, feature_map)
    return finite_rows(merge_chunks(rows))
