"""The density on a hyperplane, with a penalty on hyperplanes far from the mean: the index of projection pursuit."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from .._jit.kernel_sums import bin_linearly, kernel_pulls, kernel_sums
from .._typing import Floats
from ..density.kde import kernel_density, kernel_height
from ..density.modes import relative_depth

BINS_PER_BANDWIDTH = 10
"""Bins on one bandwidth of the grid that brackets the lowest density."""

MAX_BINS = 2**14

REACH = 6
"""Bandwidths beyond which a kernel adds nothing."""

LARGEST_FOR_BFGS = 100
"""Features up to which BFGS keeps a full matrix; beyond, it remembers a few steps only."""

TOLERANCE = 1e-4
"""Gradient, in the units of `descend`, at which the descent ends."""

NEARLY_LOWEST = 0.003
"""Valleys of the binned density within this fraction of its height above the lowest are compared exactly."""


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
        Whether it carries no penalty, which makes it a local minimiser of the density.
    gradient : ndarray of shape (n_features,)
        Of the index by the direction, tangent to the unit sphere.
    """

    index: float
    offset: float
    inside: bool
    gradient: Floats


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
        Bound on how far the penalty lets a minimiser lie outside, positive.
    epsilon : float
        Between 0 and 1; the larger, the smoother the penalty.
    """

    centred: Floats
    bandwidth: float
    eta: float
    epsilon: float = 1 - 1e-6

    def best_separator(self, direction: Floats, alpha: float) -> Separator:
        """Return the lowest `f` over all offsets, and its exact gradient by the direction.

        Parameters
        ----------
        direction : array of shape (n_features,)
            Of length one.
        alpha : float
            Standard deviations from the mean to which hyperplanes are free of penalty.

        Notes
        -----
        The minimiser is bracketed on a grid and refined by Newton's method; O(n n_features) operations in all. By the
        envelope theorem the gradient is that of `f` at the minimiser, which comprises the standard deviation's.
        """
        projections = self.centred @ direction
        n, h = len(projections), self.bandwidth
        sd = float(np.sqrt(projections @ projections / n))
        places = self._candidates(projections, alpha * sd)
        index, offset = min(self._refine(projections, alpha * sd, *place) for place in places)
        excess = max(abs(offset) - alpha * sd, 0.0)
        pulls = kernel_pulls(projections, offset, h) / (n * h**2 * np.sqrt(2 * np.pi))
        if excess > 0 and sd > 0:
            rate = self.steepness * (1 + self.epsilon) * excess**self.epsilon
            pulls -= rate * alpha / (n * sd) * projections
        gradient = pulls @ self.centred
        return Separator(index, offset, excess == 0, gradient - (gradient @ direction) * direction)

    def density(self, direction: Floats, offset: float) -> float:
        """Return the kernel density on a hyperplane, without penalty."""
        total, _, _ = kernel_sums(self.centred @ direction, offset, self.bandwidth)
        return float(total * kernel_height(np.array(len(self.centred)), np.array(self.bandwidth)))

    @property
    def steepness(self) -> float:
        """The constant of the penalty, ``L / eta^epsilon`` with ``L = 1 / (e^(1/2) h^2 sqrt(2 pi))``."""
        return 1 / (np.exp(0.5) * self.bandwidth**2 * np.sqrt(2 * np.pi)) / self.eta**self.epsilon

    def _candidates(self, projections: Floats, bound: float) -> list[tuple[float, float, float]]:
        """Return intervals that hold the lowest valleys, each as its low end, where to begin, and its high end."""
        width = max(self.bandwidth / BINS_PER_BANDWIDTH, 2 * (bound + REACH * self.bandwidth) / MAX_BINS)
        half = int(np.ceil((bound + REACH * self.bandwidth) / width)) + 1
        weights = np.zeros(2 * half)
        bin_linearly(projections, -half * width, width, weights)
        density = kernel_density(weights, np.array(width), np.array(self.bandwidth))
        centres = (np.arange(2 * half) + 0.5 - half) * width
        inner = np.abs(centres) < bound
        grid = np.concatenate([[-bound], centres[inner], [bound]])
        # Less than this is noise of the transform: a gap without rows is one valley.
        noise = 1e-12 * density.max()
        height = np.maximum(np.interp(grid, centres, density), noise)
        starts = np.concatenate([[0], np.flatnonzero((height[1:] > noise) | (height[:-1] > noise)) + 1])
        stops = np.concatenate([starts[1:], [len(grid)]])
        height = height[starts]
        padded = np.concatenate([[np.inf], height, [np.inf]])
        valley = (height <= padded[:-2]) & (height <= padded[2:])
        valley &= height <= height.min() + NEARLY_LOWEST * density.max()
        # A flat valley of the exact density may be some bins away; none is more than eta outside the bound.
        limit = bound + self.eta
        low = np.maximum(grid[starts[valley]] - self.bandwidth, -limit)
        high = np.minimum(grid[stops[valley] - 1] + self.bandwidth, limit)
        middle = (grid[starts[valley]] + grid[stops[valley] - 1]) / 2
        return list(zip(low.tolist(), middle.tolist(), high.tolist()))

    def _refine(self, projections: Floats, bound: float, low: float, place: float, high: float) -> tuple[float, float]:
        """Return the value and the place of a valley of `f` between two offsets, by Newton's method from `place`."""
        h, epsilon, steepness = self.bandwidth, self.epsilon, self.steepness
        unit = 1 / (len(projections) * h * np.sqrt(2 * np.pi))
        tolerance = 1e-10 * h
        for _ in range(60):
            total, slope, bend = kernel_sums(projections, place, h)
            excess = max(abs(place) - bound, 0.0)
            value = unit * total + steepness * excess ** (1 + epsilon)
            slope, bend = slope * unit / h, bend * unit / h**2
            if excess > 0:
                slope += np.sign(place) * steepness * (1 + epsilon) * excess**epsilon
                bend += steepness * (1 + epsilon) * epsilon * excess ** (epsilon - 1)
            low, high = (place, high) if slope < 0 else (low, place)
            step = -slope / bend if bend > 0 else np.inf
            following = place + step if low < place + step < high else (low + high) / 2
            if abs(following - place) <= tolerance or slope == 0:
                break
            place = following
        return float(value), float(place)


