"""Runs of jobs, which may be killed at any moment and run again until all outputs are complete."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import Any

from .._fields import JobError
from .._journal import keeping
from .._locations import HIDDEN
from .._words import full_count
from ..io.journal import FolderJournal
from ..workflows.outputs import check_folder, check_writable
from .inputs import Clusterable, Input
from .job import Job
from .ledger import LEDGER, Ledger
from .locks import Fence, locked, new_attempt
from .manifests import manifest_of, metrics_of, write_json
from .night import ScheduledRun
from .night_scenes import Damaged, about_scenes, checked_outputs, new_scenes
from .outputs import JobOutputs, is_there
from .scenes import SceneOutputs, ScenesInput, own
from .state import ATTEMPT, FINISHED, LOCK, PASSES, READY, Work, about_job, name_of

logger = logging.getLogger(__name__)


def run_job(job: Job, *, restart: bool = False, overwrite: bool = False, progress: bool = False) -> str:
    """Run or resume a job and return a summary.

    Raises
    ------
    BlockingIOError
        If another run works on this job or on one of its outputs, or has taken over the job.
    JobError
        If the job or its input has changed since the job began, and `on_change` does not allow it.
    """
    outputs, work = outputs_of(job, overwrite), Work(job.work)
    if restart or not work.has_begun():
        check_outputs(job, outputs)
    opened = job.open_input()
    with _alone(job, outputs):
        about = about_job(job, opened.array, job.fingerprint())
        if not restart:
            outputs = with_own(job, work, outputs, about)
            restart = bool(work.changes(about))
        if not restart and (finished := work.manifest(FINISHED)) is not None:
            return _nothing_to_do(outputs, finished)
        with _attempt(job) as fence:
            if restart or work.manifest(READY) is None:
                _begin(work, about, outputs, fence, anew=restart)
                work.ready(_made(job, about, opened, outputs, work, fence, progress))
            manifest = _published(outputs, work, fence, name_of(about))
    return f"{manifest['summary']}: {outputs.kept()}"


def with_own(job: Job, work: Work, outputs: JobOutputs, about: Mapping[str, Any]) -> JobOutputs:
    """Return the outputs with those marked as replaceable that the job made itself before its input changed.

    Raises
    ------
    JobError
        If the job or its input has changed, and `on_change` does not allow it.
    """
    if not (found := work.changes(about)):
        return replace(outputs, own=tuple(work.replaces()))
    if job.run["on_change"] == "error":
        work.check(about)
    logger.info("the job begins anew: %s", "; ".join(found))
    outputs = replace(outputs, own=tuple(work.made()))
    check_outputs(job, outputs)
    return outputs


def check_outputs(job: Job, outputs: JobOutputs) -> None:
    """Raise an error if an output cannot be written, or overlaps with another path of the job."""
    check_writable(str(job.work))
    outputs.check(*job.inputs(), str(job.work), str(job.path))


def outputs_of(job: Job, overwrite: bool = False) -> JobOutputs:
    """Return the outputs of a job, with permission to replace existing ones if `overwrite`."""
    return job.outputs(overwrite=overwrite or job.run["overwrite"])


@contextmanager
def _alone(job: Job, outputs: JobOutputs) -> Iterator[None]:
    """Make the folder of work, and lock the job and its outputs against other runs."""
    check_folder(job.work.resolve().parent)
    job.work.mkdir(exist_ok=True)
    with ExitStack() as locks:
        locks.enter_context(locked(job.work / LOCK, job.name, keep=True))
        for file in outputs.files():
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


def _begin(work: Work, about: dict[str, Any], outputs: JobOutputs, fence: Fence, anew: bool) -> None:
    """Record a new attempt; if the job begins anew, remove the earlier work."""
    earlier = JobOutputs()
    if anew:
        with suppress(JobError, TypeError):  # damaged, or written by another version
            reachable = {key: place for key, place in work.outputs().items() if HIDDEN not in place}
            earlier = JobOutputs(**reachable)
    work.begin(about, fence.attempt, outputs.replaceable(), anew)
    if anew:
        work.clear()
        for staged in [*earlier.staged().values(), *outputs.staged().values()]:
            staged.give_up()


def _nothing_to_do(outputs: JobOutputs, manifest: Mapping[str, Any]) -> str:
    for path in outputs.places().values():
        if not is_there(path):
            raise JobError(
                f"the job was finished on {manifest['finished']}, but {path} is gone: make it with restart=True"
            )
    return f"finished on {manifest['finished']}, nothing to do: {outputs.kept()}"


def _made(
    job: Job, about: dict[str, Any], opened: Input, outputs: JobOutputs, work: Work, fence: Fence, progress: bool
) -> dict[str, Any]:
    """Write all outputs to their staging paths and return the manifest."""
    name = name_of(about)
    estimator = job.estimator(progress)
    journal = FolderJournal(job.work / PASSES, name)
    assert isinstance(opened, Clusterable)
    with outputs.growing(name, fence) as growing:
        with keeping(journal):
            made = opened.cluster(estimator, growing, job.start_cluster(), resume=name)
        n_after = opened.n_passes_after(outputs)
        metrics = metrics_of(estimator, opened.rows, journal.passes, n_after, made.counts, made.n_without)
        if growing.metrics is not None:
            write_json(growing.metrics, metrics)
        manifest = manifest_of(job, about, opened.rows, metrics, work.attempts(), outputs, growing)
        manifest["summary"] = made.summary
        if growing.manifest is not None:
            write_json(growing.manifest, manifest)
        work.check(about_job(job, opened.array, job.fingerprint()))  # it may have changed while it was read
        fence.check()
    return manifest


def _published(outputs: JobOutputs, work: Work, fence: Fence, name: str) -> dict[str, Any]:
    """Publish the outputs that are still staged and return the manifest."""
    manifest = work.manifest(READY)
    assert manifest is not None
    outputs.publish(manifest["attempts"][-1]["id"], name, fence)
    fence.check()
    work.finish()
    return manifest


def run_scenes(job: Job, *, restart: bool = False, overwrite: bool = False, progress: bool = False) -> str:
    """Label the scenes that are new since the last night, and return a summary.

    Raises
    ------
    BlockingIOError
        If another run works on this job or on one of its outputs, or has taken over the job.
    JobError
        If the job has changed since it began, and `on_change` does not allow it.
    """
    work, outputs = Work(job.work), outputs_of(job, overwrite)
    opened = job.open_input()
    assert isinstance(opened, ScenesInput)
    assert isinstance(outputs, SceneOutputs)
    with _alone(job, outputs):
        about = about_scenes(job)
        if not restart and work.changes(about):
            if job.run["on_change"] == "error":
                work.check(about)
            restart = True
        mine = work.replaces() if work.has_begun() else []
        ledger = Ledger(job.work / LEDGER) if restart else Ledger.load(job.work)
        new = new_scenes(opened, ledger)
        told = (work.manifest(FINISHED) or {}).get("damaged") or {}  # by the files of the last night
        if not new and not ledger.of_night() and not told and ledger.current is not None:
            nights = full_count(ledger.night - 1, "night")
            return f"no new scene: {len(ledger.scenes)} done in {nights}, nothing to do"
        outputs, refused = checked_outputs(job, own(outputs, mine), opened, ledger, new)
        with _attempt(job) as fence:
            if restart:
                ledger.write()  # first, so that a kill does not leave the old ledger with a job that has begun anew
            work.begin(about, fence.attempt, outputs.own, anew=restart)
            if restart:
                work.clear()
            damaged = Damaged(refused, () if restart else {*told})
            night = ScheduledRun(job, opened, outputs, work, ledger, fence, progress, damaged=damaged)
            return night.run(new)


def run_any(job: Job, **options: bool) -> str:
    """Run or resume a job on any input, and return a summary; see `run_job` and `run_scenes`."""
    return run_scenes(job, **options) if job.input["kind"] == "scenes" else run_job(job, **options)
