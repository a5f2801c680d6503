"""Histograms of a matrix of projections."""

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
