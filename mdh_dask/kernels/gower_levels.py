"""What single columns change among the features of Gower's dissimilarity: levels, gaps between values, bends."""

from functools import reduce
from typing import Any

import numpy as np

from .._levels import LevelFeatures, level_features
from .._typing import Booleans, Floats, Integers

FEW_VALUES = 12
"""Columns of at most this many values lie on a lattice, as ordinal columns do."""

FEWEST_TO_BEND = 6
"""Between fewer values, smoothing the gaps smooths out bends, too."""

BENDS = 2.0
"""A direction is smoothed by half its changes within a group. Smoothed by the whole size of its bend, a uniform column
has a single mode along its first component, a cosine, which has two."""

SHARES_BELOW = (np.arange(33) + 0.5) / 33
"""Shares of the rows below the values at which a bend is measured; the outermost values belong to few rows."""

EIGHTHS = 8
"""Parts of a column's values that a missing value differs from."""

NEARLY_ALL = 0.95
"""Share of the rows whose levels are smoothed out where rows lack values: fewer rows are hardly a cluster."""

ROWS_WITHOUT = 200
"""Most rows from which columns are left out to see what that changes."""

MOST_CHANGES = 1000
"""Largest changes by absent columns that are kept: rows of every level of every other column have one."""

LEAST_IN_COMMON = 1e-9
"""Shares of columns that are smaller are rounding errors."""


def levels_among(
    coded: Floats, categorical: Booleans, shares: Floats, projection: Floats, missing: bool
) -> LevelFeatures:
    """Return the features of the levels of columns, of both ends of the gaps of few values, and bends of others.

    Parameters
    ----------
    coded : array of shape (n_landmarks, n_features)
        Values within [0, 1] or levels, NaN where missing.
    categorical : array of shape (n_features,), bool
    shares : array of shape (n_features,)
        Of the columns in the dissimilarity.
    projection : array of shape (n_landmarks, n_components)
    missing : bool
        Whether missing is a value: one more level, or, of other columns, one that differs from each eighth of them.
        Otherwise a column that is missing in either row leaves the mean of a pair, which is a group for each column.
    """
    groups: list[Floats] = []
    eighths: list[Floats] = []
    known = ~np.isnan(coded)
    weights = _largest_weights(known & (shares > 0), shares, missing)
    for j in np.flatnonzero((shares > 0) & known.any(axis=0)):
        column, weighted = coded[:, j], weights[j][:, None] * projection
        present = column[known[:, j]]
        values = np.unique(present)
        absent = [~known[:, j]] if missing and len(present) < len(column) else []
        if categorical[j]:
            groups.append(np.array([*(column == value for value in values), *absent], dtype=np.float64) @ weighted)
            continue
        at = np.concatenate([values[: FEW_VALUES + 1], np.quantile(present, SHARES_BELOW)])
        curve = np.where(known[:, j], 1 - np.abs(column - at[:, None]), 0.0) @ weighted
        own = curve[-len(SHARES_BELOW) :]
        if len(values) <= FEW_VALUES:
            groups += [curve[k : k + 2] for k in range(len(values) - 1)]
        if len(values) > FEWEST_TO_BEND:
            groups.append(bend(at[-len(own) :], own))
        for rows in absent:
            eighths += from_eighths(own, rows @ weighted)
    in_variance = shares_of(eighths, groups)
    groups = eighths + groups
    if not missing and not known[:, shares > 0].all():
        for changes in _absences(coded, categorical, shares, projection):
            groups += [np.stack([np.zeros(len(change)), change]) for change in changes]
            in_variance += [1 / max(len(changes), 1)] * len(changes)
    return level_features(groups, projection.shape[1], in_variance)


