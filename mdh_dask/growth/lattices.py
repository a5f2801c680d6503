"""Columns of a few evenly spaced values, such as counts, ratings and coarsely rounded measurements."""

import numpy as np

from .._jit.lattices import Lattices, spread_rows
from .._typing import AnyArray, Booleans, Floats, Integers
from .passes import Sample, smallest_hashes

LEAST_LEVELS, MOST_LEVELS = 3, 20
"""Fewest and most values of a coarse lattice. Two values are codes; the steps between more of them are smoothed out by
the bandwidth without hiding anything else (`SMOOTHS_A_LATTICE`)."""

OFF_THE_LATTICE = 1e-3
"""Largest distance of a value from its level, as a share of a step, which allows for tenths in float32."""

ROWS_FOR_LEVELS = 10_000
"""Number of sample rows whose levels are counted."""


def lattices_in(sample: Sample, step: Floats, most_levels: int = MOST_LEVELS) -> Lattices:
    """Return the columns that are coarse lattices.

    Parameters
    ----------
    sample : Sample
    step : array of shape (n_features,)
        Smallest gaps between values of the columns.
    most_levels : int, default=20

    Returns
    -------
    Lattices
        A gap between two neighbouring values of such a column is meaningless. Spread evenly over its steps, the
        column has a density with the modes of its counts, and its variance grows only by ``step**2 / 12``: less than a
        quarter of the increase by a bandwidth that smooths out the steps, which also hides clusters in many coarse
        columns.

    Notes
    -----
    The key of a column depends on its values, so that permuted columns are spread in the same way.
    """
    sample = smallest_hashes(sample, ROWS_FOR_LEVELS)
    found, keys = [], []
    for j in np.flatnonzero(_may_be_coarse(sample.rows, step, most_levels)).tolist():
        levels = _levels(sample.rows[:, j].astype(np.float64), float(step[j]))
        if levels is not None:
            found.append(j)
            keys.append((sample.hashes * (levels + 1).astype(np.uint64)).sum(dtype=np.uint64))
    return Lattices(np.array(found, dtype=np.int64), step[found].astype(np.float64), np.array(keys, dtype=np.uint64))


def _may_be_coarse(rows: AnyArray, step: Floats, most_levels: int) -> Booleans:
    """Return the columns with as many steps between their extremes as a coarse lattice has."""
    if len(rows) == 0:
        return np.zeros(len(step), dtype=bool)
    ranges = rows.max(axis=0).astype(np.float64) - rows.min(axis=0)
    n_steps = np.divide(ranges, step, out=np.zeros(len(step)), where=step > 0)
    return np.asarray((n_steps > LEAST_LEVELS - 1.5) & (n_steps < most_levels - 0.5))


def _levels(values: Floats, step: float) -> Integers | None:
    """Return the levels of values on a coarse lattice, from zero, or None if they are not on one."""
    exact = (values - values.min()) / step
    levels = np.rint(exact)
    return levels.astype(np.int64) if np.abs(exact - levels).max() <= OFF_THE_LATTICE else None


def lattices_of(steps: Floats) -> Lattices:
    """Return the lattices of a finished tree from the steps of all columns, zero for the others."""
    columns = np.flatnonzero(steps > 0)
    return Lattices(columns, np.ascontiguousarray(steps[columns]), columns.astype(np.uint64))


def spread_sample(sample: Sample, lattices: Lattices) -> Sample:
    """Return a sample of raw rows with the values of lattices spread over their steps by the rows' hashes.

    To methods that compare distances of rows, each level would otherwise be a cluster.
    """
    if not lattices:
        return sample
    rows = sample.rows.astype(np.float64)
    spread_rows(rows, sample.hashes, lattices)
    return sample._replace(rows=rows)
