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
