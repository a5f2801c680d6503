"""Tables as matrices of codes."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._typing import AnyArray, Floats, RowArray
from .levels import column_of
from .types import ColumnTypes
from .values import Coded, coded, numbers


class TypedRows(NamedTuple):
    """Rows of codes with the types of their columns."""

    rows: RowArray
    """NumPy or Dask array of shape (n_rows, n_columns), float32 or float64."""
    types: ColumnTypes


@dataclass(frozen=True)
class Coder:
    """The function from a table to its matrix of codes.

    Parameters
    ----------
    types : ColumnTypes
    keys : tuple
        The columns: their names in a table, or their numbers in a matrix.
    dtype : dtype
        float32 or float64.

    Examples
    --------
    >>> types = ColumnTypes(("categorical", "continuous"), (("a", "c"), None))
    >>> table = {"x": np.array(["c", "a", "b", None], dtype=object), "y": np.array([1.0, 2.0, 3.0, 4.0])}
    >>> Coder(types, ("x", "y"), np.dtype("f4"))(table)
    array([[ 1.,  1.],
           [ 0.,  2.],
           [ 2.,  3.],
           [nan,  4.]], dtype=float32)
    """

    types: ColumnTypes
    keys: tuple[Any, ...]
    dtype: np.dtype

    def __call__(self, table: Any) -> Floats:
        """Return the codes of a table, shape (n_rows, n_columns)."""
        columns = [self._codes(column_of(table, key), j) for j, key in enumerate(self.keys)]
        out = np.empty((len(columns[0]), len(columns)), self.dtype)
        for j, codes in enumerate(columns):
            out[:, j] = codes
        return out

    def _codes(self, column: Any, j: int) -> AnyArray:
        levels = self.types.levels[j]
        if levels is not None:
            return codes_of(coded(column), levels)
        try:
            return numbers(column)
        except (ValueError, TypeError) as error:
            name = j if self.types.names is None else repr(self.types.names[j])
            raise ValueError(
                f"expected numbers in the {self.types.kinds[j]} column {name}; got another value ({error}): give the "
                "column as categorical, or leave it out"
            ) from error


def codes_of(column: Coded, levels: tuple[str, ...]) -> Floats:
    """Return the index of every row's level, the number of levels for other values, and NaN for missing ones."""
    index = {level: i for i, level in enumerate(levels)}
    codes = [float(index.get(text, len(levels))) for text in column.texts]
    return np.array([*codes, np.nan])[column.codes]  # a missing value has the code -1, which is the last
