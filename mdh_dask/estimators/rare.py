"""How rare rows are, for estimators whose fitted value has a method `rarity` for a block of rows."""

from typing import Any

from .._typing import Booleans, RowArray
from .base import ClusterEstimator


class RareRows(ClusterEstimator):
    """A mixin for estimators that know how common rows are where each row lies."""

    def score_samples(self, X: Any) -> RowArray:
        """Return how common rows where each row lies are, from 0 to 1: near 0 where the density is low.

        Parameters
        ----------
        X : array-like, Dask array or Zarr array of shape (n_samples, n_features)

        Returns
        -------
        ndarray or dask Array of shape (n_samples,), float64
            In trees, the share of the rows of a branch that lie where the density along its direction is no higher, the
            least of all branches on the way, times their number; at most 1. Of several trees, twice the median. Around
            centroids, the share of the rows of the cluster that are no nearer. Of the rows of `fit`, at most a share of
            p has a lower score than p. NumPy for NumPy input, otherwise lazy with one pass to compute.

        Raises
        ------
        NotFittedError, ValueError
            As for `predict`.

        Notes
        -----
        Densities are those along the splits on the way and, without a feature map, along the best rejected split of the
        leaf. Rows that are rare in other directions only are not found. Distances from centroids are compared in steps
        of about 2 %. With a map they are those between features: those of far rows are all alike with a kernel such as
        ``"rbf"``, and may be nearer than those of some rows of a wide cluster.
        """
        return self._of_rows(X, "rarity", "float64", fitted=self._judging())

    def outliers(self, X: Any, level: float = 0.001) -> Booleans:
        """Return whether each row lies where the density is low: its `score_samples` is below `level`.

        Parameters
        ----------
        X : array-like, Dask array or Zarr array of shape (n_samples, n_features)
        level : float, default=0.001
            Largest share of the rows of `fit` that are outliers.

        Returns
        -------
        ndarray or dask Array of shape (n_samples,), bool
            NumPy for NumPy input, otherwise lazy with one pass to compute.

        Raises
        ------
        NotFittedError, ValueError
            As for `predict`; also for a level outside of 0 to 1.
        """
        if not 0 <= level <= 1:
            raise ValueError(f"expected a level from 0 to 1, a share of the rows; got {level!r}")
        return self.score_samples(X) < level

    def _judging(self) -> Any:
        """Return the value with the method `rarity`, by default the one that labels rows."""
        return None
