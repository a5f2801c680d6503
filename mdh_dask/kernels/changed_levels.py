"""What single columns change among the features of any map, found by changing them in some rows."""

from collections.abc import Callable

import numpy as np

from .._levels import LevelFeatures, level_features
from .._random import any_rows
from .._state import checked_array
from .._typing import AnyArray, Booleans, Floats, Integers
from .gower_levels import FEW_VALUES, FEWEST_TO_BEND, SHARES_BELOW, bend, from_eighths, shares_of

ROWS_TO_CHANGE = 24
"""Rows whose mean features are those of a level: what a level changes differs little between rows."""


def levels_by_change(
    features: Callable[[AnyArray], AnyArray], rows: Floats, categorical: Booleans, used: Booleans, n_components: int
) -> LevelFeatures:
    """Return the mean features of rows with the levels of a column, with both ends of gaps, and bends.

    Parameters
    ----------
    features : function
        The map from rows to features.
    rows : array of shape (n_rows, n_features)
        Rows before the map, NaN where values are missing.
    categorical, used : arrays of shape (n_features,), bool
        Columns of levels, and those that count.
    n_components : int
        Number of features.
    """
    some = any_rows(rows, ROWS_TO_CHANGE)
    groups: list[Floats] = []
    eighths: list[Floats] = []
    for j in np.flatnonzero(used & ~np.isnan(rows).all(axis=0)):

        def at(values: Floats, j: int = int(j)) -> Floats:
            changed = np.repeat(some[None], len(values), axis=0)
            changed[:, :, j] = values[:, None]
            found = features(changed.reshape(-1, rows.shape[1])).astype(np.float64)
            means: Floats = found.reshape(len(values), len(some), -1).mean(axis=1)
            return means

        present = rows[~np.isnan(rows[:, j]), j]
        values, own = np.unique(present), np.quantile(present, SHARES_BELOW)
        absent = [np.array([np.nan])] if len(present) < len(rows) else []
        if categorical[j]:
            groups.append(at(np.concatenate([values, *absent])))
            continue
        if len(values) <= FEW_VALUES:
            ends = at(values)
            groups += [ends[k : k + 2] for k in range(len(ends) - 1)]
        if len(values) > FEWEST_TO_BEND:
            groups.append(bend(own, at(own)))
        for value in absent:
            eighths += from_eighths(at(own), at(value)[0])
    return level_features(eighths + groups, n_components, shares_of(eighths, groups))


def check_levels(positions: Floats, starts: Integers, n_components: int) -> None:
    """Raise a ValueError unless arrays are the positions of groups of levels, or of no group."""
    n_positions, n_groups = len(positions) if np.ndim(positions) else 0, np.size(starts)
    checked_array("positions", positions, (n_positions, n_components if n_groups else 0))
    checked_array("starts", starts, (n_groups,), 0)
    sizes = np.diff(starts, append=n_positions)
    if starts.dtype.kind != "i" or (sizes <= 0).any() or starts[:1].any():
        raise ValueError("expected ascending numbers of positions in the array starts, the first of them 0")