def descend(
    index: PenalisedDensity, start: Floats, alpha: float, max_iterations: int, unit: float
) -> tuple[Floats, Separator]:
    """Return a direction of lower index than the start, and its best separator.

    Parameters
    ----------
    index : PenalisedDensity
    start : array of shape (n_features,)
        Of length one.
    alpha : float
    max_iterations : int
        Steps of BFGS at most (Lewis and Overton 2013, for functions that are not smooth everywhere).
    unit : float
        A density that counts as large: what makes the tolerance independent of the scale of the rows.
    """

    def value_and_gradient(v: Floats) -> tuple[float, Floats]:
        # The index of any vector is that of its direction: the gradient is tangent, so that steps keep to the sphere.
        length = np.linalg.norm(v)
        best = index.best_separator(v / length, alpha)
        return best.index / unit, best.gradient / (length * unit)

    method = "BFGS" if len(start) <= LARGEST_FOR_BFGS else "L-BFGS-B"
    options = {"maxiter": max_iterations, "gtol": TOLERANCE}
    end = minimize(value_and_gradient, start, jac=True, method=method, options=options).x
    end /= np.linalg.norm(end)
    before, after = index.best_separator(start, alpha), index.best_separator(end, alpha)
    return (end, after) if after.index <= before.index else (start, before)


def depth_at(projections: Floats, offset: float, bandwidth: float) -> float:
    """Return the relative depth at one place, from exact densities there and at the highest bins on both sides."""
    low, high = projections.min() - REACH * bandwidth, projections.max() + REACH * bandwidth
    n_bins = int(min(2 * BINS_PER_BANDWIDTH * float(high - low) / bandwidth + 3, MAX_BINS))
    width = (high - low) / (n_bins - 2)
    weights = np.zeros(n_bins)
    bin_linearly(projections, low - width, width, weights)
    density = kernel_density(weights, np.array(width), np.array(bandwidth))
    place = int(np.clip((offset - low) / width + 1, 1, n_bins - 2))
    left, right = density[:place].argmax(), place + 1 + density[place + 1 :].argmax()
    places = (low + (left - 0.5) * width, offset, low + (right - 0.5) * width)
    height = kernel_height(np.array(len(projections)), np.array(bandwidth))
    exact = height * np.array([kernel_sums(projections, float(b), bandwidth)[0] for b in places])
    return float(relative_depth(exact, height)[1])
