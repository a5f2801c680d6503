"""The penalised density of the best hyperplane normal to a direction, with its gradient."""

import math

import numpy as np

from .._numba import jit
from .kernel_sums import kernel_pulls
from .valleys import REACH_OF_BINS, lowest_valley

BINS_PER_BANDWIDTH = 10
"""Bins per bandwidth of the grid that brackets the lowest density."""

MAX_BINS = 2**14


@jit
def best_separator(centred, direction, alpha, penalty):
    """Return the lowest `f` over all thresholds, the threshold, whether it has no penalty, and the tangent gradient."""
    projections = centred @ direction
    n, h = projections.shape[0], penalty.bandwidth
    sd = math.sqrt((projections @ projections) / n)
    bound = alpha * sd
    labelled, reach = penalty.signs[:0], bound
    if penalty.signs.shape[0]:
        labelled = penalty.labelled @ direction - penalty.margin * penalty.signs
        reach = max(bound, np.abs(labelled).max())
    width = max(h / BINS_PER_BANDWIDTH, 2 * (reach + REACH_OF_BINS * h) / MAX_BINS)
    index, threshold = lowest_valley(projections, labelled, bound, width, penalty)
    pulls = kernel_pulls(projections, threshold, h) / (n * h**2 * math.sqrt(2 * math.pi))
    excess = max(abs(threshold) - bound, 0.0)
    if excess > 0 and sd > 0:
        rate = penalty.steepness * (1 + penalty.epsilon) * excess**penalty.epsilon
        pulls -= rate * alpha / (n * sd) * projections
    gradient = pulls @ centred
    if penalty.signs.shape[0]:
        wrong = np.maximum(penalty.signs * (threshold - labelled), 0.0)
        rate = penalty.gamma * (1 + penalty.epsilon)
        gradient -= (rate * penalty.signs * wrong**penalty.epsilon) @ penalty.labelled
    return index, threshold, excess == 0, gradient - (gradient @ direction) * direction


@jit
def index_along(centred, x, alpha, penalty, unit):
    """Return the index of the direction of a vector, its gradient by the vector, and the best threshold.

    The index depends only on the direction, so the gradient is tangent to the sphere.
    """
    length = math.sqrt(x @ x)
    index, threshold, inside, gradient = best_separator(centred, x / length, alpha, penalty)
    return index / unit, gradient / (length * unit), threshold, inside
