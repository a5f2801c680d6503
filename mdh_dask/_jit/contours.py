"""Sums of Gaussian kernels at points and along segments, and the sets of points that segments connect."""

import math

import numpy as np

from .._numba import jit
from .components import root_of, unite

REACH = 40.0
"""Exponent beyond which a kernel is taken for zero: it is under 5e-18."""


@jit
def kernel_total(point, vectors, coefficients, width):
    """Return ``sum_l coefficients[l] exp(-width |point - vectors[l]|^2)``."""
    total = 0.0
    for v in range(vectors.shape[0]):
        square = 0.0
        for j in range(vectors.shape[1]):
            difference = point[j] - vectors[v, j]
            square += difference * difference
        if width * square < REACH:
            total += coefficients[v] * math.exp(-width * square)
    return total


@jit
def kernel_totals(points, vectors, coefficients, width):
    """Return `kernel_total` at every point."""
    totals = np.empty(points.shape[0])
    for i in range(points.shape[0]):
        totals[i] = kernel_total(points[i], vectors, coefficients, width)
    return totals


@jit
def lowest_between(ends, n_points, vectors, coefficients, width, enough):
    """Return the lowest total at some points inside a segment, and where that is as a share of the segment's length.

    `ends` has two rows. The search ends at the first point whose total is under `enough`.
    """
    lowest, place = np.inf, 0.5
    point = np.empty(ends.shape[1])
    for k in range(n_points):
        t = (k + 1) / (n_points + 1)
        for j in range(ends.shape[1]):
            point[j] = ends[0, j] + t * (ends[1, j] - ends[0, j])
        total = kernel_total(point, vectors, coefficients, width)
        if total < lowest:
            lowest, place = total, t
        if lowest < enough:
            break
    return lowest, place


@jit
def lowest_along(points, edges, n_points, vectors, coefficients, width):
    """Return for every edge the lowest total between its ends, and where that is."""
    lowest, place = np.empty(edges.shape[0]), np.empty(edges.shape[0])
    ends = np.empty((2, points.shape[1]))
    for e in range(edges.shape[0]):
        ends[0], ends[1] = points[edges[e, 0]], points[edges[e, 1]]
        lowest[e], place[e] = lowest_between(ends, n_points[e], vectors, coefficients, width, -np.inf)
    return lowest, place


@jit
def unite_inside(points, edges, n_points, vectors, coefficients, width, level, parent):
    """Join the ends of all edges along which the total is at least `level`; those joined already are not tested."""
    ends = np.empty((2, points.shape[1]))
    for e in range(edges.shape[0]):
        a, b = root_of(parent, edges[e, 0]), root_of(parent, edges[e, 1])
        if a == b:
            continue
        ends[0], ends[1] = points[edges[e, 0]], points[edges[e, 1]]
        lowest, _ = lowest_between(ends, n_points[e], vectors, coefficients, width, level)
        if lowest >= level:
            unite(parent, a, b)


@jit
def flood(edges, labels):
    """Return labels that spread from labelled points along edges, the first edges first; two labels never meet.

    -1 is no label. Points that no labelled point reaches keep it.
    """
    parent = np.arange(labels.shape[0])
    label = labels.copy()
    for e in range(edges.shape[0]):
        a, b = root_of(parent, edges[e, 0]), root_of(parent, edges[e, 1])
        if a != b and (label[a] < 0 or label[b] < 0 or label[a] == label[b]):
            known = max(label[a], label[b])
            label[unite(parent, a, b)] = known
    for i in range(labels.shape[0]):
        label[i] = label[root_of(parent, i)]
    return label


@jit
def ascend(points, vectors, coefficients, width, step, most):
    """Return where every point comes to by mean shift: where a step is shorter than `step`, or after `most` steps."""
    ends = points.copy()
    mean = np.empty(points.shape[1])
    for i in range(points.shape[0]):
        for _ in range(most):
            mean[:] = 0.0
            total = 0.0
            for v in range(vectors.shape[0]):
                square = 0.0
                for j in range(vectors.shape[1]):
                    square += (ends[i, j] - vectors[v, j]) ** 2
                if width * square < REACH:
                    k = coefficients[v] * math.exp(-width * square)
                    total += k
                    for j in range(vectors.shape[1]):
                        mean[j] += k * vectors[v, j]
            if total <= 0.0:
                break
            moved = 0.0
            for j in range(vectors.shape[1]):
                moved += (mean[j] / total - ends[i, j]) ** 2
                ends[i, j] = mean[j] / total
            if moved < step * step:
                break
    return ends
