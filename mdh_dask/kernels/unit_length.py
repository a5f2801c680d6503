"""Rows scaled to length one, so that distances between them are those between directions."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._state import FeatureMap
from .._typing import AnyArray, Floats


def of_unit_length(rows: AnyArray) -> Floats:
    """Return rows scaled to length one, shape (n, n_features), float32; rows of zeros as they are.

    Examples
    --------
    >>> of_unit_length(np.array([[3, 4], [0, 0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    out = np.array(rows, dtype=np.float64, order="C")  # sums of another order would have other last bits
    # Squares of large numbers would overflow, and those of small ones vanish.
    out /= np.maximum(np.abs(out).max(axis=1, keepdims=True, initial=0.0), np.finfo(np.float64).tiny)
    lengths = np.sqrt(np.square(out).sum(axis=1, keepdims=True))
    np.divide(out, lengths, out=out, where=lengths > 0)
    return out.astype(np.float32)


@dataclass(frozen=True)
class UnitLengthMap(FeatureMap):
    """Scales rows to length one."""

    n_columns: int

    @property
    def n_features(self) -> int:
        """Return the number of columns."""
        return self.n_columns

    @property
    def n_components(self) -> int:
        """Return the number of features, which is that of the columns."""
        return self.n_columns

    def __call__(self, rows: AnyArray) -> Floats:
        """Return the rows scaled to length one; see `of_unit_length`."""
        return of_unit_length(rows)

    @property
    def points(self) -> Callable[[AnyArray], Floats]:
        """Return the map itself: distances are those between features."""
        return self

    def check(self) -> None:
        """Raise a ValueError unless there is a column."""
        if type(self.n_columns) is not int or self.n_columns < 1:
            raise ValueError(f"expected a number of columns of at least 1 as n_columns; got {self.n_columns!r:.99}")
