"""The Dask cluster that a command works on."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
import dask

logger = logging.getLogger(__name__)

LOCAL_SCHEDULERS = ("threads", "synchronous")


def cluster_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that choose a cluster."""
    for option in (
        click.option("--memory-limit", help="Memory of a local worker, for example 2GB."),
        click.option("--threads-per-worker", type=click.IntRange(min=1), help="Threads of a local worker."),
        click.option("--workers", type=click.IntRange(min=0), help="Local worker processes."),
        click.option(
            "--scheduler-file", type=click.Path(exists=True, dir_okay=False), help="File that names a scheduler."
        ),
        click.option(
            "--scheduler", help="Address of a scheduler (tcp://host:port), or 'threads': no cluster, this process."
        ),
    ):
        command = option(command)
    return command


@contextmanager
def cluster(
    scheduler: str | None = None,
    scheduler_file: str | None = None,
    workers: int | None = None,
    threads_per_worker: int | None = None,
    memory_limit: str | None = None,
) -> Iterator[str]:
    """Make a cluster the current one; its description is the value.

    A local cluster is started unless a scheduler is named, and only that is stopped in the end.
    """
    if scheduler in LOCAL_SCHEDULERS:
        with dask.config.set(scheduler=scheduler):
            yield f"this process ({scheduler})"
        return
    from distributed import Client, LocalCluster

    if scheduler or scheduler_file:
        with Client(address=scheduler, scheduler_file=scheduler_file) as client:
            client.wait_for_workers(1)
            yield f"scheduler at {client.scheduler.address}"
        return
    given = {"workers": workers, "threads-per-worker": threads_per_worker, "memory-limit": memory_limit}
    settings = dask.config.get("mdh-dask.cluster") | {k: v for k, v in given.items() if v is not None}
    with (
        LocalCluster(
            n_workers=settings["workers"],
            threads_per_worker=settings["threads-per-worker"],
            memory_limit=settings["memory-limit"],
            dashboard_address=":0",
        ) as local,
        Client(local),
    ):
        logger.info("dashboard at %s", local.dashboard_link)
        yield f"{len(local.workers)} local workers"
