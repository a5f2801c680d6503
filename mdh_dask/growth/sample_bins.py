"""Histograms of the projections of a sample, with bins that resolve their densities."""

import numpy as np

from .._jit.binning import bin_extremes, bin_projections, projection_ranges
from .._typing import AnyArray, Floats
from ..density.bandwidth import Bandwidth
from ..density.histograms import Histograms, no_extremes

MAX_BINS = 4096
"""Most bins of a histogram, also for a branch with far outliers."""

KERNEL_REACH = 4
"""Bandwidths of bins beyond the outermost rows, where their kernels end."""


def histograms_along(
    projections: AnyArray,
    bandwidth: Bandwidth,
    resolution: Floats,
    bins_per_bandwidth: float,
    with_extremes: bool,
    ends: Floats | None,
) -> Histograms:
    """Return the histograms of some projections, with the ranges of their bins or with bins that end at some values."""
    counts, origin, width = sample_counts(projections, bandwidth, resolution, bins_per_bandwidth, ends)
    extremes = None
    if with_extremes:
        extremes = no_extremes(*counts.shape)
        bin_extremes(projections, origin.astype(projections.dtype), width.astype(projections.dtype), extremes)
    return Histograms(counts, origin, width, bandwidth, resolution, extremes)


def sample_counts(
    projections: AnyArray,
    bandwidth: Bandwidth,
    resolution: Floats,
    bins_per_bandwidth: float,
    ends: Floats | None = None,
) -> tuple[AnyArray, Floats, Floats]:
    """Return the histograms of some projections with the origins and widths of their bins."""
    origin, width, n_bins = bins_along(projections, bandwidth, resolution, projections.shape[1], bins_per_bandwidth)
    if ends is not None:
        origin = ending_at(ends, origin, width)
    counts = np.zeros((len(projections), n_bins), dtype=np.int64)
    bin_projections(projections, origin.astype(projections.dtype), width.astype(projections.dtype), counts)
    return counts, origin, width


def ending_at(ends: Floats, origin: Floats, width: Floats) -> Floats:
    """Return the origin of bins that is nearest to another one such that a bin ends at each end."""
    return ends - width * np.round((ends - origin) / width)


def bins_along(
    projections: AnyArray, bandwidth: Bandwidth, resolution: Floats, n_rows: float, bins_per_bandwidth: float
) -> tuple[Floats, Floats, int]:
    """Return origins, widths and number of bins that resolve the densities of `n_rows` rows along some directions."""
    mean, sd, low, high = projection_ranges(projections)
    quartiles = sd
    if bandwidth.robust:
        lower, upper = np.quantile(projections, [0.25, 0.75], axis=1)
        quartiles = upper - lower
    h = np.hypot(bandwidth.of(n_rows, sd, quartiles), resolution)
    # Equal rows may differ in the last bits of their projections, which must not count as spread.
    size, digits = np.maximum(np.abs(low), np.abs(high)), np.finfo(projections.dtype)
    smallest = np.maximum(4 * digits.eps * size, digits.tiny * bins_per_bandwidth)
    h = np.where(h > smallest, h, np.maximum(size, 1.0))
    width = h / bins_per_bandwidth
    # Margins for the kernels of the outermost rows, and for rows outside the sample.
    margin = KERNEL_REACH * h + 0.1 * (high - low) * (n_rows > projections.shape[1])
    origin, n_bins = bins_over(low, high, margin, width, mean)
    return origin, width, n_bins


def bins_over(low: Floats, high: Floats, margin: Floats, width: Floats, middle: Floats) -> tuple[Floats, int]:
    """Return the origins and the number of bins that cover ranges with margins.

    Parameters
    ----------
    low, high, margin, width : arrays of shape (n_directions,)
    middle : array of shape (n_directions,)
        Centre of the bins if too many would be needed to cover the range.

    Returns
    -------
    origin : array of shape (n_directions,)
    n_bins : int
        Number of bins, the same for all directions, with one beyond each end of the widest range.
    """
    wanted = np.ceil((high - low + 2 * margin) / width) + 2
    n_bins = int(min(wanted.max(), MAX_BINS))
    return np.where(wanted > n_bins, middle, (low + high) / 2) - width * n_bins / 2, n_bins
