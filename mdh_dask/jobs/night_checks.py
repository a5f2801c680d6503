"""What a job on scenes checks before a night: that it has not changed, which scenes are new, and where outputs go."""

import json
from typing import Any

from .._locations import stored
from ..workflows.outputs import check_all_separate
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
) -> SceneOutputs:
    """Check the outputs of a night before any work, and return them with all of these as the job's own."""
    outputs.check(*job.inputs(), str(job.work), str(job.path))
    tonight = [outputs.of_model(len(ledger.versions) + 1), *map(outputs.of_scene, new)]
    for one in tonight:
        one.check()
    places = [place for one in [*tonight, outputs.of_night()] for place in one.places().values()]
    check_all_separate(places, [path for scene in opened.scenes.values() for path in scene.paths])
    return own(outputs, map(stored, places))
