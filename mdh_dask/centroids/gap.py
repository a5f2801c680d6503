"""The gap statistic, which finds the number of clusters of k-means."""

import numpy as np

from .._random import generator
from .._typing import Floats
from .starts import inertia_of

ROWS = 1000
"""Most rows of the sample, as k-means runs for every number of clusters and every reference."""

N_REFERENCES = 10
"""Uniform samples to compare with."""

N_INIT = 2


def gap_number(points: Floats, most: int, seed: int) -> tuple[int, Floats]:
    """Return the number of clusters by the gap statistic, and the gaps of the numbers that were tried.

    The least k whose gap is at least that of k + 1 less a standard error of it; the gap is the mean logarithm of the
    sum of squares within k clusters of uniform rows in the box of the principal components, less that of the rows.

    Parameters
    ----------
    points : array of shape (n, n_features)
        Rows in random order; the first `ROWS` are used.
    most : int
        Largest number to return.
    seed : int

    Notes
    -----
    R. Tibshirani, G. Walther and T. Hastie, Estimating the number of clusters in a data set via the gap statistic,
    Journal of the Royal Statistical Society B 63, 2001. Thesis section 2.2.3.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> gap_number(rng.normal(size=(300, 2)) + np.repeat([[0, 0], [9, 0], [0, 9]], 100, axis=0), 8, 0)[0]
    3
    """
    points = points[:ROWS]
    most = min(most, len(np.unique(points, axis=0)))
    references = _references(points, generator(seed, ROWS))
    gaps: list[float] = []
    for k in range(1, most + 1):
        logs = np.array([_log_inertia(reference, k, seed) for reference in references])
        error = float(logs.std()) * np.sqrt(1 + 1 / N_REFERENCES)
        gaps.append(float(logs.mean()) - _log_inertia(points, k, seed))
        if k > 1 and gaps[-2] >= gaps[-1] - error:
            return k - 1, np.array(gaps)
    return most, np.array(gaps)


def _references(points: Floats, rng: np.random.Generator) -> list[Floats]:
    centred = points - points.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2]
    along = centred @ axes.T
    low, high = along.min(axis=0), along.max(axis=0)
    return [rng.uniform(low, high, along.shape) for _ in range(N_REFERENCES)]


def _log_inertia(points: Floats, k: int, seed: int) -> float:
    return float(np.log(max(inertia_of(points, k, N_INIT, seed), np.finfo(np.float64).tiny)))
