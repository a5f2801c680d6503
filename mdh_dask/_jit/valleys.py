"""Sums of Gaussian kernels, and the minimum of a density with a penalty beyond a bound."""

import math
from typing import NamedTuple

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


NOISE = 1e-12
"""Share of the height below which the binned density counts as zero: an empty gap is one flat valley."""

REACH_OF_BINS = 6.0
"""Rows farther beyond the bound than this many bandwidths are not binned."""

ROUGHLY, FINELY = 1e-3, 1e-8
"""Accuracy, in bandwidths, of a valley's location on the bins and on the rows; its density's error is the square."""


class Penalty(NamedTuple):
    """Constants of the penalised density: of its kernel, of the penalty beyond the bound, and of that for labels.

    Rows with label +1 belong above the hyperplane by at least the margin, rows with -1 below; without labels the arrays
    have no entries.
    """

    bandwidth: float
    eta: float
    epsilon: float
    steepness: float
    labelled: np.ndarray
    signs: np.ndarray
    gamma: float
    margin: float


@part
def label_penalty(location, labelled, penalty):
    """Return the penalty for labelled projections on the wrong side of a location, and its first two derivatives."""
    total = slope = bend = 0.0
    for i in range(labelled.shape[0]):
        wrong = penalty.signs[i] * (location - labelled[i])
        if wrong > 0.0:
            power = penalty.gamma * wrong**penalty.epsilon
            total += power * wrong
            slope += penalty.signs[i] * power
            # Infinite at zero, where Newton's method would then stay.
            bend += power / max(wrong, 1e-12 * penalty.bandwidth)
    rate = 1 + penalty.epsilon
    return total, rate * slope, rate * penalty.epsilon * bend


@part
def lowest_valley(projections, labelled, bound, width, penalty):
    """Return minimum and minimiser of ``f(b) = p(b) + steepness * max(0, |b| - bound)^(1 + epsilon) + labels``.

    `p` is the kernel density of the projections, `labels` the penalty for labelled projections. Bins of the given width
    bracket the valleys of `p`, with labels those of `f`, within the bound and all labelled projections; the minimisers
    are at most `eta` outside.
    """
    bandwidth, reach, tolerance = penalty.bandwidth, bound, 0.0
    for i in range(labelled.shape[0]):
        reach = max(reach, abs(labelled[i]))
    half = math.ceil((reach + REACH_OF_BINS * bandwidth) / width) + 1
    weights, centres = np.zeros(2 * half), np.empty(2 * half)
    bin_linearly(projections, -half * width, width, weights)
    # The outermost bins count the rows beyond, whose kernels do not reach the bound.
    weights[0] = weights[-1] = 0.0
    taps = np.empty(int(REACH_OF_BINS * bandwidth / width) + 1)
    for k in range(taps.shape[0]):
        away = k * width / bandwidth
        taps[k] = math.exp(-0.5 * (away * away))
    density, top = smooth(weights, taps), 0.0
    for k in range(centres.shape[0]):
        centres[k] = (k + 0.5 - half) * width
        top = max(top, density[k])
    grid, height = grid_within(centres, density, reach)
    ones = np.empty(projections.shape[0])
    ones[:] = 1.0
    n = projections.shape[0]
    if labelled.shape[0]:
        tolerance = add_penalties(grid, height, n, labelled, bound, width, penalty)
    # Valleys of the bins that are nearly as low as the lowest are compared exactly.
    found = valleys(grid, height, NOISE * top, 0.003 * top + tolerance)
    best, threshold = np.inf, 0.0
    for i in range(found.shape[0]):
        low = max(found[i, 0] - bandwidth, -reach - penalty.eta)
        high = min(found[i, 2] + bandwidth, reach + penalty.eta)
        bracket = low, found[i, 1], high
        bracket = low, descend_to_valley(centres, weights, n, labelled, bound, penalty, bracket, ROUGHLY)[1], high
        value, location = descend_to_valley(projections, ones, n, labelled, bound, penalty, bracket, FINELY)
        if value < best:
            best, threshold = value, location
    return best, threshold


