"""The only module that sets numba's options.

Loops release the GIL, because Dask runs them on threads. They are never ``parallel=True``: with numba's
``workqueue`` threading layer two Dask threads in one parallel loop abort the process. They are kept on disk
(``_loop_cache.py``), because compiling them takes up to 12 seconds of every process.
"""

import gc
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import event

logger = logging.getLogger(__name__)

FOLDER: Path | None
"""Folder of the cached loops; None for no cache."""

try:
    from ._loop_cache import LoopCache, base_folder, open_folder

    FOLDER = open_folder(base_folder())
except (ImportError, AttributeError) as error:  # Numba documents none of the names that the cache is built on.
    logger.debug("Compiled loops are not kept: %s", error)
    FOLDER = None


class _Compiling(event.Listener):  # type: ignore[misc, unused-ignore]
    """What happens while a loop compiles: the log says so once, and Python does not search for cyclic garbage.

    Among the many objects of the compiler, the search would take long and find little. Numba compiles a single loop at
    a time, for all threads, but others within it.
    """

    def __init__(self) -> None:
        self.said = False
        self._depth, self._searches = 0, True

    def on_start(self, event: Any) -> None:
        if not _is_ours(event):
            return
        if not self.said:
            self.said = True
            logger.info("compiling loops%s", f", which later processes load from {FOLDER}" if FOLDER else "")
        if self._depth == 0:
            self._searches = gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        if _is_ours(event):
            self._depth -= 1
            if self._depth == 0 and self._searches:
                gc.enable()


def _is_ours(event: Any) -> bool:
    """Return whether an event is of a loop of this package, and not of numba's or of the user."""
    return bool(event.data["dispatcher"].__module__.startswith(__package__))


COMPILING = _Compiling()
event.register("numba:compile", COMPILING)


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a plain loop on first use; it releases the GIL while it runs.

    The first ``x ** 2``, ``min`` or ``max`` of a loop takes longer to compile than a product or a comparison, so loops
    of every first fit use these.
    """
    return _loop(function)


def part(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a plain loop within each loop that calls it, and not alone and then within the callers once more."""
    return _loop(function, inline="always")


def _loop(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    loop = numba.njit(nogil=True, no_cfunc_wrapper=True, **options)(function)  # nothing calls the loops from C
    if FOLDER is not None:
        loop._cache = LoopCache(FOLDER, function)
    return loop
