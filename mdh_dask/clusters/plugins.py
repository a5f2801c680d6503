"""Workers of clusters: their plugins, versions and encryption, what they did, and pages of schedulers."""

import logging
import os
import signal
import socket
import ssl
import sys
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import dask
from distributed import WorkerPlugin

from .._errors import AddressError
from .._locations import redacted
from .._log import Others
from .._process import end_without_garbage


@dataclass
class WorkerSetup(WorkerPlugin):  # type: ignore[misc, unused-ignore]
    """Let every worker, also one that replaces another, leave errors and interrupts to the command."""

    is_process: bool
    """Whether the worker is a separate process: it then exits at once, and ignores interrupts and SIGHUP, which a
    terminal sends to all its processes."""
    logs_json: bool

    name = "mdh-dask-settled"

    def setup(self, worker: Any) -> None:
        """Set up a new worker."""
        if self.is_process:
            end_without_garbage()
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            if sys.platform != "win32":
                signal.signal(signal.SIGHUP, signal.SIG_IGN)
            logging.getLogger("distributed.worker.state_machine").setLevel("ERROR")
            if self.logs_json:
                Others(besides=())
        logging.getLogger("distributed.worker").addFilter(_is_no_failed_task)

    def teardown(self, worker: Any) -> None:
        """Restore the log, which a worker on a thread shares with the workers of its process that come later."""
        logging.getLogger("distributed.worker").removeFilter(_is_no_failed_task)


def _is_no_failed_task(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith("Compute Failed")


class HideCredentials(WorkerPlugin):
    """Redact the logs of every worker, in which Dask shows the arguments of failed tasks, such as URLs.

    The plugin also applies to workers that start later.
    """

    name = "mdh_dask-hide-credentials"
    idempotent = True

    def setup(self, worker: Any) -> None:
        """Add the filter to the log of a worker, once."""
        logging.getLogger("distributed.worker").addFilter(_redact)


def _redact(record: logging.LogRecord) -> bool:
    record.msg, record.args = redacted(record.getMessage()), ()
    return True


PROFILES = 100
"""Profiles that a worker keeps for the dashboard, one for each second. By default Dask keeps those of the last 1000
seconds, and the memory of a worker grows until then."""


class FewProfiles(WorkerPlugin):
    """Let every worker, also one that starts later, keep the profiles of the last seconds only."""

    name = "mdh_dask-few-profiles"
    idempotent = True

    def setup(self, worker: Any) -> None:
        """Shorten what a worker keeps."""
        worker.profile_history = deque(worker.profile_history, PROFILES)
        worker.profile_keys_history = deque(worker.profile_keys_history, PROFILES)


def dask_setup(scheduler: Any) -> None:
    """Serve ``/metrics`` and ``/health`` on ``mdh-dask.metrics-port``; Dask calls this by its name.

    The port for HTTP of a scheduler also takes orders, such as to retire workers, by which the operator of Kubernetes
    scales. Who may read metrics should not give them. Schedulers of pods load this module at their start.
    """
    from distributed.http.utils import get_handlers
    from tornado.web import Application

    pages = ["distributed.http.scheduler.prometheus", "distributed.http.health"]
    Application(get_handlers(scheduler, pages)).listen(dask.config.get("mdh-dask.metrics-port"))


logger = logging.getLogger(__name__)

COMPARED = ("mdh_dask", "dask", "distributed", "cloudpickle", "numpy", "numba")
"""Packages whose versions must agree everywhere, as tasks are pickled here and run there."""


@contextmanager
def watching(client: Any) -> Iterator[None]:
    """Warn if versions differ and, on success, log the number of tasks done on each node.

    From now on the workers redact credentials in their logs, and keep few profiles.
    """
    _warn_of_versions(client.get_versions(packages=COMPARED))
    client.register_plugin(HideCredentials())
    client.register_plugin(FewProfiles())
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


def check_encryption(address: str) -> None:
    """Raise an error if Dask's configuration does not match an address."""
    from distributed.security import Security

    security, encrypted = Security(), address.startswith("tls://")
    if security.require_encryption and not encrypted:
        raise AddressError(
            f"expected an address as tls://host:8786, for Dask's configuration requires encryption; got {address}"
        )
    named = security.tls_ca_file and security.tls_client_cert
    if encrypted and not named and not dask.config.get("distributed.client.security-loader"):
        raise AddressError(
            f"expected certificates for {address}; got none: name their files in Dask's configuration, or by "
            "DASK_DISTRIBUTED__COMM__TLS__CA_FILE, .._TLS__CLIENT__CERT and .._TLS__CLIENT__KEY in the environment"
        )


def disagreement(error: BaseException, address: str) -> Exception | None:
    """Return the error to raise if a scheduler answered, but not as its address and the certificates require.

    `error` is what connecting raised. None if nothing answered.
    """
    cause = error.__cause__ or error
    if address.startswith("tls://"):
        plain = f"tcp://{address.removeprefix('tls://')}"
        # A plain scheduler sends a greeting first, which is not TLS. Tornado raises a ValueError if it comes early.
        if isinstance(error, ValueError) or getattr(cause, "reason", None) == "WRONG_VERSION_NUMBER":
            return AddressError(
                f"expected a scheduler with TLS at {address}; it answers without: give it certificates, or name it "
                f"{plain}"
            )
        if isinstance(cause, ssl.SSLError):
            return PermissionError(
                f"the scheduler at {address} and this process do not accept each other's certificates: they must be "
                f"of the same authority and valid today ({cause.reason})"
            )
    elif isinstance(cause, ConnectionResetError):
        return ConnectionError(
            f"the scheduler at {address} closed the connection at once: if it is one with TLS, name it "
            f"tls://{address.removeprefix('tcp://')}"
        )
    return None
