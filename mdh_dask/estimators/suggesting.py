"""Rows whose labels are worth asking for."""

from typing import Any

from .._typing import Integers
from ..chunks import reduce_rows
from ..summaries.nearest import NearestRows
from .margins import MarginEstimator
from .targets import encoded


class Suggesting(MarginEstimator):
    """A mixin for estimators of one tree that adds `suggest_labels`."""

    def suggest_labels(self, X: Any, n: int = 10, y: Any = None) -> Integers:
        """Return the numbers of rows whose labels are worth asking for: those nearest to the separators.

        Parameters
        ----------
        X : array-like, Dask array or Zarr array of shape (n_samples, n_features)
            The rows of `fit`, or others.
        n : int, default=10
            Number of rows.
        y : array-like or Dask array of shape (n_samples,), optional
            Labels as for `fit`; rows that have one are not suggested.

        Returns
        -------
        ndarray of shape (at most n,), int64
            Row numbers from 0: of each cluster in turn, the nearest to a separator first; see `boundary_distance`.

        Raises
        ------
        NotFittedError, ValueError
            As for `predict`; also if `n` is not positive.

        Notes
        -----
        One pass.

        Examples
        --------
        >>> import numpy as np
        >>> from mdh_dask import RandomProjectionTree
        >>> x = np.concatenate([np.linspace(0, 4, 200), np.linspace(6, 10, 200)])[:, None]
        >>> np.sort(RandomProjectionTree().fit(x).suggest_labels(x, 4))
        array([198, 199, 200, 201])
        """
        if n < 1:
            raise ValueError(f"expected a positive number of rows for n; got {n}")
        distances, labels = self.boundary_distance(X), self.cluster_labels(X)
        known = () if y is None else (encoded(y, distances.shape[0]).labels,)
        found: Integers = reduce_rows(
            NearestRows(n, self._seed()), distances, labels, *known, progress=self._bar("looking for rows to label")
        )
        return found
