"""Python's search for cyclic garbage, which is paused while modules are imported and loops are compiled or loaded.

Among the many objects of the compiler and of modules, it takes long and finds little.
"""

import gc
from threading import Lock
from types import TracebackType


class Garbage:
    """Pauses of the search, as a context; they may be nested, and overlap in several threads."""

    def __init__(self) -> None:
        self._lock, self._depth, self._was_enabled = Lock(), 0, False

    def __enter__(self) -> None:
        """Search no more until all pauses have ended."""
        with self._lock:
            if self._depth == 0:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._depth += 1

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        """End a pause; the last one restores what was there before the first."""
        with self._lock:
            self._depth -= 1
            if self._depth == 0 and self._was_enabled:
                gc.enable()


GARBAGE = Garbage()
