"""Descent of the penalised density over directions: BFGS that remembers some steps, for an index with kinks."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._typing import Floats
from .penalty import PenalisedDensity, Separator

MEMORY = 10
"""Steps that are remembered: all of them while alpha grows."""

TOLERANCE = 1e-4
"""Gradient, in the units of `descend`, at which the descent ends."""

WORTHWHILE = 1e-4
"""Nor does a step follow one that lowered the index by a smaller share."""

SUFFICIENT, FLATTER = 1e-4, 0.9
"""Weak Wolfe conditions: share of the promised fall that a step makes, share of the slope that it leaves."""

MAX_TRIALS = 20

Memory = deque[tuple[Floats, Floats, float]]
"""Steps, the changes of the gradient over them, and their inner products."""


@dataclass(frozen=True)
class Point:
    """A vector, whose direction is meant, with value and gradient of the index there."""

    x: Floats
    separator: Separator
    value: float
    gradient: Floats


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

    def at(x: Floats) -> Point:
        # The index of any vector is that of its direction: the gradient is tangent, so that steps keep to the sphere.
        length = np.linalg.norm(x)
        best = index.best_separator(x / length, alpha)
        return Point(x, best, best.index / unit, best.gradient / (length * unit))

    here = at(start)
    memory: Memory = deque(maxlen=MEMORY)
    for _ in range(max_iterations):
        if np.abs(here.gradient).max() <= TOLERANCE:
            break
        following = _line_search(at, here, quasi_newton_step(here.gradient, memory))
        if following is None:
            break
        step, change = following.x - here.x, following.gradient - here.gradient
        if (product := float(step @ change)) > 0:
            memory.append((step, change, product))
        gain, here = here.value - following.value, following
        if gain <= WORTHWHILE * here.value:
            break
    return here.x / np.linalg.norm(here.x), here.separator


def quasi_newton_step(gradient: Floats, memory: Memory) -> Floats:
    """Return the quasi-Newton step: minus the gradient times the inverse Hessian that the remembered steps tell."""
    direction = -gradient
    if not memory:
        return direction * min(1.0, 1 / float(np.linalg.norm(gradient)))
    shares = []
    for step, change, product in reversed(memory):
        shares.append(step @ direction / product)
        direction = direction - shares[-1] * change
    _, change, product = memory[-1]
    direction = direction * (product / (change @ change))
    for (step, change, product), share in zip(memory, reversed(shares)):
        direction = direction + (share - change @ direction / product) * step
    return direction


def _line_search(at: Callable[[Floats], Point], here: Point, step: Floats) -> Point | None:
    """Return a point along the step that satisfies the weak Wolfe conditions, by bisection; None if none is lower."""
    slope = float(here.gradient @ step)
    low, high, size = 0.0, np.inf, 1.0
    lower = None
    for _ in range(MAX_TRIALS):
        there = at(here.x + size * step)
        if there.value > here.value + SUFFICIENT * size * slope:
            high = size
        else:
            lower = there
            if there.gradient @ step >= FLATTER * slope:
                break
            low = size
        size = (low + high) / 2 if high < np.inf else 2 * low
    return lower
