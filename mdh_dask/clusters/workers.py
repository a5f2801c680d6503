"""Checks of the versions on a cluster, and a log of the work done."""

import logging
import os
import socket
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

logger = logging.getLogger(__name__)

COMPARED = ("mdh_dask", "dask", "distributed", "cloudpickle", "numpy", "numba")
"""Packages whose versions must agree everywhere, as tasks are pickled here and run there."""


@contextmanager
def watching(client: Any) -> Iterator[None]:
    """Warn if versions differ and, on success, log the number of tasks done on each node.

    From now on the workers redact credentials in their logs.
    """
    from .worker_logs import HideCredentials

    _warn_of_versions(client.get_versions(packages=COMPARED))
    client.register_plugin(HideCredentials())
    yield
    done: Counter[str] = Counter()
    for node, tasks in client.run(_done, on_error="ignore").values():
        done[node] += tasks
    logger.info("tasks done on %s", ", ".join(f"{node}: {tasks}" for node, tasks in sorted(done.items())))


def _done(dask_worker: Any) -> tuple[str, int]:
    """Return the node of a worker, named as by SLURM if there is one, and the number of its tasks so far."""
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname(), int(dask_worker.state.executed_count)


def _warn_of_versions(found: Mapping[str, Any]) -> None:
    here, scheduler = _versions(found["client"]), _versions(found["scheduler"])
    workers = [_versions(one) for one in found["workers"].values() if isinstance(one, Mapping)]
    differing = []
    for name, version in here.items():
        of_workers = sorted({one[name] for one in workers})
        if {version, scheduler[name]} | {*of_workers} != {version}:
            also = f", {' and '.join(of_workers)} on workers" if of_workers else ""
            differing.append(f"{name} {version} here, {scheduler[name]} on the scheduler{also}")
    if differing:
        logger.warning(
            "versions differ, so that tasks may fail or give other results (%s): run this where the versions are those "
            "of the cluster, or start the cluster anew with those of here", "; ".join(differing),
        )  # fmt: skip


def _versions(about: Mapping[str, Any]) -> dict[str, str]:
    """Return the versions of packages, and of Python without the patch level, which does not affect tasks."""
    packages = about["packages"]
    versions = {name: str(packages.get(name) or "none") for name in COMPARED}
    return {"Python": ".".join(str(packages.get("python")).split(".")[:2]), **versions}
