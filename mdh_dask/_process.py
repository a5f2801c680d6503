"""The memory of the process."""


def memory_limit() -> int:
    """Return the memory of this process in bytes, as limited by its control group."""
    from distributed.system import MEMORY_LIMIT  # imported late: it takes a fifth of the time to import an estimator

    return int(MEMORY_LIMIT)
