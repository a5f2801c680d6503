"""Means and deviations of windows, value by value."""

import numpy as np


def window_moments(means, squares, n, size):
    """Return mean and sum of squared deviations of every `size` consecutive lines, each of `n` values."""
    windows = range(len(means) - size + 1)
    mean = np.array([means[i : i + size].mean(axis=0) for i in windows])
    squared = [
        (squares[i : i + size] + n * (means[i : i + size] - m) ** 2).sum(axis=0)
        for i, m in zip(windows, mean, strict=True)
    ]
    return mean, np.array(squared)


def local_moments(pixels, window):
    """Return mean and standard deviation in the window around every pixel; beyond the edge is the outermost pixel."""
    height, width, _ = pixels.shape
    radius = window // 2
    mean, sd = np.empty(pixels.shape), np.empty(pixels.shape)
    for y in range(height):
        for x in range(width):
            ys = np.clip(np.arange(y - radius, y + radius + 1), 0, height - 1)
            xs = np.clip(np.arange(x - radius, x + radius + 1), 0, width - 1)
            around = pixels[np.ix_(ys, xs)].astype(float)
            mean[y, x], sd[y, x] = around.mean(axis=(0, 1)), around.std(axis=(0, 1))
    return mean, sd
