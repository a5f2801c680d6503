"""Locks that keep two runs apart, and that a run which crashed does not leave behind.

The operating system's lock on a file ends with the process that holds it. Where it does not reach, as on some network
file systems a copy of the job that runs on another host, the number of the attempt in the file tells who came last:
only that attempt may publish. Between this check and the renaming that follows there is a moment that nothing guards.
"""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from ..io.folders import write_whole

try:
    import fcntl
except ImportError:  # Windows: only the number of the attempt keeps runs apart
    fcntl = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Attempt:
    """One run of a job, of which there are more if it was interrupted."""

    id: str
    host: str
    process: int
    began: str


def new_attempt() -> Attempt:
    """Return an attempt by this process that begins now."""
    return Attempt(uuid4().hex[:12], socket.gethostname(), os.getpid(), now())


def now() -> str:
    """Return the time, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@contextmanager
def locked(file: Path, what: str, keep: bool = False) -> Iterator[None]:
    """Hold the lock on a file, which is made, and removed in the end unless it is to be kept.

    Raises
    ------
    BlockingIOError
        If another process holds it.
    """
    stream = _acquire(file, what)
    try:
        yield
    finally:
        if not keep:
            file.unlink(missing_ok=True)
        os.close(stream)


def _acquire(file: Path, what: str) -> int:
    while True:
        stream = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
        try:
            if fcntl is not None:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if fcntl is None or _is_still(file, stream):
                return stream
        except BlockingIOError:
            os.close(stream)
            raise BlockingIOError(f"{what} is being worked on by another run: wait until it has ended") from None
        except BaseException:
            os.close(stream)
            raise
        os.close(stream)  # whoever held it has just removed the file


def _is_still(file: Path, stream: int) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.stat(file), os.fstat(stream))
    return False


@dataclass(frozen=True)
class Fence:
    """Tells whether an attempt is the last one that began.

    Parameters
    ----------
    file : Path
        Names the last attempt.
    attempt : Attempt
    """

    file: Path
    attempt: Attempt

    def claim(self) -> None:
        """Become the last attempt."""
        write_whole(self.file, json.dumps(asdict(self.attempt)).encode())

    def check(self) -> None:
        """Raise an error if another attempt has begun since.

        Raises
        ------
        BlockingIOError
            If it has.
        """
        by = "another run"
        with suppress(FileNotFoundError, ValueError, TypeError, RecursionError):  # gone, or written by something else
            last = Attempt(**json.loads(self.file.read_text()))
            if last.id == self.attempt.id:
                return
            by = f"attempt {last.id}, process {last.process} on {last.host}"
        raise BlockingIOError(f"the job was taken over by {by}: this attempt publishes nothing")
