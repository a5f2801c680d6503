"""The choice of landmarks among the rows, and the Nyström map to their kernel principal components."""

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh

from .._blas import one_blas_thread, signs_of
from .._typing import Floats, Integers
from .base import Kernel
from .nystrom import NystromMap

RANK_TOLERANCE = 1e-6
"""Components below this share of the first one's variance are left out: they are lost in single precision."""

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
    pilot = rows[:n_landmarks]
    fitted = kernel.fit(pilot)
    own = fitted.diagonal(rows, pilot)
    chosen = [int(rng.integers(len(rows)))]
    nearest = np.full(len(rows), np.inf)
    while len(chosen) < n_landmarks:
        last = rows[chosen[-1]][None]
        squares = own + fitted.diagonal(last, pilot) - 2 * fitted.matrix(rows, last)[:, 0]
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
    scores = np.maximum(fitted.diagonal(rows, pilot) - explained, 0) / ridge
    scores += 1e-12 + 1e-6 * scores.max()
    return np.sort(rng.choice(len(rows), n_landmarks, replace=False, p=scores / scores.sum()))


LANDMARKS: dict[str, Callable[[Floats, int, Kernel, np.random.Generator], Integers]] = {
    "uniform": first_rows,
    "kmeans++": far_apart,
    "leverage": high_leverage,
}


@one_blas_thread()  # the last bits of products decide which rows are drawn
def choose_landmarks(rows: Floats, n_landmarks: int, method: str, kernel: Kernel, rng: np.random.Generator) -> Integers:
    """Return the numbers of the rows that become landmarks: all rows if there are at most `n_landmarks`.

    rows (n, n_features) float64: in the order of their hashes.
    """
    if len(rows) <= n_landmarks:
        return np.arange(len(rows))
    return LANDMARKS[method](rows, n_landmarks, kernel, rng)


def nystrom_map(
    landmarks: Floats,
    kernel: Kernel,
    centre: Floats,
    scale: Floats,
    *,
    variance: float = 0.9,
    n_components: int | None = None,
    centred: bool = True,
) -> NystromMap:
    """Return the map to the kernel principal components of some landmarks.

    landmarks (n_landmarks, n_features) float64: standardised, as ``(x - centre) * scale``.
    centre, scale (n_features,).
    variance: share of the landmarks' variance in feature space that the components explain, from 0 to 1.
    n_components: number of components instead; fewer if fewer exceed `RANK_TOLERANCE`.
    centred: whether the origin is the mean of the landmarks in feature space, not zero.

    The kernel among the landmarks is centred: the origin is their mean, not that of all rows, which moves all features
    alike. With a shift, landmarks have the features of the shifted kernel, and other rows follow by the same linear
    map. If all rows are landmarks this is kernel principal component analysis; if not, the features of a row are the
    projection of its image on the span of the landmarks' images about their mean. Costs O(m^2 n_features + m^3) for m
    landmarks, on one thread, so that the map does not depend on the number of threads.
    """
    landmarks = np.ascontiguousarray(landmarks)
    with one_blas_thread():
        fitted = kernel.fit(landmarks)
        gram = fitted.gram(landmarks)
        mean = gram.mean(axis=0) if centred else np.zeros(len(gram))
        values, _, projection, spectrum = components_about(mean, gram, variance, n_components, fitted.spectral_filter)
        # The number of components is that without the shift, which is equal noise in all directions: with it, a share
        # of the variance takes nearly as many components as there are landmarks.
        if spectrum[0] > 0 and (shift := fitted.eigenvalue_shift(float(values[-1]))):
            projection *= np.sqrt(1 + shift / values[: len(projection.T)])
            spectrum = spectrum + shift
        intercept = -mean @ projection
    dtype = fitted.dtype(landmarks)
    return NystromMap(
        fitted, fitted.stored_landmarks(landmarks), centre, scale, projection.astype(dtype), intercept.astype(dtype),
        spectrum / len(landmarks),
    )  # fmt: skip


def components_about(
    mean: Floats, gram: Floats, variance: float, n_components: int | None, spectral_filter: Callable[[Floats], Floats]
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the components of products about this mean of the columns; see `nystrom_map`.

    Returns the eigenvalues, in descending order; the leading eigenvectors, as columns; these over the roots of their
        filtered eigenvalues, zero if all products are equal; the positive filtered eigenvalues of all.
    """
    values, vectors = eigh(gram - mean - mean[:, None] + mean.mean(), driver="evd")
    values, vectors = values[::-1], vectors[:, ::-1]
    # The first value is left unchanged, as only the others' ratios to it matter.
    kept = spectral_filter((values / values[0]).clip(0)) if values[0] > 0 else np.ones_like(values)
    n_kept, spectrum = dimension(values * kept, float(np.abs(gram).max()), variance, n_components)
    vectors = vectors[:, :n_kept] * signs_of(vectors[:, :n_kept])
    roots = np.sqrt(values[:n_kept].clip(0))
    # BLAS rounds differently for another memory layout, and saved arrays are loaded in C order.
    projection = np.zeros(vectors.shape)
    np.divide(vectors * np.sqrt(kept[:n_kept]), roots, out=projection, where=spectrum[0] > 0)
    return values, vectors, projection, spectrum


def dimension(values: Floats, largest: float, variance: float, n_components: int | None) -> tuple[int, Floats]:
    """Return the number of components, at least one, and all positive eigenvalues."""
    # A constant kernel has eigenvalues of about this size from rounding alone.
    if values[0] <= len(values) ** 2 * np.finfo(float).eps * largest:
        return 1, np.zeros(1)
    positive = values[values > 0]
    rank = int(np.count_nonzero(positive > RANK_TOLERANCE * values[0]))
    if n_components is None:
        n_components = int(np.searchsorted(np.cumsum(positive[:rank]), variance * positive.sum())) + 1
    return min(n_components, rank), positive
