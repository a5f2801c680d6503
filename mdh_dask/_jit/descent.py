"""Descent of the penalised density over directions: limited-memory BFGS, for an index with kinks."""

import math
from typing import NamedTuple

import numpy as np

from .._numba import jit, part
from .._typing import Floats
from .rows import add_multiple, combine_rows, inner
from .valleys import REACH_OF_BINS, kernel_pulls, lowest_valley

BINS_PER_BANDWIDTH = 10
"""Bins per bandwidth of the grid that brackets the lowest density."""

MAX_BINS = 2**14


@part
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
    write_gradient(centred, projections, labelled, threshold, alpha, sd, penalty, gradient)
    add_multiple(gradient, -inner(gradient, direction), direction)
    return index, threshold, abs(threshold) <= bound


@part
def write_gradient(centred, projections, labelled, threshold, alpha, sd, penalty, gradient):
    """Write the gradient of `f` by the direction at a threshold, which may lie beyond the bound."""
    n, h, excess = projections.shape[0], penalty.bandwidth, abs(threshold) - alpha * sd
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


MEMORY = 10
"""Steps in the BFGS memory: enough for all of them while alpha grows."""

SUFFICIENT, FLATTER = 1e-4, 0.9
"""Constants of the weak Wolfe conditions: least share of the predicted decrease, largest share of the slope left."""


class Descent(NamedTuple):
    """What a descent writes: made outside, because a loop that makes arrays takes longer to compile."""

    x: Floats
    """Vector whose direction is that of the hyperplane, shape (n_features,); the start before, a unit vector after."""
    gradient: Floats
    """Gradient at `x`, in units of the descent."""
    step: Floats
    there: Floats
    """Unit direction of the last trial of a line search."""
    uphill: Floats
    """Gradient there."""
    slopes: Floats
    """Gradient at the best trial of a line search."""
    steps: Floats
    """Last steps, shape (MEMORY, n_features); step i is row i modulo MEMORY."""
    changes: Floats
    """Changes of the gradient over these steps."""
    products: Floats
    """Inner products of steps and changes, shape (MEMORY,)."""
    shares: Floats
    """Shares of the changes in a step, shape (MEMORY,)."""


def start_descent(start: Floats) -> Descent:
    """Return the arrays of a descent from a unit direction."""
    d = len(start)
    return Descent(np.array(start, float), *np.zeros((5, d)), *np.zeros((2, MEMORY, d)), *np.zeros((2, MEMORY)))


@jit
def descend(centred, columns, alpha, max_steps, unit, penalty, work):
    """Move ``work.x`` to a unit direction of lower index (Lewis and Overton 2013); return the best separator there.

    `unit` is a density that counts as large; it makes the tolerance independent of the scale of the rows. A
    separator is index, threshold and whether it has no penalty.
    """
    x, gradient = work.x, work.gradient
    kept, value, best = 0, np.inf, (np.inf, 0.0, False)
    for taken in range(max_steps + 1):
        # The first step, of length zero, finds the value at the start. Written twice, the search would compile twice.
        if taken > 0:
            if is_flat(gradient):
                break
            quasi_newton_step(work, kept)
        share, separator = line_search(centred, columns, value, alpha, penalty, unit, work)
        if share == 0.0:
            break
        kept = take_step(work, share, kept)
        lower = separator[0] / unit
        gain = value - lower
        value, best = lower, separator
        if taken > 0 and gain <= 1e-4 * (value + gain):
            break
    length = math.sqrt(inner(x, x))
    for j in range(x.shape[0]):
        x[j] /= length
        gradient[j] *= length  # which is less the longer the vector is
    return best


@part
def is_flat(gradient):
    """Return whether no entry exceeds the tolerance or is NaN."""
    flat = True
    for j in range(gradient.shape[0]):
        flat &= abs(gradient[j]) <= 1e-4
    return flat


@part
def quasi_newton_step(work, kept):
    """Set the step to minus the gradient times the inverse Hessian estimated from the last of `kept` steps."""
    gradient, step, shares = work.gradient, work.step, work.shares
    steps, changes, products = work.steps, work.changes, work.products
    oldest = kept - MEMORY if kept > MEMORY else 0
    scale = 1.0
    for j in range(step.shape[0]):
        step[j] = -gradient[j]
    for i in range(kept - 1, oldest - 1, -1):
        k = i % MEMORY
        shares[k] = inner(steps[k], step) / products[k]
        add_multiple(step, -shares[k], changes[k])
    if kept == 0:
        size = math.sqrt(inner(gradient, gradient))
        scale = 1 / size if size > 1.0 else 1.0
    else:
        k = (kept - 1) % MEMORY
        scale = products[k] / inner(changes[k], changes[k])
    for j in range(step.shape[0]):
        step[j] *= scale
    for i in range(oldest, kept):
        k = i % MEMORY
        add_multiple(step, shares[k] - inner(changes[k], step) / products[k], steps[k])


@part
def take_step(work, share, kept):
    """Move by a share of the step; remember it if the index is convex along it. Return the number of such steps."""
    x, gradient, step, slopes = work.x, work.gradient, work.step, work.slopes
    steps, changes, products = work.steps, work.changes, work.products
    product = 0.0
    for j in range(x.shape[0]):
        step[j] *= share
        x[j] += step[j]
        gradient[j] = slopes[j] - gradient[j]
        product += step[j] * gradient[j]
    if product > 0.0:
        k = kept % MEMORY
        products[k] = product
        for j in range(x.shape[0]):
            steps[k, j], changes[k, j] = step[j], gradient[j]
        kept += 1
    for j in range(x.shape[0]):
        gradient[j] = slopes[j]
    return kept


@part
def line_search(centred, columns, value, alpha, penalty, unit, work):
    """Return the share of the step that satisfies the weak Wolfe conditions, by bisection, and the separator there.

    The share is zero if no point is lower; else `slopes` is the gradient there.
    """
    x, gradient, step, there, uphill, slopes = work.x, work.gradient, work.step, work.there, work.uphill, work.slopes
    slope = inner(gradient, step)
    low, high, size = 0.0, np.inf, 1.0
    found, best = 0.0, (value, 0.0, False)
    for _ in range(20):
        for j in range(x.shape[0]):
            there[j] = x[j] + size * step[j]
        length = math.sqrt(inner(there, there))
        for j in range(x.shape[0]):
            there[j] /= length
        separator = best_separator(centred, columns, there, alpha, penalty, uphill)
        # The index depends only on the direction, so its gradient is tangent to the sphere.
        for j in range(x.shape[0]):
            uphill[j] /= length * unit
        if separator[0] / unit > value + SUFFICIENT * size * slope:
            high = size
        else:
            found, best = size, separator
            for j in range(x.shape[0]):
                slopes[j] = uphill[j]
            if inner(uphill, step) >= FLATTER * slope:
                break
            low = size
        size = (low + high) / 2 if high < np.inf else 2 * low
    return found, best
