"""The Dask cluster that a command works on."""

import json
import logging
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import click
import dask
from dask.utils import parse_bytes

from .._process import end_without_garbage
from .encryption import check_encryption, disagreement
from .workers import watching

logger = logging.getLogger(__name__)

LOCAL_SCHEDULERS = ("threads", "synchronous")

LEAST_MEMORY = 10**8
"""Bytes that a worker needs at least; less is a misunderstanding, as 2 for 2 GB."""


def is_memory(value: Any) -> bool:
    """Tell whether a value is an amount of memory that a worker can live with.

    Examples
    --------
    >>> is_memory("2GB"), is_memory("2"), is_memory("much")
    (True, False, False)
    """
    try:
        return isinstance(value, str) and parse_bytes(value) >= LEAST_MEMORY
    except ValueError:
        return False


def _memory(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is None or value == "auto" or is_memory(value):
        return value
    raise click.BadParameter(f"expected 'auto' or an amount of 100 MB or more, as 2GB; got {value!r}")


def cluster_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that choose a cluster."""
    for option in (
        click.option(
            "--memory-limit", callback=_memory, metavar="BYTES", help="Memory of a worker to start, as 2GB."
        ),
        click.option("--threads-per-worker", type=click.IntRange(min=1), metavar="N", help="Threads of each of them."),
        click.option(
            "--workers", type=click.IntRange(min=1), metavar="N", help="Worker processes to start on this machine."
        ),
    ):  # fmt: skip
        command = option(command)
    return scheduler_options(command)


def scheduler_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that name a scheduler which runs already."""
    for option in (
        click.option(
            "--scheduler-timeout", type=click.FloatRange(min=0, min_open=True), default=60, show_default=True,
            metavar="SECONDS", help="How long to wait for a scheduler that runs elsewhere and for its first worker.",
        ),
        click.option(
            "--scheduler-file", type=click.Path(dir_okay=False, path_type=Path), help="File that names a scheduler."
        ),
        click.option(
            "--scheduler", metavar="ADDRESS",
            help="Scheduler elsewhere, as tcp://host:8786; or 'threads': this process only, fastest for small data.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


def cluster(
    scheduler: str | None = None,
    scheduler_file: Path | None = None,
    scheduler_timeout: float = 60,
    workers: int | None = None,
    threads_per_worker: int | None = None,
    memory_limit: str | None = None,
    processes: bool = True,
) -> AbstractContextManager[str]:
    """Make a cluster the current one for a while; the value is its description.

    A local cluster is started unless a scheduler is named, and only that is stopped in the end.
    """
    local = {"workers": workers, "threads-per-worker": threads_per_worker, "memory-limit": memory_limit}
    given = {name: value for name, value in local.items() if value is not None}
    if scheduler and scheduler_file:
        raise click.UsageError("expected --scheduler or --scheduler-file; got both: leave one out")
    if (scheduler or scheduler_file) and given:
        raise click.UsageError(
            f"--{next(iter(given))} is for workers that are started here: leave it or --scheduler out"
        )
    if scheduler in LOCAL_SCHEDULERS:
        return _this_process(scheduler)
    if scheduler and ":" not in scheduler:
        raise click.BadParameter(
            f"expected an address, as tcp://host:8786, or 'threads'; got {scheduler!r}", param_hint="--scheduler"
        )
    if scheduler or scheduler_file:
        return _elsewhere(scheduler, scheduler_file, scheduler_timeout)
    return _local(dask.config.get("mdh-dask.cluster") | given, processes)


@contextmanager
def _this_process(scheduler: str) -> Iterator[str]:
    with dask.config.set(scheduler=scheduler):
        yield f"this process ({scheduler})"


@contextmanager
def _elsewhere(address: str | None, file: Path | None, seconds: float) -> Iterator[str]:
    from distributed import Client
    from distributed.comm import get_address_host_port

    quieten()
    until = monotonic() + seconds
    address = address or _address_in(file or Path(), until)
    remedy = f"in {seconds:g} s: check that it runs, or wait longer with --scheduler-timeout"
    try:
        get_address_host_port(address)
    except ValueError as error:
        raise click.UsageError(f"expected an address, as tcp://host:8786; got {address}: {error}") from error
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
def _local(settings: dict[str, Any], processes: bool) -> Iterator[str]:
    from distributed import Client, LocalCluster

    quieten()
    with (
        LocalCluster(
            n_workers=settings["workers"] if processes else 1,
            threads_per_worker=settings["threads-per-worker"],
            memory_limit=settings["memory-limit"],
            processes=processes,
            # The dashboard runs whatever one asks it to: only users of this machine may.
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": processes},
        ) as local,
        Client(local) as client,
    ):
        client.run(_settle_worker, processes)
        n_workers, n_threads = len(client.nthreads()), sum(client.nthreads().values())
        workers = f"worker process{'es' if n_workers > 1 else ''}" if processes else "worker in this process"
        where = f"{n_workers} {workers}, {n_threads} threads"
        logger.info("%s%s", where, f", dashboard at {local.dashboard_link}" if processes else "")
        try:
            yield where
        except KeyboardInterrupt:
            logging.getLogger("distributed").setLevel("ERROR")  # workers that are stopped at work say so
            raise


def _address_in(file: Path, until: float) -> str:
    """Return the address in a scheduler's file, which may take a while to appear."""
    while True:
        try:
            return str(json.loads(file.read_text())["address"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            if monotonic() > until:
                raise TimeoutError(
                    f"no scheduler has written its address to {file} ({type(error).__name__}): check that it runs, "
                    "or wait longer with --scheduler-timeout"
                ) from error
        sleep(0.1)


def quieten() -> None:
    """Let distributed tell only what is wrong: importing it sets its level to INFO."""
    debugging = logger.isEnabledFor(logging.DEBUG)
    logging.getLogger("distributed").setLevel("DEBUG" if debugging else "WARNING")
    logging.getLogger("asyncio").setLevel("INFO" if debugging else "CRITICAL")


def _settle_worker(process: bool) -> None:
    """Leave errors and interrupts, which a terminal sends to all its processes, to the command; end at once."""
    if process:
        end_without_garbage()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        logging.getLogger("distributed.worker.state_machine").setLevel("ERROR")
    logging.getLogger("distributed.worker").addFilter(_is_no_failed_task)


def _is_no_failed_task(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith("Compute Failed")
