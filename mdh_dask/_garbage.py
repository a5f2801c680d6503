"""Python's search for cyclic garbage, which hardly runs while modules are imported and loops are compiled or loaded.

Among the many objects of the compiler and of modules, it takes long and finds little.
"""

import atexit
import gc
from threading import Lock
from types import ModuleType, TracebackType

RARELY = 1_000_000
"""New objects between two searches in a pause.

The search stays enabled: `dask.array`, while it is imported, keeps whether it is, and later restores that.
"""

OBJECTS_OF_A_COMMAND = 100_000
"""New objects between two searches in a process that runs a command; Python's default is 700."""


class Garbage:
    """Pauses of the search, as a context; they may be nested, and overlap in several threads.

    Parameters
    ----------
    search : module
        What is paused: `gc`, or what stands for it in tests.
    """

    def __init__(self, search: ModuleType = gc) -> None:
        self._search = search
        self._lock, self._depth, self._before = Lock(), 0, search.get_threshold()

    def __enter__(self) -> None:
        """Search hardly any more until all pauses have ended."""
        with self._lock:
            if self._depth == 0:
                self._before = self._search.get_threshold()
                if self._before[0]:  # 0 stands for no search at all
                    self._search.set_threshold(RARELY, *self._before[1:])
            self._depth += 1

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        """End a pause; the last one restores what was there before the first, unless others have changed it."""
        with self._lock:
            self._depth -= 1
            if self._depth == 0 and self._search.get_threshold()[0] == RARELY:
                self._search.set_threshold(*self._before)


def search_rarely() -> None:
    """Search rarely from now on, and not when the process ends: for commands, which end soon.

    The last searches of a process go through all objects of all modules.
    """
    gc.set_threshold(OBJECTS_OF_A_COMMAND)
    end_without_garbage()


def end_without_garbage() -> None:
    """Let Python exit without its repeated garbage collections.

    They go through all objects of the compiler, which in a worker on a busy machine takes more than the 4 s after which
    its nanny warns and kills it.
    """
    atexit.register(gc.freeze)


GARBAGE = Garbage()
