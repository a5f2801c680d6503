"""Clusters whose workers are SLURM jobs, with dask-jobqueue."""

import logging
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from shutil import which
from typing import Any

import dask
from dask.utils import parse_bytes

from .._errors import SettingError
from .._fields import Field, JobError, flag, positive, whole
from .._process import require
from .current import is_memory, quieten

logger = logging.getLogger(__name__)

PROLOGUE = ("export NUMBA_NUM_THREADS=1",)
"""Dask limits the threads of other libraries."""

DASHBOARD = "127.0.0.1:0"
"""Address of dashboards, which only users of the same node reach, through ``ssh -L``."""

NO_DASHBOARD = "--no-dashboard", "--dashboard-address", DASHBOARD
"""Options of workers."""

IDLE_SECONDS = 60
"""Idle time after which workers above the minimum end; pauses between passes are shorter (dask/dask-jobqueue#701)."""

BUSY_CONTROLLER = ("Unable to contact", "Socket timed out", "Connection refused")


def _word(expected: str, pattern: str = r"\S+") -> Field:
    """Return the field of a text without spaces, which would break the script of a job."""
    return Field(expected, lambda value: isinstance(value, str) and bool(re.fullmatch(pattern, value)))


def _lines(expected: str) -> Field:
    return Field(
        expected, lambda value: isinstance(value, list) and all(isinstance(line, str) for line in value), default=()
    )


FIELDS = {
    "minimum": whole(default=1),
    "maximum": whole(default=1),
    "queue": _word("the name of a partition"),
    "account": _word("the name of an account"),
    "cores": whole(),
    "processes": whole(),
    "memory": Field("an amount of 100 MB or more, as '16GB'", is_memory),
    "walltime": _word("a time, as '04:00:00' or '1-12:00:00'", r"(\d+-)?\d+(:\d\d){0,2}"),
    "interface": _word("the network interface that the nodes share, as 'ib0' ('ip -brief address' lists them)"),
    "local_directory": _word("the path of a folder on every node, as '$TMPDIR'"),
    "log_directory": Field(
        "the path of a folder that all nodes see",
        lambda value: isinstance(value, str) and bool(value),
        default="slurm-logs",
        is_path=True,
    ),
    "prologue": _lines("an array of lines of shell"),
    "directives": _lines("an array of options of sbatch, as ['--constraint=skylake']"),
    "tls": flag(default=True),
    "timeout": positive(3600),
}
"""Keys of ``[cluster]``; those without a default come from ``jobqueue.slurm`` in Dask's configuration."""

CERTIFICATES = ("_job_ca_file", "_job_cert", "_job_key")
"""Attributes of a cluster of dask-jobqueue: the temporary files with the certificates and the key of its workers."""

NEEDED = ("cores", "memory", "interface")
"""Keys that must be given here or in Dask's configuration."""


def slurm_cluster(
    minimum: int, maximum: int, log_directory: str, tls: bool, timeout: float, **given: Any
) -> AbstractContextManager[str]:
    """Return a cluster that submits jobs when it is entered; settings that need no SLURM are checked now."""
    require("dask_jobqueue", "slurm")
    for name in NEEDED:
        if given[name] is None and configured(name) is None:
            raise SettingError(f"{name} is missing; give {FIELDS[name].expected}")
    if re.search(r"\s", log_directory):
        raise SettingError(
            f"expected a log_directory without spaces; got {log_directory!r}: jobs cannot write there, name another"
        )
    if maximum < minimum:
        raise SettingError(f"expected a maximum of {minimum} or more, the minimum; got {maximum}")
    settings = {name: value for name, value in given.items() if value is not None}
    return _jobs(settings, Path(log_directory), minimum, maximum, tls, timeout)


def configured(name: str) -> Any:
    """Return a setting of Dask's configuration, which may spell it with underscores; None if it has none."""
    return dask.config.get(f"jobqueue.slurm.{name}", None)


