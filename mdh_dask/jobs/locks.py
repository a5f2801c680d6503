"""Locks against simultaneous runs, which end with a crashed run.

The operating system's lock on a file ends with the process that holds it. Some network file systems do not share it
with other hosts; there the number of the attempt in the file identifies the latest attempt, and
only that attempt may publish. Nothing guards the moment between this check and the renaming that follows.
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

from ..io.staging import write_whole

try:
    import fcntl
except ImportError:  # on Windows only the number of the attempt separates runs
    fcntl = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Attempt:
    """One run of a job; an interrupted job has several."""

    id: str
    host: str
    process: int
    began: str


def new_attempt() -> Attempt:
    """Return a new attempt by this process."""
    return Attempt(uuid4().hex[:12], socket.gethostname(), os.getpid(), now())


def now() -> str:
    """Return the current time to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@contextmanager
def locked(file: Path, what: str, keep: bool = False) -> Iterator[None]:
    """Create and lock a file; at the end, remove it unless `keep`.

    Raises a BlockingIOError if another process holds the lock.
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
        os.close(stream)  # the former holder has just removed the file


def _is_still(file: Path, stream: int) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.stat(file), os.fstat(stream))
    return False


@dataclass(frozen=True)
class Fence:
    """A check that an attempt is the latest one, which a file names."""

    file: Path
    attempt: Attempt

    def claim(self) -> None:
        """Become the latest attempt."""
        write_whole(self.file, json.dumps(asdict(self.attempt)).encode())

    def is_lost(self) -> bool:
        """Return whether another attempt has begun since."""
        try:
            self.check()
        except BlockingIOError:
            return True
        return False

    def check(self) -> None:
        """Raise an error if another attempt has begun since.

        Raises a BlockingIOError if another attempt has begun.
        """
        by = "another run"
        with suppress(FileNotFoundError, ValueError, TypeError, RecursionError):  # missing, or not ours
            last = Attempt(**json.loads(self.file.read_text()))
            if last.id == self.attempt.id:
                return
            by = f"attempt {last.id}, process {last.process} on {last.host}"
        raise BlockingIOError(f"the job was taken over by {by}: this attempt publishes nothing")
