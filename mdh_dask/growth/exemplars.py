"""Real rows that stand for clusters."""

from typing import NamedTuple

import numpy as np

from .._blas import one_blas_thread
from .._storable import storable
from .._typing import AnyArray, Floats, Integers
from .passes import Sample


@storable
class Exemplars(NamedTuple):
    """One row for each cluster."""

    rows: AnyArray | None
    """Shape (n_clusters, n_features), zero where `numbers` is -1; None if only the numbers are known."""
    numbers: Integers
    """Row numbers, shape (n_clusters,), int64; -1 for a cluster without sample rows."""

    @classmethod
    def among(cls, sample: Sample, best: Integers) -> "Exemplars":
        """Return the rows of a sample at these indices; -1 for none."""
        return cls(sample.rows[best], np.where(best >= 0, sample.numbers[best], -1).astype(np.int64))

    def united(self, cluster: Integers, n_rows: Integers) -> "Exemplars":
        """Return those of the largest clusters in each union; `cluster` is the union of each cluster."""
        order = np.lexsort((n_rows, self.numbers >= 0))
        largest = np.empty(int(cluster.max()) + 1, dtype=np.int64)
        largest[cluster[order]] = order  # the last one stays
        return Exemplars(None if self.rows is None else self.rows[largest], self.numbers[largest])

    def check_clusters(self, n_clusters: int) -> None:
        """Raise a ValueError unless these can be the exemplars of so many clusters."""
        rows, numbers = self
        if numbers.shape != (n_clusters,) or numbers.dtype != np.int64 or (numbers < -1).any():
            raise ValueError(f"expected int64 numbers of {n_clusters} rows, or -1, as exemplars")
        if rows is not None and (rows.ndim != 2 or len(rows) != n_clusters or rows.dtype.kind not in "biuf"):
            raise ValueError(f"expected {n_clusters} rows of numbers as exemplars, got shape {rows.shape}")


def least(costs: Floats, cluster: Integers, n_clusters: int) -> Integers:
    """Return for each cluster the index of the row that costs least, the first among several; -1 without rows."""
    best = np.full(n_clusters, -1, dtype=np.int64)
    order = np.lexsort((-np.arange(len(costs)), -costs))
    order = order[cluster[order] >= 0]
    best[cluster[order]] = order  # the last one stays
    return best


def medoids(sample: Sample, points: AnyArray, cluster: Integers, n_clusters: int) -> Exemplars:
    """Return for each cluster the sample row with the least sum of distances to others of the cluster.

    Distances are those of `points`, one for each row. Of each cluster the rows with the smallest hashes are compared.
    """
    order, points = np.argsort(sample.hashes, kind="stable"), np.asarray(points, dtype=np.float64)
    best = np.full(n_clusters, -1, dtype=np.int64)
    with one_blas_thread():  # several threads take longer for so small products
        for label in range(n_clusters):
            own = order[cluster[order] == label][:200]  # the number of distances grows as its square
            if len(own):
                squares = np.square(points[own]).sum(axis=1)
                apart = squares[:, None] + squares - 2 * (points[own] @ points[own].T)
                best[label] = own[np.sqrt(np.maximum(apart, 0)).sum(axis=1).argmin()]
    return Exemplars.among(sample, best)
