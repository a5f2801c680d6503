"""The scenes of all nights, which a ledger lists, and of this one: open, counted once, left out if of no use."""

import json
import logging
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from .._errors import ContentsError, SettingError, is_bug
from .._fields import JobError
from .._locations import all_redacted, redacted, stored
from .._storable import fits
from ..chunks import Statistic, announced, reduce_rows
from ..images import Image, PixelColumns, pixel_rows
from ..images.scenes import alike, usual_of
from ..io.staging import write_whole
from ..workflows.outputs import Taken
from ..workflows.scenes import counted_scene
from .inputs import ScenesInput
from .job import Job
from .outputs import SceneOutputs
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

    def drift_of(self, name: str, digest: str, version: int) -> dict[str, Any] | None:
        """Return what a comparison of a scene with a model found, or None if there was none."""
        found = self.drifts.get(name)
        return found if found is not None and (found["digest"], found["version"]) == (digest, version) else None

    @property
    def reported_night(self) -> int:
        """The night that files report: this one, or the one before as long as this one has done nothing."""
        return self.night if self.of_night() else max(self.night - 1, 1)

    def of_night(self, night: int | None = None) -> dict[str, dict[str, Any]]:
        """Return the scenes that a night has done, by default this one."""
        night = self.night if night is None else night
        return {name: about for name, about in self.scenes.items() if about["night"] == night}

    def sizes_before(self, version: int) -> list[int]:
        """Return the sizes of the segments of a version in the scenes of nights before; nothing if there are none."""
        before = (one for one in self.scenes.values() if one["night"] < self.night and one["version"] == version)
        return [sum(counts) for counts in zip(*(one["sizes"] for one in before if one["sizes"]))]


logger = logging.getLogger(__name__)

NAMED = 5
"""Scenes that a message names."""


@dataclass(frozen=True)
class PixelCount(Statistic):
    """The number of pixels, for which all are read."""

    def chunk(self, start: int, *blocks: Any) -> int:
        return len(blocks[0])


@dataclass
class Damaged:
    """Scenes of a night that could not be used."""

    why: dict[str, str] = field(default_factory=dict)
    """What was wrong with each, by its name, without credentials of URLs."""
    known: Collection[str] = ()
    """Names of those that the files of an earlier night name."""

    @contextmanager
    def noted(self, name: str) -> Iterator[None]:
        """Note what is wrong with the contents of a scene, in place of an error that would stop the night."""
        try:
            yield
        except (JobError, SettingError):
            raise
        except ValueError as error:
            if is_bug(error):
                raise
            self.why[name] = redacted(" ".join(str(error).split()))
            logger.warning("scene %s is left out: %s", name, self.why[name])

    def left(self, scenes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the scenes without the damaged ones."""
        return {name: about for name, about in scenes.items() if name not in self.why}

    def read(self, images: Mapping[str, Image], progress: bool = False) -> None:
        """Read every pixel of scenes, one scene after another, and note those for which that fails."""
        for name, image in images.items():
            with self.noted(name):
                reduce_rows(PixelCount(), pixel_rows(image), progress=announced(f"reading {name}", progress))

    def check(self) -> None:
        """Raise an error if there are damaged scenes."""
        if self.why:
            raise ContentsError(self._message())

    def end(self, n_done: int) -> None:
        """Warn of damaged scenes at the end of a night that has done `n_done` others.

        Raises a ContentsError if it has done none, and the files of the night before do not name all of
        them.
        """
        if not n_done and not self.why.keys() <= {*self.known}:
            self.check()
        if self.why:
            logger.warning("%s", self._message())

    def _message(self) -> str:
        some = "; ".join(f"{name}: {why}" for name, why in [*self.why.items()][:NAMED])
        more = f"; and {len(self.why) - NAMED} more" if len(self.why) > NAMED else ""
        return (
            f"{len(self.why)} of the scenes could not be used and got no labels tonight: {some}{more}. Later runs "
            "try them again: replace them, or take them away"
        )


@dataclass
class NightImages:
    """Opens scenes and counts their pixels with data, each once."""

    opened: ScenesInput
    outputs: SceneOutputs
    damaged: Damaged
    """Notes the scenes that cannot be used."""
    progress: bool
    counted: dict[str, Image | None] = field(default_factory=dict)
    """Scenes that were counted; None for those without data."""

    def alike(self, names: Iterable[str]) -> dict[str, Image]:
        """Return the scenes with data and the bands that most have, counted."""
        opened: dict[str, Image] = {}
        for name in sorted(names):
            with self.damaged.noted(name):
                opened[name] = self._open(name)
        self.counted, usual = {}, usual_of(opened.values()) if opened else None
        for name, image in opened.items():
            with self.damaged.noted(name):
                assert usual is not None
                self.counted[name] = counted_scene(alike(image, usual), self.progress)
        return {name: image for name, image in self.counted.items() if image is not None}

    def one(self, name: str, columns: PixelColumns, model: str) -> Image | None:
        """Return a scene with the bands of a model, counted; None if it holds no data."""
        if name not in self.counted:
            self.counted[name] = counted_scene(columns.of(self._open(name), model), self.progress)
        return self.counted[name]

    def _open(self, name: str) -> Image:
        """Open a scene, and read its coordinates where labels need them, before any other work."""
        image = self.opened.image(name)
        self.outputs.check_place(name, image)
        return image


def new_scenes(opened: ScenesInput, ledger: Ledger) -> list[str]:
    """Return the scenes that are neither labelled nor found to hold no data, or have changed since."""
    return [name for name in opened.scenes if ledger.scenes.get(name, {}).get("digest") != opened.digest(name)]


def checked_outputs(
    job: Job, outputs: SceneOutputs, opened: ScenesInput, ledger: Ledger, new: list[str]
) -> tuple[SceneOutputs, dict[str, str]]:
    """Check the outputs of a night before any work, and return them with all of these as the job's own.

    Also returned is why some of the new scenes cannot have outputs of their own, by their names.
    """
    inputs = [*job.inputs(), str(job.work), str(job.path), *filter(None, [job.run["openmetrics"]])]
    outputs.check(*inputs)
    files = [path for scene in opened.scenes.values() for path in scene.paths]
    next_model, of_night = outputs.of_model(len(ledger.versions) + 1), outputs.of_night()
    Taken(files).check(*next_model.given(), *of_night.given())
    fixed = [*files, *(one for one in inputs if "*" not in one), *of_night.given(), str(outputs.model)]
    refused = _refused(outputs, Taken(fixed), ledger, new)
    if refused and not (ledger.versions or ledger.pending):
        raise SettingError("; ".join(refused.values()))
    tonight = [next_model, *(outputs.of_scene(name) for name in new if name not in refused)]
    for one in tonight:
        one.check()
    return outputs.owning([stored(place) for one in [*tonight, of_night] for place in one.given()]), refused


def _refused(outputs: SceneOutputs, taken: Taken, ledger: Ledger, new: list[str]) -> dict[str, str]:
    """Return why the outputs of new scenes would replace something, by their names; those known longer come first."""
    refused = {}
    for name in sorted({*ledger.scenes, *new}, key=lambda name: (name not in ledger.scenes, name)):
        places = outputs.of_scene(name).given()
        found = [(place, outputs.model if outputs.is_of_model(place) else taken.overlap(place)) for place in places]
        clash = next((f"{place} and {other}" for place, other in found if other is not None), None)
        if clash is not None and name in new:
            why = f"expected separate outputs of scene {name}; got {clash}, which overlap: rename the scene"
            refused[name] = redacted(why)
        else:
            taken.add(*places)
    return refused
