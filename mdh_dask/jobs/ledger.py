"""What a job on scenes has done in all its nights: models, drift and labels, from which a killed night resumes."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from .._locations import all_redacted
from .._storable import fits
from ..io.staging import write_whole
from .state import FORMAT, damaged, read_state

LEDGER = "scenes.json"

STEPS = "scenes.{}.steps"
"""Name of the file of steps since the ledger was written, which names it."""

STEP = {"version": int, "night": int}

TABLES = {
    "versions": [
        {**STEP, "model": str, "scenes": dict, "n_clusters": int, "passes": int, "seconds": int | float,
         "ids": list, "changes": dict}
    ],
    "pending": dict,
    "drifts": {...: {**STEP, "digest": str, "found": bool, "alarms": list}},
    "scenes": {
        ...: {**STEP, "digest": str, "n_rows": int, "n_without": int, "sizes": list, "seconds": int | float,
              "outputs": dict}
    },
}  # fmt: skip
"""The tables of the file, and what every entry holds at least."""


@dataclass
class Ledger:
    """A file that is replaced whole, and one to which steps on single scenes are appended: each is done or is not.

    A night of thousands of scenes would take their square to write if each replaced the file.
    """

    file: Path
    night: int = 1
    """The night that is not finished, from 1."""
    versions: list[dict[str, Any]] = field(default_factory=list)
    """Every model: its version, path, the digests of the scenes that it was fitted to, clusters, passes and seconds."""
    pending: dict[str, Any] = field(default_factory=dict)
    """The version that is being fitted and the digests of its scenes; empty if there is none."""
    drifts: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By scene: its digest, the version that it was compared with, and what was found."""
    scenes: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By scene: its digest, the version that labelled it, the night, and its size and counts."""
    since: str = ""
    """Name of the file of steps; empty if none can be appended before the ledger is written whole."""

    @classmethod
    def load(cls, folder: Path) -> "Ledger":
        """Return the ledger in a folder of work, empty if there is none."""
        file = folder / LEDGER
        if not file.exists():
            return cls(file)
        content = read_state(file, {"night": int, **TABLES})
        tables = {name: content[name] for name in TABLES}
        try:
            if not (since := content.get("since", "0")).isalnum():
                raise ValueError("its steps are in no file of this folder")
            steps = folder / STEPS.format(since)
            *lines, cut_off = steps.read_bytes().split(b"\n") if steps.exists() else [b""]
            for table, name, about in map(json.loads, lines):
                tables[table][name] = about
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise damaged(file, f"{error!r:.99}") from error
        if not fits(tables, TABLES):
            raise damaged(file, "it lacks what was written")
        return cls(file, content["night"], **tables, since="" if cut_off or "since" not in content else since)

    def write(self) -> None:
        """Replace the file."""
        since = uuid4().hex
        tables = {name: getattr(self, name) for name in TABLES}
        content = {"format": FORMAT, "night": self.night, "since": since, **tables}
        write_whole(self.file, json.dumps(all_redacted(content), indent=1).encode())
        self.since = since  # not before: steps belong to the file that was written
        for steps in self.file.parent.glob(STEPS.format("*")):
            steps.unlink(missing_ok=True)

    def add(self, table: str, name: str, about: dict[str, Any]) -> None:
        """Set what a table says of a scene, and append that to the steps."""
        getattr(self, table)[name] = about
        if not self.since:
            self.write()
            return
        with (self.file.parent / STEPS.format(self.since)).open("ab") as steps:
            steps.write(json.dumps([table, name, all_redacted(about)]).encode() + b"\n")
            steps.flush()
            os.fsync(steps.fileno())

    @property
    def current(self) -> dict[str, Any] | None:
        """The latest model."""
        return self.versions[-1] if self.versions else None

    def is_done(self, name: str, digest: str) -> bool:
        """Return whether a scene has been labelled, or found to hold no data, and has not changed since."""
        return name in self.scenes and self.scenes[name]["digest"] == digest

    def drift_of(self, name: str, digest: str, version: int) -> dict[str, Any] | None:
        """Return what a comparison of a scene with a model found, or None if there was none."""
        found = self.drifts.get(name)
        return found if found is not None and (found["digest"], found["version"]) == (digest, version) else None

    @property
    def told(self) -> int:
        """The night that files tell of: this one, or the one before as long as this one has done nothing."""
        return self.night if self.of_night() else max(self.night - 1, 1)

    def of_night(self, night: int | None = None) -> dict[str, dict[str, Any]]:
        """Return the scenes that a night has done, by default this one."""
        night = self.night if night is None else night
        return {name: about for name, about in self.scenes.items() if about["night"] == night}

    def sizes_before(self, version: int) -> list[int]:
        """Return the sizes of the segments of a version in the scenes of nights before; nothing if there are none."""
        before = (one for one in self.scenes.values() if one["night"] < self.night and one["version"] == version)
        return [sum(counts) for counts in zip(*(one["sizes"] for one in before if one["sizes"]))]
