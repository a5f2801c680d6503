"""Ranges, histograms and bin extremes of a matrix of projections."""

import math

import numpy as np

from .._numba import jit


@jit
def bin_projections(projections, origin, width, counts):
    """Add ``projections`` (directions x rows) to ``counts`` (directions x bins); the outermost bins take the tails."""
    top = counts.shape[1] - 1.0
    for c in range(projections.shape[0]):
        scale = 1.0 / width[c]
        for i in range(projections.shape[1]):
            k = (projections[c, i] - origin[c]) * scale
            counts[c, int(min(max(k, 0.0), top))] += 1


@jit
def bin_extremes(projections, origin, width, extremes):
    """Update ``extremes`` (directions x 2 x bins) with the smallest and the largest projection of every bin."""
    top = extremes.shape[2] - 1.0
    for c in range(projections.shape[0]):
        scale = 1.0 / width[c]
        for i in range(projections.shape[1]):
            x = projections[c, i]
            k = int(min(max((x - origin[c]) * scale, 0.0), top))
            extremes[c, 0, k] = min(extremes[c, 0, k], x)
            extremes[c, 1, k] = max(extremes[c, 1, k], x)


@jit
def projection_ranges(projections):
    """Return mean, standard deviation, minimum and maximum along each direction (4 x directions)."""
    out = np.empty((4, projections.shape[0]))
    for c in range(projections.shape[0]):
        row = projections[c]
        base = float(row[0])
        total = squares = 0.0
        low = high = base
        n = row.shape[0]
        for i in range(n):
            x = float(row[i])
            deviation = x - base
            total += deviation
            squares += deviation * deviation
            low = x if x < low else low
            high = x if x > high else high
        mean = total / n
        variance = squares / n - mean * mean
        out[1, c] = math.sqrt(0.0 if variance <= 0.0 else variance)
        out[0, c] = base + mean
        out[2, c] = low
        out[3, c] = high
    return out
