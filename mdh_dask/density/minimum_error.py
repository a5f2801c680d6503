"""Minimum error thresholding, and the index of projection pursuit based on it."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._jit.histograms import closed_minima, thresholding_errors
from .._typing import AnyArray, Booleans, Floats


class Errors(NamedTuple):
    """Statistics of a threshold after every bin, each of shape (n_directions, n_bins)."""

    criterion: Floats
    """J: smaller is better; infinite where a threshold is not allowed."""
    separation: Floats
    """Squared distance of the means of both sides divided by the sum of their variances."""
    depth: Floats
    """Rise of J from its local minima to the maxima beside them; zero elsewhere."""

    @property
    def products(self) -> Floats:
        """Separation times depth: zero except at local minima of J."""
        return self.separation * self.depth

    def best_index(self, allowed: Booleans) -> Floats:
        """Return the index at the lowest allowed local minimum of J, shape (n_directions,); zero without one."""
        criterion = np.where(allowed & (self.depth > 0), self.criterion, np.inf)
        best = criterion.argmin(axis=1)[:, None]
        found = np.where(
            np.isfinite(np.take_along_axis(criterion, best, 1)), np.take_along_axis(self.products, best, 1), 0.0
        )
        return found[:, 0]


@dataclass(frozen=True)
class MinimumError:
    """The criterion of Kittler and Illingworth for the threshold between two normal distributions.

    ``J = 1 + 2 sum P_i log s_i - 2 sum P_i log P_i``, with the shares `P_i` and the standard deviations `s_i` of the
    rows on both sides of a threshold.

    Parameters
    ----------
    corrected : bool
        Whether to use the means and variances of the normal distributions whose tails the threshold cuts off, rather
        than those of the rows (Cho, Haralick and Yi 1989). Two steps of a fixed-point iteration find them.
    closest : bool
        Whether the depth of a minimum of J is its rise to the nearer of the maxima beside it. By default it is the
        lower rise of both, so that a valley is closed on both sides; the source does not specify this.

    Notes
    -----
    J and its index do not depend on the unit and the origin of the projections. The hundredth of the rows
    that is farthest out on each side counts as at most half a range beyond the others, so that far rows do not
    matter; no threshold lies there. Rows are spread evenly over their bins. Source: J. Kittler and J.
    Illingworth, Minimum error thresholding, Pattern Recognition 19(1), 1986; Rome, Miasnikov and Haralick, CUNY
    TR-2003009, section 3.1. One sweep over the bins.

    Examples
    --------
    >>> counts = np.array([[1, 5, 9, 5, 1, 0, 0, 0, 1, 5, 9, 5, 1]])
    >>> errors = MinimumError().of(counts)
    >>> np.flatnonzero(errors.criterion[0] == errors.criterion[0].min())
    array([4, 5, 6, 7])
    """

    corrected: bool = False
    closest: bool = False

    def of(self, counts: AnyArray) -> Errors:
        """Return the statistics of a threshold after every bin, for counts of shape (n_directions, n_bins)."""
        counts = np.ascontiguousarray(counts)
        criterion, separation, depth = (np.empty(counts.shape) for _ in range(3))
        thresholding_errors(counts, self.corrected, criterion, separation)
        closed_minima(criterion, self.closest, depth)
        return Errors(criterion, separation, depth)
