"""Columns of few values that other columns tell: the decade of an age, the total of three answers.

Together with what tells it, such a column holds each row in a box: rows of every decade are apart from those of the
next, and look like a cluster. It says nothing that the others do not, and is left out.
"""

import numpy as np

from .._blas import one_blas_thread
from .._typing import Booleans, Floats, Integers
from .passes import Sample
from .uneven import MOST_COLUMNS, ROWS_FOR_STEPS

ROWS_EACH = 20
"""Columns have few values if on average at least so many rows share one: the rows of fewer are no cluster."""

FEWEST_UNUSUAL = 40
"""Other columns tell a column if at least so many rows do not have its most frequent value."""

RIGHT = 0.95
"""At least this share of them is told right; by a linear function, of those that it was not fitted to."""

NEAR = 0.6
"""A value is told by a number that is nearer to it than this share of the way to the next value: those that were
rounded from halves lie half-way."""

DIFFERENT_EACH = 4
"""A linear function tells nothing of fewer different rows for each column of few values: these are levels, such as the
clusters themselves, of which any column tells the others."""

RIDGE = 1e-9
"""Added to the variances, as columns may be linear functions of each other."""


@one_blas_thread()
def redundant_columns(sample: Sample) -> Integers:
    """Return the columns of few values that other columns tell, by their order or by a linear function.

    A column is told by the order of another one, of more values or of more even ones, if it is nearly a monotone
    function of it: whatever it divides, the other one does, too. Two-valued columns are codes, which no linear function
    tells: one of several that exclude each other is not left out.
    """
    rows = sample.in_random_order(ROWS_FOR_STEPS).rows.astype(np.float64)
    if not 2 <= rows.shape[1] <= MOST_COLUMNS:
        return np.empty(0, dtype=np.int64)
    values = [np.unique(column) for column in rows.T]
    n_values = np.array([len(own) for own in values])
    unusual = np.array([_n_unusual(column) for column in rows.T])
    few = (n_values <= len(rows) // ROWS_EACH) & (unusual >= FEWEST_UNUSUAL)
    spacing, told = np.array([_spacing(own) for own in values]), np.zeros(len(few), dtype=bool)
    ordered = np.sort(rows[:, few], axis=0)
    for i in np.flatnonzero(n_values > 1) if few.any() else []:
        finer = (n_values[i] > n_values) | (n_values[i] == n_values) & (spacing[i] < spacing)
        told[few] |= finer[few] & (_wrong(rows[:, few], ordered, rows[:, i]) <= (1 - RIGHT) * unusual[few])
    few &= (n_values > 2) & ~told
    if few.any() and len(np.unique(rows[:, few], axis=0)) >= DIFFERENT_EACH * np.count_nonzero(few):
        told |= _told_by_functions(rows, values, few, ~told & (n_values > 1))
    return np.flatnonzero(told)


def _n_unusual(column: Floats) -> int:
    """Return the number of rows that do not have the most frequent value of a column."""
    return len(column) - int(np.unique(column, return_counts=True)[1].max(initial=0))


def _spacing(values: Floats) -> float:
    """Return the widest gap between values for the narrowest."""
    gaps = np.diff(values)
    return float(gaps.max() / gaps.min()) if len(gaps) else 1.0


def _wrong(columns: Floats, ordered: Floats, by: Floats) -> Integers:
    """Return how many values of each column are not where they were if it rose or fell along another column.

    ordered: the columns, each with its values in order.
    """
    order = np.argsort(by, kind="stable")
    wrong = [np.count_nonzero(columns[way] != ordered, axis=0) for way in (order, order[::-1])]
    return np.minimum(*wrong)


def _told_by_functions(rows: Floats, values: list[Floats], few: Booleans, left: Booleans) -> Booleans:
    """Return which of the few-valued columns a linear function of others tells, of those that are left.

    It is fitted to every second row.
    """
    told = np.zeros(len(few), dtype=bool)
    standard = (rows[:, left] - rows[:, left].mean(axis=0)) / rows[:, left].std(axis=0)
    products = np.zeros((len(few), len(few)))
    products[np.ix_(left, left)] = standard[::2].T @ standard[::2] + RIDGE * len(rows) * np.eye(standard.shape[1])
    places = np.cumsum(left) - 1
    # Those of more values first: the total of answers, rather than an answer. Values tell others apart, in any order
    # of the columns.
    for j in sorted(np.flatnonzero(few).tolist(), key=lambda j: (-len(values[j]), rows[:, j].tolist())):
        others = left & ~told
        others[j] = False
        weights = np.linalg.solve(products[np.ix_(others, others)], products[others, j])
        numbers = rows[:, j].mean() + standard[1::2, places[others]] @ weights * rows[:, j].std()
        told[j] = _told(numbers, rows[1::2, j], values[j])
    return told


def _told(numbers: Floats, column: Floats, values: Floats) -> bool:
    """Return whether numbers tell the unusual values of a column, which has these different ones."""
    at = np.searchsorted(values, column)
    unusual = at != np.bincount(at).argmax()
    gaps = np.diff(values)
    above, below = np.append(gaps, gaps[-1])[at], np.append(gaps[0], gaps)[at]  # to the next value on either side
    near = np.abs(numbers - column) <= NEAR * np.where(numbers > column, above, below)
    return bool(unusual.any() and near[unusual].mean() >= RIGHT)
