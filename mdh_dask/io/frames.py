"""Dask DataFrames as arrays of rows, in a chunk for each partition."""

from collections.abc import Callable, Sequence
from typing import Any

import dask.array as da
import numpy as np
from dask._task_spec import DataNode, Task, TaskRef
from dask.base import tokenize

from .._typing import AnyArray
from ..columns.levels import array_of_table


def is_dask_frame(X: object) -> bool:
    """Return whether `X` is a Dask DataFrame."""
    return hasattr(X, "to_dask_array") and hasattr(X, "npartitions") and hasattr(X, "columns")


def partitions_of(frame: Any, keys: Sequence[Any]) -> da.Array:
    """Return an array of tables: the partitions with some of the columns, or with the first one if there are none.

    Dask then reads no other columns from files that store them apart.
    """
    part = frame[list(keys) or [frame.columns[0]]]
    return _blocks(part, array_of_table, (1,) * part.npartitions, None, np.dtype(object))


def rows_of_frame(
    frame: Any, keys: Sequence[Any], code: Callable[[Any], AnyArray], n_rows: Sequence[int], dtype: np.dtype
) -> da.Array:
    """Return the rows of a frame, coded by a function of a partition, with known chunks.

    Parameters
    ----------
    frame : dask DataFrame
    keys : sequence
        Names of the columns, in their order.
    code : callable
        Returns an array of shape (n_rows, n_columns) from a partition.
    n_rows : sequence of int
        Number of rows of every partition.
    dtype : dtype
    """
    return _blocks(frame[list(keys)], code, tuple(map(int, n_rows)), len(keys), dtype)


def _blocks(
    frame: Any, function: Callable[[Any], AnyArray], rows: tuple[int, ...], n_columns: int | None, dtype: np.dtype
) -> da.Array:
    """Return an array whose blocks a function makes of the partitions; the function is one node of the graph."""
    frame = frame.optimize()
    name = f"rows-{tokenize(frame, function, dtype)}"
    shared = f"coder-{name}"
    graph = dict(frame.__dask_graph__())
    graph[shared] = DataNode(shared, function)
    column = () if n_columns is None else (0,)
    for i, key in enumerate(frame.__dask_keys__()):
        own = (name, i, *column)
        graph[own] = Task(own, _call, TaskRef(shared), TaskRef(key))
    chunks = (rows,) if n_columns is None else (rows, (n_columns,))
    return da.Array(graph, name, chunks, meta=np.empty((0,) * len(chunks), dtype))


def _call(function: Callable[[Any], AnyArray], partition: Any) -> AnyArray:
    return function(partition)
