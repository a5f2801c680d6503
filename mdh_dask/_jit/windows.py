"""Means and squared deviations of neighbouring lines, element by element."""

import numpy as np

from .._numba import jit


@jit
def window_moments(means, squares, n, size):
    """Return mean and sum of squared deviations of every `size` consecutive lines, whose entries stand for `n` values.

    `means` and `squares` are the moments of the entries, shape (n_lines, width); a single value has no deviation. Every
    window is summed on its own and in the same order, so that a result does not depend on where a block begins, and
    about its own mean, so that a large mean costs a small deviation no digits.
    """
    n_windows, width = means.shape[0] - size + 1, means.shape[1]
    mean = np.zeros((n_windows, width))
    squared = np.zeros((n_windows, width))
    for i in range(n_windows):
        for j in range(i, i + size):
            for k in range(width):
                mean[i, k] += means[j, k]
        for k in range(width):
            mean[i, k] /= size
        for j in range(i, i + size):
            for k in range(width):
                gap = means[j, k] - mean[i, k]
                squared[i, k] += squares[j, k] + n * (gap * gap)
    return mean, squared


@jit
def valid_window_moments(counts, means, squares, size, full):
    """Return count, mean and squared deviations of every `size` consecutive lines of means of `counts` values.

    A window of `full` values has the bits that `window_moments` gives it; one without a value has mean 0.
    """
    n_windows, width = means.shape[0] - size + 1, means.shape[1]
    count = np.zeros((n_windows, width))
    mean = np.zeros((n_windows, width))
    weighted = np.zeros(width)
    squared = np.zeros((n_windows, width))
    for i in range(n_windows):
        weighted[:] = 0.0
        for j in range(i, i + size):
            for k in range(width):
                count[i, k] += counts[j, k]
                mean[i, k] += means[j, k]
                weighted[k] += counts[j, k] * means[j, k]
        for k in range(width):
            if count[i, k] == full:
                mean[i, k] /= size
            else:
                mean[i, k] = weighted[k] / max(count[i, k], 1.0)
        for j in range(i, i + size):
            for k in range(width):
                gap = means[j, k] - mean[i, k]
                squared[i, k] += squares[j, k] + counts[j, k] * (gap * gap)
    return count, mean, squared
