"""Rows that a function reads block by block, as a Dask array."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any

import dask.array as da
import numpy as np
from dask._task_spec import Task
from dask.base import tokenize

from .._typing import AnyArray

MOST_BLOCKS = 10**7
"""Of the default size they are some 300 TB."""


def lazy_rows(
    read: Callable[..., AnyArray],
    blocks: Sequence[Any],
    rows: Sequence[int],
    n_columns: int,
    dtype: np.dtype,
    version: Any,
) -> da.Array:
    """Return rows of which every block is what `read` returns for its argument; nothing is read before.

    Parameters
    ----------
    read : callable
        Returns an array of shape (rows, n_columns); goes to the workers with every task.
    blocks : sequence
        The argument for each block.
    rows : sequence of int
        Of each block.
    n_columns : int
    dtype : dtype
    version : object
        What tells this input from all others, and from what it was before it changed.

    Examples
    --------
    >>> lazy_rows(lambda n: np.full((2, 1), n), [3, 5], [2, 2], 1, np.dtype(int), "threes and fives").sum().compute()
    np.int64(16)
    """
    name = f"read-{tokenize(version, list(rows), n_columns, dtype)}"
    keys = [(name, i, 0) for i in range(len(blocks))]
    graph = {key: Task(key, _whole, read, block, n) for key, block, n in zip(keys, blocks, rows)}
    return da.Array(graph, name, (tuple(rows), (n_columns,)), meta=np.empty((0, 0), dtype))


def _whole(read: Callable[..., AnyArray], block: Any, n_rows: int) -> AnyArray:
    # What an input claims is one thing, and what it holds another: Dask would take any number of rows.
    found = read(block)
    if len(found) != n_rows:
        raise ValueError(
            f"expected a block of {n_rows} rows, got {len(found)}: the input has changed since it was opened, or is "
            "damaged; open it again, or write it again"
        )
    return found


def check_blocks(n_rows: int, step: int, where: object) -> None:
    """Raise an error if rows in blocks of some rows are more than any scheduler takes: a few bytes can claim them."""
    if n_rows > step * MOST_BLOCKS:
        raise ValueError(
            f"{where}: expected at most {MOST_BLOCKS:,} blocks of rows, got {n_rows:,} rows in blocks of {step:,}: ask "
            "for larger ones with block_bytes=..., or check how the rows were written"
        )


def grouped(sizes: Iterable[int], most: int) -> list[list[int]]:
    """Return the places of sizes in groups of neighbours of which the sum is at most `most`, or which are one.

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
