"""Options that choose the cluster of a command."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import click

from ..clusters import start_cluster
from ..clusters.current import LOCAL_SCHEDULERS, is_memory
from ..clusters.suited import Suited


def _memory(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is None or value == "auto" or is_memory(value):
        return value
    raise click.BadParameter(f"expected 'auto' or an amount of 100 MB or more, as 2GB; got {value!r}")


def _address(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if not value or value in LOCAL_SCHEDULERS or ":" in value:
        return value
    raise click.BadParameter(f"expected an address, as tcp://host:8786, or 'threads'; got {value!r}")


def cluster_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose a cluster to a command."""
    for option in (
        click.option(
            "--memory-limit", callback=_memory, metavar="BYTES", help="Memory of each worker, as 2GB."
        ),
        click.option("--threads-per-worker", type=click.IntRange(min=1), metavar="N", help="Threads of each worker."),
        click.option(
            "--workers", type=click.IntRange(min=1), metavar="N",
            help="Worker processes to start on this machine.  [default: none for small data]",
        ),
    ):  # fmt: skip
        command = option(command)
    return scheduler_options(command)


def scheduler_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that name a running scheduler to a command."""
    for option in (
        click.option(
            "--scheduler-timeout", type=click.FloatRange(min=0, min_open=True), default=60, show_default=True,
            metavar="SECONDS", help="How long to wait for a running scheduler and for its first worker.",
        ),
        click.option(
            "--scheduler-file", type=click.Path(dir_okay=False, path_type=Path), help="File of a running scheduler."
        ),
        click.option(
            "--scheduler", callback=_address, metavar="ADDRESS",
            help="Running scheduler, as tcp://host:8786; or 'threads': this process only.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


def cluster_table(
    scheduler: str | None, scheduler_file: Path | None, scheduler_timeout: float, **local: Any
) -> dict[str, Any]:
    """Return the options of `cluster_options` as the table ``[cluster]`` of a job file.

    Raises
    ------
    UsageError
        If the options belong to two kinds of cluster.
    """
    given = {name: value for name, value in local.items() if value is not None}
    if scheduler and scheduler_file:
        raise click.UsageError("expected --scheduler or --scheduler-file; got both: leave one out")
    if not (scheduler or scheduler_file):
        return {"kind": "local", **given}
    if given:
        flag = next(iter(given)).replace("_", "-")
        raise click.UsageError(f"--{flag} is for workers started here: leave it or --scheduler out")
    if scheduler in LOCAL_SCHEDULERS:
        return {"kind": scheduler}
    if scheduler:
        return {"kind": "scheduler", "address": scheduler, "timeout": scheduler_timeout}
    return {"kind": "scheduler-file", "file": str(scheduler_file), "timeout": scheduler_timeout}


CLUSTER_SETTINGS = (
    "scheduler", "scheduler_file", "scheduler_timeout", "workers", "threads_per_worker", "memory_limit",
)  # fmt: skip
"""Names of the parameters from `cluster_options`."""


def cluster_of(options: dict[str, Any]) -> AbstractContextManager[str]:
    """Remove the options of `cluster_options` from those of a command and return the cluster that they choose.

    Without any, and without a performance report, the size of the rows chooses.

    Raises
    ------
    UsageError
        If they contradict each other, or request a performance report without a cluster.
    """
    table = cluster_table(**{name: options.pop(name) for name in CLUSTER_SETTINGS})
    if options.get("performance_report") is not None and table["kind"] in LOCAL_SCHEDULERS:
        raise click.UsageError(
            f"expected a cluster for --performance-report; got --scheduler {table['kind']}, which is this process "
            "only: leave one of them out"
        )
    chosen = table != {"kind": "local"} or options.get("performance_report") is not None
    return start_cluster(**table) if chosen else Suited()
