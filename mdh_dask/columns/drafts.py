"""The kinds of the columns of a table, as asked for or from their dtypes, before their levels are known."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import time, timedelta
from typing import Any, Literal, NamedTuple

import numpy as np

from .._fields import nearest
from .coding import (
    EXACT_IN_SINGLE,
    Coder,
    Found,
    Levels,
    categories_of,
    dtype_of,
    is_categorical,
    is_single,
    kind_of,
    numbers,
    text_of,
)
from .types import KINDS, ColumnTypes, first_object, holds_dates

Asked = Literal["auto"] | Mapping[str, Any]
"""Kinds of columns as the parameter ``column_types`` gives them."""


class Draft(NamedTuple):
    """The types of the columns of a table, without the levels that only its rows hold."""

    keys: tuple[Any, ...]
    kinds: tuple[str, ...]
    orders: tuple[tuple[str, ...] | None, ...]
    """Levels that are known from a dtype, or were given."""
    found: tuple[int, ...]
    """Columns whose levels are found among the rows."""
    names: tuple[str, ...] | None
    dtype: np.dtype

    @property
    def levels_pass(self) -> Levels:
        """Return the statistic that finds the other levels."""
        keys = tuple(self.keys[j] for j in self.found)
        return Levels(keys, tuple(f"column {key!r}" if isinstance(key, str) else f"column {key}" for key in keys))

    def types(self, found: Found) -> ColumnTypes:
        """Return the types with the levels of all rows."""
        levels = list(self.orders)
        for j, own in zip(self.found, found.levels):
            levels[j] = own if self.kinds[j] == "categorical" else _in_order(own, self.keys[j])
        return ColumnTypes(self.kinds, tuple(levels), self.names)

    def coder(self, types: ColumnTypes) -> Coder:
        """Return the function that codes tables."""
        return Coder(types, self.keys, coded_dtype(self.dtype, types))


def _in_order(levels: tuple[str, ...], key: Any) -> tuple[str, ...]:
    """Return the levels of a column by their values as numbers; of two levels either order says the same."""
    try:
        return tuple(sorted(levels, key=float))
    except ValueError:
        if len(levels) <= 2:
            return tuple(sorted(levels))
    some = f"{', '.join(f'{level:.20}' for level in levels[:5])}{', ...' * (len(levels) > 5)}"
    raise ValueError(
        f"expected the order of the levels of the ordinal column {key!r}; got texts without one ({some}): give them "
        f"from the lowest to the highest, as column_types={{'ordinal': {{{key!r}: [...]}}}} or --ordinal "
        f"{key}=low:mid:high, or give the column as categorical"
    )


def coded_dtype(dtype: np.dtype, types: ColumnTypes) -> np.dtype:
    """Return the dtype of codes: float32, unless the numbers or the levels need float64."""
    most = max((len(own) for own in types.levels if own is not None), default=0)
    return np.dtype(np.float64 if most >= EXACT_IN_SINGLE else dtype)


def draft_of(table: Any, asked: Asked, *, booleans: str = "categorical") -> Draft:
    """Return the types of a table before its levels are known.

    table: only the dtypes are used, and the values of columns of objects in memory.
    asked: lists of columns, by names or numbers, for some of `KINDS`. For ``"ordinal"`` also a mapping from columns to
        their levels in order, or to None for numbers. The kinds of other columns follow from their dtypes: ordered
        categories are ordinal; other categories, texts and booleans categorical; dates are dates; numbers continuous.
    booleans: the kind of booleans that are not asked for.
    Raises ValueError, TypeError if `asked` does not fit the table, or a column holds neither numbers nor texts.
    """
    keys = keys_of(table)
    is_of_columns = is_table(table)  # asked once: Arrow makes a list of all names for the answer
    columns = [table[key] if is_of_columns else table[:, key] for key in keys]
    wanted, orders = _asked(asked, keys)
    kinds, levels, found, single = [], [], [], True
    for j, column in enumerate(columns):
        kind = wanted.get(j) or _kind(keys[j], column, booleans)
        if kind == "continuous" and holds_dates(column):
            kind = "date"
        order = orders.get(j) if j in orders else _order(column, keys[j]) if kind == "ordinal" else None
        if order is None and (kind == "categorical" or (kind == "ordinal" and not _is_numeric(column))):
            found.append(j)
        elif order is None:
            _check_numbers(column, keys[j], kind)
            single = single and is_single(dtype_of(column))
        kinds.append(kind)
        levels.append(order)
    names = tuple(keys) if all(isinstance(key, str) for key in keys) else None
    dtype = np.dtype(np.float32 if single else np.float64)
    return Draft(keys, tuple(kinds), tuple(levels), tuple(found), names, dtype)


def keys_of(table: Any) -> tuple[Any, ...]:
    """Return the names of the columns of a table, each of which is there once, or the numbers of those of a matrix."""
    if not is_table(table):
        return tuple(range(table.shape[1]))
    keys = tuple(table.column_names if hasattr(table, "column_names") else table.columns)
    if twice := sorted(map(str, repeated(keys))):
        raise ValueError(f"expected every column once; got {', '.join(twice)} twice: rename or drop one")
    if not keys:
        raise ValueError("expected at least one column; got none")
    return keys


def repeated(names: Iterable[Any]) -> set[Any]:
    """Return the names that occur more than once; there may be a hundred thousand of them."""
    return {name for name, n in Counter(names).items() if n > 1}


def is_table(X: Any) -> bool:
    """Return whether rows have columns with dtypes of their own: a frame of pandas or Dask, or a table of Arrow."""
    return hasattr(X, "column_names") or (hasattr(X, "columns") and hasattr(X, "dtypes"))


def _is_numeric(column: Any) -> bool:
    dtype = dtype_of(column)
    if is_categorical(dtype):
        return False
    return kind_of(dtype) in "biuf" or holds_dates(column) or (kind_of(dtype) == "O" and _holds_numbers(column))


def _asked(asked: Asked, keys: Sequence[Any]) -> tuple[dict[int, str], dict[int, tuple[str, ...]]]:
    """Return the kinds that are asked for by column, and the orders of levels that are given."""
    if isinstance(asked, str) and asked == "auto":
        return {}, {}
    if not isinstance(asked, Mapping):
        raise ValueError(f"expected 'auto' or a table of kinds for column_types; got {asked!r:.99}")
    kinds: dict[int, str] = {}
    orders: dict[int, tuple[str, ...]] = {}
    for kind, columns in asked.items():
        if kind not in KINDS:
            raise ValueError(
                f"expected {', '.join(KINDS)} as keys of column_types; got {kind!r}: list the columns of each kind, as "
                "column_types={'categorical': ['a', 'b']}"
            )
        if isinstance(columns, str | bytes) or not isinstance(columns, Sequence | Mapping):
            raise TypeError(f"expected a list of columns for {kind!r} in column_types; got {columns!r:.99}")
        for column in columns:
            j = _place(column, keys, kind)
            if j in kinds:
                raise ValueError(f"expected every column once in column_types; got {column!r} twice")
            kinds[j] = kind
            if isinstance(columns, Mapping) and columns[column] is not None:
                orders[j] = _given_order(kind, column, columns[column])
    return kinds, orders


def _given_order(kind: str, column: Any, levels: Any) -> tuple[str, ...]:
    if kind == "continuous" or isinstance(levels, str) or not isinstance(levels, Sequence) or not levels:
        raise TypeError(f"expected a list of levels for {column!r} in column_types[{kind!r}]; got {levels!r:.99}")
    texts = tuple(map(text_of, levels))
    if len(set(texts)) < len(texts):
        raise ValueError(f"expected levels of {column!r} in column_types that differ; got {levels!r:.99}")
    return texts


def _place(column: Any, keys: Sequence[Any], kind: str) -> int:
    if column in keys:
        return keys.index(column)
    if str(column) in keys:
        return keys.index(str(column))
    if isinstance(column, int | np.integer) and 0 <= column < len(keys):
        return int(column)
    meant = nearest(str(column), map(str, keys))
    what = ", ".join(map(repr, keys[:20])) if isinstance(keys[0], str) else f"numbers from 0 to {len(keys) - 1}"
    raise ValueError(f"expected columns of the table for {kind!r} in column_types, {what}; got {column!r:.99}{meant}")


def _kind(key: Any, column: Any, booleans: str) -> str:
    dtype = dtype_of(column)
    if is_categorical(dtype):
        return "ordinal" if dtype.ordered else "categorical"
    kind = kind_of(dtype)
    if kind == "b":
        return booleans
    if _is_numeric(column):
        return "continuous"
    if kind in "OUST" and not isinstance(first_object(column), time | timedelta):
        return "categorical"
    raise ValueError(not_numbers([(key, dtype)]))


def _holds_numbers(column: Any) -> bool:
    """Return whether a column of objects in memory holds numbers; of lazy ones only the dtype is known."""
    if hasattr(column, "npartitions") or not isinstance(dtype_of(column), np.dtype):
        return False
    try:
        numbers(column)
    except (ValueError, TypeError):
        return False
    return True


def not_numbers(found: Sequence[tuple[Any, Any]], maps: bool = True) -> str:
    """Return the message for columns that hold neither numbers nor categories; `maps`: whether a map can be chosen."""
    way = "With feature_map='gower' texts and categories are clustered as they are."
    return (
        f"expected columns of numbers or dates; got {_in_words(found)}. Leave them out, or convert them first: times "
        "and durations to seconds, texts and categories to a column of 0 and 1 for each. "
        + (way if maps else "GowerFeatures().fit_transform(X) makes numbers of all columns.")
    )


def not_as_in_fit(found: Sequence[tuple[Any, Any]]) -> str:
    """Return the message for columns of new rows that hold no numbers, for a model of numbers."""
    return (
        f"expected columns that hold numbers, as they did in fit; got {_in_words(found)}: convert them to numbers, or "
        "fit a model to these"
    )


def _in_words(found: Sequence[tuple[Any, Any]]) -> str:
    return ", ".join(f"{key!r} ({dtype})" for key, dtype in found)


def _order(column: Any, key: Any) -> tuple[str, ...] | None:
    """Return the order of the levels of an ordered dtype, or None if the column has none."""
    dtype = dtype_of(column)
    if not is_categorical(dtype) or not dtype.ordered:
        return None
    if (levels := categories_of(column)) is None:
        raise ValueError(
            f"expected ordered categories that are the same in all partitions of {key!r}; got unknown ones: give "
            f"their order, as column_types={{'ordinal': {{{key!r}: [...]}}}} or --ordinal {key}=low:mid:high, or call "
            "frame.categorize() of the Dask DataFrame"
        )
    return tuple(levels)


def _check_numbers(column: Any, key: Any, kind: str) -> None:
    if not (holds_dates if kind == "date" else _is_numeric)(column):
        raise ValueError(
            f"expected {'dates' if kind == 'date' else 'numbers'} in the {kind} column {key!r}; got "
            f"{dtype_of(column)}: give it as categorical or ordinal in column_types, or convert it to numbers"
        )
