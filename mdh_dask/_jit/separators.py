"""The penalised density of the best hyperplane normal to a direction, with its gradient."""

import math

import numpy as np

from .._numba import jit, part
from .kernel_sums import kernel_pulls
from .valleys import REACH_OF_BINS, lowest_valley
from .vectors import add_multiple, combine_rows, inner

BINS_PER_BANDWIDTH = 10
"""Bins per bandwidth of the grid that brackets the lowest density."""

MAX_BINS = 2**14


@jit
def best_separator(centred, columns, direction, alpha, penalty, gradient):
    """Return the lowest `f` over all thresholds, the threshold and whether it has no penalty.

    `columns` are the columns of the rows. The gradient, tangent to the unit sphere, is written to `gradient`.
    """
    n, h = centred.shape[0], penalty.bandwidth
    projections, labelled = np.empty(n), np.empty(penalty.signs.shape[0])
    combine_rows(direction, columns, projections)
    sd = math.sqrt(inner(projections, projections) / n)
    reach = bound = alpha * sd
    for i in range(labelled.shape[0]):
        labelled[i] = inner(penalty.labelled[i], direction) - penalty.margin * penalty.signs[i]
        reach = max(reach, abs(labelled[i]))
    width = max(h / BINS_PER_BANDWIDTH, 2 * (reach + REACH_OF_BINS * h) / MAX_BINS)
    index, threshold = lowest_valley(projections, labelled, bound, width, penalty)
    excess = max(abs(threshold) - bound, 0.0)
    write_gradient(centred, projections, labelled, threshold, excess, alpha, sd, penalty, gradient)
    add_multiple(gradient, -inner(gradient, direction), direction)
    return index, threshold, excess == 0


@part
def write_gradient(centred, projections, labelled, threshold, excess, alpha, sd, penalty, gradient):
    """Write the gradient of `f` by the direction at a threshold that lies by `excess` beyond the bound."""
    n, h = projections.shape[0], penalty.bandwidth
    pulls = kernel_pulls(projections, threshold, h)
    scale = n * (h * h) * math.sqrt(2 * math.pi)
    for i in range(n):
        pulls[i] /= scale
    if excess > 0 and sd > 0:
        rate = penalty.steepness * (1 + penalty.epsilon) * excess**penalty.epsilon * alpha / (n * sd)
        add_multiple(pulls, -rate, projections)
    combine_rows(pulls, centred, gradient)
    rate = penalty.gamma * (1 + penalty.epsilon)
    for i in range(labelled.shape[0]):
        wrong = penalty.signs[i] * (threshold - labelled[i])
        if wrong > 0.0:
            add_multiple(gradient, -rate * penalty.signs[i] * wrong**penalty.epsilon, penalty.labelled[i])
