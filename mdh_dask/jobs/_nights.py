"""Runs of a job on scenes, each of which begins a night or goes on with one."""

from .._words import full_count
from ..workflows.outputs import check_folder
from ._run import _alone, _telling, run_job
from .damaged import Damaged
from .job import Job
from .ledger import LEDGER, Ledger
from .locks import Fence, new_attempt
from .night import Night
from .night_checks import about_scenes, checked_outputs, new_scenes, outputs_of
from .scenes import ScenesInput, own
from .state import ATTEMPT, FINISHED, Work


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
    check_folder(job.work.resolve().parent)
    job.work.mkdir(exist_ok=True)
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
        fence = Fence(job.work / ATTEMPT, new_attempt())
        fence.claim()
        with _telling(fence):
            if restart:
                ledger.write()  # first, so that a kill does not leave the old ledger with a job that has begun anew
            work.begin(about, fence.attempt, outputs.own, anew=restart)
            if restart:
                work.clear()
            damaged = Damaged(refused, () if restart else {*told})
            night = Night(job, opened, outputs, work, ledger, fence, progress, damaged=damaged)
            return night.run(new)


def run_any(job: Job, **options: bool) -> str:
    """Run or resume a job on any input, and return a summary; see `run_job` and `run_scenes`."""
    return run_scenes(job, **options) if job.input["kind"] == "scenes" else run_job(job, **options)
