"""Types of the columns of a table: continuous, ordinal, categorical or dates, which are days since 1970 in UTC."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from .._storable import storable
from .._typing import AnyArray, Booleans, Floats

KINDS = ("continuous", "ordinal", "categorical", "date")
"""Dates are numbers of days."""

PIXEL_KINDS = ("lab", "smooth", "texture", "gradient")
"""Kinds of columns of pixels that can be chosen."""


@storable
@dataclass(frozen=True)
class ColumnTypes:
    """The kind of every column, with its levels.

    kinds: one of `KINDS` for each column, in the order of the columns.
    levels: levels of each column: of categorical columns sorted, of ordinal columns in their order. None if the values
        of the column are numbers. A value is coded by the index of its level, and any other value by their number.
    Raises ValueError if these do not belong together.
    """

    kinds: tuple[str, ...]
    levels: tuple[tuple[str, ...] | None, ...]
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        n = len(self.kinds)
        for name, part in (("levels", self.levels), ("names", self.names)):
            if part is not None and len(part) != n:
                raise ValueError(f"expected {name} of {n} columns, one for each kind; got {len(part)}")
        for j, (kind, levels) in enumerate(zip(self.kinds, self.levels)):
            if kind not in KINDS:
                raise ValueError(f"expected one of {', '.join(KINDS)} for column {j}; got {kind!r:.99}")
            if levels is not None and kind in ("continuous", "date"):
                raise ValueError(f"expected no levels for the {kind} column {j}; got {len(levels)}")
            if levels is not None and len(set(levels)) != len(levels):
                raise ValueError(f"expected levels of column {j} that differ; got one twice")

    @classmethod
    def continuous(cls, n_columns: int, names: Sequence[str] | None = None) -> "ColumnTypes":
        """Return the types of columns that are all continuous."""
        return cls(("continuous",) * n_columns, (None,) * n_columns, None if names is None else tuple(names))

    @property
    def n_columns(self) -> int:
        """Return the number of columns."""
        return len(self.kinds)

    def mask(self, kind: str) -> npt.NDArray[np.bool_]:
        """Return whether each column is of a kind."""
        return np.array([own == kind for own in self.kinds], dtype=bool)


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
    return next((value for value in np.asarray(column) if not is_missing(value)), None)


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
        values = np.array([None if is_missing(value) else _plain(value) for value in values], dtype="M8[us]")
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


def is_missing(value: Any) -> bool:
    """Return whether a value is missing: None, NaN, NaT or ``pandas.NA``."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    return isinstance(value, np.datetime64) and bool(np.isnat(value))


def hidden_labels(labels: Any) -> Booleans:
    """Return which labels are masked or missing."""
    values: AnyArray = np.ma.getdata(labels)
    hidden: Booleans = np.ma.getmaskarray(np.ma.asarray(labels))
    if values.dtype.kind == "f":
        hidden = hidden | np.isnan(values)
    elif values.dtype.kind in "mM":
        hidden = hidden | np.isnat(values)
    elif values.dtype.kind == "O":
        hidden = hidden | np.fromiter(map(is_missing, values.flat), bool, values.size).reshape(values.shape)
    return hidden
