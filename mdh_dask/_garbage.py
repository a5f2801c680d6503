"""Python's search for cyclic garbage, which is paused while modules are imported and loops are compiled or loaded.

Among the many objects of the compiler and of modules, it takes long and finds little.
"""

import gc
from threading import Lock
from types import ModuleType, TracebackType


class Garbage:
    """Pauses of the search, as a context; they may be nested, and overlap in several threads.

    Parameters
    ----------
    search : module
        What is paused: `gc`, or what stands for it in tests.
    """

    def __init__(self, search: ModuleType = gc) -> None:
        self._search = search
        self._lock, self._depth, self._was_enabled = Lock(), 0, False

    def __enter__(self) -> None:
        """Search no more until all pauses have ended."""
        with self._lock:
            if self._depth == 0:
                self._was_enabled = self._search.isenabled()
                self._search.disable()
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
                self._search.enable()


GARBAGE = Garbage()
