"""The one runner of jobs, which may be killed at any moment and run again, and the check of a job without a run."""

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .._errors import CannotCreateError
from .._fields import JobError
from .._journal import traced, use_journal
from .._locations import HIDDEN
from .._words import full_count
from ..chunks import holds_compact
from ..clusters.kinds import CLUSTERS
from ..io.codec import FolderJournal
from ..io.staging import locked
from ..workflows.facts import Estimate, format_bytes, is_known
from ..workflows.outputs import check_folder, check_writable
from .job import Job
from .manifests import commit_of, manifest_of, metrics_of, write_json
from .outputs import JobOutputs, is_there
from .state import ATTEMPT, FINISHED, LOCK, PASSES, READY, Fence, Work, about_job, name_of, new_attempt

if TYPE_CHECKING:
    from .night import ScheduledRun

logger = logging.getLogger(__name__)


@dataclass
class Run:
    """A run of a job, begun by `run_job`: a subclass says what it makes, and checks."""

    job: Job
    work: Work
    outputs: Any
    progress: bool = False
    opened: Any = field(init=False)
    """Set once the outputs are checked."""
    fence: Fence = field(init=False)
    """Set once the run is the latest attempt."""

    def check(self) -> None:
        """Raise an error if an output cannot be written, or overlaps with another path of the job."""
        check_writable(str(self.job.work))
        self.outputs.check(*self.job.inputs(), str(self.job.work), str(self.job.path))
        check_folder(self.job.work.resolve().parent)
        if self.job.work.exists() and not self.job.work.is_dir():
            raise CannotCreateError(f"{self.job.work} is not a folder: name another one for the work of the job")

    def begins_anew(self, about: dict[str, Any]) -> bool:
        """Return whether the job has changed since it began; it may replace the outputs that it made itself.

        Raises a JobError if `on_change` does not allow that, and the errors of `check` if it has.
        """
        if not (found := self.work.changes(about)):
            self.outputs = replace(self.outputs, own=tuple(self.work.replaces()))
            return False
        if self.job.run["on_change"] == "error":
            self.work.check(about)
        logger.info("the job begins anew: %s", "; ".join(found))
        self.outputs = replace(self.outputs, own=tuple(self.work.made()))
        self.check()
        return True

    def is_ready(self) -> bool:
        """Return whether all outputs are complete, so that they only need to be published."""
        return self.work.manifest(READY) is not None

    def begin(self, about: dict[str, Any], anew: bool) -> None:
        """Record a new attempt; if the job begins anew, remove the earlier work."""
        self.work.begin(about, self.fence.attempt, self.outputs.replaceable(), anew)
        if anew:
            self.work.clear()

    def end(self) -> None:
        """Do what follows the publication."""


def run_job(job: Job, *, restart: bool = False, overwrite: bool = False, progress: bool = False) -> str:
    """Run or resume a job and return a summary; errors are those of `mdh_dask.jobs.run`.

    With `restart` it begins anew, unless an earlier attempt of the same submission has done so.
    """
    run = run_of(job, overwrite, progress)
    restart = restart and not run.work.is_of_this_submission()
    if restart or not run.work.has_begun():
        run.check()
    run.opened = job.open_input()
    with _alone(job, run.outputs):
        about = run.about()
        anew = restart or run.begins_anew(about)
        if (why := run.nothing_to_do(anew)) is not None:
            return why
        with _attempt(job) as run.fence, traced(f"job {job.run['name'] or job.path.stem}"):
            if anew or not run.is_ready():
                run.begin(about, anew)
                run.work.ready(run.make(about))
            manifest = _published(run, about)
            run.end()
    return f"{manifest['summary']}: {run.outputs.kept()}"


def run_of(job: Job, overwrite: bool = False, progress: bool = False) -> "InputRun | ScheduledRun":
    """Return the run of a job, with permission to replace existing outputs if `overwrite`."""
    outputs = job.outputs(overwrite=overwrite or job.run["overwrite"])
    if job.input["kind"] == "scenes":
        from .night import ScheduledRun

        return ScheduledRun(job, Work(job.work), outputs, progress)
    return InputRun(job, Work(job.work), outputs, progress)


@contextmanager
def _alone(job: Job, outputs: JobOutputs) -> Iterator[None]:
    """Make the folder of work, and lock the job and its outputs against other runs."""
    job.work.mkdir(exist_ok=True)
    with ExitStack() as locks:
        locks.enter_context(locked(job.work / LOCK, job.name, keep=True))
        for file in outputs.files():
            check_folder(file.parent)
            locks.enter_context(locked(file.with_name(f".{file.name}.lock"), str(file)))
        yield


@contextmanager
def _attempt(job: Job) -> Iterator[Fence]:
    """Become the latest attempt; interrupts say that the job can be resumed, errors if another has taken over."""
    fence = Fence(job.work / ATTEMPT, new_attempt())
    fence.claim()
    try:
        yield fence
    except KeyboardInterrupt as error:
        raise type(error)("interrupted; the same command goes on from here") from None
    except Exception:
        fence.check()
        raise


def _published(run: "InputRun | ScheduledRun", about: dict[str, Any]) -> dict[str, Any]:
    """Publish the outputs that are still staged and return the manifest."""
    manifest = run.work.manifest(READY)
    assert manifest is not None
    outputs, name = run.last(about)
    outputs.publish(manifest["attempts"][-1]["id"], name, run.fence, commit_of(manifest))
    run.fence.check()
    run.work.finish()
    return manifest


