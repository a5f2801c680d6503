"""The kinds of cluster that a job file can name."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from . import kubernetes, slurm
from .clusters import cluster, is_memory
from .fields import Field, positive, text, whole


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
