"""Jobs that may be killed at any moment and go on when they are run again."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ._check import check_job
from ._run import run_job
from .job import read_job

__all__ = ["check", "run"]


def run(
    path: str | Path,
    *,
    restart: bool = False,
    overwrite: bool = False,
    progress: bool = False,
    cluster: Mapping[str, Any] | None = None,
) -> str:
    r"""Do what a job file says, or what of it is not done.

    A run that was interrupted or killed goes on where it was, and ends with the same outputs. If the job is finished,
    nothing is done.

    Parameters
    ----------
    path : str or Path
        The job file, in TOML.
    restart : bool, default=False
        Whether to give up what was done of a job that was interrupted or has changed.
    overwrite : bool, default=False
        Whether outputs that the job has not made itself may be replaced.
    progress : bool, default=False
        Whether to show bars.
    cluster : mapping, optional
        A table that stands for ``[cluster]`` of the file, as ``{"kind": "threads"}``.

    Returns
    -------
    str
        What was found and where it was written, in one line.

    Raises
    ------
    FileNotFoundError
        If the file or the input is missing.
    JobError
        If the file says what no job can, or it or its input has changed since it was begun; a `ValueError`.
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
    '1 clusters of 600 rows'
    """
    return run_job(read_job(Path(path), cluster), restart=restart, overwrite=overwrite, progress=progress)


def check(path: str | Path, *, overwrite: bool = False, cluster: Mapping[str, Any] | None = None) -> str:
    r"""Check a job file and its input without computing, and return what the job would need.

    Parameters
    ----------
    path : str or Path
        The job file, in TOML.
    overwrite : bool, default=False
        Whether outputs that the job has not made itself may be replaced.
    cluster : mapping, optional
        A table that stands for ``[cluster]`` of the file.

    Returns
    -------
    str
        Lines on the input, the method, the cluster and the outputs, on passes, tasks and memory.

    Raises
    ------
    FileNotFoundError
        If the file or the input is missing.
    JobError
        If the file says what no job can, or it or its input has changed since it was begun; a `ValueError`.

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
    return check_job(read_job(Path(path), cluster), overwrite=overwrite)