class InputRun(Run):
    """A run that clusters its input, in one step."""

    def about(self) -> dict[str, Any]:
        """Return everything that the outputs depend on."""
        return about_job(self.job, self.opened.array, self.job.fingerprint())

    def nothing_to_do(self, anew: bool) -> str | None:
        """Return when the job was finished; None if it was not."""
        if anew or (manifest := self.work.manifest(FINISHED)) is None:
            return None
        for path in self.outputs.places().values():
            if not is_there(path):
                raise JobError(
                    f"the job was finished on {manifest['finished']}, but {path} is gone: make all again with "
                    "restart=True and overwrite=True"
                )
        return f"finished on {manifest['finished']}, nothing to do: {self.outputs.kept()}"

    def begin(self, about: dict[str, Any], anew: bool) -> None:
        """Record a new attempt; if the job begins anew, remove the earlier work and what it had staged."""
        earlier = JobOutputs()
        if anew:
            with suppress(JobError, TypeError):  # damaged, or written by another version
                reachable = {key: place for key, place in self.work.outputs().items() if HIDDEN not in place}
                earlier = JobOutputs(**reachable)
        super().begin(about, anew)
        if anew:
            for staged in [*earlier.staged().values(), *self.outputs.staged().values()]:
                staged.give_up()

    def make(self, about: dict[str, Any]) -> dict[str, Any]:
        """Write all outputs to their staging paths and return the manifest."""
        job, opened, (outputs, name) = self.job, self.opened, self.last(about)
        estimator, journal = job.estimator(self.progress), FolderJournal(job.work / PASSES, name)
        with outputs.resumed(name, self.fence) as staged:
            with use_journal(journal):
                made = opened.cluster(estimator, staged, job.start_cluster(), resume=name)
            n_after = opened.n_passes_after(outputs)
            metrics = metrics_of(estimator, opened.rows, journal.passes, n_after, made.counts, made.n_without)
            write_json(staged.metrics, metrics)
            manifest = manifest_of(job, about, opened.rows, metrics, self.work.attempts(), outputs, staged)
            manifest["summary"] = made.summary
            write_json(staged.manifest, manifest)
            self.work.check(self.about())  # it may have changed while it was read
        return manifest

    def last(self, about: dict[str, Any]) -> tuple[JobOutputs, str]:
        """Return all outputs, and a name that differs for other rows or methods."""
        return self.outputs, name_of(about)

    def stage(self, about: dict[str, Any]) -> str:
        """Return when the job was begun or finished, or why it begins anew."""
        if found := self.work.changes(about):
            return f"begins anew: {'; '.join(found)}"
        if (manifest := self.work.manifest(FINISHED)) is not None:
            return f"finished on {manifest['finished']}"
        return f"begun on {self.work.attempts()[0]['began']}" if self.work.has_begun() else "not begun"

    def passes(self, need: Estimate) -> str:
        """Return the passes of the fit, and the one that writes labels or looks at the clusters."""
        last = ", the one that {} included".format(
            "writes the labels" if self.outputs.labels else "looks at the clusters"
        )
        return need.passes() + (last if self.opened.n_passes_after(self.outputs) else "")


def check_job(job: Job, *, overwrite: bool = False) -> str:
    """Open the input, check everything that needs no computation, and return what the job needs."""
    run, estimator = run_of(job, overwrite), job.estimator()
    if not run.work.has_begun():
        run.check()
    opened = run.opened = job.open_input()
    about = run.about()
    run.begins_anew(about)
    stage = run.stage(about)
    need = opened.estimate(estimator, run.outputs)
    _check_memory(job, need)
    size = f"{opened.array.nbytes / 1e6:,.1f} MB{' if they were dense,' * holds_compact(opened.array)}"
    facts = {
        "job": f"{job.path}, {stage}",
        "input": f"{opened.path}, {opened.describe()}, {size} in {full_count(need.blocks, 'block')}",
        "method": " ".join(str(estimator).split()),
        "cluster": ", ".join([job.kind, *(f"{key} {value}" for key, value in job.cluster.items() if value)]),
        "outputs": run.outputs.kept(),
        "passes": run.passes(need),
        "tasks": f"{need.tasks} in every pass",
        "memory": _memory(need, is_known(estimator)),
    }
    return "\n".join(f"{name + ':':9}{value}" for name, value in facts.items())


def _check_memory(job: Job, need: Estimate) -> None:
    """Raise an error if the workers are given less memory than they need."""
    if (given := CLUSTERS[job.kind].memory(**job.cluster)) is None:
        return
    memory, threads = given
    if memory < (needed := need.worker_bytes(threads)):
        raise JobError(
            f"[cluster]: each worker of {full_count(threads, 'thread')} has {format_bytes(memory)} of memory and needs "
            f"about {format_bytes(needed)} = {need.memory()}: give it more memory or fewer threads, or make blocks "
            "smaller by DASK_MDH_DASK__BLOCK_SIZE=8MiB in the environment"
        )


def _memory(need: Estimate, known: bool) -> str:
    of_command = f"; about {format_bytes(need.command_bytes)} in the process of the command"
    return f"{need.memory()} in every worker{of_command * known}{need.for_many_clusters()}"
