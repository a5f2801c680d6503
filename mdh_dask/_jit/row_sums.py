"""Sums of the rows whose projections fall into the same bin."""

import math

from .._numba import jit

QUANTUM = 2.0**-20
"""Coordinates are rounded to multiples of this: their sums are exact up to 2^33, in whatever order they are added."""


@jit
def sum_rows_in_bins(rows, chosen, directions, origin, width, centre, scale, counts, sums):
    """Add the chosen rows, as ``(x - centre) * scale``, to the bins of their projections; those beyond are left out.

    `counts` has shape (n_directions, n_bins), `sums` (n_directions, n_bins, n_features).
    """
    n_features = rows.shape[1]
    for c in range(chosen.shape[0]):
        i = chosen[c]
        for k in range(directions.shape[0]):
            projection = 0.0
            for j in range(n_features):
                projection += directions[k, j] * rows[i, j]
            place = (projection - origin[k]) / width[k]
            if 0.0 <= place < counts.shape[1]:
                b = int(place)
                counts[k, b] += 1
                for j in range(n_features):
                    sums[k, b, j] += math.floor((rows[i, j] - centre[j]) * scale[j] / QUANTUM + 0.5) * QUANTUM
