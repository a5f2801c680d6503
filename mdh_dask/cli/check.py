"""What a job would do, without doing it."""

from ..io.fingerprints import fingerprint
from .estimates import estimate
from .jobs import Job
from .run import open_input, outputs_of
from .state import FINISHED, Work, about_job


def check_job(job: Job, *, overwrite: bool = False) -> str:
    """Open the input, check all that can be checked without computing, and return what the job would need.

    Raises
    ------
    JobError
        If the job or its input has changed since it was begun.
    """
    outputs, work = outputs_of(job, overwrite), Work(job.work)
    if not work.has_begun():
        outputs.check(job.input["path"], str(job.work), str(job.path))
    estimator = job.estimator()
    rows = open_input(job).rows
    work.check(about_job(job, rows, fingerprint(job.input["path"])))
    need = estimate(rows, estimator, labels=outputs.labels is not None)
    shape = f"{rows.shape[0]:,} rows of {rows.shape[1]} {rows.dtype} columns"
    facts = {
        "job": f"{job.path}, {_stage(work)}",
        "input": f"{job.input['path']}, {shape}, {rows.nbytes / 1e6:,.1f} MB in {need.blocks} blocks",
        "method": " ".join(str(estimator).split()),
        "cluster": ", ".join([job.kind, *(f"{key} {value}" for key, value in job.cluster.items() if value)]),
        "outputs": outputs.kept(),
        "passes": need.passes() + (", the one that writes the labels included" if outputs.labels else ""),
        "tasks": f"{need.tasks} in every pass",
        "memory": f"{need.memory()} in every worker",
    }
    return "\n".join(f"{name + ':':9}{value}" for name, value in facts.items())


def _stage(work: Work) -> str:
    if (manifest := work.manifest(FINISHED)) is not None:
        return f"finished on {manifest['finished']}"
    return f"begun on {work.attempts()[0]['began']}" if work.has_begun() else "not begun"
