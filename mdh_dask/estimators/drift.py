"""Drift between new rows and the rows that a model was fitted to, and the counts of levels that models keep for it."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit

from .._state import ComparedState, checked_array
from .._typing import Integers, RowArray
from ..chunks import Pass, Plan, Progress, merge_chunks, reduce_rows, run_together
from ..columns import ColumnTypes
from ..columns.coding import Coder, array_of_table
from ..columns.drafts import is_table, keys_of
from ..io.tables import LazyTable, is_lazy_table, lazy_table
from ..metrics.contingency import contingency_table
from ..summaries.changes import LevelDrift
from ..summaries.drift import Drift
from ..summaries.passes import LevelPass, UnseenPass
from .groups import parts_of_groups, without_groups
from .missing import complete_rows
from .models import optional
from .parameters import check_model, finite_rows
from .tables import column_names, plain_rows, plain_table

logger = logging.getLogger(__name__)


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

    Notes
    -----
    One pass over the new rows, which are counted in the bins of the tree; the tree holds the counts of the old rows.
    Of columns with levels, the frequencies are compared, too, but for a `DensityTree`, which does not count levels: new
    ones raise no alarm there, and a warning says so. If new rows have levels that the model does not know, one more
    pass over these columns of a table, or over all with ``missing="drop"``, finds their names. They raise an alarm if
    so many rows cannot have a level that no old row has by chance alone.
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
    check_model(model, "drift(model, X)")
    state = model.state_
    if not isinstance(state, ComparedState):
        raise ValueError(
            f"expected a model of one tree, whose densities new rows are compared with; got a {type(model).__name__}, "
            "whose clusters have no such densities: fit HierarchicalMDH or DensityTree to the same rows for drift, or "
            "compare the sizes and profiles of its clusters"
        )
    tree = state.compared
    Drift(tree, tree, threshold, filled, false_alarms)  # checks the limits before any work
    X, groups = without_groups(X, groups)
    read = model._read(X)
    effect = 1.0 if groups is None else design_effect(model, X, groups, read.array.shape[0], false_alarms)
    rows, _ = complete_rows(model, read.array)
    feature_map = getattr(model, "feature_map_", None)
    there = finite_rows(merge_chunks(rows)) if feature_map is None else model._features_of(rows, feature_map)
    plans, arrays = counting_levels(model, state.recount(), there, read.given, rows)
    if levels_of(model.columns) and getattr(model, "level_counts_", None) is None:
        logger.warning(
            "the levels of columns are not compared: this %s holds no counts of them, as trees of hyperplanes do",
            type(model).__name__,
        )
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


LevelCounts = tuple[Integers, ...]
"""Rows with each level, with an unknown one, and without a value, for every column with levels."""


def levels_of(columns: ColumnTypes | None) -> dict[int, tuple[str, ...]]:
    """Return the levels of the columns whose values are codes of levels, by the numbers of the columns."""
    return {} if columns is None else {j: own for j, own in enumerate(columns.levels) if own is not None}


def level_plans(columns: ColumnTypes | None, array: int) -> list[Plan[LevelCounts]]:
    """Return the plan that counts levels in one pass, or none without levels; `array` holds the codes."""
    levels = levels_of(columns)
    return [_counted(LevelPass(tuple(levels), tuple(map(len, levels.values())), array))] if levels else []


def counting_levels(
    model: Any, plan: Plan[Any], there: RowArray, given: RowArray, complete: RowArray
) -> tuple[list[Plan[Any]], list[RowArray]]:
    """Return a plan for rows, or their features, beside that of their levels, if any, and the arrays that both read."""
    plans = [plan, *level_plans(model.columns, array=1)]
    # A missing level is counted as missing, though the mean takes its place.
    return plans, [there, given if model.missing == "mean" else complete][: len(plans)]


def _counted(statistic: LevelPass) -> Plan[LevelCounts]:
    return (yield Pass("counting levels", statistic))


def counts_as_given(model: Any, counts: LevelCounts, dtype: np.dtype[Any]) -> LevelCounts:
    """Return the counts of rows of `fit` in which means replaced missing values as those of the rows as given."""
    if model.missing != "mean":
        return counts
    values = model.missing_values_
    for own, j in zip(counts, levels_of(model.columns)):
        own[int(values.fill[j].astype(dtype))] -= values.n_missing[j]  # where a mean between two levels is counted
        own[-1] += values.n_missing[j]
    return counts


def compared_levels(model: Any, new: LevelCounts) -> tuple[LevelDrift, ...]:
    """Return the comparison of the levels of every column; empty for a model that does not hold the old counts."""
    if (of_fit := getattr(model, "level_counts_", None)) is None:
        return ()
    names = column_names(model)
    of_columns = zip(levels_of(model.columns).items(), of_fit, new)
    return tuple(LevelDrift(names[j], levels, old, counts) for (j, levels), old, counts in of_columns)


def with_unseen_levels(drift: Drift, model: Any, table: Any) -> Drift:
    """Return the drift with the names of levels that the model does not know, if there are any.

    One more pass over the columns of a table that have some, or over all columns if the model leaves out rows with
    missing values; none if `table` holds codes, whose texts are not known.
    """
    table = plain_table(plain_rows(table)[0])
    table = lazy_table(table) if is_lazy_table(table) else table
    some = [i for i, of_column in enumerate(drift.levels) if of_column.n_unseen]
    if not some or not (isinstance(table, LazyTable) or is_table(table)):
        return drift
    types = model.columns
    numbers, levels_of_fit = zip(*[[*levels_of(types).items()][i] for i in some])
    every = tuple(keys_of(table) if types.names is None else types.names)
    keys = tuple(every[j] for j in numbers)
    coder = Coder(types, every, np.dtype(np.float64)) if model.missing == "drop" else None
    statistic = UnseenPass(keys, levels_of_fit, coder)
    if isinstance(table, LazyTable):
        unseen = reduce_rows(statistic, table.tables(keys if coder is None else every))
    else:
        unseen = statistic.chunk(0, array_of_table(table))
    levels = list(drift.levels)
    for i, found in zip(some, unseen):
        levels[i] = replace(levels[i], unseen=found)
    return replace(drift, of_levels=tuple(levels))


def restored_level_counts(saved: Mapping[str, Any], columns: ColumnTypes | None) -> LevelCounts | None:
    """Return the counts of a saved model, which may have been tampered with; None for one without."""
    if (counts := optional(saved, "level_counts", tuple)) is None:
        return None
    lengths = [len(levels) + 2 for levels in levels_of(columns).values()]
    if len(counts) != len(lengths):
        raise ValueError(f"expected numbers of rows with the levels of {len(lengths)} columns; got {counts!r:.99}")
    for own, length in zip(counts, lengths):
        checked_array("level_counts", own, (length,), 0)
        if own.dtype != np.int64:
            raise ValueError(f"expected int64 numbers in the array level_counts, got {own.dtype}")
    return counts
