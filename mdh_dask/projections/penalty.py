"""The index of projection pursuit: the density on a hyperplane with a penalty for distance from the mean."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._jit.descent import BINS_PER_BANDWIDTH, MAX_BINS, best_separator, descend, start_descent
from .._jit.valleys import REACH_OF_BINS, Penalty, bin_linearly, kernel_sums
from .._typing import Floats
from ..density.kde import kernel_density, kernel_height
from ..density.modes import relative_depth


@dataclass(frozen=True)
class Separator:
    """The best hyperplane normal to a direction.

    Parameters
    ----------
    index : float
        Penalised density on the hyperplane.
    offset : float
        Projection of the hyperplane, for rows of mean zero.
    inside : bool
        Whether it has no penalty, and so is a local minimiser of the density.
    gradient : ndarray of shape (n_features,)
        Gradient of the index by the direction, tangent to the unit sphere.
    """

    index: float
    offset: float
    inside: bool
    gradient: Floats


@dataclass(frozen=True, eq=False)
class Labels:
    """Labelled rows, which a hyperplane should leave on their sides.

    Parameters
    ----------
    rows : array of shape (n_labelled, n_features), float64
        Centred like the rows of the density.
    signs : array of shape (n_labelled,), float64
        1 for rows that belong above the hyperplane, -1 for those below.
    gamma : float
        Penalty for a row that is one unit on the wrong side.
    margin : float
        Distance on the right side from which rows have no penalty.
    """

    rows: Floats
    signs: Floats
    gamma: float
    margin: float = 0.0


@dataclass(frozen=True)
class PenalisedDensity:
    """The index ``phi(v) = min_b f(v, b)`` of a sample, where `f` is JMLR 17(156), eq. 10.

    ``f(v, b) = p(b) + L / eta^epsilon * max(0, |b - mean| - alpha * sd)^(1 + epsilon)`` with the kernel density `p`,
    the mean and the standard deviation of the projections on `v`.

    Parameters
    ----------
    centred : array of shape (n, n_features), float64
        Rows with mean zero; all projections then have mean zero too, and the penalty is symmetric.
    bandwidth : float
        Standard deviation of the Gaussian kernel, positive.
    eta : float
        Bound on the distance of a minimiser beyond the bounds, positive.
    epsilon : float
        Between 0 and 1; the larger, the smoother the penalty.
    labels : Labels, optional
        Penalty on labelled rows on the wrong side, added to `f` (eq. 16).
    """

    centred: Floats
    bandwidth: float
    eta: float
    epsilon: float = 1 - 1e-6
    labels: Labels | None = None

    def best_separator(self, direction: Floats, alpha: float) -> Separator:
        """Return the minimum of `f` over all thresholds, and its exact gradient by the direction.

        Parameters
        ----------
        direction : array of shape (n_features,)
            Unit direction.
        alpha : float
            Standard deviations from the mean within which hyperplanes have no penalty.

        Notes
        -----
        The minimiser is bracketed on a grid and refined by Newton's method; O(n n_features) operations in all. By the
        envelope theorem the gradient is that of `f` at the minimiser, including that of the standard deviation.
        """
        gradient = np.empty(len(direction))
        index, offset, inside = best_separator(self.centred, self.columns, direction, alpha, self.penalty, gradient)
        return Separator(index, offset, inside, gradient)

    def descend(
        self, start: Floats, alpha: float, max_steps: int, unit: float
    ) -> tuple[Floats, Separator, tuple[float, float]]:
        """Return a direction of lower index than the start, its best separator, and offset and index of the start's.

        Parameters
        ----------
        start : array of shape (n_features,)
            Unit direction.
        alpha : float
        max_steps : int
            Most steps of BFGS (Lewis and Overton 2013, for functions that are not smooth everywhere).
        unit : float
            A density that counts as large; it makes the tolerance independent of the scale of the rows.
        """
        work = start_descent(start)
        best, first = descend(self.centred, self.columns, alpha, max_steps, unit, self.penalty, work)
        return work.x, Separator(best[0], best[1], best[2], work.gradient * unit), (first[1], first[0])

    def density(self, direction: Floats, offset: float) -> float:
        """Return the kernel density on a hyperplane, without the penalty."""
        total, _, _ = kernel_sums(self.centred @ direction, np.ones(len(self.centred)), offset, self.bandwidth)
        return float(total * kernel_height(np.array(len(self.centred)), np.array(self.bandwidth)))

    @cached_property
    def columns(self) -> Floats:
        """Columns of the rows, along which projections are summed."""
        return np.ascontiguousarray(self.centred.T)

    @cached_property
    def penalty(self) -> Penalty:
        """Constants of the penalty; the last is ``L / eta^epsilon`` with ``L = 1 / (e^(1/2) h^2 sqrt(2 pi))``."""
        steepness = 1 / (np.exp(0.5) * self.bandwidth**2 * np.sqrt(2 * np.pi)) / self.eta**self.epsilon
        labels = self.labels or Labels(np.empty((0, self.centred.shape[1])), np.empty(0), 0.0)
        constants = (float(self.bandwidth), float(self.eta), float(self.epsilon), float(steepness))
        return Penalty(*constants, labels.rows, labels.signs, float(labels.gamma), float(labels.margin))


def depth_at(projections: Floats, offset: float, bandwidth: float) -> float:
    """Return the relative depth at a threshold, from exact densities there and at the highest bins on both sides."""
    low, high = projections.min() - REACH_OF_BINS * bandwidth, projections.max() + REACH_OF_BINS * bandwidth
    n_bins = int(min(2 * BINS_PER_BANDWIDTH * float(high - low) / bandwidth + 3, MAX_BINS))
    width = (high - low) / (n_bins - 2)
    weights = np.zeros(n_bins)
    bin_linearly(projections, low - width, width, weights)
    density = kernel_density(weights, np.array(width), np.array(bandwidth))
    place = int(np.clip((offset - low) / width + 1, 1, n_bins - 2))
    left, right = density[:place].argmax(), place + 1 + density[place + 1 :].argmax()
    places = (low + (left - 0.5) * width, offset, low + (right - 0.5) * width)
    height = kernel_height(np.array(len(projections)), np.array(bandwidth))
    ones = np.ones(len(projections))
    exact = height * np.array([kernel_sums(projections, ones, float(b), bandwidth)[0] for b in places])
    return float(relative_depth(exact, height)[1])
