"""Sums of the rows in each bin of their projections."""

import math
from typing import NamedTuple

from .._numba import jit
from .._typing import Floats, Integers

QUANTUM = 2.0**-20
"""Coordinates are rounded to multiples of this, so that their sums up to 2^33 are exact in any order."""


class RowSums(NamedTuple):
    """The sums that `sum_rows_in_bins` updates."""

    counts: Integers
    """Rows per bin, shape (n_directions, n_bins)."""
    sums: Floats
    """Sums of the rows in each bin, shape (n_directions, n_bins, n_features)."""
    low: Floats
    """Smallest projection of all chosen rows, also beyond the bins, shape (n_directions,)."""
    high: Floats


@jit
def sum_rows_in_bins(rows, chosen, directions, origin, width, centre, scale, total):
    """Add the chosen rows, as ``(x - centre) * scale``, to the bins of their projections; rows beyond are left out.

    The ranges of the projections cover all chosen rows.
    """
    n_features, n_bins = rows.shape[1], total.counts.shape[1]
    for c in range(chosen.shape[0]):
        i = chosen[c]
        for k in range(directions.shape[0]):
            projection = 0.0
            for j in range(n_features):
                projection += directions[k, j] * rows[i, j]
            total.low[k] = min(total.low[k], projection)
            total.high[k] = max(total.high[k], projection)
            place = (projection - origin[k]) / width[k]
            if 0.0 <= place < n_bins:
                b = int(place)
                total.counts[k, b] += 1
                for j in range(n_features):
                    total.sums[k, b, j] += math.floor((rows[i, j] - centre[j]) * scale[j] / QUANTUM + 0.5) * QUANTUM
