"""The scenes of a night: open and counted once, and left out if they cannot be used."""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .._errors import ContentsError, SettingError, is_bug
from .._fields import JobError
from .._locations import redacted, stored
from ..chunks import Statistic, announced, reduce_rows
from ..images import Image, PixelColumns, pixel_rows
from ..images.scenes import alike, usual_of
from ..workflows.outputs import Taken, check_all_separate
from ..workflows.scenes import counted_scene
from .inputs import ScenesInput
from .job import Job
from .ledger import Ledger
from .outputs import SceneOutputs

logger = logging.getLogger(__name__)

NAMED = 5
"""Scenes that a message names."""


@dataclass(frozen=True)
class PixelCount(Statistic):
    """The number of pixels, for which all are read."""

    def chunk(self, start: int, *blocks: Any) -> int:
        """Count the pixels of a block."""
        return len(blocks[0])


@dataclass
class Damaged:
    """Scenes of a night that could not be used."""

    why: dict[str, str] = field(default_factory=dict)
    """What was wrong with each, by its name, without credentials of URLs."""
    known: Collection[str] = ()
    """Names of those that the files of an earlier night tell of."""

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
            raise ContentsError(self._told())

    def end(self, n_done: int) -> None:
        """Warn of damaged scenes at the end of a night that has done `n_done` others.

        Raises a ContentsError if it has done none, and the files of the night before do not tell of all of
        them.
        """
        if not n_done and not self.why.keys() <= {*self.known}:
            self.check()
        if self.why:
            logger.warning("%s", self._told())

    def _told(self) -> str:
        told = "; ".join(f"{name}: {why}" for name, why in [*self.why.items()][:NAMED])
        more = f"; and {len(self.why) - NAMED} more" if len(self.why) > NAMED else ""
        return (
            f"{len(self.why)} of the scenes could not be used and got no labels tonight: {told}{more}. Later runs "
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
    """Return the scenes that are not done, or have changed since."""
    return [name for name in opened.scenes if not ledger.is_done(name, opened.digest(name))]


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
    check_all_separate([*next_model.given(), *of_night.given()], files)
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
