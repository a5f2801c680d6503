"""Workers on this machine, threads of this process, and which of them suit an input."""

import json
import logging
import sys
from asyncio import CancelledError
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import dask
import dask.local
import dask.threaded
from dask.system import CPU_COUNT
from dask.utils import parse_bytes

from .._errors import AddressError
from .._log import format_others, is_json

logger = logging.getLogger(__name__)

LOCAL_SCHEDULERS = {"threads": dask.threaded.get, "synchronous": dask.local.get_sync}
"""Dask's schedulers in this process by their names; looking up a name, Dask imports distributed, which takes long."""

LEAST_MEMORY = 10**8
"""Least memory of a worker in bytes; less is a mistake, such as 2 for 2 GB."""


def is_memory(value: Any) -> bool:
    """Return whether a value is an amount of memory that suffices for a worker."""
    try:
        return isinstance(value, str) and parse_bytes(value) >= LEAST_MEMORY
    except ValueError:
        return False


def current_client() -> Any:
    """Return the client of the cluster that Dask computes on, or None if Dask computes in this process."""
    # A process that has not imported distributed has no client.
    if _in_this_process() is not None or "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None


def _in_this_process() -> str | None:
    """Return the name of the scheduler in this process that Dask is set to use, if it is."""
    scheduler = dask.config.get("scheduler", None)
    return next((name for name, get in LOCAL_SCHEDULERS.items() if scheduler in (name, get)), None)


@contextmanager
def current_cluster() -> Iterator[str]:
    """Use the current Dask scheduler without starting or stopping anything; the value is its description."""
    client = current_client()
    here = _in_this_process() or dask.config.get("scheduler", None) or "threads"
    yield f"this process ({here})" if client is None else f"scheduler at {client.scheduler.address}"


def configured(name: str) -> Any:
    """Return a default of local clusters, which configuration may spell with underscores."""
    return dask.config.get(f"mdh-dask.cluster.{name}")


