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
    return local_moments_of_valid(pixels, np.ones(pixels.shape[:2], bool), window)


def valid_window_moments(counts, means, squares, size, full):
    """Return count, mean and sum of squared deviations of every `size` consecutive lines of entries for counts."""
    found = []
    for i in range(len(means) - size + 1):
        n, m, s = counts[i : i + size], means[i : i + size], squares[i : i + size]
        total = n.sum(axis=0)
        mean = (n * m).sum(axis=0) / np.maximum(total, 1)
        found.append((total, mean, (s + n * (m - mean) ** 2).sum(axis=0)))
    return tuple(np.array(part) for part in zip(*found, strict=True))


def local_moments_of_valid(pixels, valid, window):
    """Return mean and standard deviation of the valid pixels in every window, as `local_moments`; NaN without one."""
    height, width, _ = pixels.shape
    radius = window // 2
    mean, sd = np.full((2, *pixels.shape), np.nan)
    for y in range(height):
        for x in range(width):
            ys = np.clip(np.arange(y - radius, y + radius + 1), 0, height - 1)
            xs = np.clip(np.arange(x - radius, x + radius + 1), 0, width - 1)
            around = pixels[np.ix_(ys, xs)][valid[np.ix_(ys, xs)]].astype(float)
            if len(around):
                mean[y, x], sd[y, x] = around.mean(axis=0), around.std(axis=0)
    return mean, sd
