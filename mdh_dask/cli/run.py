"""Running a job that may be killed at any moment and run again, until its outputs are there."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from .._journal import keeping
from ..io import codec
from ..io.fingerprints import fingerprint
from ..io.inputs import Table
from ..io.journal import FolderJournal
from .fields import JobError
from .job_outputs import JobOutputs, is_there
from .jobs import Job
from .locks import Fence, locked, new_attempt
from .manifests import manifest_of, metrics_of, write_json
from .outputs import check_folder
from .pipeline import fit_rows, open_features
from .staging import earlier_than
from .state import ATTEMPT, FINISHED, LOCK, PASSES, READY, Work, about_job


def run_job(job: Job, *, restart: bool = False, overwrite: bool = False, progress: bool = False) -> str:
    """Do what a job file says, or what of it is not done; return a summary.

    Raises
    ------
    BlockingIOError
        If another run works on this job or on one of its outputs, or has taken over.
    JobError
        If the job or its input has changed since it was begun.
    """
    outputs, work = outputs_of(job, overwrite), Work(job.work)
    if restart or not work.has_begun():
        outputs.check(job.input["path"], str(job.work), str(job.path))
    table = open_input(job)
    check_folder(job.work.resolve().parent)
    job.work.mkdir(exist_ok=True)
    with _alone(job, outputs):
        if restart:
            _give_up(work, outputs)
        about = about_job(job, table.rows, fingerprint(job.input["path"]))
        work.check(about)
        if (finished := work.manifest(FINISHED)) is not None:
            return _nothing_to_do(outputs, finished)
        fence = Fence(job.work / ATTEMPT, new_attempt())
        fence.claim()
        try:
            if work.manifest(READY) is None:
                work.begin(about, fence.attempt)
                work.ready(_made(job, about, table, outputs, work, fence, progress))
            manifest = _published(outputs, work, fence)
        except KeyboardInterrupt as error:
            raise type(error)("interrupted; the same command goes on from here") from None
    return f"{manifest['summary']}: {outputs.kept()}"


def open_input(job: Job) -> Table:
    """Open what a job clusters."""
    return open_features(job.input["path"], job.input["missing_chunks"], job.input["columns"])


def outputs_of(job: Job, overwrite: bool = False) -> JobOutputs:
    """Return what a job writes, and whether it may replace what is there."""
    return JobOutputs(**job.output, overwrite=overwrite or job.run["overwrite"])


@contextmanager
def _alone(job: Job, outputs: JobOutputs) -> Iterator[None]:
    """Keep other runs off the job and off its outputs."""
    with ExitStack() as locks:
        locks.enter_context(locked(job.work / LOCK, str(job.path), keep=True))
        for staged in outputs.staged().values():
            locks.enter_context(locked(staged.final.with_name(f".{staged.final.name}.lock"), str(staged.final)))
        yield


def _give_up(work: Work, outputs: JobOutputs) -> None:
    work.clear()
    for staged in outputs.staged().values():
        for folder in earlier_than(staged):
            shutil.rmtree(folder)


def _nothing_to_do(outputs: JobOutputs, manifest: Mapping[str, Any]) -> str:
    for path in outputs.places().values():
        if not is_there(path):
            raise JobError(
                f"the job was finished on {manifest['finished']}, but {path} is gone: make it with --restart"
            )
    return f"finished on {manifest['finished']}, nothing to do: {outputs.kept()}"


def _made(
    job: Job, about: dict[str, Any], table: Table, outputs: JobOutputs, work: Work, fence: Fence, progress: bool
) -> dict[str, Any]:
    """Make all outputs where they grow; return the manifest."""
    for staged in outputs.staged(fence.attempt.id).values():
        staged.take_over()
    growing = outputs.growing(fence.attempt.id)
    estimator = job.estimator(progress)
    name = codec.digest(about["input"], about["job"]["input"], about["job"]["method"], about["versions"])[:32]
    journal = FolderJournal(job.work / PASSES, name)
    with keeping(journal):
        summary = fit_rows(job.input["path"], table, estimator, growing, job.start_cluster(), resume=name)
    metrics = metrics_of(estimator, table.rows, journal.passes, labels=outputs.labels is not None)
    if growing.metrics is not None:
        write_json(growing.metrics, metrics)
    manifest = manifest_of(job, about, table.rows, metrics, work.attempts(), outputs, growing) | {"summary": summary}
    if growing.manifest is not None:
        write_json(growing.manifest, manifest)
    return manifest


def _published(outputs: JobOutputs, work: Work, fence: Fence) -> dict[str, Any]:
    """Give their final names to the outputs that do not have them yet; return the manifest."""
    manifest = work.manifest(READY)
    assert manifest is not None
    for staged in outputs.staged(manifest["attempts"][-1]["id"]).values():
        fence.check()
        staged.publish(outputs.overwrite)
    fence.check()
    work.finish()
    return manifest
