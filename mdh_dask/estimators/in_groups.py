"""The `fit` of estimators of rows that may count several times, or depend on each other in groups."""

from typing import Any, Self

from .base import ClusterEstimator


class InGroups(ClusterEstimator):
    """Base of the estimators of rows that may count several times, or depend on each other in groups."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Cluster rows.

        Parameters
        ----------
        X : array-like, frame, DataArray, Dask array or DataFrame, or Zarr array of shape (n_samples, n_features)
            As for `TreeEstimator.fit`.
        y : ignored
        sample_weight : array-like or Dask array of shape (n_samples,), or None
            How many equal rows each row stands for; see the Notes of `TreeEstimator.fit`.
        groups : array-like, series, or Dask array or series of shape (n_samples,), or str, optional
            Groups of rows that depend on each other, as for `TreeEstimator.fit`. All tests, and merging, compare these.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, groups)
