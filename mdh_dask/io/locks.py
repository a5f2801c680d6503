"""Locks on files, which end with the process that holds them, however it ends."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # on Windows only the number of a job's attempt separates runs
    fcntl = None  # type: ignore[assignment]


@contextmanager
def locked(file: Path, what: str, *, keep: bool = False, wait: bool = False) -> Iterator[None]:
    """Create and lock a file, and remove it at the end unless `keep`; without `wait`, a lock is a BlockingIOError."""
    stream = _acquire(file, what, wait)
    try:
        yield
    finally:
        if not keep:
            file.unlink(missing_ok=True)
        os.close(stream)


def _acquire(file: Path, what: str, wait: bool) -> int:
    while True:
        stream = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
        try:
            if fcntl is not None:
                fcntl.flock(stream, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            if fcntl is None or _is_still(file, stream):
                return stream
        except BlockingIOError:
            os.close(stream)
            raise BlockingIOError(f"{what} is being worked on by another run: wait until it has ended") from None
        except BaseException:
            os.close(stream)
            raise
        os.close(stream)  # the former holder has just removed the file


def _is_still(file: Path, stream: int) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.stat(file), os.fstat(stream))
    return False
