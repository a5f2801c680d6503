"""What single columns change among the features of a map: levels, gaps between few values, bends, missing values."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from .._levels import LevelFeatures, level_features
from .._random import any_rows
from .._state import checked_array
from .._typing import AnyArray, Booleans, Floats, Integers

FEW_VALUES = 12
"""Columns of at most this many values are rounded, as ordinal columns are."""

SHARES_BELOW = (np.arange(33) + 0.5) / 33
"""Shares of the rows below the values at which a bend is measured; the outermost values belong to few rows."""

EIGHTHS = 8
"""Parts of a column's values that a missing value differs from."""


class ColumnValues(NamedTuple):
    """The values of a column before a map."""

    column: int
    categorical: bool
    distinct: Floats
    """All levels or values, ascending; more than `FEW_VALUES` need not be complete."""
    typical: Floats
    """Values that as many rows have, ascending."""
    missing: bool
    """Whether a missing value is a value, too."""

    @classmethod
    def among(cls, column: int, values: Floats, categorical: bool, missing: bool = True) -> "ColumnValues":
        """Return the values of rows, NaN where they are missing."""
        present = values[~np.isnan(values)]
        typical = np.quantile(present, SHARES_BELOW)
        return cls(column, categorical, np.unique(present), typical, missing and len(present) < len(values))


def levels_of(
    columns: Iterable[ColumnValues],
    features: Callable[[int, Floats], Floats],
    n_components: int,
    others: Iterable[tuple[Floats, float]] = (),
) -> LevelFeatures:
    """Return the features of levels, of both ends of gaps between few values, of bends and of missing values.

    features: returns the features of rows with some values of a column, NaN for a missing one, shape (n, n_components).
        Only their differences count.
    others: further groups, with their weights in the variance.
    """
    groups: list[Floats] = []
    eighths: list[Floats] = []
    absent = np.array([np.nan])
    for own in columns:
        if own.categorical:
            levels = np.concatenate([own.distinct, absent]) if own.missing else own.distinct
            groups.append(features(own.column, levels))
            continue
        if len(own.distinct) <= FEW_VALUES:
            ends = features(own.column, own.distinct)
            groups += [ends[k : k + 2] for k in range(len(ends) - 1)]
        typical = features(own.column, own.typical)
        if len(own.distinct) > 6:  # between fewer values, smoothing the gaps smooths out bends
            groups.append(bend(own.typical, typical))
        if own.missing:
            # Rows of a cluster have like values, from which a missing value may differ more than from their mean.
            missing = features(own.column, absent)[0]
            eighths += [np.stack([eighth.mean(axis=0), missing]) for eighth in np.array_split(typical, EIGHTHS)]
    shares = [1 / EIGHTHS] * len(eighths) + [1.0] * len(groups)
    more = list(others)
    return level_features(
        [*eighths, *groups, *(group for group, _ in more)], n_components, [*shares, *(share for _, share in more)]
    )


def levels_by_change(
    features: Callable[[AnyArray], AnyArray], rows: Floats, categorical: Booleans, used: Booleans, n_components: int
) -> LevelFeatures:
    """Return the levels of any map from rows to features, whose mean in some rows with changed values counts.

    rows (n_rows, n_features): rows before the map, NaN where values are missing.
    categorical, used (n_features,) bool: columns of levels, and those that count.
    """
    some = any_rows(rows, 24)  # what a level changes differs little between rows

    def means(column: int, values: Floats) -> Floats:
        changed = np.repeat(some[None], len(values), axis=0)
        changed[:, :, column] = values[:, None]
        found = features(changed.reshape(-1, rows.shape[1])).astype(np.float64)
        return np.asarray(found.reshape(len(values), len(some), -1).mean(axis=1))

    counted = np.flatnonzero(used & ~np.isnan(rows).all(axis=0)).tolist()
    columns = (ColumnValues.among(j, rows[:, j], bool(categorical[j])) for j in counted)
    return levels_of(columns, means, n_components)


def bend(values: Floats, curve: Floats) -> Floats:
    """Return how far the features of the values of a column are from a straight line, times a constant.

    A column is a curve in the space of the features. Where its projection turns or flattens, rows gather, and between
    two such places there is a valley even in a uniform column. Along a line there is none.

    values (n,).
    curve (n, n_components).
    Returns (n, n_components).
    """
    line = np.column_stack([np.ones(len(values)), values])
    straight: Floats = line @ np.linalg.lstsq(line, curve)[0]
    # A direction is smoothed by half its changes within a group. Smoothed by the whole size of its bend, a
    # uniform column has a single mode along its first component, a cosine, which has two.
    return 2.0 * (curve - straight)


def check_levels(positions: Floats, starts: Integers, n_components: int) -> None:
    """Raise a ValueError unless arrays are the positions of groups of levels, or of no group."""
    n_positions, n_groups = len(positions) if np.ndim(positions) else 0, np.size(starts)
    checked_array("positions", positions, (n_positions, n_components if n_groups else 0))
    checked_array("starts", starts, (n_groups,), 0)
    sizes = np.diff(starts, append=n_positions)
    if starts.dtype.kind != "i" or (sizes <= 0).any() or starts[:1].any():
        raise ValueError("expected ascending numbers of positions in the array starts, the first of them 0")
