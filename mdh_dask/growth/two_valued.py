"""Columns of two values, such as answers and the indicators of categories."""

import numpy as np

from .._levels import TwoValued
from .._typing import AnyArray, Booleans, Floats, Integers
from .passes import Sample, smallest_hashes

ROWS_FOR_VALUES = 10_000
"""Number of sample rows whose values are compared."""

MOST_COLUMNS = 1000
"""With more two-valued columns, pairs of them are not compared, which takes time and memory with their square."""

EXPECTED = 10.0
"""Two columns code one factor if some combination of their values never occurs, but would in so many rows if they were
independent. Rarer combinations are missing by chance."""


def two_valued_in(sample: Sample) -> TwoValued | None:
    """Return the two-valued columns, or None without any, or if no other column varies that could change with it.

    Returns
    -------
    TwoValued or None
        Its pairs are columns that exclude or include each other, as the indicators of a category do: changing its level
        changes both.
    """
    rows = smallest_hashes(sample, ROWS_FOR_VALUES).rows
    low, high = rows.min(axis=0), rows.max(axis=0)
    varying = low < high
    columns = np.flatnonzero(varying & ((rows == low) | (rows == high)).all(axis=0))
    if len(columns) == 0 or varying.sum() == 1:
        return None
    gaps: Floats = high[columns].astype(np.float64) - low[columns].astype(np.float64)
    return TwoValued(columns, gaps, *_pairs(rows[:, columns] == high[columns]))


def _pairs(upper: Booleans) -> tuple[Integers, Floats]:
    n, n_columns = upper.shape
    if n_columns > MOST_COLUMNS:
        return np.empty((0, 2), dtype=np.int64), np.empty(0)
    counts = upper.sum(axis=0)
    # Sums of ones are exact in float32 up to 2^24.
    both = (upper.astype(np.float32).T @ upper.astype(np.float32)).astype(np.int64)
    one = counts[:, None] - both
    shares = counts / n
    exclude = _missing(both, shares, shares, n) | _missing(n - counts - one, 1 - shares, 1 - shares, n)
    include = _missing(one, shares, 1 - shares, n)
    pairs = [np.argwhere(np.triu(kind, 1)) for kind in (exclude, include | include.T)]
    return np.concatenate(pairs), np.repeat([1.0, -1.0], [len(of_kind) for of_kind in pairs])


def _missing(observed: AnyArray, first: Floats, second: Floats, n: int) -> Booleans:
    return np.asarray((observed == 0) & (n * np.outer(first, second) >= EXPECTED))
