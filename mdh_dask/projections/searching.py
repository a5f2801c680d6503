"""The space of a search for directions, with coordinates of equal spread, and the score of a direction."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .._jit.histograms import bin_robustly
from .._typing import AnyArray, Floats
from ..density.minimum_error import MinimumError
from .pca import centred_rows, scaled_components

DIRECTIONS_AT_ONCE = 256
"""Number of directions with projections in memory at once."""

MOST_COMPONENTS = 50
"""With more columns, directions are searched in the span of this many principal components."""

ROWS_PER_COMPONENT = 5
"""Least number of rows per dimension; with fewer, a search finds any shape by chance."""

Score = Callable[[Floats], Floats]
"""Return non-negative scores, larger is better, of projections of shape (n_directions, n_rows)."""


@dataclass(frozen=True)
class IndexScore:
    """Separation times depth, on histograms with the same number of bins.

    Parameters
    ----------
    error : MinimumError
    n_bins : int
        At least 8; 100 in the source.
    """

    error: MinimumError = field(default_factory=MinimumError)
    n_bins: int = 100

    def __post_init__(self) -> None:
        if self.n_bins < 8:
            raise ValueError(f"n_bins must be at least 8, got {self.n_bins}; 100 is the value of the source")

    def __call__(self, projections: Floats) -> Floats:
        """Return the scores of projections; thresholds have at least the square root of the rows on each side."""
        counts = np.zeros((len(projections), self.n_bins), dtype=np.int64)
        bin_robustly(projections, counts)
        least, n_left = np.sqrt(projections.shape[1]), np.cumsum(counts, axis=1)
        return self.error.of(counts).best_index((n_left >= least) & (n_left <= projections.shape[1] - least))


@dataclass(frozen=True)
class SearchSpace:
    """Rows in coordinates in which random directions are drawn uniformly.

    Parameters
    ----------
    coordinates : array of shape (n, k), float64
        Rows with mean zero.
    back : array of shape (k, n_features)
        A direction `v` in these coordinates is ``v @ back`` for the rows.
    axes : array of shape (n_axes, k)
        Unit directions of the single columns.
    """

    coordinates: Floats
    back: Floats
    axes: Floats

    @classmethod
    def of(cls, rows: AnyArray, whiten: bool) -> "SearchSpace":
        """Return the space of some rows, spanned by their principal components if `whiten`, else by their columns.

        Both have unit variance; constant columns and components are left out.
        """
        centred = centred_rows(rows).astype(np.float64, copy=False)
        n, d = centred.shape
        if not whiten:
            sd = centred.std(axis=0)
            used = np.flatnonzero(sd > 0)
            back = np.eye(d)[used] / sd[used, None]
            return cls(centred[:, used] / sd[used], back, np.eye(len(used)))
        most = max(min(d, MOST_COMPONENTS, n // ROWS_PER_COMPONENT), 1)
        components, sd = scaled_components(centred, most)
        if sd[0] == 0:
            return cls(np.empty((n, 0)), np.empty((0, d)), np.empty((0, 0)))
        back = components / sd[:, None]
        # Coordinates of the single columns: v @ back = e_j, as far as the components span it.
        axes = (components * sd[:, None]).T
        axes = axes[np.linalg.norm(axes, axis=1) > 0]
        return cls(centred @ back.T, back, unit(axes))

    @property
    def n_dimensions(self) -> int:
        """Number of coordinates of a direction."""
        return self.coordinates.shape[1]

    def score(self, directions: Floats, score: Score) -> Floats:
        """Return the scores of directions in these coordinates, or zero for those that are not finite."""
        scores = np.empty(len(directions))
        for first in range(0, len(directions), DIRECTIONS_AT_ONCE):
            some = slice(first, first + DIRECTIONS_AT_ONCE)
            scores[some] = score(directions[some] @ self.coordinates.T)
        return np.where(np.isfinite(scores), np.maximum(scores, 0.0), 0.0)


def unit(directions: Floats) -> Floats:
    """Return the directions scaled to length one."""
    return directions / np.linalg.norm(directions, axis=-1, keepdims=True)
