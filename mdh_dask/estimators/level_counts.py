"""Counts of the levels of typed columns: of the fitted rows, kept with the model, and of new ones."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .._state import checked_array
from .._typing import Integers
from ..chunks import Pass, Plan, reduce_rows
from ..columns import ColumnTypes
from ..columns.coding import Coder, array_of_table
from ..columns.drafts import is_table, keys_of
from ..io.tables import LazyTable, is_lazy_table, lazy_table
from ..summaries.changes import LevelDrift
from ..summaries.drift import Drift
from ..summaries.passes import LevelPass, UnseenPass
from .models import optional

LevelCounts = tuple[Integers, ...]
"""Rows with each level, with an unknown one, and without a value, for every column with levels."""


def columns_with_levels(columns: ColumnTypes | None) -> list[int]:
    """Return the numbers of the columns whose values are codes of levels."""
    return [] if columns is None else [j for j, levels in enumerate(columns.levels) if levels is not None]


def level_plans(columns: ColumnTypes | None, array: int) -> list[Plan[LevelCounts]]:
    """Return the plan that counts levels in one pass, or none without levels; `array` holds the codes."""
    with_levels = columns_with_levels(columns)
    if not with_levels:
        return []
    assert columns is not None
    n_levels = tuple(len(columns.levels[j] or ()) for j in with_levels)
    return [_counted(LevelPass(tuple(with_levels), n_levels, array))]


def _counted(statistic: LevelPass) -> Plan[LevelCounts]:
    counts: LevelCounts = yield Pass("counting levels", statistic)
    return counts


def counts_as_given(model: Any, counts: LevelCounts, dtype: np.dtype[Any]) -> LevelCounts:
    """Return the counts of rows of `fit` in which means replaced missing values as those of the rows as given."""
    if model.missing != "mean":
        return counts
    values = model.missing_values_
    for own, j in zip(counts, columns_with_levels(model.columns)):
        own[int(values.fill[j].astype(dtype))] -= values.n_missing[j]  # where a mean between two levels is counted
        own[-1] += values.n_missing[j]
    return counts


def compared_levels(model: Any, new: LevelCounts) -> tuple[LevelDrift, ...]:
    """Return the comparison of the levels of every column; empty for a model that does not hold the old counts."""
    if (of_fit := getattr(model, "level_counts_", None)) is None:
        return ()
    names = getattr(model, "feature_names_in_", None)
    types, found = model.columns, []
    for j, old, counts in zip(columns_with_levels(types), of_fit, new):
        found.append(LevelDrift(f"x{j}" if names is None else str(names[j]), types.levels[j], old, counts))
    return tuple(found)


def with_unseen_levels(drift: Drift, model: Any, table: Any) -> Drift:
    """Return the drift with the names of levels that the model does not know, if there are any.

    One more pass over the columns of a table that have some, or over all columns if the model leaves out rows with
    missing values; none if `table` holds codes, whose texts are not known.
    """
    table = table.to_arrow() if hasattr(table, "to_arrow") and not hasattr(table, "iloc") else table
    table = lazy_table(table) if is_lazy_table(table) else table
    some = [i for i, of_column in enumerate(drift.levels) if of_column.n_unseen]
    if not some or not (isinstance(table, LazyTable) or is_table(table)):
        return drift
    numbers = [columns_with_levels(model.columns)[i] for i in some]
    types = model.columns
    every = tuple(keys_of(table) if types.names is None else types.names)
    keys = tuple(every[j] for j in numbers)
    coder = Coder(types, every, np.dtype(np.float64)) if model.missing == "drop" else None
    statistic = UnseenPass(keys, tuple(types.levels[j] or () for j in numbers), coder)
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
    with_levels = columns_with_levels(columns)
    lengths = [len(columns.levels[j] or ()) + 2 for j in with_levels] if columns is not None else []
    if len(counts) != len(lengths):
        raise ValueError(f"expected numbers of rows with the levels of {len(lengths)} columns; got {counts!r:.99}")
    for own, length in zip(counts, lengths):
        checked_array("level_counts", own, (length,), 0)
        if own.dtype != np.int64:
            raise ValueError(f"expected int64 numbers in the array level_counts, got {own.dtype}")
    return counts
