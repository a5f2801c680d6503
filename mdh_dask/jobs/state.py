"""The work folder of a job, with its description, progress and attempts, of which only the latest may publish.

The operating system's lock on a file, `mdh_dask.io.staging`, ends with the process that holds it. Some network file
systems do not share it with other hosts; there the number of the attempt in the file identifies the latest attempt.
Nothing guards the moment between this check and the renaming that follows.
"""

import json
import os
import shutil
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from .. import __version__
from .._fields import JobError
from .._locations import all_redacted, stored
from .._storable import fits
from ..io import codec
from ..io.staging import write_whole
from .tables import BESIDE

if TYPE_CHECKING:
    from .job import Job

JOB, ATTEMPT, LOCK, PASSES = "job.json", "attempt.json", "lock", "passes"

READY, FINISHED = "ready.json", "manifest.json"
"""The manifest before and after the publication of all outputs."""

SUBMISSION = "MDH_DASK_SUBMISSION"
"""Environment variable for what a scheduler calls the job that it may start several times."""

FORMAT = 1
"""Format number of all these files."""

ATTEMPTS = [{"id": str, "began": str}]

FORMS = {
    JOB: {"attempts": ATTEMPTS, "replaces": [str], "about": {"input": dict, "job": {"output": {...: str | None}}}},
    READY: {"attempts": ATTEMPTS, "summary": str, "finished": str},
    FINISHED: {"attempts": ATTEMPTS, "summary": str, "finished": str},
}
"""What each file holds at least."""


@dataclass(frozen=True)
class Attempt:
    """One run of a job; an interrupted job has several."""

    id: str
    host: str
    process: int
    began: str
    submission: str = ""
    """What the scheduler calls the job; empty if it says nothing."""


def new_attempt() -> Attempt:
    """Return a new attempt by this process."""
    return Attempt(uuid4().hex[:12], socket.gethostname(), os.getpid(), now(), os.environ.get(SUBMISSION, ""))


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

    def check(self) -> None:
        """Raise an error if another attempt has begun since."""
        by = "another run"
        with suppress(FileNotFoundError, ValueError, TypeError, RecursionError):  # missing, or not ours
            last = Attempt(**json.loads(self.file.read_text()))
            if last.id == self.attempt.id:
                return
            by = f"attempt {last.id}, process {last.process} on {last.host}"
        raise BlockingIOError(f"the job was taken over by {by}: this attempt publishes nothing")


@dataclass(frozen=True)
class Work:
    """A work folder.

    A job begins anew by replacing a single file, the first; other files then belong to attempts that it does not name
    and are ignored.
    """

    folder: Path

    def has_begun(self) -> bool:
        """Return whether the job has begun."""
        return (self.folder / JOB).exists()

    def begin(self, about: Mapping[str, Any], attempt: Attempt, replaces: Iterable[str], anew: bool) -> None:
        """Record the job, a new attempt (the first, if it begins anew), and the outputs that it may replace."""
        earlier = [] if anew else self.attempts()
        attempts = [*earlier, asdict(attempt)]
        self._write(JOB, {"format": FORMAT, "about": about, "attempts": attempts, "replaces": [*map(stored, replaces)]})

    def attempts(self) -> list[dict[str, Any]]:
        """Return all attempts."""
        return self._read(JOB)["attempts"] if self.has_begun() else []

    def is_of_this_submission(self) -> bool:
        """Return whether an earlier attempt of the same submission has begun the job; a damaged one has none."""
        with suppress(JobError):
            own = os.environ.get(SUBMISSION, "")
            return own != "" and own in [one.get("submission") for one in self.attempts()[:1]]
        return False

    def replaces(self) -> list[str]:
        """Return the stored paths of the outputs that the job may replace."""
        return self._read(JOB)["replaces"] if self.has_begun() else []

    def owns(self, places: Iterable[str]) -> None:
        """Record further outputs that the job may replace."""
        self._write(JOB, self._read(JOB) | {"replaces": [*dict.fromkeys([*self.replaces(), *map(stored, places)])]})

    def outputs(self) -> dict[str, Any]:
        """Return the stored paths of the outputs by key, as when the job began."""
        output = self._read(JOB)["about"]["job"]["output"] if self.has_begun() else {}
        return {key: place for key, place in output.items() if place is not None}

    def made(self) -> list[str]:
        """Return the stored paths of outputs that the job has written or may have written."""
        begun = self.manifest(READY) or self.manifest(FINISHED)
        return [*dict.fromkeys([*self.replaces(), *(self.outputs().values() if begun else ())])]

    def changes(self, about: Mapping[str, Any]) -> list[str]:
        """Return the changes since the job began, if it did."""
        if not self.has_begun():
            return []
        before = self._read(JOB)["about"]
        if self.manifest(FINISHED) is not None:  # a finished job does not depend on the version any more
            before["versions"] = about["versions"]
        return list(changes(before, about))

    def check(self, about: Mapping[str, Any]) -> None:
        """Raise an error if the job has changed since it began."""
        if found := self.changes(about):
            raise JobError(
                f"since the job began, on {self.attempts()[0]['began']}, {'; '.join(found)}: change it back, or "
                "discard its work with restart=True"
            )

    def manifest(self, name: str) -> dict[str, Any] | None:
        """Return the manifest of all outputs, or None if the job has not come that far."""
        if not (self.has_begun() and (self.folder / name).exists()):
            return None
        manifest: dict[str, Any] = self._read(name)
        return manifest if manifest["attempts"][0]["id"] == self.attempts()[0]["id"] else None

    def ready(self, manifest: Mapping[str, Any]) -> None:
        """Record that all outputs are complete."""
        self._write(READY, manifest)

    def finish(self) -> None:
        """Record that all outputs are published, and remove what was needed to resume."""
        (self.folder / READY).replace(self.folder / FINISHED)
        shutil.rmtree(self.folder / PASSES, ignore_errors=True)

    def clear(self) -> None:
        """Remove the work from before the job began anew."""
        for name in (READY, FINISHED):
            (self.folder / name).unlink(missing_ok=True)
        shutil.rmtree(self.folder / PASSES, ignore_errors=True)

    def _read(self, name: str) -> Any:
        return read_state(self.folder / name, FORMS[name])

    def _write(self, name: str, value: Mapping[str, Any]) -> None:
        write_whole(self.folder / name, json.dumps(all_redacted(value), indent=1).encode())


