"""The memory of the process, and its search for cyclic garbage."""

import atexit
import gc

OBJECTS_OF_A_COMMAND = 100_000
"""New objects between two searches in a process that runs a command; Python's default is 700."""


def search_rarely() -> None:
    """Search rarely from now on, and not when the process ends: for commands, which end soon."""
    gc.set_threshold(OBJECTS_OF_A_COMMAND)
    end_without_garbage()


def end_without_garbage() -> None:
    """Let Python exit without its repeated searches for cyclic garbage.

    They go through all objects of the compiler, which in a worker on a busy machine takes more than the 4 s after which
    its nanny warns and kills it.
    """
    atexit.register(gc.freeze)


def memory_limit() -> int:
    """Return the memory of this process in bytes, as limited by its control group."""
    from distributed.system import MEMORY_LIMIT  # imported late: it takes a fifth of the time to import an estimator

    return int(MEMORY_LIMIT)


ALWAYS_THERE = 2**26
"""Bytes that any process has, so that the limit, which takes long to import, need not be known."""


def check_memory(n_bytes: int, what: str, remedy: str = "") -> None:
    """Raise a ValueError for what does not fit in the memory of this process, before any of it is read."""
    if n_bytes > ALWAYS_THERE and n_bytes > (limit := memory_limit()):
        raise ValueError(f"{what} takes {n_bytes:,} bytes, and there are {limit:,} of memory{remedy}")
