"""Samples without equal rows, for methods that compare distances: equal rows would be centres of great density."""

import numpy as np

from .._typing import Integers
from ..splits.distances import distinct
from .lattices import lattices_in, spread_sample
from .passes import Sample
from .scales import with_drawn_scales
from .scaling import smallest_gaps

MOST_DISTINCT = 0.9
"""Smallest share of distinct rows whose distances are left as they are. In many columns hardly any rows are equal, and
spreading their values would only add noise."""

MOST_LEVELS = 2**24
"""Most values of a lattice; more of them are as good as continuous."""

COPIES = 0.75
"""Rounding makes rows equal where other rows are only a step away. Rows that occur more than once are copies if at
least this share of them stay different when every two neighbouring values are joined."""


def without_equal_rows(sample: Sample) -> Sample:
    """Return a sample; if many rows are equal, without copies or with the values of lattices spread over their steps.

    Copies of a row say nothing more than the row: the first one is kept. Rounded rows are equal where there are many,
    so all of them count, spread evenly. The spread columns keep their means and standard deviations. Bounded scales are
    drawn instead, also where few rows are equal; see `mdh_dask.growth.scales`.
    """
    first, times = _first_of_equal(sample.rows)
    gaps = smallest_gaps(sample.rows)
    if len(first) >= MOST_DISTINCT * len(sample.rows):
        return with_drawn_scales(sample, gaps)
    repeated = sample.rows[first[times > 1]].astype(np.float64)
    pairs_of_levels = np.floor((repeated - sample.rows.min(axis=0)) / np.where(gaps > 0, 2 * gaps, 1) + 1e-6)
    if len(distinct(pairs_of_levels)) >= COPIES * len(repeated):
        return sample.take(np.sort(first))
    sample = with_drawn_scales(sample, gaps)
    lattices = lattices_in(sample, smallest_gaps(sample.rows), MOST_LEVELS)
    if not lattices:
        return sample
    spread, columns = spread_sample(sample, lattices), lattices.columns
    found, mean = spread.rows[:, columns], sample.rows[:, columns].mean(axis=0, dtype=np.float64)
    shrunk = sample.rows[:, columns].std(axis=0, dtype=np.float64) / found.std(axis=0)
    spread.rows[:, columns] = mean + (found - mean) * shrunk
    return spread


def _first_of_equal(rows: np.ndarray) -> tuple[Integers, Integers]:
    """Return the first of all equal rows, and how often each occurs."""
    _, first, times = np.unique(rows, axis=0, return_index=True, return_counts=True)
    return first, times
