"""Kernel densities on the bins of a histogram, the valleys between their modes, and how certain these are."""

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
import scipy
from scipy import fft

from .._jit.histograms import deepest_valleys as write_deepest_valleys
from .._typing import AnyArray, Floats, Integers

BINS_PER_BANDWIDTH = 5
"""Bins per bandwidth. The error stays within 1 % of the peak with four for 1000 rows or more, with five for 300."""

KERNEL_REACH = 6.0
"""Bandwidths beyond which a kernel adds less than 2e-8 of its height."""

CERTAIN_DEPTH = 10.0
"""Relative depth beyond which a valley is beyond doubt: a search that has found one need not go on for a deeper one."""

ROUGHNESS = 1 / (2 * np.sqrt(np.pi))
"""Integral of the squared Gaussian kernel of unit bandwidth."""

FINE = 8
"""Points per bin at which slopes are compared with their errors: the error of a threshold may be less than a bin."""


def kernel_density(counts: AnyArray, width: AnyArray, bandwidth: AnyArray) -> Floats:
    """Estimate densities with a Gaussian kernel from histograms, at the centres of their bins.

    Convolution by FFT, padded with zeros so that nothing wraps around. Negative noise of the transform, about 1e-16 of
    the highest density, is set to zero. Thesis (Yates 2017) section 6.2.7 estimates the same density.

    counts (..., n_bins): rows per bin; the outermost bins, which count the rows outside the range, are left out of the
        density.
    width, bandwidth (...): width of a bin and standard deviation of the kernel, in the units of the projection.
    Returns (..., n_bins) float64: non-negative; integrates to one up to the mass that the kernel spreads over the ends.
    """
    counts = np.asarray(counts)
    n_bins = counts.shape[-1]
    width, bandwidth = np.asarray(width, dtype=np.float64), np.asarray(bandwidth, dtype=np.float64)
    reach = int(np.ceil(KERNEL_REACH * np.max(bandwidth / width, initial=0.0)))
    length = fft.next_fast_len(n_bins + reach, real=True)
    inner = np.zeros((*counts.shape[:-1], length))
    inner[..., 1 : n_bins - 1] = counts[..., 1:-1]
    # In place: for hundreds of densities, the memory of every further array takes as long as its numbers.
    transfer = 2 * np.pi * fft.rfftfreq(length) * (bandwidth / width)[..., None]
    transfer *= transfer
    transfer *= -0.5
    spectrum = fft.rfft(inner)
    spectrum *= np.exp(transfer, out=transfer)
    scale = np.maximum(inner.sum(axis=-1, keepdims=True), 1.0) * width[..., None]
    # A new array, as loops would be compiled once more for parts of rows.
    density: Floats = np.maximum(fft.irfft(spectrum, length, overwrite_x=True)[..., :n_bins], 0.0)
    density /= scale
    return density


def kernel_height(n: AnyArray, bandwidth: AnyArray) -> Floats:
    """Return the density at an isolated row: the peak of one of `n` kernels, ``1 / (n h sqrt(2 pi))``."""
    return 1.0 / (np.maximum(n, 1) * bandwidth * np.sqrt(2 * np.pi))


def relative_depth(density: AnyArray, floor: AnyArray | float = 0.0) -> Floats:
    """Return the relative depth of a split at every grid point.

    floor (...): added to the density in the denominator. With the height of one row's kernel (`kernel_height`) the
        depth is finite in an empty gap and still reflects the modes on both sides.
    Returns (..., n_bins) float64: ``(min(highest density on the left, highest on the right) - p) / (p + floor)``: JMLR
        17(156), eq. 30; thesis, eq. 6.8. Zero where one side has no mode.
    """
    density = np.asarray(density, dtype=np.float64)
    left, right = (np.maximum.accumulate(side, axis=-1) for side in (density, density[..., ::-1]))
    gain = np.minimum(left, right[..., ::-1]) - density
    # An empty gap without a floor has a huge, but finite depth.
    least = np.finfo(float).tiny * np.maximum(gain, 1.0)
    return gain / np.maximum(density + np.asarray(floor)[..., None], least)


def doubt_of(share: float) -> float:
    """Return the doubt of `lower_ratio` about a sample with such a share of all rows, zero for all of them.

    The square root of the number of rows under a kernel has the variance 1/4, of which a sample has the share that it
    lacks of the rows. The unit is the square root of the height of one row's kernel.
    """
    return float(2.0 * np.sqrt((1 - share) / 4 * ROUGHNESS * np.sqrt(2 * np.pi)))


