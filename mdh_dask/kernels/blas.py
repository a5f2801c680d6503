"""Matrix products in which a row comes out the same to the last bit wherever it stands in its block.

BLAS treats rows differently by the height of the matrix and by their place in it, so rows are multiplied in blocks of
one height. Then OpenBLAS treats all alike on one thread, but for single precision on some processors (Haswell, Zen),
where `exact_dtype` finds it out and says float64.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from threading import Lock
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from .._random import generator

HEIGHT = 192
"""Rows of a block: a multiple of the heights of all micro-kernels, small enough for a block to stay in the cache."""

PROBES = 4


class _Users:
    """How many are inside `one_blas_thread`, and how to undo it."""

    lock = Lock()
    count = 0
    limiter: Any = None


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread in this process until the last of all who asked for it leaves."""
    with _Users.lock:
        if _Users.count == 0:
            _disown()
            _Users.limiter = _controller().limit(limits=1, user_api="blas")
        _Users.count += 1
    try:
        yield
    finally:
        with _Users.lock:
            _Users.count -= 1
            if _Users.count == 0:
                _disown()
                _Users.limiter.restore_original_limits()
                _disown()


def _disown() -> None:
    # To threadpoolctl from 3.8 on, OpenBLAS belongs to the thread that first set a limit; others' are ignored.
    for library in _controller().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


def exact_dtype(dtype: type[np.floating], *shapes: tuple[int, int]) -> type[np.floating]:
    """Return `dtype` if blocks times matrices of these shapes treat all rows of a block alike, else float64."""
    return dtype if all(_rows_are_alike(np.dtype(dtype).name, *shape) for shape in shapes) else np.float64


@lru_cache(maxsize=256)
def _rows_are_alike(dtype: str, depth: int, width: int) -> bool:
    rng = generator(0, depth, width)
    matrix = rng.standard_normal((depth, width)).astype(dtype)
    for row in rng.standard_normal((PROBES, depth)).astype(dtype):
        product = np.dot(np.repeat(row[None], HEIGHT, axis=0), matrix)
        if (product != product[0]).any():
            return False
    return True
