"""How well a threshold divides projections in two, from their histogram: two means, normalised cut and connectivity.

Rows are at the centres of their bins, so all rows that are far out may count as one bin.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh_tridiagonal

from .._jit.normalised_cuts import normalised_cuts
from .._typing import AnyArray, Floats

WITHIN_A_BIN = 1 / 12
"""Variance of rows spread evenly over a bin, in squared bins."""


class TwoMeans(NamedTuple):
    """Sums of squares of two groups of rows, in squared bins."""

    between: Floats
    """Sum of squares between the rows up to every bin and those beyond it, shape (n_directions, n_bins); zero where a
    side has no rows."""
    total: Floats
    """Sum of squared distances from the mean, shape (n_directions, 1)."""

    @property
    def within(self) -> Floats:
        """Sum of squared distances from the mean of the own side, shape (n_directions, n_bins)."""
        return self.total - self.between


def two_means(counts: AnyArray) -> TwoMeans:
    """Return the sums of squares of the sides of every threshold, from counts of shape (n_directions, n_bins).

    Examples
    --------
    >>> sums = two_means(np.array([[1, 1, 0, 0, 1, 1]]))
    >>> int(sums.within[0].argmin()), round(float(sums.within[0].min()), 3)
    (1, 1.333)
    """
    counts = np.asarray(counts, dtype=np.float64)
    n = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    bins = np.arange(counts.shape[1])
    away = bins - (counts * bins).sum(axis=1, keepdims=True) / n
    left, moment = np.cumsum(counts, axis=1), np.cumsum(counts * away, axis=1)
    pairs = left * (n - left)
    between = np.divide(n * moment**2, pairs, out=np.zeros(counts.shape), where=pairs > 0)
    total = (counts * away**2).sum(axis=1, keepdims=True) + WITHIN_A_BIN * n
    return TwoMeans(between, total)


def cuts_of(counts: AnyArray, reach: Floats) -> Floats:
    """Return the normalised cut after every bin, for the affinity ``exp(-distance / reach)``.

    Parameters
    ----------
    counts : array of shape (n_directions, n_bins)
    reach : array of shape (n_directions,)
        Scale of the affinity in bins.

    Returns
    -------
    ndarray of shape (n_directions, n_bins)
        Sum of the affinities between both sides, divided by that between one side and all rows, for either side; less
        than 2, infinite where a side has no rows.

    Examples
    --------
    >>> cuts_of(np.array([[1, 1, 0, 0, 1, 1]]), np.ones(1)).round(3).tolist()
    [[0.374, 0.066, 0.066, 0.066, 0.374, inf]]
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

    Examples
    --------
    >>> [round(connectivity(np.array([9, gap, gap, 9]), 1.0), 3) for gap in (0, 9)]
    [0.095, 0.332]
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
