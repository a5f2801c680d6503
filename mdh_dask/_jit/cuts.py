"""Normalised cuts of the rows of a histogram between any two bins."""

import numpy as np

from .._numba import jit


@jit
def normalised_cuts(counts, decay, out):
    """Write the normalised cut after every bin, infinite where a side has no rows.

    Rows `j` bins apart have the affinity ``decay ** j``. Its sums over the rows on one side of a bin then follow from
    those of the bin beside it, so a histogram takes two sweeps in each direction.
    """
    n_bins = counts.shape[1]
    above, beyond = np.zeros(n_bins), np.zeros(n_bins)
    for c in range(counts.shape[0]):
        row, far, volume = counts[c], 0.0, 0.0
        for k in range(n_bins - 1, -1, -1):
            above[k] = far
            far = decay[c] * (far + row[k])
        far = 0.0
        for k in range(n_bins):
            # Affinities of the rows of the bin to all rows, and for now those of all rows up to it.
            beyond[k] = row[k] * (far + row[k] + above[k])
            volume += beyond[k]
            far += row[k]
            cut = far * above[k]
            out[c, k] = cut / volume if volume > 0 else np.inf
            above[k] = cut
            far *= decay[c]
        volume = 0.0
        # The volume beyond is summed by itself, as differences from the whole would lose that of few rows.
        for k in range(n_bins - 1, -1, -1):
            out[c, k] += above[k] / volume if volume > 0 else np.inf
            volume += beyond[k]
