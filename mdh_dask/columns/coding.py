"""The values of the columns of tables of pandas, Arrow or NumPy, their levels over all rows, and matrices of codes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._storable import storable
from .._typing import AnyArray, Floats, Integers, RowArray
from ..chunks import Statistic
from .types import MICROSECONDS, ColumnTypes, days_of, holds_dates, is_missing

EXACT_IN_SINGLE = 2**24
"""Larger integers are not all numbers of float32."""

SAME = {"False": "0", "True": "1", "0": "False", "1": "True"}
"""Texts of equal values of booleans and numbers."""


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
    """Return the numbers of a column, of dates in days, with NaN for missing values; anything else is an error."""
    if holds_dates(column):
        return days_of(column)
    if hasattr(column, "null_count"):  # Arrow
        column = column.cast("uint8") if column.type == "bool" else column
        # Arrow rounds decimal numbers wrongly, but not their texts.
        column = column.cast("string").cast("float64") if is_decimal(column.type) else column
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


def is_decimal(dtype: Any) -> bool:
    """Return whether the values of a dtype of pandas or Arrow are decimal numbers, which NumPy does not have."""
    return str(dtype).startswith("decimal")


def _plain(dtype: Any) -> np.dtype:
    """Return the dtype of NumPy for the values of a dtype of pandas or Arrow, that of objects if there is none."""
    if is_decimal(dtype):
        return np.dtype(np.float64)
    plain = getattr(dtype, "numpy_dtype", dtype)
    try:
        return plain if isinstance(plain, np.dtype) else np.dtype(plain.to_pandas_dtype())
    except (AttributeError, NotImplementedError, TypeError):
        return np.dtype(object)


def kind_of(dtype: Any) -> str:
    """Return the letter of NumPy for the kind of values of a dtype: those of Arrow and pandas have theirs, too."""
    return "f" if is_decimal(dtype) else str(getattr(dtype, "kind", _plain(dtype).kind))


def is_single(dtype: Any) -> bool:
    """Return whether float32 holds all numbers of a dtype exactly."""
    return np.can_cast(_plain(dtype), np.float32, "safe")


@storable
class Found(NamedTuple):
    """The value of `Levels`."""

    levels: tuple[tuple[str, ...], ...]
    """The levels of each column, sorted."""
    n_rows: Integers
    """Number of rows of every table; empty for a matrix."""


@dataclass(frozen=True)
class Levels(Statistic):
    """The levels of some columns, and the number of rows of every table that they come in.

    A block is a matrix, or an array of tables (frames of pandas or Arrow), each with consecutive rows.
    """

    keys: tuple[Any, ...]
    """The columns: their names in a table, or their numbers in a matrix."""
    names: tuple[str, ...]
    """Names of the columns in errors."""
    most: int = 1000  # a column with more holds names or numbers, not categories
    """Most levels of a column."""

    def chunk(self, start: int, *blocks: AnyArray) -> Found:
        tables = tables_in(blocks[0])
        n_rows = [] if tables[0] is blocks[0] else [len(table) for table in tables]
        found: list[set[str]] = [set() for _ in self.keys]
        for table in tables:
            for levels, key in zip(found, self.keys):
                levels.update(_texts_of(table, key))
        return Found(self._checked(found), np.array(n_rows, dtype=np.int64))

    def combine(self, left: Found, right: Found) -> Found:
        united = [{*a, *b} for a, b in zip(left.levels, right.levels)]
        return Found(self._checked(united), np.concatenate([left.n_rows, right.n_rows]))

    def _checked(self, found: list[set[str]]) -> tuple[tuple[str, ...], ...]:
        for levels, name in zip(found, self.names):
            if len(levels) > self.most:
                raise ValueError(
                    f"expected at most {self.most} levels of a column; got more in {name}, as {min(levels)!r:.40}: "
                    "leave it out, give it as continuous if it holds numbers, or join levels"
                )
        return tuple(tuple(sorted(levels)) for levels in found)


def _texts_of(table: Any, key: Any) -> list[str]:
    try:
        return coded(column_of(table, key)).texts
    except (TypeError, NotImplementedError) as error:  # of pandas or Python for values without a hash, or of Arrow
        raise ValueError(
            f"expected one text or number in every cell of column {key!r}; got others ({error}): leave the column out, "
            "or make one column of every part"
        ) from error


def tables_in(block: AnyArray) -> list[Any]:
    """Return the tables of a block, which is a matrix itself or an array of tables."""
    return list(block) if block.ndim == 1 else [block]


def array_of_table(table: Any) -> AnyArray:
    """Return an array whose only element is a table."""
    out = np.empty(1, dtype=object)
    out[0] = table
    return out


def column_of(table: Any, key: Any) -> Any:
    """Return a column of a matrix, or of a frame of pandas or Arrow."""
    return table[:, key] if isinstance(table, np.ndarray) else table[key]


class TypedRows(NamedTuple):
    """Rows of codes with the types of their columns."""

    rows: RowArray
    """NumPy or Dask array of shape (n_rows, n_columns), float32 or float64."""
    types: ColumnTypes


@dataclass(frozen=True)
class Coder:
    """The function from a table to its matrix of codes.

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
    """The columns: their names in a table, or their numbers in a matrix."""
    dtype: np.dtype
    """float32 or float64."""

    def __call__(self, table: Any) -> Floats:
        """Return the codes of a table, shape (n_rows, n_columns)."""
        lists = table.joined(self.keys) if hasattr(table, "joined") else ()
        parts = [(own, values) for own, values in lists if not any(self.types.levels[own])]
        copied = {j for own, _ in parts for j in range(own.start, own.stop)}
        parts += [
            (slice(j, j + 1), self._codes(column_of(table, key), j)[:, None])
            for j, key in enumerate(self.keys) if j not in copied
        ]  # fmt: skip
        out = np.empty((len(parts[0][1]), len(self.keys)), self.dtype)
        for own, values in parts:
            out[:, own] = values
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
    """Return the index of every row's level, the number of levels for other values, and NaN for missing ones.

    Booleans and the numbers 0 and 1 are the same levels, as files and arrays may hold either.
    """
    index = {level: i for i, level in enumerate(levels)}
    if any(index.keys() <= {*some} for some in (("False", "True"), ("0", "1"))):
        index |= {SAME[level]: i for level, i in index.items()}
    codes = [float(index.get(text, len(levels))) for text in column.texts]
    return np.array([*codes, np.nan])[column.codes]  # a missing value has the code -1, which is the last


def decoded(rows: AnyArray, numbers: Integers, types: ColumnTypes, names: Sequence[str]) -> Any:
    """Return the values behind rows of codes, None where they are missing or `numbers` is -1."""
    columns: dict[str, list[Any]] = {}
    for name, column, levels in zip(names, rows.T, types.levels):
        known = ~np.isnan(column.astype(np.float64)) & (numbers >= 0)
        of = (lambda code: code) if levels is None else dict(enumerate(levels)).get
        columns[name] = [of(code) if there else None for code, there in zip(column.tolist(), known)]
    try:
        from pandas import DataFrame, Series
    except ImportError:
        return np.array(list(zip(*columns.values())), dtype=object)
    kinds = [None if levels is None else object for levels in types.levels]
    frame = DataFrame({name: Series(values, dtype=kind) for (name, values), kind in zip(columns.items(), kinds)})
    for j in np.flatnonzero(types.mask("date")):
        days = frame.iloc[:, j].astype(np.float64)
        frame[frame.columns[j]] = (days * MICROSECONDS).round().astype("Int64").astype("M8[us]")
    return frame