def _absences(coded: Floats, categorical: Booleans, shares: Floats, projection: Floats) -> list[Floats]:
    """Return the mean changes of features where a column leaves the means of rows, for each such column.

    Rows without a column are less like those that have it, if its values are more alike than those of other columns,
    and the other columns then weigh more. So rows of every level of another column have a mean change of their own.
    """
    some = slice(None, None, -(-len(coded) // ROWS_WITHOUT))
    rows, known, used = coded[some], ~np.isnan(coded), np.flatnonzero(shares)
    common = (known[some] * shares) @ known.T
    least = max((1 - NEARLY_ALL) * len(rows), 1)
    groups = _groups_of(rows, categorical, used, least)

    def alike(j: Any) -> Floats:
        x, own = rows[:, j, None], coded[:, j]
        similar = x == own if categorical[j] else 1 - np.abs(x - own)
        return shares[j] * np.where(np.isnan(x) | np.isnan(own), 0.0, similar)

    total = reduce(np.add, map(alike, used))
    incomplete = used[known[:, used].any(axis=0) & ~known[:, used].all(axis=0)]
    found = []
    for j in incomplete:
        left = common - shares[j] * known[:, j]
        defined = ~np.isnan(rows[:, j, None]) & (left > LEAST_IN_COMMON)
        before = np.divide(total, common, out=np.zeros_like(total), where=defined)
        after = np.divide(total - alike(j), left, out=np.zeros_like(total), where=defined)
        sizes = groups @ defined.any(axis=1)
        enough = sizes >= least
        changes = groups[enough] / sizes[enough, None] @ ((after - before) @ projection)
        largest = np.argsort(-(changes**2).sum(axis=1), kind="stable")[: -(-MOST_CHANGES // len(incomplete))]
        found.append(changes[largest])
    return found


def _groups_of(rows: Floats, categorical: Booleans, used: Integers, least: float) -> Floats:
    """Return which rows have a level or no value of a column, or a value in either half, shape (n_groups, n_rows).

    Only groups of at least so many rows, as columns may have as many levels as rows.
    """
    groups = [np.ones(len(rows), dtype=bool)]
    for j in used:
        x = rows[:, j]
        absent = np.isnan(x)
        present = x[~absent]
        own = [absent]
        if categorical[j]:
            levels, sizes = np.unique(present, return_counts=True)
            own += [x == level for level in levels[sizes >= least]]
        elif len(present):
            own += [x <= np.median(present), x > np.median(present)]
        groups += [rows_of for rows_of in own if rows_of.sum() >= least]
    return np.array(groups, dtype=np.float64)


def _largest_weights(present: Booleans, shares: Floats, missing: bool) -> Floats:
    """Return the weights of the columns in the kernel with every landmark, shape (n_features, n_landmarks).

    Where a column leaves the mean of a pair, the others weigh more, so that their levels are further apart in rows with
    few values. These weights are those of nearly all landmarks with the column.
    """
    weights = np.repeat(shares[:, None], len(present), axis=1)
    if missing or present[:, shares > 0].all():
        return weights
    known = present.astype(np.float64)
    common = (known * shares) @ known.T
    factors = np.divide(1.0, common, out=np.zeros_like(common), where=common > 0)
    of_rows = factors.mean(axis=1)
    for j in np.flatnonzero(present.any(axis=0)):
        own = present[:, j]
        weights[j] *= np.quantile(of_rows[own], NEARLY_ALL) / of_rows[own].mean() * factors[own].mean(axis=0)
    return weights


def from_eighths(curve: Floats, absent: Floats) -> list[Floats]:
    """Return the mean feature of each eighth of a column's values, lowest first, each with that of a missing value.

    Rows of a cluster have like values, from which a missing value may differ more than from the mean of all rows.

    Parameters
    ----------
    curve : array of shape (n, n_components)
        Features of values that as many rows have, ascending.
    absent : array of shape (n_components,)
    """
    return [np.stack([eighth.mean(axis=0), absent]) for eighth in np.array_split(curve, EIGHTHS)]


def shares_of(eighths: list[Floats], groups: list[Floats]) -> list[float]:
    """Return the weights in the variance of eighths, which are one group together, followed by those of groups."""
    return [1 / EIGHTHS] * len(eighths) + [1.0] * len(groups)


def bend(values: Floats, curve: Floats) -> Floats:
    """Return how far the features of the values of a column are from a straight line, times a constant.

    A column is a curve in the space of the features. Where its projection turns or flattens, rows gather, and between
    two such places there is a valley even in a uniform column. Along a line there is none.

    Parameters
    ----------
    values : array of shape (n,)
    curve : array of shape (n, n_components)

    Returns
    -------
    array of shape (n, n_components)
    """
    line = np.column_stack([np.ones(len(values)), values])
    straight: Floats = line @ np.linalg.lstsq(line, curve)[0]
    return BENDS * (curve - straight)