def local_memory(
    workers: int | None = None, threads_per_worker: int | None = None, memory_limit: str | None = None
) -> tuple[int, int] | None:
    """Return the memory of each worker in bytes and its threads; None if it is not given."""
    from distributed.deploy.utils import nprocesses_nthreads

    limit = memory_limit or configured("memory-limit")
    if limit in (None, "auto"):
        return None
    workers, threads = workers or configured("workers"), threads_per_worker or configured("threads-per-worker")
    if workers is None and threads is None:
        _, threads = nprocesses_nthreads()
    return parse_bytes(limit), threads or max(1, CPU_COUNT // (workers or 1))


def running_cluster(
    address: str | None = None, file: str | None = None, timeout: float = 60
) -> AbstractContextManager[str]:
    """Use a running scheduler, by its address or its scheduler file; the value is its description."""
    if address is not None and ":" not in address:
        raise AddressError(f"expected an address, as tcp://host:8786, or 'threads'; got {address!r}")
    return _elsewhere(address, file, timeout)


@contextmanager
def this_process(scheduler: str) -> Iterator[str]:
    """Compute in this process, by one of `LOCAL_SCHEDULERS`; the value is its description."""
    with dask.config.set(scheduler=LOCAL_SCHEDULERS[scheduler]):
        yield f"this process ({scheduler})"


@contextmanager
def _elsewhere(address: str | None, file: str | None, seconds: float) -> Iterator[str]:
    from distributed import Client
    from distributed.comm import get_address_host_port

    from .plugins import check_encryption, disagreement, watching

    quieten()
    until = monotonic() + seconds
    address = address or _address_in(Path(file or ""), until)
    remedy = f"in {seconds:g} s: check that it runs, or wait longer with timeout=..."
    try:
        get_address_host_port(address)
    except ValueError as error:
        raise AddressError(f"expected an address, as tcp://host:8786; got {address}: {error}") from error
    check_encryption(address)
    try:
        client = Client(address=address, timeout=seconds)
    except (OSError, ValueError) as error:
        raise disagreement(error, address) or TimeoutError(f"no scheduler at {address} {remedy}") from error
    with client:
        try:
            client.wait_for_workers(1, timeout=max(until - monotonic(), 1))
        except TimeoutError as error:
            raise TimeoutError(f"no worker of the scheduler at {address} {remedy}") from error
        with watching(client):
            yield f"scheduler at {address}"


@contextmanager
def local_cluster(
    workers: int | None = None,
    threads_per_worker: int | None = None,
    memory_limit: str | None = None,
    processes: bool = True,
) -> Iterator[str]:
    """Start workers on this machine, or one in this process, for the context; the value is their description."""
    from distributed import Client, LocalCluster

    from .plugins import FewProfiles, WorkerSetup

    quieten()
    # The dashboard executes requests from anyone who reaches it, so it only listens on this machine.
    dashboard = {"dashboard_address": "127.0.0.1:0", "scheduler_kwargs": {"dashboard": processes}}
    given = {"workers": workers, "threads-per-worker": threads_per_worker, "memory-limit": memory_limit}
    n_workers, threads, limit = (configured(name) if value is None else value for name, value in given.items())
    options = {"n_workers": n_workers if processes else 1, "threads_per_worker": threads, "memory_limit": limit}
    try:
        started = LocalCluster(processes=processes, **options, **dashboard)
    except RuntimeError as error:
        raise _start_failed(error) from error
    with started as local, Client(local) as client:
        client.register_plugin(WorkerSetup(processes, is_json()))
        client.register_plugin(FewProfiles())
        n_workers, n_threads = len(client.nthreads()), sum(client.nthreads().values())
        kind = f"worker process{'es' if n_workers > 1 else ''}" if processes else "worker in this process"
        where = f"{n_workers} {kind}, {n_threads} threads"
        logger.info("%s%s", where, f", dashboard at {local.dashboard_link}" if processes else "")
        try:
            yield where
        except KeyboardInterrupt:
            logging.getLogger("distributed").setLevel("ERROR")  # workers that are stopped at work would log it
            raise


def _start_failed(error: BaseException) -> Exception:
    """Return the error to raise if workers did not start: the reason that one logged, or that it was killed."""
    reason = error
    while reason.__cause__ is not None:
        reason = reason.__cause__
    if isinstance(reason, OSError | MemoryError | ImportError | ValueError):
        return reason
    return ConnectionError(
        f"a worker ended while it was being started ({reason}): a script must start workers under "
        "if __name__ == '__main__':, otherwise the same command may succeed later"
    )


def _address_in(file: Path, until: float) -> str:
    """Return the address in a scheduler file, waiting for the file to appear."""
    while True:
        try:
            return str(json.loads(file.read_text())["address"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            if monotonic() > until:
                raise TimeoutError(
                    f"no scheduler has written its address to {file} ({type(error).__name__}): check that it runs, "
                    "or wait longer with timeout=..."
                ) from error
        sleep(0.1)


def quieten() -> None:
    """Let distributed log only warnings and errors; importing it sets its level to INFO."""
    debugging = logger.isEnabledFor(logging.DEBUG)
    logging.getLogger("distributed").setLevel("DEBUG" if debugging else "WARNING")
    logging.getLogger("asyncio").setLevel("INFO" if debugging else "CRITICAL")
    logging.getLogger("distributed.client").addFilter(_is_no_cancelled_wait)
    if is_json():
        format_others()


def _is_no_cancelled_wait(record: logging.LogRecord) -> bool:
    """Return False for the traceback that a client logs if it is closed while it tries to reach a lost scheduler."""
    return record.exc_info is None or record.exc_info[0] is not CancelledError


SMALL = 2**27
"""Bytes of rows that threads of this process cluster: a few blocks, for which starting workers is not worth while."""


class AutoCluster(AbstractContextManager[str]):
    """Workers on this machine, or the threads of this process for few rows: the cluster of commands that name none.

    Entered before the size of the rows is known, it starts workers.
    """

    def __init__(self) -> None:
        self._local = local_cluster()

    def for_bytes(self, n_bytes: float) -> AbstractContextManager[str]:
        """Return the cluster for rows of a size, which may be NaN if it is unknown."""
        configured = {*dask.config.get("mdh-dask.cluster").values()} - {None, "auto"}
        if n_bytes <= SMALL and not configured:
            logger.info("small input: computing on threads of this process")
            return this_process("threads")
        return self._local

    def __enter__(self) -> str:
        return self._local.__enter__()

    def __exit__(self, *raised: Any) -> bool | None:
        return self._local.__exit__(*raised)


def cluster_for(cluster: AbstractContextManager[str], n_bytes: float) -> AbstractContextManager[str]:
    """Return a cluster for rows of a size: the given one, unless it leaves the choice."""
    return cluster.for_bytes(n_bytes) if isinstance(cluster, AutoCluster) else cluster