def damaged(file: Path, why: str) -> JobError:
    """Return the error for a damaged file of state."""
    return JobError(f"{file} is damaged ({why}): restore it from a copy, or discard its work with restart=True")


def read_state(file: Path, form: Any) -> dict[str, Any]:
    """Return the content of a file of state."""
    try:
        content: dict[str, Any] = json.loads(file.read_text())
        number = content["format"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise damaged(file, f"{error!r:.99}") from error
    if number != FORMAT:
        raise JobError(
            f"{file} has format {number}, which another version of mdh_dask wrote; this is mdh_dask {__version__}, "
            f"which reads format {FORMAT}: continue with that version, or discard its work with restart=True"
        )
    if not fits(content, form) or content.get("attempts") == []:
        raise damaged(file, "it lacks what was written")
    return content


def about_job(job: "Job", rows: Any, found: Mapping[str, Any]) -> dict[str, Any]:
    """Return everything that the outputs depend on and that must not change while a job is interrupted."""
    input_is = {"shape": list(rows.shape), "dtype": rows.dtype.str, **found}
    about = {"job": wanted_of(job), "input": input_is, "versions": {"mdh_dask": __version__, "code": code_digest()}}
    return json.loads(json.dumps(about))


@cache
def code_digest() -> str:
    """Return a digest of the source of this package, by which journals of other code are known.

    Its version does not tell: installations from a repository differ under the same number.
    """
    root = Path(__file__).parents[1]
    return codec.digest({str(file.relative_to(root)): file.read_text("utf-8") for file in sorted(root.rglob("*.py"))})


def wanted_of(job: "Job") -> dict[str, Any]:
    """Return what a job file asks for, apart from where and how it runs."""
    places = {
        key: [*map(stored, place)] if isinstance(place, list) else stored(place)
        for key in ("path", *BESIDE)
        if (place := job.input.get(key)) is not None
    }
    given = job.input | places
    if given.get("nodata") is not None:
        given["nodata"] = str(given["nodata"])  # NaN differs from itself
    output = {key: None if place is None else stored(place) for key, place in job.output.items()}
    return {"input": given, "method": job.content.get("method", {}), "output": output}


def name_of(about: Mapping[str, Any]) -> str:
    """Return a name for the labels of a job that differs for other rows or methods."""
    return codec.digest(about["input"], about["job"]["input"], about["job"]["method"], about["versions"])[:32]


def changes(before: Any, after: Any, name: str = "") -> Iterator[str]:
    """Yield the differences between two values, one text for each."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys([*before, *after]):
            yield from changes(before.get(key), after.get(key), f"{name}.{key}" if name else key)
    elif before != after:
        yield f"{name} was {_short(before)} and is {_short(after)}"


def _short(value: Any) -> str:
    if value is None:
        return "not given"
    return value[:8] if isinstance(value, str) and len(value) == 64 else repr(value)
