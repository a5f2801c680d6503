"""The kinds of cluster for job files and `start_cluster`."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any

from .._fields import Field, checked_kind, positive, text, whole
from . import slurm
from .current import is_memory, local_cluster, local_memory, running_cluster, this_process


@dataclass(frozen=True)
class ClusterKind:
    """A kind of cluster."""

    fields: Mapping[str, Field]
    """The keys of ``[cluster]`` beside ``kind``."""
    make: Callable[..., AbstractContextManager[str]]
    """Checks their values and returns the cluster, which starts nothing before it is entered."""
    memory: Callable[..., tuple[int, int] | None] = lambda **_: None
    """Returns the memory of each worker in bytes, and its threads; None if that is not given."""


CLUSTERS = {
    "local": ClusterKind(
        {
            "workers": whole(),
            "threads_per_worker": whole(),
            "memory_limit": Field(
                "'auto' or an amount of 100 MB or more, as '2GB'", lambda value: value == "auto" or is_memory(value)
            ),
        },
        local_cluster,
        memory=local_memory,
    ),
    "threads": ClusterKind({}, partial(this_process, "threads")),
    "scheduler": ClusterKind(
        {"address": text("an address, as 'tcp://host:8786'", required=True), "timeout": positive(60)},
        running_cluster,
    ),
    "scheduler-file": ClusterKind(
        {"file": text("the path of a scheduler's file", required=True, is_path=True), "timeout": positive(60)},
        running_cluster,
    ),
    "slurm": ClusterKind(slurm.FIELDS, slurm.slurm_cluster, memory=slurm.memory),
    "synchronous": ClusterKind({}, partial(this_process, "synchronous")),
}
"""Values of ``cluster.kind``, the default first."""


def cluster_settings(table: Any) -> dict[str, Any]:
    """Return the checked values of the table ``[cluster]``, by default of the first kind."""
    return checked_kind("cluster", table, {name: kind.fields for name, kind in CLUSTERS.items()})


def start_cluster(kind: str = "local", **settings: Any) -> AbstractContextManager[str]:
    """Return a context in which a cluster is Dask's current one, as for ``[cluster]`` of a job file.

    Parameters
    ----------
    kind : {"local", "threads", "scheduler", "scheduler-file", "slurm", "synchronous"}
        Workers on this machine, threads of this process, a running scheduler by address or file, or SLURM jobs;
        or, for debugging, one task after another in this thread.
    **settings
        The other keys of that table: for ``"local"`` `workers`, `threads_per_worker` and `memory_limit`; those of
        ``"slurm"`` are described in ``deploy``.

    Returns
    -------
    context manager
        Its value describes the cluster. Whatever it starts ends with it.

    Raises
    ------
    ValueError
        If a setting is unknown or invalid; before anything is started.
    ModuleNotFoundError
        If the package for that kind is missing.

    Examples
    --------
    >>> import dask.array as da
    >>> with start_cluster("threads") as where:
    ...     print(where, da.ones(3).sum().compute())
    this process (threads) 3.0
    """
    given = cluster_settings({"kind": kind} | settings)
    return CLUSTERS[given.pop("kind")].make(**given)
