"""Weights of rows: how many equal rows each of them stands for."""

from typing import Any, Self

import numpy as np
from sklearn.utils import get_tags

from .._sparse import sources
from .._typing import Integers, RowArray
from .._words import full_count
from ..chunks import is_dask, repeated_rows
from .aligned import plain_labels
from .base import ClusterEstimator
from .targets import Target
from .validation import finite_rows

MOST = 1e12
"""Largest sum of weights: every row that another stands for takes time."""


class Weighted(ClusterEstimator):
    """A mixin for estimators whose `fit` takes weights of rows."""

    _target: Target | None = None
    _given_weights: Any = None
    _ends: Integers | None = None
    """Sums of the weights up to each row, during a fit with weights."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster rows; see `ClusterEstimator.fit`.

        Parameters
        ----------
        X, y
            As for `ClusterEstimator.fit`.
        sample_weight : array-like or Dask array of shape (n_samples,), or None
            How many equal rows each row stands for; see the Notes of `TreeEstimator.fit`.
        """
        self._given_weights = sample_weight
        try:
            super().fit(X, y)
            own: Any = getattr(self, "feature_map_", None)
            if hasattr(own, "landmarks_"):
                own.landmarks_ = self._original(own.landmarks_)
            return self
        finally:
            self._given_weights = self._ends = None

    def _weighted(self, rows: RowArray) -> RowArray:
        """Return the rows of `fit`, each as often as its weight says."""
        if self._given_weights is None:
            return rows
        if self.missing in ("mean", "drop"):
            raise ValueError(
                f"expected missing='error' with sample_weight; got {self.missing!r}: fill in the values first"
            )
        if self._target is not None:
            raise ValueError("expected sample_weight or labels of some rows; got both: leave one out")
        if self.columns is not None:
            raise ValueError(
                "expected columns of numbers with sample_weight; got texts, categories or given kinds: leave out the "
                "weights and repeat the rows"
            )
        tags = get_tags(self).input_tags
        if tags.pairwise:
            raise ValueError("expected rows with sample_weight; got a precomputed kernel: repeat its rows and columns")
        self._ends = np.cumsum(whole_weights(self._given_weights, rows.shape[0]))
        if self._ends[-1] < 2:
            raise ValueError(f"expected weights other than zero with a sum of at least 2; got {self._ends[-1]}")
        return repeated_rows(finite_rows(rows, tags.allow_nan), self._ends)  # errors name rows of `fit`

    def _original(self, numbers: Integers) -> Integers:
        """Return the numbers of the rows of `fit` for those of rows that count several times."""
        if self._ends is None:
            return numbers
        return np.where(numbers >= 0, sources(self._ends, numbers), numbers).astype(np.int64)


def whole_weights(weights: Any, n_rows: int, name: str = "sample_weight") -> Integers:
    """Return weights as whole numbers, after checking that they are; `name` is their name in errors.

    Raises
    ------
    ValueError
        Unless there is one for each row, finite, none below zero, and all whole.

    Examples
    --------
    >>> whole_weights([2.0, 0.0, 3.0], 3)
    array([2, 0, 3])
    """
    weights = plain_labels(weights)
    given = np.ma.asarray(weights.compute() if is_dask(weights) else weights)
    values, hidden = np.ma.getdata(given), np.ma.getmaskarray(given)
    if values.shape != (n_rows,):
        raise ValueError(f"expected {name} of shape ({n_rows},), one for each row; got shape {values.shape}")
    if values.dtype.kind not in "biuf":
        raise ValueError(f"expected finite numbers of at least 0 for {name}; got dtype {values.dtype}")
    if not (good := np.isfinite(values) & (values >= 0) & ~hidden).all():
        row = int(good.argmin())
        got = "a masked value" if hidden[row] else values[row]
        raise ValueError(
            f"expected finite numbers of at least 0 for {name}; got {got} in row {row}: correct the weights of "
            f"{full_count(int(np.count_nonzero(~good)), 'row')}, or make them 0 to leave the rows out"
        )
    if (values != np.rint(values)).any() or values.sum(dtype=np.float64) > MOST:
        bad = values[values != np.rint(values)][:1]
        got = f"the fraction {bad[0]:g}" if len(bad) else f"a sum of {values.sum(dtype=np.float64):g}"
        raise ValueError(
            f"expected whole numbers with a sum up to {MOST:g} for {name}, as a weight is the number of equal "
            f"rows that a row stands for, which tests take as independent; got {got}: give counts, not importances"
        )
    return values.astype(np.int64)
