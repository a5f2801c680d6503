"""The kinds of cluster that a job file can name, and a notebook can start."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any

from .._fields import Field, checked_kind, positive, text, whole
from . import kubernetes, slurm
from .current import is_memory, local_cluster, running_cluster, this_process


@dataclass(frozen=True)
class ClusterKind:
    """A way to get a cluster.

    Parameters
    ----------
    fields : dict
        The keys of ``[cluster]`` beside ``kind``.
    make : callable
        Returns the cluster from their values, having checked them; nothing is started before it is entered.
    paths : tuple of str
        Those of the keys that are paths, relative to the folder of the job file.
    """

    fields: Mapping[str, Field]
    make: Callable[..., AbstractContextManager[str]]
    paths: tuple[str, ...] = ()


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
    ),
    "threads": ClusterKind({}, partial(this_process, "threads")),
    "scheduler": ClusterKind(
        {"address": text("an address, as 'tcp://host:8786'", required=True), "timeout": positive(60)},
        running_cluster,
    ),
    "scheduler-file": ClusterKind(
        {"file": text("the path of a scheduler's file", required=True), "timeout": positive(60)},
        running_cluster,
        paths=("file",),
    ),
    "slurm": ClusterKind(slurm.FIELDS, slurm.slurm_cluster, paths=("log_directory",)),
    "kubernetes": ClusterKind(kubernetes.FIELDS, kubernetes.kubernetes_cluster),
    "synchronous": ClusterKind({}, partial(this_process, "synchronous")),
}
"""Values of ``cluster.kind``, the default first."""


def cluster_settings(table: Any) -> dict[str, Any]:
    """Return the values of the table ``[cluster]``, by default of the first kind."""
    return checked_kind("cluster", table, {name: kind.fields for name, kind in CLUSTERS.items()})


def start_cluster(kind: str = "local", **settings: Any) -> AbstractContextManager[str]:
    """Make a cluster the current one of Dask for a while, as ``[cluster]`` of a job file would.

    Parameters
    ----------
    kind : {"local", "threads", "scheduler", "scheduler-file", "slurm", "kubernetes", "synchronous"}
        Whose workers: of this machine, threads of this process, of a scheduler that runs, jobs of SLURM, or pods; or
        none, and one task after the other in this thread, for a debugger.
    **settings
        The other keys of that section: for ``"local"`` `workers`, `threads_per_worker` and `memory_limit`; those of
        ``"slurm"`` and ``"kubernetes"`` are described in ``deploy``.

    Returns
    -------
    context manager
        Whose value describes the cluster. What it has started ends with it.

    Raises
    ------
    ValueError
        If a setting is unknown or not as it should be; before anything is started.
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