def memory(
    processes: int | None = None, cores: int | None = None, memory: str | None = None, **given: Any
) -> tuple[int, int] | None:
    """Return the memory of each worker in bytes, and its threads; None if they are not known."""
    processes = processes or configured("processes") or 1
    cores, memory = cores or configured("cores"), memory or configured("memory")
    return None if cores is None or memory is None else (parse_bytes(memory) // processes, cores // processes or 1)


@contextmanager
def _jobs(settings: dict[str, Any], logs: Path, minimum: int, maximum: int, tls: bool, timeout: float) -> Iterator[str]:
    from distributed import Client

    from .plugins import watching

    if which("sbatch") is None:
        raise ImportError("expected the program sbatch, which is missing: run the job on a login node of the cluster")
    quieten()
    logs.mkdir(parents=True, exist_ok=True)
    with _cluster(settings, logs, tls) as jobs, Client(jobs) as client:
        _submit(jobs, minimum)
        jobs.adapt(
            Adaptive=_adaptive(), minimum_jobs=minimum, maximum_jobs=maximum, interval="2s",
            wait_count=IDLE_SECONDS // 2,
        )  # fmt: skip
        logger.info("scheduler at %s, dashboard at %s", jobs.scheduler_address, jobs.dashboard_link)
        try:
            client.wait_for_workers(1, timeout=timeout)
        except TimeoutError as error:
            raise TimeoutError(
                f"no worker's job has begun in {timeout:g} s: 'squeue --me' shows why, or wait longer with timeout"
            ) from error
        with watching(client):
            yield f"{minimum} to {maximum} jobs of SLURM, scheduler at {jobs.scheduler_address}"


@contextmanager
def _cluster(settings: dict[str, Any], logs: Path, tls: bool) -> Iterator[Any]:
    """Start a scheduler without jobs yet, and remove the workers' certificates and key after it has ended.

    Dask leaves their files to Python's search for garbage, which a process that ends may not make.
    """
    jobs = _started(settings, logs, tls)
    try:
        with jobs:
            yield jobs
    finally:
        for name in CERTIFICATES:
            if (file := getattr(jobs, name, None)) is not None:
                file.close()


def _started(settings: dict[str, Any], logs: Path, tls: bool) -> Any:
    """Return the cluster with a scheduler; lists extend those of Dask's configuration."""
    from dask_jobqueue import SLURMCluster

    options = {"dashboard_address": DASHBOARD, **(configured("scheduler-options") or {})}
    if "host" not in options:
        options.setdefault("interface", settings.get("interface", configured("interface")))
        _check_interface(options["interface"])
    prologue, directives, log = settings.pop("prologue"), settings.pop("directives"), f"{logs}/%x-%j-%N.log"
    return SLURMCluster(
        **settings,
        job_name="mdh-dask-worker",
        job_script_prologue=[*(configured("job-script-prologue") or ()), *PROLOGUE, *prologue],
        job_extra_directives=[*(configured("job-extra-directives") or ()), f"--output={log}", *directives],
        worker_extra_args=[*(configured("worker-extra-args") or ()), *NO_DASHBOARD],
        scheduler_options=options,
        security=_security(tls),
        shared_temp_directory=str(logs),
    )


def _check_interface(name: str) -> None:
    from distributed.utils import get_ip_interface

    try:
        get_ip_interface(name)
    except ValueError as error:
        raise JobError(f"[cluster]: {error}") from error


def _security(tls: bool) -> Any:
    """Return the certificates of Dask's configuration, or temporary ones for this cluster; None without TLS."""
    from distributed.security import Security

    own = Security()
    if not tls or own.tls_scheduler_cert:
        return own if own.require_encryption or tls else None
    require("cryptography", "slurm")
    return Security.temporary()


def _submit(jobs: Any, number: int) -> None:
    """Submit the first jobs so that errors of sbatch are raised; ``scale`` would only log them."""
    from distributed.core import Status

    async def submitted() -> None:
        for _ in range(number):
            jobs.worker_spec.update(jobs.new_worker_spec())
        await jobs

    try:
        jobs.sync(submitted)
    except RuntimeError as error:
        for job in jobs.workers.values():
            job.status = Status.failed  # otherwise closing the cluster would fail
        said = "; ".join(re.findall(r"sbatch: error: (.*)", str(error))) or str(error)
        if any(sign in said for sign in BUSY_CONTROLLER):
            raise ConnectionError(f"SLURM does not answer: {said}") from error
        raise JobError(f"[cluster]: SLURM refuses the job of a worker: {said}") from error


def _adaptive() -> type:
    from distributed.deploy import Adaptive

    class Replacing(Adaptive):
        """Resubmit lost jobs even if the target number of jobs does not change."""

        async def recommendations(self, target: int) -> dict:
            found = await super().recommendations(target)
            lost = found["status"] == "same" and self.requested < self.plan
            return {"status": "up", "n": target} if lost else found

    return Replacing
