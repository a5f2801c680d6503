"""The penalised density from its formula (JMLR 17(156), eq. 10), and plain twins of loops of its search."""

import math

import numpy as np


def bin_linearly(projections, origin, width, n_bins):
    """Weights on bin centres: 1 - distance / width for the centres nearer than a width; all beyond at the ends."""
    weights = [0.0] * n_bins
    centres = [origin + (k + 0.5) * width for k in range(n_bins)]
    for x in projections:
        x = min(max(float(x), centres[0]), centres[-1])
        for k, centre in enumerate(centres):
            weights[k] += max(0.0, 1 - abs(x - centre) / width)
    return weights


def grid_within(centres, density, bound):
    """Bins within the bound and the bound itself, and the density there by linear interpolation."""
    grid = np.concatenate([[-bound], centres[np.abs(centres) < bound], [bound]])
    return grid, np.interp(grid, centres, density)


def valleys(grid, height, noise, tolerance):
    """Ends and middle of every run of equal (or noisy) heights without a lower neighbour, if it is low enough."""
    height = np.maximum(height, noise)
    same = lambda i: height[i] == noise and height[i + 1] == noise  # noqa: E731
    runs, start = [], 0
    for i in range(len(grid)):
        if i + 1 == len(grid) or not same(i):
            runs.append((start, i))
            start = i + 1
    padded = np.concatenate([[np.inf], height, [np.inf]])
    lowest = [
        (i, j)
        for i, j in runs
        if padded[i] >= height[i] and padded[j + 2] >= height[j] and height[i] <= height.min() + tolerance
    ]
    return np.array([(grid[i], (grid[i] + grid[j]) / 2, grid[j]) for i, j in lowest]).reshape(-1, 3)


def penalised_density(rows, direction, offsets, bandwidth, alpha, eta, epsilon):
    """f(v, b) for every offset b; neither rows nor direction need be centred or of length one."""
    projections = rows @ (direction / np.linalg.norm(direction))
    kernels = np.exp(-0.5 * ((np.asarray(offsets)[..., None] - projections) / bandwidth) ** 2)
    density = kernels.mean(axis=-1) / (bandwidth * math.sqrt(2 * math.pi))
    slope_bound = 1 / (math.exp(0.5) * bandwidth**2 * math.sqrt(2 * math.pi))
    mean, bound = projections.mean(), alpha * projections.std()
    excess = np.maximum(0, np.maximum(mean - bound - offsets, offsets - mean - bound))
    return density + slope_bound / eta**epsilon * excess ** (1 + epsilon)


def sum_rows_in_bins(rows, directions, origin, width, centre, scale, n_bins):
    """Numbers and sums of the standardised rows in every bin, without rounding, and the range of all projections."""
    counts = np.zeros((len(directions), n_bins), dtype=int)
    sums = np.zeros((len(directions), n_bins, rows.shape[1]))
    for x in np.asarray(rows, dtype=float):
        for k, v in enumerate(directions):
            place = math.floor((float(v @ x) - origin[k]) / width[k])
            if 0 <= place < n_bins:
                counts[k, place] += 1
                sums[k, place] += (x - centre) * scale
    projections = np.asarray(rows, dtype=float) @ directions.T
    return counts, sums, projections.min(axis=0, initial=np.inf), projections.max(axis=0, initial=-np.inf)


def bfgs_step(gradient, steps, changes):
    """Minus the gradient times the inverse Hessian that BFGS has after some steps, from the scaled identity."""
    if not len(steps):
        return -gradient * min(1.0, 1 / np.linalg.norm(gradient))
    H = np.eye(len(gradient)) * (steps[-1] @ changes[-1]) / (changes[-1] @ changes[-1])
    for s, y in zip(steps, changes):
        left = np.eye(len(s)) - np.outer(s, y) / (s @ y)
        H = left @ H @ left.T + np.outer(s, s) / (s @ y)
    return -H @ gradient
