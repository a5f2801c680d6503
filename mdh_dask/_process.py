"""The process: its memory, and its end."""

import atexit
import gc


def memory_limit() -> int:
    """Return the memory of this process in bytes, as limited by its control group."""
    from distributed.system import MEMORY_LIMIT  # imported late: it takes a fifth of the time to import an estimator

    return int(MEMORY_LIMIT)


def end_without_garbage() -> None:
    """Let Python exit without its repeated garbage collections.

    They go through all objects of the compiler, which in a worker on a busy machine takes more than the 4 s after which
    its nanny warns and kills it.
    """
    atexit.register(gc.freeze)
