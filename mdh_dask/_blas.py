"""Products of matrices, and one thread of BLAS, as the last bits of products depend on their number."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from ._typing import AnyArray


class _Users:
    """The number of callers inside `one_blas_thread`, and the limit to lift after the last one."""

    lock = Lock()
    count = 0
    limiter: Any = None


@cache
def _controller() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401 - its BLAS is another one, which is only found once it is loaded

    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread in this process until the last caller leaves the context."""
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
    # threadpoolctl 3.8 and later ignore limits on OpenBLAS from any thread but the one that first set a limit.
    for library in _controller().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


def product(directions: AnyArray, rows: AnyArray) -> AnyArray:
    """Return the matrix product of finite numbers.

    OpenBLAS's products of few directions in float32 may read what lies beyond them, and flag it as invalid.
    """
    with np.errstate(invalid="ignore"):
        found: AnyArray = directions @ rows
    return found
