"""Descent of the penalised density over directions: limited-memory BFGS, for an index with kinks."""

import math

import numpy as np

from .._numba import jit
from .separators import index_along

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
    """Return a unit direction of lower index than the start (Lewis and Overton 2013).

    `unit` is a density that counts as large; it makes the tolerance independent of the scale of the rows.
    """
    steps, changes = np.zeros((MEMORY, start.shape[0])), np.zeros((MEMORY, start.shape[0]))
    products = np.zeros(MEMORY)
    kept = 0
    x = start.copy()
    value, gradient = index_along(centred, x, alpha, penalty, unit)[:2]
    for _ in range(max_steps):
        if np.abs(gradient).max() <= TOLERANCE:
            break
        step = quasi_newton_step(gradient, steps[:kept], changes[:kept], products[:kept])
        length, lower, slopes = line_search(centred, x, value, gradient, step, alpha, penalty, unit)
        if length == 0:
            break
        step, change = length * step, slopes - gradient
        if step @ change > 0:
            kept = remember(steps, changes, products, kept, step, change)
        gain = value - lower
        x, value, gradient = x + step, lower, slopes
        if gain <= WORTHWHILE * (value + gain):
            break
    return x / math.sqrt(x @ x)


@jit
def quasi_newton_step(gradient, steps, changes, products):
    """Return minus the gradient times the inverse Hessian estimated from the steps, oldest first.

    `changes` are the gradient's changes over the steps, `products` the inner products of steps and changes.
    """
    direction = -gradient
    kept = products.shape[0]
    if kept == 0:
        size = math.sqrt(gradient @ gradient)
        return direction * (1 / size) if size > 1.0 else direction
    shares = np.zeros(kept)
    for i in range(kept - 1, -1, -1):
        shares[i] = (steps[i] @ direction) / products[i]
        direction -= shares[i] * changes[i]
    direction *= products[-1] / (changes[-1] @ changes[-1])
    for i in range(kept):
        direction += (shares[i] - (changes[i] @ direction) / products[i]) * steps[i]
    return direction


@jit
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


@jit
def line_search(centred, x, value, gradient, step, alpha, penalty, unit):
    """Return the share of the step that satisfies the weak Wolfe conditions, by bisection, with value and gradient.

    The share is zero if no point is lower.
    """
    slope = gradient @ step
    low, high, size = 0.0, np.inf, 1.0
    found, lowest, slopes = 0.0, value, gradient
    for _ in range(MAX_TRIALS):
        there, gradient_there = index_along(centred, x + size * step, alpha, penalty, unit)[:2]
        if there > value + SUFFICIENT * size * slope:
            high = size
        else:
            found, lowest, slopes = size, there, gradient_there
            if gradient_there @ step >= FLATTER * slope:
                break
            low = size
        size = (low + high) / 2 if high < np.inf else 2 * low
    return found, lowest, slopes
