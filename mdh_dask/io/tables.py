"""Dask arrays and tables with columns of any type that are read block by block."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import Any

import dask.array as da
import numpy as np
from dask.base import tokenize

from .._typing import AnyArray
from ..chunks.mapping import DataNode, Task, TaskRef
from ..columns.coding import array_of_table
from ..columns.drafts import repeated
from ..columns.lists import (
    Element,
    Expanded,
    ExpandedReader,
    elements_of,
    expanded_names,
    may_hold_lists,
    sources_of,
    widths_of,
)

MOST_BLOCKS = 10**7
"""With blocks of the default size this is about 300 TB."""


def lazy_rows(
    read: Callable[..., AnyArray] | TaskRef,
    blocks: Sequence[Any],
    rows: Sequence[int],
    n_columns: int | None,
    dtype: np.dtype,
    version: Any,
    *,
    meta: Any = None,
    graph: Mapping[Any, Any] | None = None,
) -> da.Array:
    """Return lazy rows whose blocks, with these numbers of rows, come from calls of `read` with one of `blocks` each.

    `version` identifies the input and its version; `meta`, no rows of the type of the blocks, is a NumPy array by
    default. Without `n_columns`, rows are single values. `read` and `blocks` may refer to nodes of `graph`.
    """
    name = f"mdh-rows-{tokenize(version, list(rows), n_columns, dtype)}"
    chunks = (tuple(rows),) if n_columns is None else (tuple(rows), (n_columns,))
    meta = np.empty((0,) * len(chunks), dtype) if meta is None else meta
    keys = [(name, i) if n_columns is None else (name, i, 0) for i in range(len(blocks))]
    tasks = {key: Task(key, _whole, read, block, n) for key, block, n in zip(keys, blocks, rows)}
    return da.Array({**(graph or {}), **tasks}, name, chunks, meta=meta)


def not_numeric(bad: Sequence[str], numeric: Sequence[str], path: Any, without: str = "it has none") -> ValueError:
    """Return the error for columns that are no numbers, which names those that are; `without` says what else to do."""
    remedy = (
        f"convert them, or name the columns to take with columns=..., as {','.join(numeric)}" if numeric else without
    )
    return ValueError(
        f"expected numeric columns; got {', '.join(bad)} in {path}: {remedy}; models with feature_map='gower' take "
        "others, too"
    )


def _whole(read: Callable[..., AnyArray], block: Any, n_rows: int) -> AnyArray:
    # An input may hold other rows than its metadata claim, and Dask accepts any number of rows.
    found = read(block)
    if len(found) != n_rows:
        raise ValueError(
            f"expected a block of {n_rows} rows, got {len(found)}: the input has changed since it was opened, or is "
            "damaged; open it again, or write it again"
        )
    return found


def check_blocks(n_rows: int, step: int, where: object) -> None:
    """Raise an error for more blocks than any scheduler can handle, which a few bytes of metadata can claim."""
    if n_rows > step * MOST_BLOCKS:
        raise ValueError(
            f"{where}: expected at most {MOST_BLOCKS:,} blocks of rows, got {n_rows:,} rows in blocks of {step:,}: ask "
            "for larger ones with block_bytes=..., or check how the rows were written"
        )


def chosen_columns(
    there: Sequence[str],
    columns: Sequence[str] | None,
    path: Any,
    default: Sequence[str] | None = None,
    elements: Mapping[str, Element] | None = None,
) -> tuple[str, ...]:
    """Return the requested columns of a table, or the default ones, after checking that each is there once.

    With its elements, the name of a column of lists stands for all their values.
    """
    names = tuple((there if default is None else default) if columns is None else columns)
    ambiguous = repeated(there)
    if elements is not None:
        names, there = tuple(expanded_names(names, elements)), tuple(elements)
    known = set(there)
    if missing := [name for name in names if name not in known]:
        raise ValueError(f"{path} has no column {', '.join(missing)}; its columns are {', '.join(there)}")
    if twice := sorted(repeated(names) | ambiguous & set(names)):
        raise ValueError(f"{path}: expected every column once; got {', '.join(twice)} twice: name others")
    if not names:
        raise ValueError(f"{path}: expected at least one column, got none")
    return names


def grouped(sizes: Iterable[int], most: int) -> list[list[int]]:
    """Return the indices of sizes in groups of neighbours with a sum of at most `most`, or of a single size."""
    number, filled, numbers = 0, 0, []
    for place, size in enumerate(sizes):
        if place and filled + size > most:
            number, filled = number + 1, 0
        filled += size
        numbers.append(number)
    return [list(group) for _, group in groupby(range(len(numbers)), key=numbers.__getitem__)]


Code = Callable[[Any], AnyArray]
"""A function from a table to an array of its rows."""

Reader = Callable[[Any, tuple[str, ...]], Any]
"""A function that reads columns of a block of a table."""


@dataclass(frozen=True)
class LazyColumn:
    """The type of a column whose values are not read yet."""

    type: Any
    """Of Arrow, or a dtype of pandas."""
    categories: tuple[str, ...] | None = None
    """The categories in their order, if all blocks have the same."""
    npartitions: int = 1


@dataclass(frozen=True)
class LazyTable:
    """A table that is read block by block."""

    columns_there: Mapping[str, LazyColumn]
    blocks: tuple[Any, ...]
    read: Reader
    n_rows: tuple[int, ...] | None
    version: Any
    graph: Mapping[Any, Any] = field(default_factory=dict, repr=False)
    narrowed: Callable[[tuple[str, ...]], "LazyTable"] | None = None
    """Returns the table of some columns, if this saves reading the others."""

    @property
    def column_names(self) -> list[str]:
        """Return the names of the columns."""
        return list(self.columns_there)

    def __getitem__(self, name: Any) -> LazyColumn:
        return self.columns_there[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns_there)

    def select(self, names: Sequence[str]) -> "LazyTable":
        """Return the table with some of the columns, in this order."""
        return replace(self, columns_there={name: self.columns_there[name] for name in names})

    def tables(self, names: Sequence[str]) -> da.Array:
        """Return an array of tables, one for each block, with some columns or, without any, the first."""
        chosen = tuple(names) or tuple(self.column_names[:1])
        return self._array(array_of_table, chosen, (1,) * len(self.blocks), None, np.dtype(object))

    def rows(self, code: Code, names: Sequence[str], n_rows: Sequence[int], dtype: np.dtype) -> da.Array:
        """Return rows of some columns that a function codes, in a chunk for each block."""
        return self._array(code, tuple(names), tuple(map(int, n_rows)), len(names), dtype)

    def _array(
        self, code: Code, names: tuple[str, ...], rows: tuple[int, ...], n_columns: int | None, dtype: np.dtype
    ) -> da.Array:
        """Return an array whose blocks are coded tables; the code is one node of the graph."""
        if self.narrowed is not None:
            return self.narrowed(names)._array(code, names, rows, n_columns, dtype)
        version = tokenize(self.version, self.blocks, names, code, dtype)
        shared = f"code-mdh-rows-{version}"
        graph = {**self.graph, shared: DataNode(shared, partial(_coded, self.read, names, code))}
        blocks = [TaskRef(block) for block in self.blocks] if self.graph else self.blocks
        return lazy_rows(TaskRef(shared), blocks, rows, n_columns, dtype, version, graph=graph)


def is_lazy_table(X: object) -> bool:
    """Return whether `X` is a table that is read block by block."""
    return isinstance(X, LazyTable) or (
        hasattr(X, "to_dask_array") and hasattr(X, "npartitions") and hasattr(X, "columns")
    )


def lazy_table(X: Any) -> LazyTable:
    """Return a Dask DataFrame as a table that is read block by block; such a table is returned as it is.

    The first row says how long the lists in columns of objects are: its partition is computed if there are any.
    """
    if isinstance(X, LazyTable):
        return X
    objects = [key for key, dtype in X.dtypes.items() if may_hold_lists(dtype)]
    widths = dict.fromkeys(X.columns, 0)
    first = X[objects].head(1) if objects else None
    widths |= widths_of(first, objects)
    elements = elements_of(widths)
    own = {key: Expanded(first, elements)[key].dtype for key, element in elements.items() if element.width}
    columns = {key: LazyColumn(own[key]) if key in own else _column_of_frame(X, key) for key in elements}

    def narrowed(names: tuple[str, ...]) -> LazyTable:
        frame = X[list(sources_of(names, elements))].optimize()
        graph, keys = dict(frame.__dask_graph__()), tuple(frame.__dask_keys__())
        return LazyTable({}, keys, with_elements(_selected, elements), None, tokenize(frame), graph)

    return LazyTable(columns, tuple(range(X.npartitions)), _selected, None, None, narrowed=narrowed)


def with_elements(read: Reader, elements: Mapping[Any, Element]) -> Reader:
    """Return a function that reads the columns of blocks by the names of values in lists, if there are any."""
    return ExpandedReader(read, elements) if any(element.width for element in elements.values()) else read


def _column_of_frame(frame: Any, key: Any) -> LazyColumn:
    column = frame[key]
    known = hasattr(column.dtype, "ordered") and column.cat.known
    return LazyColumn(column.dtype, tuple(column.dtype.categories) if known else None, frame.npartitions)


def _selected(partition: Any, names: tuple[str, ...]) -> Any:
    return partition[list(names)]


def _coded(read: Reader, names: tuple[str, ...], code: Code, block: Any) -> AnyArray:
    return code(read(block, names))
