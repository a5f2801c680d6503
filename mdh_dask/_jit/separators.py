"""The penalised density of the best hyperplane normal to a direction, with its gradient."""

import math

import numpy as np

from .._numba import jit, part
from .kernel_sums import kernel_pulls
from .valleys import REACH_OF_BINS, lowest_valley

BINS_PER_BANDWIDTH = 10
"""Bins per bandwidth of the grid that brackets the lowest density."""

MAX_BINS = 2**14


@jit
def best_separator(centred, direction, alpha, penalty):
    """Return the lowest `f` over all thresholds, the threshold, whether it has no penalty, and the tangent gradient."""
    projections, labelled = centred @ direction, penalty.signs
    n, h = projections.shape[0], penalty.bandwidth
    sd = math.sqrt((projections @ projections) / n)
    reach = bound = alpha * sd
    if penalty.signs.shape[0]:
        labelled = penalty.labelled @ direction
        for i in range(labelled.shape[0]):
            labelled[i] -= penalty.margin * penalty.signs[i]
            reach = max(reach, abs(labelled[i]))
    width = max(h / BINS_PER_BANDWIDTH, 2 * (reach + REACH_OF_BINS * h) / MAX_BINS)
    index, threshold = lowest_valley(projections, labelled, bound, width, penalty)
    excess = max(abs(threshold) - bound, 0.0)
    gradient = gradient_at(centred, projections, labelled, threshold, excess, alpha, sd, penalty)
    along = gradient @ direction
    for j in range(gradient.shape[0]):
        gradient[j] -= along * direction[j]
    return index, threshold, excess == 0, gradient


@part
def gradient_at(centred, projections, labelled, threshold, excess, alpha, sd, penalty):
    """Return the gradient of `f` by the direction at a threshold that lies by `excess` beyond the bound."""
    n, h = projections.shape[0], penalty.bandwidth
    pulls = kernel_pulls(projections, threshold, h)
    scale = n * (h * h) * math.sqrt(2 * math.pi)
    for i in range(n):
        pulls[i] /= scale
    if excess > 0 and sd > 0:
        rate = penalty.steepness * (1 + penalty.epsilon) * excess**penalty.epsilon * alpha / (n * sd)
        for i in range(n):
            pulls[i] -= rate * projections[i]
    gradient = pulls @ centred
    if labelled.shape[0]:
        rate = penalty.gamma * (1 + penalty.epsilon)
        forces = np.empty(labelled.shape[0])
        for i in range(labelled.shape[0]):
            wrong = max(penalty.signs[i] * (threshold - labelled[i]), 0.0)
            forces[i] = rate * penalty.signs[i] * wrong**penalty.epsilon
        forced = forces @ penalty.labelled
        for j in range(gradient.shape[0]):
            gradient[j] -= forced[j]
    return gradient