def lower_ratio(density: AnyArray, floor: AnyArray, doubt: float) -> Floats:
    """Return lower bounds of the mode beside every grid point, in multiples of the density there.

    Valleys of a sample are compared by them. A gap before three rows is as deep as a valley before a hundred, and the
    tails of many columns are full of such gaps, but all rows rarely have them.

    floor (...): as for `relative_depth`.
    doubt: by how much the square roots of densities may be wrong, in square roots of the floor; see `doubt_of`.
    Returns (..., n_bins) float64: not negative; without doubt one more than the relative depth.
    """
    root = np.sqrt(density + np.asarray(floor)[..., None])
    left, right = (np.maximum.accumulate(side, axis=-1) for side in (root, root[..., ::-1]))
    doubts = doubt * np.sqrt(np.asarray(floor))[..., None]
    return ((np.minimum(left, right[..., ::-1]) - doubts) / (root + doubts)) ** 2


def unimodal_fit(counts: AnyArray, mode: int) -> Floats:
    """Return the least-squares unimodal histogram with its mode in bin `mode`, scaled to sum one.

    Between two modes the fit pools the lower mode and the valley before it into a plateau, which is the unimodal
    distribution hardest to distinguish from the data there.
    """
    counts = np.asarray(counts, dtype=np.float64)
    rising, falling = counts[:mode], counts[mode + 1 :]
    fit = np.empty_like(counts)
    fit[:mode] = scipy.optimize.isotonic_regression(rising).x if len(rising) else rising
    fit[mode + 1 :] = scipy.optimize.isotonic_regression(falling, increasing=False).x if len(falling) else falling
    # The mode pools with the highest bins of both sides: an isotonic regression in order of height.
    fit[mode] = np.inf
    order = np.argsort(fit, kind="stable")
    fit[mode] = counts[mode]
    fit[order] = scipy.optimize.isotonic_regression(fit[order]).x
    return fit / fit.sum()


class Valleys(NamedTuple):
    """One valley of each histogram."""

    depth: Floats
    """Relative depths, zero without a valley, shape (n_directions,)."""
    bins: Integers
    """The last bin on the left of a split in each valley, shape (n_directions,)."""
    n_left: Integers
    """Number of rows up to this bin, shape (n_directions,)."""
    lower: Floats
    """Lower bounds of the relative depths in all rows, by which valleys are compared, shape (n_directions,)."""


def deepest_valleys(
    counts: AnyArray, bins_per_bandwidth: float, min_rows: float, allowed: AnyArray | None = None, share: float = 1.0
) -> Valleys:
    """Return the deepest valley of each histogram that leaves enough rows on both sides, by its `lower_ratio`.

    counts (n_directions, n_bins) int: rows per bin; the outermost bins, which count the rows outside the range, are
        left out of the density.
    bins_per_bandwidth: standard deviation of the kernel, in bins.
    allowed (2, n_directions) int: first and last bin that may be returned.
    share: share of all rows that are counted.
    Returns the relative depths are those of `Histograms` with this bandwidth; of several that are equal the first
        counts.
    """
    n, n_bins = counts.shape
    taps = np.exp(-0.5 * (np.arange(int(KERNEL_REACH * bins_per_bandwidth) + 1) / bins_per_bandwidth) ** 2)
    if allowed is None:
        allowed = np.repeat([[0], [n_bins]], n, axis=1)  # not a view, for which the loop would compile once more
    out, padded = np.empty((4, n)), np.zeros(n_bins + 2 * len(taps))
    write_deepest_valleys(counts, taps, float(min_rows), allowed, doubt_of(share), padded, np.empty((2, n_bins)), out)
    depth, lower = out[[0, 3]] ** 2 - 1
    return Valleys(np.maximum(depth, 0.0), out[1].astype(np.int64), out[2].astype(np.int64), lower)


def lower_mode(density: Floats, k: int) -> float:
    """Return the density at the lower of the two modes beside a bin, or in it."""
    return float(min(density[: k + 1].max(), density[k:].max()))


def valley_evidence(density: Floats, k: int, n_rows: float, bandwidth: float) -> float:
    """Return by how many standard errors the lower of the two modes beside a bin exceeds the density in it.

    `density` is that of `n_rows` rows with a Gaussian kernel of this bandwidth, `k` the bin after which the threshold
    lies. The z score is at least zero. The modes are chosen, so it is no test.
    """
    # The square roots of the numbers of rows under a kernel at the valley and at the lower mode each have
    # variance 1/4.
    in_valley, at_mode = rows_at(density, k, n_rows, bandwidth)
    return float(np.sqrt(2) * (np.sqrt(at_mode) - np.sqrt(in_valley)))


def rows_at(density: Floats, k: int, n_rows: float, bandwidth: float) -> tuple[float, float]:
    """Return the rows under a kernel in a bin, and at the lower of the two modes beside it; see `valley_evidence`."""
    rows = density * n_rows * bandwidth / ROUGHNESS
    return float(rows[k]), lower_mode(rows, k)


