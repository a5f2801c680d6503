"""Columns of lists of one length, as embeddings are stored: each is as many columns of numbers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from .._typing import AnyArray
from .coding import dtype_of, numbers
from .types import is_missing


class Element(NamedTuple):
    """A column of a table, or one value of each of its lists."""

    source: Any
    place: int = -1
    """Index of the value in a list; -1 for a column that holds none."""
    width: int = 0
    """Length of the lists."""


def elements_of(widths: Mapping[Any, int]) -> dict[Any, Element]:
    """Return the columns of a table by their names, in order, from the lengths of the lists in its columns.

    Raises a ValueError if the value of a list has the name of another column.

    Examples
    --------
    >>> list(elements_of({"id": 0, "vector": 2}))
    ['id', 'vector_0', 'vector_1']
    """
    out: dict[Any, Element] = {}
    for name, width in widths.items():
        own = {f"{name}_{i}": Element(name, i, width) for i in range(width)} if width else {name: Element(name)}
        if twice := own.keys() & out.keys():
            raise ValueError(f"expected other names than those of values in lists; got {min(twice)} twice: rename it")
        out |= own
    return out


def expanded_names(names: Sequence[Any], elements: Mapping[Any, Element]) -> list[Any]:
    """Return names of columns, with those of all values in place of that of a column of lists."""
    of_lists: dict[Any, list[Any]] = {}
    for name, element in elements.items():
        if element.width:
            of_lists.setdefault(element.source, []).append(name)
    return [own for name in names for own in of_lists.get(name, [name])]


def sources_of(names: Sequence[Any], elements: Mapping[Any, Element]) -> tuple[Any, ...]:
    """Return the columns of a table that hold those of some names, each once."""
    return tuple(dict.fromkeys(elements[name].source for name in names))


@dataclass(frozen=True)
class Expanded:
    """A table of pandas or Arrow whose lists are columns of their values."""

    table: Any
    elements: Mapping[Any, Element]
    _matrices: dict[Any, AnyArray] = field(default_factory=dict, repr=False)

    @property
    def column_names(self) -> list[Any]:
        """Return the names of the columns."""
        return list(self.elements)

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, name: Any) -> Any:
        source, place, width = self.elements[name]
        return self.table[source] if not width else self.matrix(source, width)[:, place]

    def matrix(self, source: Any, width: int) -> AnyArray:
        """Return all values of a column of lists."""
        if source not in self._matrices:
            self._matrices[source] = matrix_of(self.table[source], width, source)
        return self._matrices[source]

    def joined(self, names: Sequence[Any]) -> Iterator[tuple[slice, AnyArray]]:
        """Yield the places of neighbouring values of lists among some names, and these values, shape (n_rows, n)."""
        for (source, width), run in groupby(range(len(names)), lambda j: self.elements[names[j]][::2]):
            own = list(run)
            places = [self.elements[names[j]].place for j in own]
            if width:
                values = self.matrix(source, width)
                yield slice(own[0], own[-1] + 1), values if places == list(range(width)) else values[:, places]


@dataclass(frozen=True)
class ExpandedReader:
    """A function that reads columns of a block of a table, by the names of values in lists."""

    read: Any
    elements: Mapping[Any, Element]

    def __call__(self, block: Any, names: tuple[Any, ...]) -> Expanded:
        return Expanded(self.read(block, sources_of(names, self.elements)), {n: self.elements[n] for n in names})


def matrix_of(column: Any, width: int, name: Any) -> AnyArray:
    """Return the values of a column of lists, shape (n_rows, width), with NaN for missing lists and values."""
    flat, there = _flattened(column, width, name)
    try:
        values = numbers(flat).reshape(-1, width)
    except (ValueError, TypeError) as error:
        raise ValueError(f"expected numbers in the lists of column {name!r}; got others: {error}") from error
    if there.all():
        return values
    out = np.full((len(there), width), np.nan, np.result_type(values.dtype, np.float32))
    out[there] = values
    return out


def _flattened(column: Any, width: int, name: Any) -> tuple[Any, AnyArray]:
    """Return the values of all lists in turn, and whether each row has a list."""
    if hasattr(column, "null_count"):  # Arrow
        from pyarrow.compute import list_flatten, list_value_length

        lengths = list_value_length(column).fill_null(-1).to_numpy()
        flat = list_flatten(column)
    else:
        cells = np.asarray(column, dtype=object)
        lengths = np.array([-1 if is_missing(cell) else np.size(cell) for cell in cells], dtype=np.int64)
        flat = np.concatenate([np.empty(0, np.float16), *(np.ravel(cell) for cell in cells[lengths >= 0])])
    there = lengths >= 0
    if bad := np.flatnonzero(there & (lengths != width)).tolist():
        raise ValueError(
            f"expected lists of {width} numbers in column {name!r}, as in its first row; got {lengths[bad[0]]} in row "
            f"{bad[0]} of a block: leave the column out, or store lists of one length"
        )
    return flat, there


def value_type(dtype: Any) -> Any:
    """Return the type of the values of a type of lists of Arrow, also within a dtype of pandas, or None for others."""
    own = getattr(dtype, "pyarrow_dtype", dtype)
    if not hasattr(own, "value_field") or hasattr(own, "key_type"):  # of maps
        return None
    return None if own.value_type.num_fields else own.value_type  # of lists of lists


def width_of(column: Any) -> int:
    """Return the length of the lists in a column in memory by its first one, or zero if it holds no lists."""
    own = getattr(dtype_of(column), "pyarrow_dtype", dtype_of(column))
    if hasattr(own, "list_size"):
        return int(own.list_size)
    for cell in column:
        cell = cell.as_py() if hasattr(cell, "as_py") else cell
        if not is_missing(cell):
            return len(cell) if isinstance(cell, list | tuple | np.ndarray) and np.ndim(cell) == 1 else 0
    return 0


def widths_of(table: Any, keys: Sequence[Any]) -> dict[Any, int]:
    """Return the lengths of the lists in the columns of a table in memory, zero for columns without lists."""
    types = () if not keys else table.schema.types if hasattr(table, "schema") else table.dtypes
    return {key: width_of(table[key]) if may_hold_lists(dtype) else 0 for key, dtype in zip(keys, types)}


def may_hold_lists(dtype: Any) -> bool:
    """Return whether the values of a dtype may be lists: of types of lists they are, of objects their values tell."""
    return value_type(dtype) is not None or (isinstance(dtype, np.dtype) and dtype.kind == "O")


def with_lists(table: Any, keys: Sequence[Any]) -> Any:
    """Return a table in memory with the lists of its columns as columns of their values; others as they are."""
    widths = widths_of(table, keys)
    return Expanded(table, elements_of(widths)) if any(widths.values()) else table
