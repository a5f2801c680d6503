"""The check of a job without running it."""

from collections.abc import Mapping
from typing import Any

from ._run import check_outputs, outputs_of, with_own
from .job import Job
from .state import FINISHED, Work, about_job


def check_job(job: Job, *, overwrite: bool = False) -> str:
    """Open the input, check everything that needs no computation, and return what the job needs.

    Raises
    ------
    JobError
        If the job or its input has changed since the job began, and `on_change` does not allow it.
    """
    outputs, work = outputs_of(job, overwrite), Work(job.work)
    if not work.has_begun():
        check_outputs(job, outputs)
    estimator = job.estimator()
    opened = job.open_input()
    about = about_job(job, opened.array, job.fingerprint())
    outputs = with_own(job, work, outputs, about)
    need = opened.estimate(estimator, outputs)
    size = f"{opened.array.nbytes / 1e6:,.1f} MB in {need.blocks} blocks"
    last = ", the one that {} included".format("writes the labels" if outputs.labels else "looks at the clusters")
    facts = {
        "job": f"{job.path}, {_stage(work, about)}",
        "input": f"{opened.path}, {opened.describe()}, {size}",
        "method": " ".join(str(estimator).split()),
        "cluster": ", ".join([job.kind, *(f"{key} {value}" for key, value in job.cluster.items() if value)]),
        "outputs": outputs.kept(),
        "passes": need.passes() + (last if opened.n_passes_after(outputs) else ""),
        "tasks": f"{need.tasks} in every pass",
        "memory": f"{need.memory()} in every worker",
    }
    return "\n".join(f"{name + ':':9}{value}" for name, value in facts.items())


def _stage(work: Work, about: Mapping[str, Any]) -> str:
    if found := work.changes(about):
        return f"begins anew: {'; '.join(found)}"
    if (manifest := work.manifest(FINISHED)) is not None:
        return f"finished on {manifest['finished']}"
    return f"begun on {work.attempts()[0]['began']}" if work.has_begun() else "not begun"
