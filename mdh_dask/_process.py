"""The end of a process."""

import atexit
import gc


def end_without_garbage() -> None:
    """Let Python exit without its repeated garbage collections.

    With the 250,000 objects of the compiler they take 0.7 s of processor time, and in a worker on a busy machine more
    than the 4 s after which its nanny warns and kills it.
    """
    atexit.register(gc.freeze)
