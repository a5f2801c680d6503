"""Support vector clustering entry by entry: sums of kernels, segments, flooding, and the dual by another solver."""

import math

import numpy as np
from scipy.optimize import minimize


def kernel_total(point, vectors, coefficients, width):
    return math.fsum(
        c * math.exp(-width * sum((float(a) - float(b)) ** 2 for a, b in zip(point, v)))
        for v, c in zip(vectors, coefficients)
    )


def totals(points, vectors, coefficients, width):
    return np.array([kernel_total(x, vectors, coefficients, width) for x in points])


def lowest_between(ends, n_points, vectors, coefficients, width):
    places = [(k + 1) / (n_points + 1) for k in range(n_points)]
    found = [kernel_total(ends[0] + t * (ends[1] - ends[0]), vectors, coefficients, width) for t in places]
    lowest = int(np.argmin(found))
    return found[lowest], places[lowest]


def components(points, pairs, n_points, vectors, coefficients, width, level):
    """Connected components over the pairs whose whole segment is inside, as frozen sets."""
    sets = [{i} for i in range(len(points))]
    for a, b in pairs:
        if lowest_between(points[[a, b]], n_points, vectors, coefficients, width)[0] >= level:
            joined = next(s for s in sets if a in s) | next(s for s in sets if b in s)
            sets = [s for s in sets if not s & joined] + [joined]
    return {frozenset(s) for s in sets}


def flood(edges, labels):
    """Sets of points grow along the edges in turn; those with two labels never become one."""
    sets = [({i}, label) for i, label in enumerate(labels)]
    for a, b in edges:
        (s, p), (t, q) = (next(pair for pair in sets if i in pair[0]) for i in (a, b))
        if s is not t and (p < 0 or q < 0 or p == q):
            sets = [pair for pair in sets if pair[0] is not s and pair[0] is not t] + [(s | t, max(p, q))]
    return [next(label for members, label in sets if i in members) for i in range(len(labels))]


def ascent(point, vectors, coefficients, width, step, most):
    for _ in range(most):
        weights = [c * math.exp(-width * float(((point - v) ** 2).sum())) for v, c in zip(vectors, coefficients)]
        mean = sum(w * v for w, v in zip(weights, vectors)) / sum(weights)
        moved, point = float(np.linalg.norm(mean - point)), mean
        if moved < step:
            break
    return point


def dual(points, counts, width, outliers):
    """Maximise 1 - beta' K beta by sequential quadratic programming."""
    n = len(points)
    kernel = np.exp(-width * ((points[:, None] - points) ** 2).sum(axis=2))
    bounds = np.minimum(counts / (counts.sum() * max(outliers, 1 / counts.sum())), 1)
    found = minimize(
        lambda b: b @ kernel @ b, counts / counts.sum(), jac=lambda b: 2 * kernel @ b, method="SLSQP",
        bounds=[(0, c) for c in bounds], constraints={"type": "eq", "fun": lambda b: b.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-14, "maxiter": 1000},
    )  # fmt: skip
    assert found.success
    return found.x.reshape(n)


def nearest(row, centre, scale, points, chosen):
    """The first of the chosen points that is nearest to a standardised row; -1 if none is chosen."""
    squares = [sum(((x - c) * s - p) ** 2 for x, c, s, p in zip(row, centre, scale, point)) for point in points]
    return min((v for v in range(len(points)) if chosen[v]), key=lambda v: (squares[v], v), default=-1)
