"""The check of a job without running it."""

from .._fields import JobError
from .._words import full_count
from ..chunks import holds_compact
from ..clusters.current import LOCAL_SCHEDULERS, allocated_size
from ..workflows.estimates import Estimate, format_bytes, is_known, seconds_to_start, time_of
from ._run import run_of
from .inputs import Input
from .job import Job
from .outputs import JobOutputs


def check_job(job: Job, *, overwrite: bool = False) -> str:
    """Open the input, check everything that needs no computation, and return what the job needs.

    Raises
    ------
    JobError
        If the job or its input has changed since the job began, and `on_change` does not allow it, or if its workers
        are given less memory than they need.
    """
    run, estimator = run_of(job, overwrite), job.estimator()
    if not run.work.has_begun():
        run.check()
    opened = run.opened = job.open_input()
    about = run.about()
    run.begins_anew(about)
    stage = run.stage(about)
    need = opened.estimate(estimator, run.outputs)
    return _lines(job, stage, opened, run.outputs, need, run.passes(need))


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
