"""The deepest valley along each of many directions, which a search examines by the thousand."""

from typing import NamedTuple

import numpy as np

from .._jit.histograms import deepest_valleys as write_deepest_valleys
from .._typing import AnyArray, Floats, Integers

KERNEL_REACH = 6.0
"""Bandwidths beyond which a kernel adds less than 2e-8 of its height."""


class Valleys(NamedTuple):
    """One valley of each histogram."""

    depth: Floats
    """Relative depths, zero without a valley, shape (n_directions,)."""
    bins: Integers
    """The last bin on the left of a split in each valley, shape (n_directions,)."""
    n_left: Integers
    """Number of rows up to this bin, shape (n_directions,)."""


def deepest_valleys(
    counts: AnyArray, bins_per_bandwidth: float, min_rows: float, allowed: tuple[AnyArray, AnyArray] | None = None
) -> Valleys:
    """Return the deepest valley of each histogram that leaves enough rows on both sides.

    Parameters
    ----------
    counts : integer array of shape (n_directions, n_bins)
        Rows per bin; the outermost bins, which count the rows outside the range, are left out of the density.
    bins_per_bandwidth : float
        Standard deviation of the kernel, in bins.
    min_rows : float
        Fewest rows on each side.
    allowed : pair of integer arrays of shape (n_directions,), optional
        First and last bin that may be returned.

    Returns
    -------
    Valleys
        The relative depths are those of `Histograms` with this bandwidth; of several that are equal the first counts.

    Examples
    --------
    >>> counts = np.array([[0, 0, 9, 9, 0, 0, 0, 9, 9, 0, 0]])
    >>> valleys = deepest_valleys(counts, 1.0, 1)
    >>> int(valleys.bins[0]), int(valleys.n_left[0])
    (5, 18)
    """
    n, n_bins = counts.shape
    taps = np.exp(-0.5 * (np.arange(int(KERNEL_REACH * bins_per_bandwidth) + 1) / bins_per_bandwidth) ** 2)
    first, last = allowed or (np.zeros(n, dtype=np.int64), np.full(n, n_bins, dtype=np.int64))
    out, padded = np.empty((3, n)), np.zeros(n_bins + 2 * len(taps))
    write_deepest_valleys(counts, taps, float(min_rows), first, last, padded, np.empty((2, n_bins)), out)
    return Valleys(out[0], out[1].astype(np.int64), out[2].astype(np.int64))
