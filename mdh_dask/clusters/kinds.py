"""The kinds of cluster that a job file can name, and a notebook can start."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from .._fields import Field, checked_kind, positive, text, whole
from . import kubernetes, slurm
from .current import cluster, is_memory


@dataclass(frozen=True)
class ClusterKind:
    """A way to get a cluster.

    Parameters
    ----------
    fields : dict
        The keys of ``[cluster]`` beside ``kind``.
    make : callable
        Returns the cluster from their values, having checked them; nothing is started before it is entered. See
        `clusters.cluster`.
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
        cluster,
    ),
    "threads": ClusterKind({}, lambda: cluster("threads")),
    "scheduler": ClusterKind(
        {"address": text("an address, as 'tcp://host:8786'", required=True), "timeout": positive(60)},
        lambda address, timeout: cluster(address, scheduler_timeout=timeout),
    ),
    "scheduler-file": ClusterKind(
        {"file": text("the path of a scheduler's file", required=True), "timeout": positive(60)},
        lambda file, timeout: cluster(scheduler_file=Path(file), scheduler_timeout=timeout),
        paths=("file",),
    ),
    "slurm": ClusterKind(slurm.FIELDS, slurm.slurm_cluster, paths=("log_directory",)),
    "kubernetes": ClusterKind(kubernetes.FIELDS, kubernetes.kubernetes_cluster),
}
"""Values of ``cluster.kind``, the default first."""


def start_cluster(kind: str = "local", **settings: Any) -> AbstractContextManager[str]:
    """Make a cluster the current one of Dask for a while, as ``[cluster]`` of a job file would.

    Parameters
    ----------
    kind : {"local", "threads", "scheduler", "scheduler-file", "slurm", "kubernetes"}
        Whose workers: of this machine, of a scheduler that runs, jobs of SLURM, or pods.
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
    given = checked_kind("cluster", {"kind": kind} | settings, {name: k.fields for name, k in CLUSTERS.items()})
    try:
        return CLUSTERS[given.pop("kind")].make(**given)
    except click.UsageError as error:
        raise ValueError(error.format_message()) from error