@part
def add_penalties(grid, height, n, labelled, bound, width, penalty):
    """Add penalties to sums of kernels on a grid; return by how much they may bend between its points."""
    unit = n * penalty.bandwidth * math.sqrt(2 * math.pi)
    steepest = 0.0
    for i in range(grid.shape[0]):
        excess = max(abs(grid[i]) - bound, 0.0)
        total, _, bend = label_penalty(grid[i], labelled, penalty)
        height[i] += unit * (total + penalty.steepness * excess ** (1 + penalty.epsilon))
        steepest = max(steepest, bend)
    return unit * (steepest + penalty.steepness) * (width * width)


@part
def grid_within(centres, density, bound):
    """Return the centres of the bins within the bound and the bound itself, with the density there."""
    n, width = 2, centres[1] - centres[0]
    for i in range(centres.shape[0]):
        n += -bound < centres[i] < bound
    grid, height = np.empty(n), np.empty(n)
    first = (centres.shape[0] - n) // 2 + 1
    for i in range(1, n - 1):
        grid[i], height[i] = centres[first + i - 1], density[first + i - 1]
    # The bins are symmetric about zero and reach beyond the bound.
    share = (bound - centres[first + n - 3]) / width
    grid[0], height[0] = -bound, (1 - share) * density[first] + share * density[first - 1]
    grid[-1], height[-1] = bound, (1 - share) * density[first + n - 3] + share * density[first + n - 2]
    return grid, height


@part
def valleys(grid, height, noise, tolerance):
    """Return low end, middle and high end of the valleys within the tolerance of the lowest."""
    n, least, n_found = grid.shape[0], np.inf, 0
    found = np.empty((n, 3))
    for i in range(n):
        height[i] = max(height[i], noise)
        least = min(least, height[i])
    i = 0
    while i < n:
        j = i
        while height[i] <= noise and j + 1 < n and height[j + 1] <= noise:
            j += 1
        falls = i == 0 or height[i - 1] >= height[i]
        rises = j + 1 == n or height[j + 1] >= height[i]
        if falls and rises and height[i] <= least + tolerance:
            found[n_found, 0], found[n_found, 1], found[n_found, 2] = grid[i], (grid[i] + grid[j]) / 2, grid[j]
            n_found += 1
        i = j + 1
    return found[:n_found]


@jit
def descend_to_valley(points, weights, n, labelled, bound, penalty, bracket, tolerance):
    """Return the minimum of `f` and its location, by Newton's method; `bracket` is low end, start and high end."""
    low, location, high = bracket
    bandwidth, epsilon, steepness = penalty.bandwidth, penalty.epsilon, penalty.steepness
    unit = 1.0 / (n * bandwidth * math.sqrt(2 * math.pi))
    value = np.inf
    for _ in range(60):
        total, slope, bend = kernel_sums(points, weights, location, bandwidth)
        excess = max(abs(location) - bound, 0.0)
        value = unit * total + steepness * excess ** (1 + epsilon)
        slope, bend = slope * unit / bandwidth, bend * unit / (bandwidth * bandwidth)
        if excess > 0.0:
            slope += math.copysign(steepness * (1 + epsilon) * excess**epsilon, location)
            bend += steepness * (1 + epsilon) * epsilon * excess ** (epsilon - 1)
        if labelled.shape[0]:
            more = label_penalty(location, labelled, penalty)
            value, slope, bend = value + more[0], slope + more[1], bend + more[2]
        if slope < 0.0:
            low = location
        else:
            high = location
        following = location - slope / bend if bend > 0.0 else np.inf
        # At the minimum, Newton's step may be zero in floating point, so that `following` is an end of the bracket.
        if slope == 0.0 or min(abs(following - location), high - low) <= tolerance * bandwidth:
            break
        location = following if low < following < high else (low + high) / 2
    return value, location
