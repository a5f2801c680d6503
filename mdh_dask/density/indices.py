"""Indices of histograms that criteria of the papers use: dip, kurtosis, minimum error, two means, normalised cut.

Rows are at the centres of their bins, or spread evenly over them, so all rows that are far out may count as one bin.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh_tridiagonal

from .._jit.affinities import normalised_cuts
from .._jit.dip import dips_of_histograms
from .._jit.histograms import closed_minima, thresholding_errors
from .._typing import AnyArray, Booleans, Floats


def dip_of_counts(counts: AnyArray) -> Floats:
    """Return the dips of histograms.

    J. A. Hartigan, P. M. Hartigan: The dip test of unimodality. Annals of Statistics 13 (1985), 70-84.

    counts (n_histograms, n_bins): integer or float counts in bins of equal width, finite and non-negative. Leave out
        outermost bins that count all rows beyond the range: a tail squeezed into one bin looks like a mode.
    Returns (n_histograms,) float64: the dip of the distribution with the histogram as its density, from 0 (unimodal, or
        empty) to 1/4. It does not depend on the bin width or the unit of the counts. It never exceeds the dip of the
        rows themselves, and falls short of it by at most the largest bin's share of the rows.
    """
    dips: Floats = dips_of_histograms(np.ascontiguousarray(counts, dtype=np.float64))
    return dips


def kurtosis_of_counts(counts: AnyArray) -> Floats:
    """Return the kurtosis of each of a stack of histograms, as if all rows of a bin lay at its centre.

    It is 3 for a Gaussian and 1.8 for a uniform distribution, and at least 1; NaN where all rows are in one bin.
    """
    weights = np.asarray(counts, dtype=np.float64)
    n, bins = weights.sum(axis=1, keepdims=True), np.arange(weights.shape[1])
    squares = (bins - weights @ bins[:, None] / np.maximum(n, 1)) ** 2
    second, fourth = (weights * squares).sum(axis=1), (weights * squares**2).sum(axis=1)
    return n[:, 0] * np.divide(fourth, second**2, out=np.full(len(n), np.nan), where=second > 0)


class Errors(NamedTuple):
    """Statistics of a threshold after every bin, each of shape (n_directions, n_bins)."""

    criterion: Floats
    """J: smaller is better; infinite where a threshold is not allowed."""
    separation: Floats
    """Squared distance of the means of both sides divided by the sum of their variances."""
    depth: Floats
    """Rise of J from its local minima to the maxima beside them; zero elsewhere."""

    def best_index(self, allowed: Booleans) -> Floats:
        """Return separation times depth at the lowest allowed local minimum of J of each direction; zero without."""
        criterion = np.where(allowed & (self.depth > 0), self.criterion, np.inf)
        best = np.arange(len(criterion)), criterion.argmin(axis=1)
        return np.where(np.isfinite(criterion[best]), self.separation[best] * self.depth[best], 0.0)


@dataclass(frozen=True)
class MinimumError:
    """The criterion of Kittler and Illingworth for the threshold between two normal distributions.

    ``J = 1 + 2 sum P_i log s_i - 2 sum P_i log P_i``, with the shares `P_i` and the standard deviations `s_i` of the
    rows on both sides of a threshold.

    J and its index do not depend on the unit and the origin of the projections. The depth of a minimum of J is its
    lower rise to the maxima beside it, so that a valley is closed on both sides, which the source leaves open. The
    hundredth of the rows that is farthest out on each side counts as at most half a range beyond the others, so that
    far rows do not matter; no threshold lies there. Rows are spread evenly over their bins. Source: J. Kittler and J.
    Illingworth, Minimum error thresholding, Pattern Recognition 19(1), 1986; Rome, Miasnikov and Haralick, CUNY
    TR-2003009, section 3.1. One sweep over the bins.
    """

    corrected: bool = False
    """Whether to use the means and variances of the normal distributions whose tails the threshold cuts off, rather
    than those of the rows (Cho, Haralick and Yi 1989). Two steps of a fixed-point iteration find them."""

    def of(self, counts: AnyArray) -> Errors:
        """Return the statistics of a threshold after every bin, for counts of shape (n_directions, n_bins)."""
        counts = np.ascontiguousarray(counts)
        criterion, separation, depth = (np.empty(counts.shape) for _ in range(3))
        thresholding_errors(counts, self.corrected, criterion, separation)
        closed_minima(criterion, depth)
        return Errors(criterion, separation, depth)


def two_means(counts: AnyArray) -> tuple[Floats, Floats]:
    """Return the sums of squares within and between the rows up to every bin and those beyond it, in squared bins.

    counts (n_directions, n_bins); both sums have the same shape. Those between are zero where a side has no rows.
    """
    counts = np.asarray(counts, dtype=np.float64)
    n = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    bins = np.arange(counts.shape[1])
    away = bins - (counts * bins).sum(axis=1, keepdims=True) / n
    left, moment = np.cumsum(counts, axis=1), np.cumsum(counts * away, axis=1)
    pairs = left * (n - left)
    between = np.divide(n * moment**2, pairs, out=np.zeros(counts.shape), where=pairs > 0)
    total = (counts * away**2).sum(axis=1, keepdims=True) + (1 / 12) * n  # of rows spread evenly over a bin
    return total - between, between


def cuts_of(counts: AnyArray, reach: Floats) -> Floats:
    """Return the normalised cut after every bin, for the affinity ``exp(-distance / reach)``.

    counts (n_directions, n_bins).
    reach (n_directions,): scale of the affinity in bins.
    Returns (n_directions, n_bins): sum of the affinities between both sides, divided by that between one side and all
        rows, for either side; less than 2, infinite where a side has no rows.
    """
    counts = np.ascontiguousarray(counts)
    out = np.empty(counts.shape)
    normalised_cuts(counts, np.exp(-1 / reach), out)
    return out


def connectivity(counts: AnyArray, reach: float) -> float:
    """Return one minus the second largest eigenvalue of the normalised affinities among the rows of one histogram.

    This is the second smallest eigenvalue of their normalised Laplacian: zero for two groups without a link, one
    without any structure. Rows of one bin are alike, so the affinities are those among the occupied bins, weighted by
    their rows. The inverse of ``exp(-distance / reach)`` among points on a line is tridiagonal.
    """
    bins = np.flatnonzero(counts)
    if len(bins) < 2:
        return 1.0
    rows, link = counts[bins].astype(np.float64), np.exp(-np.diff(bins) / reach)
    free = -np.expm1(-2 * np.diff(bins) / reach)
    diagonal = 1 + np.append(link**2 / free, 0.0) + np.append(0.0, link**2 / free)
    weight = np.sqrt(_degrees(rows, link) / rows)
    beside = -link / free * weight[1:] * weight[:-1]
    inverse = eigh_tridiagonal(diagonal * weight**2, beside, eigvals_only=True, select="i", select_range=(1, 1))
    return float(1 - 1 / inverse[0])


def _degrees(rows: Floats, link: Floats) -> Floats:
    """Return the sum of the affinities between a row of each bin and all rows."""
    below, above = np.zeros(len(rows)), np.zeros(len(rows))
    for k, share in enumerate(link):
        below[k + 1] = share * (below[k] + rows[k])
        above[-2 - k] = link[-1 - k] * (above[-1 - k] + rows[-1 - k])
    return below + rows + above
