"""Landmarks: distinct rows of a sample, each of which represents the rows nearest to it."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from .._typing import Booleans, Floats
from ..growth.passes import Sample
from ..growth.scaling import Standardiser
from .passes import in_first_half


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


def landmarks_of(sample: Sample, frame: Standardiser, n_landmarks: int) -> Landmarks:
    """Return the distinct rows among the sample rows with the smallest hashes."""
    chosen = np.argsort(sample.hashes, kind="stable")[:n_landmarks]
    points, place = np.unique(frame.exactly(sample.rows[chosen]), axis=0, return_inverse=True)
    first = np.zeros(len(points), dtype=bool)
    first[np.ravel(place)[in_first_half(sample.hashes[chosen])]] = True
    return Landmarks(points, first)


def spacing(points: Floats) -> float:
    """Return the median distance of points to their nearest neighbours."""
    return float(np.median(cKDTree(points).query(points, k=2)[0][:, 1])) if len(points) > 1 else 0.0
