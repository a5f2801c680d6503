"""The check of a job without running it."""

from collections.abc import Mapping
from typing import Any

from .._fields import JobError
from .._words import full_count
from ..chunks import holds_compact
from ..clusters.current import LOCAL_SCHEDULERS, allocated_size
from ..workflows.estimates import Estimate, format_bytes, is_known, seconds_to_start, time_of
from ._run import check_outputs, outputs_of, with_own
from .inputs import Input
from .job import Job
from .ledger import Ledger
from .night_scenes import about_scenes, checked_outputs, new_scenes
from .outputs import JobOutputs
from .scenes import SceneOutputs, ScenesInput, own
from .state import FINISHED, Work, about_job


def check_job(job: Job, *, overwrite: bool = False) -> str:
    """Open the input, check everything that needs no computation, and return what the job needs.

    Raises
    ------
    JobError
        If the job or its input has changed since the job began, and `on_change` does not allow it, or if its workers
        are given less memory than they need.
    """
    if job.input["kind"] == "scenes":
        return _check_scenes(job, overwrite)
    outputs, work = outputs_of(job, overwrite), Work(job.work)
    if not work.has_begun():
        check_outputs(job, outputs)
    estimator = job.estimator()
    opened = job.open_input()
    about = about_job(job, opened.array, job.fingerprint())
    outputs = with_own(job, work, outputs, about)
    need = opened.estimate(estimator, outputs)
    last = ", the one that {} included".format("writes the labels" if outputs.labels else "looks at the clusters")
    passes = need.passes() + (last if opened.n_passes_after(outputs) else "")
    return _lines(job, _stage(work, about), opened, outputs, need, passes)


def _check_scenes(job: Job, overwrite: bool) -> str:
    """Open the scenes, and return which are new and what the job needs for a model of all of them."""
    outputs, work, opened = outputs_of(job, overwrite), Work(job.work), job.open_input()
    assert isinstance(opened, ScenesInput)
    assert isinstance(outputs, SceneOutputs)
    if work.has_begun():
        work.check(about_scenes(job))
    ledger = Ledger.load(job.work)
    new = new_scenes(opened, ledger)
    _, refused = checked_outputs(job, own(outputs, work.replaces()), opened, ledger, new)
    for name, image in opened.all_images.items():
        outputs.check_place(name, image)
    need = opened.estimate(job.estimator(), outputs)
    stage = f"night {ledger.night}, {len(new)} of {len(opened.scenes)} scenes are new"
    stage += f", {len(refused)} refused: {'; '.join(refused.values())}" if refused else ""
    passes = f"{need.passes()} for a model of all scenes; otherwise up to 3 of every new one: counts, drift, labels"
    return _lines(job, stage, opened, outputs, need, passes)


def _lines(job: Job, stage: str, opened: Input, outputs: JobOutputs, need: Estimate, passes: str) -> str:
    _check_memory(job, need)
    facts = {
        "job": f"{job.path}, {stage}",
        "input": f"{opened.path}, {opened.describe()}, {_size(opened)} in {full_count(need.blocks, 'block')}",
        "method": " ".join(str(job.estimator()).split()),
        "cluster": ", ".join([job.kind, *(f"{key} {value}" for key, value in job.cluster.items() if value)]),
        "outputs": outputs.kept(),
        "passes": passes,
        "tasks": f"{need.tasks} in every pass",
        "memory": _memory(job, need),
        "time": _time(job, need, opened),
    }
    return "\n".join(f"{name + ':':9}{value}" for name, value in facts.items())


def _size(opened: Input) -> str:
    size = f"{opened.array.nbytes / 1e6:,.1f} MB"
    return f"{size} if they were dense," if holds_compact(opened.array) else size


def _check_memory(job: Job, need: Estimate) -> None:
    """Raise an error if the workers are given less memory than they need."""
    if (given := job.worker_memory()) is None:
        return
    memory, threads = given
    if memory < (needed := need.worker_bytes(threads)):
        raise JobError(
            f"[cluster]: each worker of {full_count(threads, 'thread')} has {format_bytes(memory)} of memory and needs "
            f"about {format_bytes(needed)} = {need.memory()}: give it more memory or fewer threads, or make blocks "
            "smaller by DASK_MDH_DASK__BLOCK_SIZE=8MiB in the environment"
        )


def _memory(job: Job, need: Estimate) -> str:
    of_command = f"; about {format_bytes(need.command_bytes)} in the process of the command"
    return f"{need.memory()} in every worker{of_command * is_known(job.estimator())}"


def _time(job: Job, need: Estimate, opened: Input) -> str:
    if holds_compact(opened.array) or not is_known(job.estimator()):
        return "not known: measure this method on a part of the rows"
    size = job.cluster_size()
    return time_of(need, *(size or (1, 1)), seconds_to_start(workers=job.kind == "local")) + _where(job, size)


def _where(job: Job, size: tuple[int, int] | None) -> str:
    """Return which machines the nodes are taken to be."""
    if job.kind not in ("local", *LOCAL_SCHEDULERS):
        if size is None:
            return ", as the size of the cluster is not known"
        return " of this SLURM job" if job.kind.startswith("scheduler") else ", beside the time until they start"
    allocated = allocated_size()
    unused = "" if allocated is None or allocated[0] == 1 else f" alone of the {allocated[0]} nodes of this SLURM job"
    return f", this machine{unused}" + ("" if "cluster" in job.content else ", as the job has no table [cluster]")


def _stage(work: Work, about: Mapping[str, Any]) -> str:
    if found := work.changes(about):
        return f"begins anew: {'; '.join(found)}"
    if (manifest := work.manifest(FINISHED)) is not None:
        return f"finished on {manifest['finished']}"
    return f"begun on {work.attempts()[0]['began']}" if work.has_begun() else "not begun"
