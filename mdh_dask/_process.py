"""The memory of the process."""


def memory_limit() -> int:
    """Return the memory of this process in bytes, as limited by its control group."""
    from distributed.system import MEMORY_LIMIT  # imported late: it takes a fifth of the time to import an estimator

    return int(MEMORY_LIMIT)


ALWAYS_THERE = 2**26
"""Bytes that any process has, so that the limit, which takes long to import, need not be known."""


def check_memory(n_bytes: int, what: str, remedy: str = "") -> None:
    """Raise an error for what does not fit in the memory of this process, before any of it is read.

    Raises
    ------
    ValueError
    """
    if n_bytes > ALWAYS_THERE and n_bytes > (limit := memory_limit()):
        raise ValueError(f"{what} takes {n_bytes:,} bytes, and there are {limit:,} of memory{remedy}")
