"""Threads for rows in memory."""

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Any

from dask.system import CPU_COUNT

from .._blas import one_blas_thread

ROWS_OF_A_THREAD = 2**14
"""Fewest rows that are worth a thread."""


def work_through(function: Callable[[Any], Iterable[Any]], items: Iterable[Any]) -> None:
    """Apply a NumPy or numba function to every item, and to the items it returns, on the threads of this process.

    Items start as threads become free, in no particular order. BLAS is limited to one thread each.

    Examples
    --------
    >>> seen = []
    >>> work_through(lambda n: seen.append(n) or range(n), [2])
    >>> sorted(seen)
    [0, 0, 1, 2]
    """
    with one_blas_thread(), ThreadPoolExecutor(CPU_COUNT) as pool:
        pending = {pool.submit(function, item) for item in items}
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            pending |= {pool.submit(function, item) for future in done for item in future.result()}
