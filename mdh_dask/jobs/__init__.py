"""Jobs, which resume when they are run again after being killed at any moment.

What they need is imported when they run, so that errors in a job file are found at once.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["check", "run"]


def run(
    path: str | Path,
    *,
    restart: bool = False,
    overwrite: bool = False,
    progress: bool = False,
    cluster: Mapping[str, Any] | None = None,
) -> str:
    r"""Run or resume the job of a job file.

    A run that was interrupted or killed resumes where it stopped and ends with the same outputs. Nothing is done for a
    finished job.

    Parameters
    ----------
    path : str or Path
        The job file, in TOML.
    restart : bool, default=False
        Whether to discard the work of a job that was interrupted or has changed.
    overwrite : bool, default=False
        Whether to replace existing outputs that the job has not made itself.
    progress : bool, default=False
        Whether to show progress bars.
    cluster : mapping, optional
        Replaces the table ``[cluster]`` of the file, for example ``{"kind": "threads"}``.

    Returns
    -------
    str
        One line with the number of clusters and the paths of the outputs.

    Raises
    ------
    FileNotFoundError
        If the file or the input is missing.
    JobError
        If the file is invalid, or it or its input has changed since the job began; a `ValueError`.
    BlockingIOError
        If another run works on this job or on one of its outputs.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> job = '[input]\npath = "x.npy"\n[output]\nmodel = "model.zarr"\n[cluster]\nkind = "threads"\n'
    >>> with TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/x.npy", np.random.default_rng(0).normal(size=(600, 2)))
    ...     _ = Path(folder, "job.toml").write_text(job)
    ...     run(f"{folder}/job.toml").split(" in ")[0]
    '1 cluster of 600 rows'
    """
    from ._run import run_job
    from .job import read_job
    from .notify import notify

    with notify(lambda error: 1) as notified:
        notified.job = read_job(Path(path), cluster)
        return run_job(notified.job, restart=restart, overwrite=overwrite, progress=progress)


def check(path: str | Path, *, overwrite: bool = False, cluster: Mapping[str, Any] | None = None) -> str:
    r"""Check a job file and its input without computing, and estimate what the job needs.

    Parameters
    ----------
    path : str or Path
        The job file, in TOML.
    overwrite : bool, default=False
        Whether to replace existing outputs that the job has not made itself.
    cluster : mapping, optional
        Replaces the table ``[cluster]`` of the file.

    Returns
    -------
    str
        Lines on the input, the method, the cluster, the outputs, and the passes, tasks and memory.

    Raises
    ------
    FileNotFoundError
        If the file or the input is missing.
    JobError
        If the file is invalid, or it or its input has changed since the job began; a `ValueError`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> job = '[input]\npath = "x.npy"\n[output]\nmodel = "model.zarr"\n[cluster]\nkind = "threads"\n'
    >>> with TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/x.npy", np.random.default_rng(0).normal(size=(600, 2)))
    ...     _ = Path(folder, "job.toml").write_text(job)
    ...     print(check(f"{folder}/job.toml").splitlines()[5])
    passes:  1
    """
    from ._run import check_job
    from .job import read_job

    return check_job(read_job(Path(path), cluster), overwrite=overwrite)
