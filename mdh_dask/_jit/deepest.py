"""The deepest valley of each histogram, with nothing kept of its density."""

from .._numba import jit


@jit
def deepest_valleys(counts, taps, least, first, last, padded, work, out):
    """Write the relative depth of the deepest valley of every histogram, its bin, and the rows on its left.

    Parameters are the histograms, the heights of a kernel 0, 1, 2, ... bins from its centre as shares of its peak, the
    fewest rows on either side, and the first and the last bin of each histogram that may be chosen. `out` has the shape
    (3, histograms). The outermost bins, which count the rows outside the range, are left out of the density. `padded`,
    zeros for a bin more than the taps on either side of a histogram, and `work`, (2, bins), are overwritten: arrays
    made here, and ``max`` in place of comparisons, would double the time that it takes to compile this loop.
    """
    reach, n = taps.shape[0], work.shape[1]
    density, left = work[0], work[1]
    for c in range(out.shape[1]):
        total = 0.0
        for k in range(n):
            total += counts[c, k]
            padded[reach + k] = counts[c, k]
        padded[reach] = padded[reach + n - 1] = 0.0
        for k in range(n):
            density[k] = padded[reach + k]
        for t in range(1, reach):
            tap, before, after = taps[t], padded[reach - t :], padded[reach + t :]
            for k in range(n):
                density[k] += tap * (before[k] + after[k])
        highest = 0.0
        for k in range(n):
            if density[k] > highest:
                highest = density[k]
            left[k] = highest
        best = place = n_left = highest = 0.0
        below = total
        for k in range(n - 1, -1, -1):
            if density[k] > highest:
                highest = density[k]
            lower = left[k] if left[k] < highest else highest
            # A kernel's height is one here, so the height of one row's kernel in the denominator is one, too.
            depth = (lower - density[k]) / (density[k] + 1.0)
            if depth >= best and first[c] <= k and k <= last[c] and below >= least and total - below >= least:
                best, place, n_left = depth, float(k), below
            below -= counts[c, k]
        out[0, c], out[1, c], out[2, c] = best, place, n_left