def threshold_error(position: Floats, density: Floats, threshold: float, n_rows: float, bandwidth: float) -> float:
    """Return the standard error of a threshold in a valley, at least an eighth of a bin.

    It is half of the interval around the threshold in which the slope of the density does not exceed its own standard
    error: in a smooth valley the standard error of the minimum, across an empty gap half of its width.

    The variance of the slope is about ``density / (4 sqrt(pi) n h^3)``.

    position, density (n_bins,): kernel density of `n_rows` rows with a Gaussian kernel of this bandwidth, in the units
        of `position`.
    """
    width = (position[-1] - position[0]) / max(len(position) - 1, 1)
    slope = np.gradient(density, width) if len(density) > 1 else np.zeros(1)
    error = np.sqrt(np.maximum(density, kernel_height(np.array(n_rows), np.array(bandwidth))) * ROUGHNESS / 2)
    error /= np.sqrt(max(n_rows, 1) * bandwidth**3)
    fine = np.linspace(position[0], position[-1], FINE * len(position))
    falling, rising = (np.interp(fine, position, sign * slope - error) > 0 for sign in (-1, 1))
    falls, rises = fine[falling & (fine <= threshold)], fine[rising & (fine >= threshold)]
    below = threshold - (falls[-1] if len(falls) else position[0])
    above = (rises[0] if len(rises) else position[-1]) - threshold
    return float(max((below + above) / 2, width / FINE))


NORMAL_QUARTILES = 1.349
"""Interquartile range of the standard Gaussian distribution."""


@dataclass(frozen=True)
class Bandwidth:
    """The rule ``h = factor * spread * n ** (-1/5)``."""

    factor: float
    """Larger is smoother."""
    robust: bool = False
    """Whether the spread is the smaller of standard deviation and interquartile range / 1.349."""
    principal: bool = False
    """Whether all directions use the standard deviation along the first principal component."""
    spread: float | None = None
    """The shared standard deviation; by default each direction uses its own."""

    @property
    def free(self) -> Self:
        """The same rule with each direction's own spread, as for a single column."""
        return replace(self, principal=False, spread=None)

    def finer(self, times: float) -> Self:
        """Return the rule whose bandwidths are so many times smaller."""
        return replace(self, factor=self.factor / times)

    def of(self, n: AnyArray | float, sd: AnyArray | float, quartiles: AnyArray | float) -> Floats:
        """Return bandwidths from numbers of rows, standard deviations and interquartile ranges."""
        spread = np.asarray(sd, dtype=np.float64)
        if self.spread is not None:
            spread = np.full_like(spread, self.spread)
        if self.robust:
            quartiles = np.asarray(quartiles, dtype=np.float64)
            spread = np.where(quartiles > 0, np.minimum(spread, quartiles / NORMAL_QUARTILES), spread)
        return self.factor * spread * np.maximum(n, 1) ** -0.2

    def along(self, projections: AnyArray, sd: Floats, n: float) -> Floats:
        """Return the bandwidths of `n` rows from projections of some, (n_directions, n_some), and their deviations."""
        quartiles = sd
        if self.robust:
            lower, upper = np.quantile(projections, [0.25, 0.75], axis=1)
            quartiles = upper - lower
        return self.of(n, sd, quartiles)


BANDWIDTHS = {
    "normal": Bandwidth((4 / 3) ** 0.2),
    "multimodal": Bandwidth(0.9),
    "silverman": Bandwidth(0.9, robust=True),
    "principal": Bandwidth(0.9, principal=True),
}
"""``normal``: the normal reference rule of thesis section 6.3.1. ``multimodal``: Silverman's 0.9 for multimodal
densities with the standard deviation of each direction. ``silverman``: the same with the smaller of standard deviation
and interquartile range, which outliers cannot inflate. ``principal``: the same with the standard deviation along the
first principal component, one bandwidth for all directions of a branch (JMLR 17(156) section 5.1.1)."""


def resolve_bandwidth(rule: str | float) -> Bandwidth:
    """Return the rule of that name, or ``factor * sd * n ** (-1/5)`` for a number."""
    return BANDWIDTHS[rule] if isinstance(rule, str) else Bandwidth(float(rule))


def spread_of_counts(counts: AnyArray, width: AnyArray) -> tuple[Floats, Floats, Floats]:
    """Return number of rows, standard deviation and interquartile range of stacked histograms.

    counts (..., n_bins): the outermost bins count the rows outside the range and are ignored.
    Returns n, sd, quartiles (...) float64.
    """
    inner = np.asarray(counts)[..., 1:-1]
    bins = np.arange(inner.shape[-1])
    n, below = inner.sum(axis=-1), inner.cumsum(axis=-1)
    safe = np.maximum(n, 1)
    variance = np.maximum((inner @ bins**2) / safe - ((inner @ bins) / safe) ** 2, 0.0)
    between = (0.25 * safe[..., None] <= below) & (below < 0.75 * safe[..., None])
    return n.astype(np.float64), np.sqrt(variance) * width, np.count_nonzero(between, axis=-1) * width
