"""What a job on scenes checks before a night: that it has not changed, which scenes are new, and where outputs go."""

import json
from typing import Any

from .._errors import SettingError
from .._locations import redacted, stored
from ..workflows.outputs import Taken, check_all_separate
from .job import Job
from .ledger import Ledger
from .scenes import SceneOutputs, ScenesInput, own
from .state import wanted_of


def about_scenes(job: Job) -> dict[str, Any]:
    """Return what must not change from night to night; scenes may, and so may the version of this package."""
    return dict(json.loads(json.dumps({"job": wanted_of(job), "input": {}, "versions": {}})))


def outputs_of(job: Job, overwrite: bool = False) -> SceneOutputs:
    """Return the outputs of a job on scenes, with permission to replace existing ones if `overwrite`."""
    outputs = job.outputs(overwrite=overwrite or job.run["overwrite"])
    assert isinstance(outputs, SceneOutputs)
    return outputs


def new_scenes(opened: ScenesInput, ledger: Ledger) -> list[str]:
    """Return the scenes that are not done, or have changed since."""
    return [name for name in opened.scenes if not ledger.is_done(name, opened.digest(name))]


def checked_outputs(
    job: Job, outputs: SceneOutputs, opened: ScenesInput, ledger: Ledger, new: list[str]
) -> tuple[SceneOutputs, dict[str, str]]:
    """Check the outputs of a night before any work, and return them with all of these as the job's own.

    Also returned is why some of the new scenes cannot have outputs of their own, by their names.

    Raises
    ------
    SettingError
        If that holds for scenes at the very first, when the job file can still be changed.
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
    return own(outputs, [stored(place) for one in [*tonight, of_night] for place in one.given()]), refused


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
