"""Methods that choose the landmarks from the rows."""

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh

from .._typing import Floats, Integers
from .base import Kernel

SAMPLE = 10
"""Rows per landmark that the methods choose from, if they look at the rows."""


def first_rows(rows: Floats, n_landmarks: int, kernel: Kernel, rng: np.random.Generator) -> Integers:
    """Return the first rows, a uniform sample of rows in the order of their hashes."""
    return np.arange(min(n_landmarks, len(rows)))


def far_apart(rows: Floats, n_landmarks: int, kernel: Kernel, rng: np.random.Generator) -> Integers:
    """Return the rows that k-means++ starts from, each drawn by its squared distance to those before."""
    if kernel.typed:
        return _far_apart_by_kernel(rows, n_landmarks, kernel, rng)
    from sklearn.cluster import kmeans_plusplus  # imported late: with half of scikit-learn

    seed = int(rng.integers(2**31))
    return np.unique(kmeans_plusplus(rows, n_landmarks, random_state=seed)[1])


def _far_apart_by_kernel(rows: Floats, n_landmarks: int, kernel: Kernel, rng: np.random.Generator) -> Integers:
    """Return such rows by distances in the feature space."""
    fitted = kernel.fit(rows[:n_landmarks])
    own = fitted.diagonal(rows)
    chosen = [int(rng.integers(len(rows)))]
    nearest = np.full(len(rows), np.inf)
    while len(chosen) < n_landmarks:
        last = rows[chosen[-1]][None]
        squares = own + fitted.diagonal(last) - 2 * fitted.matrix(rows, last)[:, 0]
        nearest = np.minimum(nearest, squares.clip(0))
        nearest[chosen[-1]] = 0.0
        if not nearest.any():
            break
        chosen.append(int(rng.choice(len(rows), p=nearest / nearest.sum())))
    return np.unique(chosen)


def high_leverage(rows: Floats, n_landmarks: int, kernel: Kernel, rng: np.random.Generator) -> Integers:
    """Return rows drawn by their approximate ridge leverage scores, computed with the first rows as landmarks.

    Source: Alaoui and Mahoney, Fast randomized kernel ridge regression with statistical guarantees (2015); Musco and
    Musco, Recursive sampling for the Nyström method (2017).
    """
    pilot = rows[:n_landmarks]
    fitted = kernel.fit(pilot)
    with_pilot = fitted.matrix(rows, pilot)
    values, vectors = eigh(fitted.gram(pilot))
    # The mean of the smaller half of the eigenvalues estimates the noise above which the others stand out.
    values = values.clip(0)
    ridge = max(float(values[: (len(values) + 1) // 2].mean()), 1e-6 * float(values[-1]), np.finfo(float).tiny)
    explained = (np.square(with_pilot @ vectors) / (values + ridge)).sum(axis=1)
    scores = np.maximum(fitted.diagonal(rows) - explained, 0) / ridge
    scores += 1e-12 + 1e-6 * scores.max()
    return np.sort(rng.choice(len(rows), n_landmarks, replace=False, p=scores / scores.sum()))


LANDMARKS: dict[str, Callable[[Floats, int, Kernel, np.random.Generator], Integers]] = {
    "uniform": first_rows,
    "kmeans++": far_apart,
    "leverage": high_leverage,
}


def choose_landmarks(rows: Floats, n_landmarks: int, method: str, kernel: Kernel, rng: np.random.Generator) -> Integers:
    """Return the numbers of the rows that become landmarks: all rows if there are at most `n_landmarks`.

    Parameters
    ----------
    rows : array of shape (n, n_features), float64
        In the order of their hashes.
    n_landmarks : int
    method : {"uniform", "kmeans++", "leverage"}
    kernel : Kernel
    rng : Generator
    """
    if len(rows) <= n_landmarks:
        return np.arange(len(rows))
    return LANDMARKS[method](rows, n_landmarks, kernel, rng)
