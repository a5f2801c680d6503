"""Dask arrays of rows that a function reads block by block."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any

import dask.array as da
import numpy as np
from dask._task_spec import Task
from dask.base import tokenize

from .._typing import AnyArray

MOST_BLOCKS = 10**7
"""With blocks of the default size this is about 300 TB."""


def lazy_rows(
    read: Callable[..., AnyArray],
    blocks: Sequence[Any],
    rows: Sequence[int],
    n_columns: int,
    dtype: np.dtype,
    version: Any,
    *,
    meta: Any = None,
) -> da.Array:
    """Return lazy rows whose blocks come from calls of `read` with one argument each.

    Parameters
    ----------
    read : callable
        Returns an array of shape (rows, n_columns); is sent to the workers with every task.
    blocks : sequence
        The argument for each block.
    rows : sequence of int
        Number of rows of each block.
    n_columns : int
    dtype : dtype
    version : object
        Identifies the input and its version.
    meta : array, optional
        No rows, of the type of the blocks; NumPy arrays by default.

    Examples
    --------
    >>> lazy_rows(lambda n: np.full((2, 1), n), [3, 5], [2, 2], 1, np.dtype(int), "threes and fives").sum().compute()
    np.int64(16)
    """
    name = f"read-{tokenize(version, list(rows), n_columns, dtype)}"
    keys = [(name, i, 0) for i in range(len(blocks))]
    graph = {key: Task(key, _whole, read, block, n) for key, block, n in zip(keys, blocks, rows)}
    return da.Array(graph, name, (tuple(rows), (n_columns,)), meta=np.empty((0, 0), dtype) if meta is None else meta)


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


def grouped(sizes: Iterable[int], most: int) -> list[list[int]]:
    """Return the indices of sizes in groups of neighbours with a sum of at most `most`, or of a single size.

    Examples
    --------
    >>> grouped([2, 3, 9, 1, 1, 1], most=5)
    [[0, 1], [2], [3, 4, 5]]
    """
    number, filled, numbers = 0, 0, []
    for place, size in enumerate(sizes):
        if place and filled + size > most:
            number, filled = number + 1, 0
        filled += size
        numbers.append(number)
    return [list(group) for _, group in groupby(range(len(numbers)), key=numbers.__getitem__)]
