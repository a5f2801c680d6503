"""The values of one column of a table: of pandas, Arrow or NumPy; only NumPy is imported here."""

import math
from collections.abc import Sequence
from datetime import date, time, timedelta
from typing import Any, NamedTuple

import numpy as np

from .._typing import AnyArray, Floats, Integers

EXACT_IN_SINGLE = 2**24
"""Larger integers are not all numbers of float32."""


class Coded(NamedTuple):
    """The distinct values of a column as texts, and for every row the index of its text, or -1 if it is missing."""

    codes: Integers
    texts: list[str]


def text_of(value: Any) -> str:
    """Return the level of a value: equal numbers are the same level, whatever their dtypes.

    Examples
    --------
    >>> text_of(3), text_of(np.float32(3)), text_of(0.5), text_of(np.True_), text_of("red")
    ('3', '3', '0.5', 'True', 'red')
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)


def is_missing(value: Any) -> bool:
    """Return whether a value is missing: None, NaN, NaT or ``pandas.NA``."""
    if value is None:
        return True
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    return type(value).__name__ in ("NAType", "NaTType")


def coded(column: Any) -> Coded:
    """Return the distinct values of a column and the index of that of every row."""
    codes, values = _factorised(column)
    texts: dict[str, int] = {}
    # The last entry is for the code -1.
    place = np.array([-1 if is_missing(v) else texts.setdefault(text_of(v), len(texts)) for v in values] + [-1])
    return Coded(place[np.asarray(codes, dtype=np.intp)], list(texts))


def _factorised(column: Any) -> tuple[AnyArray, Sequence[Any]]:
    if hasattr(column, "factorize"):  # pandas
        codes, values = column.factorize()
        return codes, list(values)
    if hasattr(column, "dictionary_encode"):  # Arrow
        if hasattr(column.type, "value_type"):  # another dictionary in every chunk
            column = column.cast(column.type.value_type)
        encoded = column.dictionary_encode()
        encoded = encoded.combine_chunks() if hasattr(encoded, "combine_chunks") else encoded
        return encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), encoded.dictionary.to_pylist()
    column = np.asarray(column)
    if column.dtype.kind != "O":
        values, codes = np.unique(column, return_inverse=True)
        return codes, values.tolist()
    known: dict[Any, int] = {}
    codes = np.array([-1 if is_missing(v) else known.setdefault(v, len(known)) for v in column], dtype=np.intp)
    return codes, list(known)


def numbers(column: Any) -> AnyArray:
    """Return the numbers of a column, with NaN for missing values.

    Raises
    ------
    ValueError, TypeError
        If it holds anything else.
    """
    if hasattr(column, "null_count"):  # Arrow
        column = column.cast("uint8") if column.type == "bool" else column
        found = column.cast("float64", safe=False) if column.null_count else column
        values = np.asarray(found.to_numpy())
    elif isinstance(getattr(column, "dtype", None), np.dtype):
        values = np.asarray(column)
    else:
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if values.dtype.kind in "biuf":
        return values
    if values.dtype.kind == "O":
        return _numbers_of_objects(values)
    raise TypeError(f"values of {values.dtype} are not numbers")


def _numbers_of_objects(values: AnyArray) -> Floats:
    if any(isinstance(value, str | bytes) for value in values):
        raise ValueError(f"{next(v for v in values if isinstance(v, str | bytes))!r:.40} is not a number")
    if any(np.ndim(value) > 0 for value in values):
        raise ValueError("lists are not numbers")
    return np.array([np.nan if is_missing(value) else value for value in values], dtype=np.float64)


def holds_dates(column: Any) -> bool:
    """Return whether a column has periods of pandas, or objects in memory of which the first is a date or a time."""
    if hasattr(dtype_of(column), "freq"):
        return True
    if hasattr(column, "npartitions") or not isinstance(dtype_of(column), np.dtype):
        return False
    first = next((value for value in np.asarray(column) if not is_missing(value)), None)
    return isinstance(first, date | time | timedelta)


def dtype_of(column: Any) -> Any:
    """Return the dtype of a column, or the type if it is of Arrow."""
    return column.dtype if hasattr(column, "dtype") else column.type


def is_categorical(dtype: Any) -> bool:
    """Return whether the values of a dtype are codes of categories."""
    return hasattr(dtype, "ordered")  # of pandas, and dictionaries of Arrow


def categories_of(column: Any) -> list[str] | None:
    """Return the texts of the categories of a categorical column in their order, or None if they are not known."""
    if hasattr(column, "npartitions"):  # not read yet
        return None if column.categories is None else [text_of(value) for value in column.categories]
    if (categories := getattr(dtype_of(column), "categories", None)) is not None:
        return [text_of(value) for value in categories]
    if not hasattr(column, "chunks"):
        return None
    found = [tuple(map(text_of, chunk.dictionary.to_pylist())) for chunk in column.chunks]
    return list(found[0]) if len(set(found)) == 1 else None


def kind_of(dtype: Any) -> str:
    """Return the letter of NumPy for the kind of values of a dtype: those of Arrow and pandas have theirs, too.

    Examples
    --------
    >>> kind_of(np.dtype("u1")), kind_of(np.dtype("U3"))
    ('u', 'U')
    """
    if hasattr(dtype, "kind"):
        return str(dtype.kind)
    try:
        return np.dtype(dtype.to_pandas_dtype()).kind
    except (NotImplementedError, TypeError):
        return "O"


def is_single(dtype: Any) -> bool:
    """Return whether float32 holds all numbers of a dtype exactly."""
    plain = getattr(dtype, "numpy_dtype", dtype)
    try:
        plain = plain if isinstance(plain, np.dtype) else np.dtype(plain.to_pandas_dtype())
        return np.can_cast(plain, np.float32, "safe")
    except (AttributeError, NotImplementedError, TypeError):
        return False
