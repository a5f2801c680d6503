"""Checks of mixed columns, whose values may be missing."""

import numpy as np

from .._typing import Booleans
from .._words import full_count
from ..columns import ColumnTypes
from ..growth.typed import TypedLook
from .validation import LARGEST_BEFORE_OVERFLOW


def categorical_columns(columns: ColumnTypes | None, n_columns: int) -> Booleans:
    """Return which columns are categorical: none of numbers.

    Raises
    ------
    ValueError
        If the types are those of other columns.
    """
    if columns is None:
        return np.zeros(n_columns, dtype=bool)
    if columns.n_columns != n_columns:
        raise ValueError(f"expected the types of {n_columns} columns, got those of {columns.n_columns}")
    return columns.mask("categorical")


def check_typed_look(look: TypedLook) -> None:
    """Raise an error if the first pass over mixed columns found infinite or too large values."""
    if look.n_infinite:
        raise ValueError(
            f"expected finite or missing (NaN) values; got {full_count(look.n_infinite, 'infinite (inf) value')}, the "
            f"first in row {look.first_infinite}. Drop these rows or make the values missing first."
        )
    sizes = np.maximum(np.abs(look.low), np.abs(look.high))
    sizes[look.low > look.high] = 0.0
    if (sizes > LARGEST_BEFORE_OVERFLOW).any():
        j = int(sizes.argmax())
        raise ValueError(
            f"expected values up to {LARGEST_BEFORE_OVERFLOW:g}; got {sizes[j]:g} in column {j}. Scale the column "
            "first, or make such values missing."
        )
    if (look.low > look.high).all():
        raise ValueError("expected values in at least one column; got missing values only")
