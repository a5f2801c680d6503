"""Estimators with soft assignments of rows to clusters."""

from collections.abc import Callable
from typing import Any

from sklearn.utils.validation import check_is_fitted

from .._typing import AnyArray, Floats, RowArray
from ..chunks import is_dask, map_rows
from .base import ClusterEstimator
from .validation import as_rows, check_finite


class SoftEstimator(ClusterEstimator):
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
        return self._mapped(X, _shares, soft=True)

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
        return self._mapped(X, _agreeing, soft=False)

    def _mapped(self, X: Any, function: Callable[[Any, AnyArray], Floats], soft: bool) -> RowArray:
        check_is_fitted(self)
        rows = as_rows(self, X, reset=False)
        if not is_dask(rows):
            check_finite(rows)  # before the blocks are divided, so that row numbers in errors are those of `X`
        columns = self.n_clusters_ if soft else None
        return map_rows(function, rows, dtype="float64", n_columns=columns, shared=self.state_.for_labels())


def _shares(state: Any, rows: AnyArray) -> Floats:
    check_finite(rows)
    return state.shares(rows)


def _agreeing(state: Any, rows: AnyArray) -> Floats:
    check_finite(rows)
    return state.agreeing(rows)
