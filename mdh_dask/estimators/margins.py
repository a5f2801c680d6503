"""What a tree knows about single rows besides their labels."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._typing import AnyArray, Booleans, Floats, RowArray
from ..tree.margins import Margins, margins_of
from .soft import Bounded
from .tree_state import TreeState


@dataclass(frozen=True)
class RowMargins:
    """Distances, agreements and rarities of rows; see `mdh_dask.tree.margins.Margins`."""

    state: TreeState
    margins: Margins

    @property
    def takes_sparse(self) -> bool:
        """Return whether rows may be sparse."""
        return self.state.takes_sparse

    @cached_property
    def missing(self) -> bool:
        """Return whether rows may have missing values."""
        return self.state.missing

    def distances(self, rows: AnyArray) -> Floats:
        """Return the distances to the nearest separator, in standard errors."""
        return self._of(rows)[:, 0]

    def agreeing(self, rows: AnyArray) -> Floats:
        """Return the probabilities that the labels stay when the separators move by their standard errors."""
        return self._of(rows)[:, 1]

    def rarity(self, rows: AnyArray) -> Floats:
        """Return the shares of rows at places that are not denser, times the number of directions."""
        return self._of(rows)[:, 2]

    def _of(self, rows: AnyArray) -> Floats:
        return self.state.by_features(self.margins.of_rows, rows)


class MarginEstimator(Bounded):
    """A mixin for estimators of one tree that adds distances, confidence and outliers."""

    def score_samples(self, X: Any) -> RowArray:
        """Return how common rows where each row lies are, from 0 to 1: near 0 where the density is low.

        Parameters
        ----------
        X : array-like, Dask array or Zarr array of shape (n_samples, n_features)

        Returns
        -------
        ndarray or dask Array of shape (n_samples,), float64
            The share of the rows of a branch that lie where the density along its direction is no higher, the least
            of all branches on the way, times their number; at most 1. Of the rows of `fit`, at most a share of p has a
            lower score than p. NumPy for NumPy input, otherwise lazy with one pass to compute.

        Raises
        ------
        NotFittedError, ValueError
            As for `predict`.

        Notes
        -----
        Densities are those along the splits on the way and, without a feature map, along the best rejected split of the
        leaf. Rows that are rare in other directions only are not found.
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

    def _judging(self) -> RowMargins:
        check_is_fitted(self)
        state: Any = self.state_
        tree = state.tree
        if state.feature_map is not None:
            # With a map, the directions of the splits alone say how rare a row is, not those of leaves.
            tree = replace(tree, planes=np.where(tree.left[:, None] >= 0, tree.planes, 0.0))
        return RowMargins(state, margins_of(tree))
