"""Attempts at a job, of which only the latest may publish.

The operating system's lock on a file, `mdh_dask.io.locks`, ends with the process that holds it. Some network file
systems do not share it with other hosts; there the number of the attempt in the file identifies the latest attempt, and
only that attempt may publish. Nothing guards the moment between this check and the renaming that follows.
"""

import json
import os
import socket
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from ..io.staging import write_whole


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
