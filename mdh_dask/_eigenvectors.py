"""The leading eigenvectors of normalised affinities that are inner products of features."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from ._typing import Floats

TINY = float(np.finfo(np.float64).tiny)

POSITIVE = 1e-10
"""Eigenvalues up to this share of the first may be rounding errors of zero."""


class Normalised(NamedTuple):
    """Features divided by the roots of their degrees, and the eigenvectors of their second moments."""

    features: Floats
    """Shape (n, n_components); their inner products are the normalised affinities."""
    values: Floats
    """Eigenvalues in descending order, as shares of the first, shape (n_components,)."""
    vectors: Floats
    """Shape (n_components, n_components), one in each column."""

    def entries(self, n: int) -> Floats:
        """Return the entries of the rows in the leading eigenvectors of their affinities, shape (n_rows, n)."""
        return self.features @ (self.vectors[:, :n] / np.sqrt(self.values[:n]))


def normalised(features: Floats, total: Floats) -> Normalised:
    """Return features that are normalised in place, with the eigenvectors of the affinities.

    Affinities are inner products of `features`, shape (n, n_components), float64. The products of a row with `total`,
    shape (n_components,), the sum of the features of all rows, are its degree.
    """
    features /= np.sqrt(degrees_of(features, total))[:, None]
    values, vectors = eigh(features.T @ features, driver="evd")
    return Normalised(features, values[::-1] / max(values[-1], TINY), vectors[:, ::-1])


def degrees_of(features: Floats, total: Floats) -> Floats:
    """Return the sums of the affinities of rows, shape (n,); see `normalised`.

    They are at least the own affinity of a row: where affinities are approximate, sums may be less.
    """
    own = np.maximum(np.square(features).sum(axis=1), TINY)
    return np.maximum(features @ total, own)


def signs_of(vectors: Floats) -> Floats:
    """Return the signs that make the largest entry of each column positive."""
    largest = np.abs(vectors).argmax(axis=0)
    return np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
