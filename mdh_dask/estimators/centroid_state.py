"""The state of k-means models: centroids, and the feature map, if there is one."""

from dataclasses import dataclass

import numpy as np

from .._state import FeatureMap, checked_array
from .._typing import AnyArray, Floats, Integers
from ..centroids.passes import N_FAR, CentroidMargins, centroid_margins, far_shares, nearest_centroids
from .tree_state import MappedState


@dataclass(frozen=True)
class CentroidState(MappedState):
    """Centroids of clusters; a row is in the cluster of the nearest."""

    centre: Floats
    scale: Floats
    """Both of shape (n_columns,), float64: rows, or features, become ``(x - centre) * scale``."""
    centroids: Floats
    """Shape (n_clusters, n_columns), float64: centroids of standardised rows or features."""
    counts: Integers
    """Shape (n_clusters,), int64: number of rows of `fit` in each cluster."""
    gaps: Floats
    """Shape (n_numbers,), float64: the gap statistic of 1, 2, ... clusters; empty if their number was given."""
    inertia: float
    """Sum of the squared distances of the rows of `fit` from their centroids."""
    far: Integers
    """Shape (n_clusters, N_FAR), int64: rows of each cluster in each bin of squared distances from its centroid."""
    unit: float
    """Unit of these distances."""
    feature_map: FeatureMap | None = None
    """Maps rows to features."""

    @property
    def n_clusters(self) -> int:
        """Return the number of clusters."""
        return len(self.centroids)

    @property
    def n_columns(self) -> int:
        """Return the number of features, or of columns without a map."""
        return len(self.centre)

    @property
    def sizes(self) -> Integers:
        """Return the number of rows in every cluster."""
        return self.counts

    def labels(self, rows: AnyArray) -> Integers:
        """Return the label of every row: the nearest centroid."""
        return self.by_features(self._nearest, rows)

    def _nearest(self, rows: AnyArray) -> Integers:
        return nearest_centroids(rows, self.centre, self.scale, self.centroids).astype(np.int32)

    def distances(self, rows: AnyArray) -> Floats:
        """Return the distance of every row, or its features, to the border of its cell."""
        return self.by_features(lambda points: self._margins(points).distances, rows)

    def agreeing(self, rows: AnyArray) -> Floats:
        """Return the membership of every row in its cluster."""
        return self.by_features(lambda points: self._margins(points).shares, rows)

    def rarity(self, rows: AnyArray) -> Floats:
        """Return the share of the rows of the cluster of every row that are no nearer to its centroid."""
        frame = self.centre, self.scale, self.centroids
        return self.by_features(lambda points: far_shares(points, *frame, self.far, self.unit), rows)

    def _margins(self, points: AnyArray) -> CentroidMargins:
        return centroid_margins(points, self.centre, self.scale, self.centroids)

    def check(self) -> None:
        """Raise a ValueError unless a fit could have given all values: compiled loops do not check shapes."""
        if self.centroids.ndim != 2 or 0 in self.centroids.shape or self.gaps.ndim != 1:
            raise ValueError("expected centroids in rows in the array centroids, got others")
        k, d = self.centroids.shape
        for name, shape, least in (
            ("centre", (d,), -np.inf), ("scale", (d,), 0), ("centroids", (k, d), -np.inf), ("counts", (k,), 0),
            ("gaps", self.gaps.shape, -np.inf),
        ):  # fmt: skip
            checked_array(name, getattr(self, name), shape, least)
        if self.counts.dtype != np.int64 or any(getattr(self, f).dtype != np.float64 for f in ("centre", "scale")):
            raise ValueError("expected integers in the array counts and float64 numbers in the others")
        checked_array("far", self.far, (k, N_FAR), 0)
        if self.far.dtype != np.int64 or not isinstance(self.unit, float) or not 0 < self.unit < np.inf:
            raise ValueError(f"expected integers in the array far and a unit above 0, got {self.unit!r}")
        if not isinstance(self.inertia, float) or not 0 <= self.inertia < np.inf:
            raise ValueError(f"expected a number of at least 0 for inertia, got {self.inertia!r}")
