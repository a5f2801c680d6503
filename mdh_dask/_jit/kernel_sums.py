"""Sums of Gaussian kernels around one place, and the weights that approximate them on a grid."""

import math

import numpy as np

from .._numba import jit


@jit
def kernel_sums(projections, place, bandwidth):
    """Return the sums of k, u k and (u^2 - 1) k with k = exp(-u^2 / 2) and u = (projection - place) / bandwidth.

    They are the density at a place and its first two derivatives, up to constants.
    """
    total = slope = bend = 0.0
    scale = 1.0 / bandwidth
    for i in range(projections.shape[0]):
        u = (projections[i] - place) * scale
        k = math.exp(-0.5 * u * u)
        total += k
        slope += u * k
        bend += (u * u - 1.0) * k
    return total, slope, bend


@jit
def kernel_pulls(projections, place, bandwidth):
    """Return -u k for every row: what moving its projection up does to the density, up to a constant."""
    pulls = np.empty(projections.shape[0])
    scale = 1.0 / bandwidth
    for i in range(projections.shape[0]):
        u = (projections[i] - place) * scale
        pulls[i] = -u * math.exp(-0.5 * u * u)
    return pulls


@jit
def bin_linearly(projections, origin, width, weights):
    """Add every row to `weights`, divided between the bins whose centres it lies between; the outermost take the tails.

    Divided like this, a few rows are as well approximated as many.
    """
    top = weights.shape[0] - 1
    for i in range(projections.shape[0]):
        x = min(max((projections[i] - origin) / width - 0.5, 0.0), float(top))
        k = min(int(x), top - 1)
        weights[k] += k + 1 - x
        weights[k + 1] += x - k
