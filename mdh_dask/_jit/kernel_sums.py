"""Sums of Gaussian kernels at one location, and the weights that approximate them on a grid."""

import math

import numpy as np

from .._numba import jit, part

REACH = 8.0
"""Bandwidths beyond which a kernel adds less than 1e-14 of its height."""


@jit
def kernel_sums(points, weights, location, bandwidth):
    """Return the weighted sums of k, u k and (u^2 - 1) k with k = exp(-u^2 / 2) and u = (point - location) / bandwidth.

    They are the density at the location and its first two derivatives, up to constants.
    """
    total = slope = bend = 0.0
    scale = 1.0 / bandwidth
    for i in range(points.shape[0]):
        u = (points[i] - location) * scale
        if abs(u) < REACH:
            k = weights[i] * math.exp(-0.5 * u * u)
            total += k
            slope += u * k
            bend += (u * u - 1.0) * k
    return total, slope, bend


@part
def kernel_pulls(projections, location, bandwidth):
    """Return -u k for every row: the derivative of the density by its projection, up to a constant."""
    pulls = np.zeros(projections.shape[0])
    scale = 1.0 / bandwidth
    for i in range(projections.shape[0]):
        u = (projections[i] - location) * scale
        if abs(u) < REACH:
            pulls[i] = -u * math.exp(-0.5 * u * u)
    return pulls


@jit
def bin_linearly(projections, origin, width, weights):
    """Divide every row between the two bins with the nearest centres and add it to `weights`; the ends take the tails.

    Linear binning approximates a few rows as well as many.
    """
    top = weights.shape[0] - 1
    for i in range(projections.shape[0]):
        x = min(max((projections[i] - origin) / width - 0.5, 0.0), float(top))
        k = min(int(x), top - 1)
        weights[k] += k + 1 - x
        weights[k + 1] += x - k


@part
def smooth(weights, taps):
    """Return the sums of kernels at the bins; `taps` are the heights of a kernel 0, 1, 2, ... bins from its centre."""
    n, reach = weights.shape[0], taps.shape[0]
    padded = np.zeros(n + 2 * reach)
    sums = np.empty(n)
    for i in range(n):  # assigning a slice would take seconds to compile, for the text of its shape error
        padded[reach + i] = weights[i]
        sums[i] = taps[0] * weights[i]
    for k in range(1, reach):
        # The compiler adds several sums at a time, as the loop reads no bin that it writes.
        before, after = padded[reach - k :], padded[reach + k :]
        for i in range(n):
            sums[i] += taps[k] * (before[i] + after[i])
    return sums
