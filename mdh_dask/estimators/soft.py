"""Estimators with soft assignments of rows to clusters."""

from typing import Any

from .._typing import RowArray
from .base import ClusterEstimator


class Confident(ClusterEstimator):
    """A mixin for estimators that know how sure the label of a row is."""

    def confidence(self, X: Any) -> RowArray:
        """Return the confidence in the label of every row, from 0 to 1.

        Parameters
        ----------
        X : array-like, Dask array or Zarr array of shape (n_samples, n_features)

        Returns
        -------
        ndarray or dask Array of shape (n_samples,), float64
            NumPy for NumPy input, otherwise lazy with one pass to compute.

        Raises
        ------
        NotFittedError, ValueError
            As for `predict`.
        """
        return self._of_rows(X, "agreeing", "float64", fitted=self._judging())

    def confidence_of_valid_rows(self, rows: RowArray) -> RowArray:
        """Return the confidence of rows that were validated, as `labels_of_valid_rows` takes them."""
        return self._of_valid_rows(rows, "agreeing", "float64", fitted=self._judging())

    def _judging(self) -> Any:
        """Return the value with the method `agreeing`, by default the one that labels rows."""
        return None


class Bounded(Confident):
    """A mixin for estimators that know how far a row is from where its label ends: `distances` of a block of rows."""

    def boundary_distance(self, X: Any) -> RowArray:
        """Return how far every row is from the nearest place at which its label ends.

        Parameters
        ----------
        X : array-like, Dask array or Zarr array of shape (n_samples, n_features)

        Returns
        -------
        ndarray or dask Array of shape (n_samples,), float64
            NumPy for NumPy input, otherwise lazy with one pass to compute, which `predict` and `confidence` share if
            they are computed together.

        Raises
        ------
        NotFittedError, ValueError
            As for `predict`.

        Notes
        -----
        In trees, the distance to the nearest separator on the way of a row, in standard errors of the minimum of the
        density along its direction (see `mdh_dask.density.evidence.threshold_error`); infinite without splits.
        `confidence` is the product of the normal distribution function of these distances for all separators on the
        way: 0.5 on one, and nearly 1 from two standard errors on.

        Around centroids, the distance to the nearest border of the cells of two of them, in units of
        `cluster_centers_`; infinite for one cluster. With a level of density, the share by which a row is inside:
        negative, from -1, outside. That is for `DensityTree` by which share `level_` exceeds the distance to the tenth
        nearest landmark, infinite at ten equal ones, and for `SupportVectorClustering` by which share the sum of
        kernels exceeds `level_`.

        Examples
        --------
        >>> import numpy as np
        >>> from mdh_dask import DensityTree, RandomProjectionTree
        >>> x = np.random.default_rng(0).normal(size=(600, 1)) + np.repeat([[0], [6]], 300, axis=0)
        >>> model = RandomProjectionTree().fit(x)
        >>> new = np.array([[0.0], [3.1], [80.0]])
        >>> model.confidence(new).round(1).tolist()[::2], bool(model.confidence(new)[1] < 0.95)
        ([1.0, 1.0], True)
        >>> model.outliers(new).tolist()
        [False, False, True]
        >>> (DensityTree().fit(x).boundary_distance(new) < 0).tolist()
        [False, True, True]
        """
        return self._of_rows(X, "distances", "float64", fitted=self._judging())


class SoftEstimator(Confident):
    """Base of estimators whose state has methods `shares` and `agreeing` for a block of rows."""

    def predict_proba(self, X: Any) -> RowArray:
        """Return the share of every cluster for every row.

        Parameters
        ----------
        X : array-like, Dask array or Zarr array of shape (n_samples, n_features)

        Returns
        -------
        ndarray or dask Array of shape (n_samples, n_clusters), float64
            Rows sum to one. NumPy for NumPy input, otherwise lazy with one pass to compute.

        Raises
        ------
        NotFittedError, ValueError
            As for `predict`.
        """
        return self._of_rows(X, "shares", "float64", "n_clusters_")
