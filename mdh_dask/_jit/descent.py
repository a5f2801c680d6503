"""Descent of the penalised density over directions: limited-memory BFGS, for an index with kinks."""

import math

import numpy as np

from .._numba import jit, part
from .separators import best_separator

MEMORY = 10
"""Steps in the BFGS memory: enough for all of them while alpha grows."""

TOLERANCE = 1e-4
"""The descent ends at a gradient of this norm, in the units of `descend`."""

WORTHWHILE = 1e-4
"""The descent ends after a step that lowers the index by less than this share."""

SUFFICIENT, FLATTER = 1e-4, 0.9
"""Constants of the weak Wolfe conditions: least share of the predicted decrease, largest share of the slope left."""

MAX_TRIALS = 20


@jit
def descend(centred, start, alpha, max_steps, unit, penalty):
    """Return a unit direction of lower index than the start (Lewis and Overton 2013), and its best separator.

    `unit` is a density that counts as large; it makes the tolerance independent of the scale of the rows.
    """
    d, kept = start.shape[0], 0
    steps, changes, products = np.empty((MEMORY, d)), np.empty((MEMORY, d)), np.empty(MEMORY)
    x, step, gradient, value = start.copy(), np.zeros(d), np.zeros(d), np.inf
    best = (value, 0.0, False, gradient)
    for taken in range(max_steps + 1):
        # The first step, of length zero, finds the value at the start. Written twice, the search would compile twice.
        if taken > 0:
            if is_flat(gradient):
                break
            step = quasi_newton_step(gradient, steps[:kept], changes[:kept], products[:kept])
        length, lower, slopes, separator = line_search(centred, x, value, gradient, step, alpha, penalty, unit)
        if length == 0:
            break
        change = np.empty(d)
        for j in range(d):
            step[j] *= length
            change[j] = slopes[j] - gradient[j]
            x[j] += step[j]
        if step @ change > 0:
            kept = remember(steps, changes, products, kept, step, change)
        gain = value - lower
        value, gradient, best = lower, slopes, separator
        if taken > 0 and gain <= WORTHWHILE * (value + gain):
            break
    length = math.sqrt(x @ x)
    for j in range(d):
        x[j] /= length
    return x, best


@part
def is_flat(gradient):
    """Return whether no entry exceeds the tolerance or is NaN."""
    flat = True
    for j in range(gradient.shape[0]):
        flat &= abs(gradient[j]) <= TOLERANCE
    return flat


@part
def quasi_newton_step(gradient, steps, changes, products):
    """Return minus the gradient times the inverse Hessian estimated from the steps, oldest first.

    `changes` are the gradient's changes over the steps, `products` the inner products of steps and changes.
    """
    d, kept = gradient.shape[0], products.shape[0]
    direction, shares = np.empty(d), np.empty(kept)
    for j in range(d):
        direction[j] = -gradient[j]
    for i in range(kept - 1, -1, -1):
        shares[i] = (steps[i] @ direction) / products[i]
        for j in range(d):
            direction[j] -= shares[i] * changes[i, j]
    scale = 1.0
    if kept == 0:
        size = math.sqrt(gradient @ gradient)
        scale = 1 / size if size > 1.0 else 1.0
    else:
        scale = products[kept - 1] / (changes[kept - 1] @ changes[kept - 1])
    for j in range(d):
        direction[j] *= scale
    for i in range(kept):
        share = shares[i] - (changes[i] @ direction) / products[i]
        for j in range(d):
            direction[j] += share * steps[i, j]
    return direction


@part
def remember(steps, changes, products, kept, step, change):
    """Append a step to the memory, dropping the oldest if it is full, and return the number of steps in it."""
    if kept == products.shape[0]:
        kept -= 1
        for i in range(kept):
            products[i] = products[i + 1]
            for j in range(step.shape[0]):
                steps[i, j], changes[i, j] = steps[i + 1, j], changes[i + 1, j]
    products[kept] = step @ change
    for j in range(step.shape[0]):
        steps[kept, j], changes[kept, j] = step[j], change[j]
    return kept + 1


@part
def line_search(centred, x, value, gradient, step, alpha, penalty, unit):
    """Return the share of the step that satisfies the weak Wolfe conditions, by bisection, value, gradient, separator.

    The share is zero if no point is lower.
    """
    slope, there = gradient @ step, np.empty(x.shape[0])
    low, high, size = 0.0, np.inf, 1.0
    found, lowest, slopes, best = 0.0, value, gradient, (value, 0.0, False, gradient)
    for _ in range(MAX_TRIALS):
        for j in range(x.shape[0]):
            there[j] = x[j] + size * step[j]
        length, uphill = math.sqrt(there @ there), np.empty(x.shape[0])
        for j in range(x.shape[0]):
            there[j] /= length
        separator = best_separator(centred, there, alpha, penalty)
        index = separator[0] / unit
        # The index depends only on the direction, so its gradient is tangent to the sphere.
        for j in range(x.shape[0]):
            uphill[j] = separator[3][j] / (length * unit)
        if index > value + SUFFICIENT * size * slope:
            high = size
        else:
            found, lowest, slopes, best = size, index, uphill, separator
            if uphill @ step >= FLATTER * slope:
                break
            low = size
        size = (low + high) / 2 if high < np.inf else 2 * low
    return found, lowest, slopes, best
