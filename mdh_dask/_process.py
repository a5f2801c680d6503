"""How a process of this package ends."""

import atexit
import gc


def end_without_garbage() -> None:
    """Let Python end this process without looking for garbage, which it does several times.

    Among the 250,000 objects of the compiler that takes .7 s of a processor; and of a worker, where many want one, more
    than the 4 s after which its nanny warns and kills it.
    """
    atexit.register(gc.freeze)
