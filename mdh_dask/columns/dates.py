"""Dates as numbers: days since the beginning of 1970, in UTC."""

from datetime import UTC, date, datetime
from typing import Any

import numpy as np

from .._typing import AnyArray, Floats

MICROSECONDS = 86_400_000_000
"""Of a day."""


def holds_dates(column: Any) -> bool:
    """Return whether a column has dates by its type, or objects in memory of which the first is one."""
    dtype = getattr(column, "dtype", None) or column.type
    # How the names of types of Arrow and pandas begin.
    if getattr(dtype, "kind", "") == "M" or str(getattr(dtype, "pyarrow_dtype", dtype)).startswith(
        ("timestamp", "date32", "date64", "period")
    ):
        return True
    return isinstance(first_object(column), date)


def first_object(column: Any) -> Any:
    """Return the first value of a column of objects in memory that is not missing, or None."""
    if not isinstance(getattr(column, "dtype", None), np.dtype) or column.dtype.kind != "O":
        return None
    if hasattr(column, "npartitions"):
        return None
    return next((value for value in np.asarray(column) if not _is_missing(value)), None)


def days_of(column: Any) -> Floats:
    """Return the dates of a column as days, with NaN for missing ones.

    Examples
    --------
    >>> days_of(np.array(["1970-01-02T12", "NaT"], "M8[h]"))
    array([1.5, nan])
    """
    if str(getattr(column, "dtype", "")).startswith("period"):
        column = column.dt.to_timestamp()
    values = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)
    if values.dtype.kind == "O":
        values = np.array([None if _is_missing(value) else _plain(value) for value in values], dtype="M8[us]")
    moments: AnyArray = values.astype("M8[us]")
    return np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / MICROSECONDS)


def date_text(days: float, apart: float = 2.0) -> str:
    """Return a number of days as a date, with the time of day where others are less than two days apart.

    Examples
    --------
    >>> date_text(15706.5), date_text(15706.5, apart=0.5), date_text(float("nan"))
    ('2013-01-01', '2013-01-01 12:00', 'missing')
    """
    if np.isnan(days):
        return "missing"
    moment = np.datetime64(round(days * MICROSECONDS), "us")
    unit = "D" if apart >= 2 else "m" if apart * 24 >= 1 else "ms"
    return str(moment.astype(f"M8[{unit}]")).replace("T", " ")


def _plain(value: Any) -> Any:
    """Return a date without a zone, in UTC."""
    is_aware = isinstance(value, datetime) and value.tzinfo is not None
    return value.astimezone(UTC).replace(tzinfo=None) if is_aware else value


def _is_missing(value: Any) -> bool:
    return value is None or value != value or type(value).__name__ == "NAType"
