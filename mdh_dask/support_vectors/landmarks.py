"""Landmarks: distinct rows of a sample, each of which represents the rows nearest to it."""

from dataclasses import dataclass
from math import ceil

import numpy as np
from scipy.spatial import cKDTree

from .._typing import AnyArray, Booleans, Floats
from ..growth.passes import Sample
from ..growth.scaling import rounded
from .passes import in_first_half

TRIMMED = 0.005
"""Share of the rows at either end of a column whose values are clipped to the next before its scale is computed."""

ROWS_TO_TRIM = 20
"""With fewer rows, none can be recognised as far from the others."""


@dataclass(frozen=True)
class Frame:
    """Shift and scale of the columns: rows become ``(x - centre) * scale``."""

    centre: Floats
    scale: Floats

    def __call__(self, rows: AnyArray) -> Floats:
        """Return the standardised rows."""
        return (rows - self.centre) * self.scale + 0.0  # no negative zeros, so that equal rows have equal bits


def frame_of(rows: AnyArray, scale: bool) -> Frame:
    """Return the shift and scale of the columns of a sample, which a single far row does not change.

    A constant column has scale zero. If `scale` is False, all others have scale one.
    """
    n, ordered = len(rows), np.sort(rows.astype(np.float64), axis=0)
    trimmed = ceil(TRIMMED * n) if n >= ROWS_TO_TRIM else 0
    clipped = ordered.clip(ordered[trimmed], ordered[n - 1 - trimmed])
    sd = np.where(clipped.std(axis=0) > 0, clipped.std(axis=0), ordered.std(axis=0))
    constant = sd <= 1e-12 * np.abs(ordered).max(axis=0)
    sd = np.where(constant, 1.0, rounded(sd))
    return Frame(np.rint(clipped.mean(axis=0) / sd * 16) / 16 * sd, np.where(constant, 0.0, 1 / sd if scale else 1.0))


@dataclass(frozen=True)
class Landmarks:
    """Distinct standardised rows.

    Parameters
    ----------
    points : array of shape (n, n_features), float64
        Rows in ascending order of their columns.
    first : array of shape (n,), bool
        Whether a row of the first half is at the point.
    """

    points: Floats
    first: Booleans


def landmarks_of(sample: Sample, frame: Frame, n_landmarks: int) -> Landmarks:
    """Return the distinct rows among the sample rows with the smallest hashes."""
    chosen = np.argsort(sample.hashes, kind="stable")[:n_landmarks]
    points, place = np.unique(frame(sample.rows[chosen]), axis=0, return_inverse=True)
    first = np.zeros(len(points), dtype=bool)
    first[np.ravel(place)[in_first_half(sample.hashes[chosen])]] = True
    return Landmarks(points, first)


def spacing(points: Floats) -> float:
    """Return the median distance of points to their nearest neighbours."""
    return float(np.median(cKDTree(points).query(points, k=2)[0][:, 1])) if len(points) > 1 else 0.0
