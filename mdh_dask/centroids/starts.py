"""The k-means of a sample, the best of several starts."""

import numpy as np
from threadpoolctl import threadpool_limits

from .._blas import one_blas_thread
from .._typing import Floats


def best_of_starts(points: Floats, n_clusters: int, n_init: int, seed: int) -> Floats:
    """Return the centroids of a sample in single precision, shape (n_clusters, n_features), float64."""
    return _fitted(points, n_clusters, n_init, seed).cluster_centers_.astype(np.float32).astype(np.float64)


def inertia_of(points: Floats, n_clusters: int, n_init: int, seed: int) -> float:
    """Return the sum of the squared distances of rows from their centroids."""
    return float(_fitted(points, n_clusters, n_init, seed).inertia_)


def _fitted(points: Floats, n_clusters: int, n_init: int, seed: int):  # type: ignore[no-untyped-def]
    from sklearn.cluster import KMeans  # imported late: with half of scikit-learn

    # Several threads add in no particular order, which changes the last bits.
    with one_blas_thread(), threadpool_limits(limits=1, user_api="openmp"):
        return KMeans(n_clusters, n_init=n_init, random_state=seed).fit(points)
