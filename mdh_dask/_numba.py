"""The one place that sets numba's options.

Loops release the GIL, because Dask runs them on threads. They are never ``parallel=True``: with numba's
``workqueue`` threading layer two Dask threads in one parallel loop abort the process. The on-disk cache is off
unless ``MDH_DASK_NUMBA_CACHE=1``: a cache shared between machines of different processors has crashed others.
"""

import os
from collections.abc import Callable
from typing import Any

import numba


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a plain loop on first use; the GIL is released while it runs."""
    return numba.njit(nogil=True, cache=os.environ.get("MDH_DASK_NUMBA_CACHE") == "1")(function)
