"""Descent of the penalised density over directions: BFGS that remembers some steps, for an index with kinks."""

import math

import numpy as np

from .._numba import jit
from .separators import index_along

MEMORY = 10
"""Steps that are remembered: all of them while alpha grows."""

TOLERANCE = 1e-4
"""Gradient, in the units of `descend`, at which the descent ends."""

WORTHWHILE = 1e-4
"""Nor does a step follow one that lowered the index by a smaller share."""

SUFFICIENT, FLATTER = 1e-4, 0.9
"""Weak Wolfe conditions: share of the promised fall that a step makes, share of the slope that it leaves."""

MAX_TRIALS = 20


@jit
def descend(centred, start, alpha, max_steps, unit, penalty):
    """Return a direction of lower index than the start, of length one (Lewis and Overton 2013).

    `unit` is a density that counts as large: it makes the tolerance independent of the scale of the rows.
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
    """Return minus the gradient times the inverse Hessian that the steps tell, oldest first.

    `changes` are those of the gradient over the steps, `products` the inner products of both.
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
    """Put a step after those that are kept; the oldest goes if there is no room. Return how many are kept."""
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
    """Return how much of the step satisfies the weak Wolfe conditions, with value and gradient there, by bisection.

    Zero if nowhere is lower.
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
