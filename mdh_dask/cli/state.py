"""The folder of work of a job: what it is, who runs it, and how far it has come."""

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .. import __version__
from ..io.folders import write_whole
from .fields import JobError
from .jobs import Job
from .locks import Attempt

JOB, ATTEMPT, LOCK, PASSES = "job.json", "attempt.json", "lock", "passes"

READY, FINISHED = "ready.json", "manifest.json"
"""The manifest before and after all outputs have their final names."""


@dataclass(frozen=True)
class Work:
    """A folder of work.

    Parameters
    ----------
    folder : Path
    """

    folder: Path

    def has_begun(self) -> bool:
        """Tell whether the job was begun."""
        return (self.folder / JOB).exists()

    def begin(self, about: Mapping[str, Any], attempt: Attempt) -> None:
        """Note what the job is, and one more attempt."""
        attempts = [*self.attempts(), asdict(attempt)]
        self._write(JOB, {"about": about, "attempts": attempts})

    def attempts(self) -> list[dict[str, Any]]:
        """Return all attempts."""
        return self._read(JOB)["attempts"] if self.has_begun() else []

    def check(self, about: Mapping[str, Any]) -> None:
        """Raise an error if a job that was begun is another one now.

        Raises
        ------
        JobError
            That says what has changed.
        """
        if not self.has_begun():
            return
        before = self._read(JOB)["about"]
        if self.manifest(FINISHED) is not None:  # another version would make another result, but need not
            before["versions"] = about["versions"]
        found = list(changes(before, about))
        if found:
            raise JobError(
                f"since the job began, on {self.attempts()[0]['began']}, {'; '.join(found)}: change it back, or give "
                "up what was done with --restart"
            )

    def manifest(self, name: str) -> dict[str, Any] | None:
        """Return the manifest of all outputs, if the job has come so far."""
        return self._read(name) if (self.folder / name).exists() else None

    def ready(self, manifest: Mapping[str, Any]) -> None:
        """Note that all outputs are complete."""
        self._write(READY, manifest)

    def finish(self) -> None:
        """Note that all outputs have their final names; what was needed to go on goes."""
        (self.folder / READY).replace(self.folder / FINISHED)
        shutil.rmtree(self.folder / PASSES, ignore_errors=True)

    def clear(self) -> None:
        """Give up what was done."""
        for name in (READY, FINISHED, JOB):
            (self.folder / name).unlink(missing_ok=True)
        shutil.rmtree(self.folder / PASSES, ignore_errors=True)

    def _read(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text())

    def _write(self, name: str, value: Mapping[str, Any]) -> None:
        write_whole(self.folder / name, json.dumps(value, indent=1).encode())


def about_job(job: Job, rows: Any, found: Mapping[str, Any]) -> dict[str, Any]:
    """Return what must not change while a job is interrupted: all that its outputs depend on."""
    input_is = {"shape": list(rows.shape), "dtype": rows.dtype.str, **found}
    wanted = {"input": job.input, "method": job.content.get("method", {}), "output": job.output}
    about = {"job": wanted, "input": input_is, "versions": {"mdh_dask": __version__}}
    return json.loads(json.dumps(about))


def changes(before: Any, after: Any, name: str = "") -> Iterator[str]:
    """Yield what is different, part by part.

    Examples
    --------
    >>> list(changes({"job": {"a": 1, "b": 2}}, {"job": {"a": 1, "b": 3}}))
    ['job.b was 2 and is 3']
    """
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys([*before, *after]):
            yield from changes(before.get(key), after.get(key), f"{name}.{key}" if name else key)
    elif before != after:
        yield f"{name} was {_short(before)} and is {_short(after)}"


def _short(value: Any) -> str:
    if value is None:
        return "not given"
    return value[:8] if isinstance(value, str) and len(value) == 64 else repr(value)
