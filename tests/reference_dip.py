"""The dip from its definition: linear programs over all unimodal distribution functions, one for each mode."""

import numpy as np
from scipy.optimize import linprog


def dip_of_knots(x, lower, upper):
    """Return the smallest distance of a unimodal function to the one with these limits at each knot."""
    return min(_distance_with_mode(x, lower, upper, k) for k in range(len(x)))


def dip_of_sample(x, of_knots=dip_of_knots):
    """Return the dip of a sample; never less than half a step of its distribution function."""
    positions, masses = np.unique(np.asarray(x, dtype=float), return_counts=True)
    upper = np.cumsum(masses) / len(x)
    return max(of_knots(positions, upper - masses / len(x), upper), 0.5 / len(x))


def dip_of_counts(counts):
    """Return the dip of a histogram with bins of one width, as a density."""
    below = np.concatenate([[0.0], np.cumsum(counts)]) / np.sum(counts)
    return dip_of_knots(np.arange(len(below)), below, below)


def _distance_with_mode(x, lower, upper, mode):
    """Minimise d over the values g at the knots, convex before the mode and concave after it.

    The unknowns are the limits from below at the knots, the value at the mode, where alone a jump is allowed, and d.
    """
    n = len(x)
    rows, bounds = [], []

    def at_most(terms, bound):
        row = np.zeros(n + 2)
        for index, factor in terms:
            row[index] += factor
        rows.append(row)
        bounds.append(bound)

    def value(i):
        return n if i == mode else i

    for i in range(n):
        for index, target in ((i, lower[i]), (value(i), upper[i])):
            at_most([(index, 1.0), (n + 1, -1.0)], target)
            at_most([(index, -1.0), (n + 1, -1.0)], -target)
    at_most([(mode, 1.0), (n, -1.0)], 0.0)
    slopes = [
        [(i + 1, 1.0 / (x[i + 1] - x[i])), (value(i), -1.0 / (x[i + 1] - x[i]))] for i in range(n - 1)
    ]  # from the value at a knot to the limit from below at the next
    for slope in slopes:
        at_most([(index, -factor) for index, factor in slope], 0.0)
    for i in range(n - 2):
        first, second = (slopes[i], slopes[i + 1]) if i + 1 < mode else (slopes[i + 1], slopes[i])
        if i + 1 != mode:
            at_most(first + [(index, -factor) for index, factor in second], 0.0)
    cost = np.zeros(n + 2)
    cost[-1] = 1.0
    solution = linprog(cost, A_ub=np.array(rows), b_ub=np.array(bounds), bounds=(None, None), method="highs")
    assert solution.status == 0
    return solution.fun
