"""The similarity of rows of mixed columns to landmarks, one minus Gower's dissimilarity."""

from typing import NamedTuple

import numpy as np

from .._numba import jit
from .._typing import Booleans, Floats


class GowerLandmarks(NamedTuple):
    """Coded landmarks, one column after the other, with what is common to all of them."""

    codes: Floats
    """Shape (n_features, n_landmarks): values within [0, 1] or levels; of missing values codes far from all others."""
    present: Floats
    """Shape (n_features, n_landmarks): one where a value is present, else zero."""
    incomplete: Booleans
    """Whether any value of a column is missing among the landmarks, shape (n_features,)."""
    categorical: Booleans
    """Whether values of a column are equal or different, shape (n_features,)."""
    weights: Floats
    """Shape (n_features,)."""
    undefined: float
    """Similarity of rows that have no column in common."""


@jit
def gower_similarities(rows, landmarks, out):
    """Write the weighted mean similarity over the columns that are neither NaN in a coded row nor absent in a landmark.

    The sums of a pair run over the columns in their order, whatever other rows and landmarks there are.
    """
    codes, present, incomplete, categorical, weights, undefined = landmarks
    n_landmarks = codes.shape[1]
    for i in range(rows.shape[0]):
        out[i] = 0.0
        total = np.zeros(n_landmarks)
        for c in range(rows.shape[1]):
            x, weight = rows[i, c], weights[c]
            if x != x or weight == 0.0:
                continue
            if categorical[c]:
                for j in range(n_landmarks):
                    out[i, j] += weight if codes[c, j] == x else 0.0
            else:
                for j in range(n_landmarks):
                    out[i, j] += weight * max(1.0 - abs(x - codes[c, j]), 0.0)
            if incomplete[c]:
                for j in range(n_landmarks):
                    total[j] += weight * present[c, j]
            else:
                for j in range(n_landmarks):
                    total[j] += weight
        for j in range(n_landmarks):
            out[i, j] = out[i, j] / total[j] if total[j] > 0.0 else undefined
