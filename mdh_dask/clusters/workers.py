"""Checks of the versions and the encryption of a running cluster, and a log of the work done."""

import logging
import os
import socket
import ssl
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import dask

from .._errors import AddressError

logger = logging.getLogger(__name__)

COMPARED = ("mdh_dask", "dask", "distributed", "cloudpickle", "numpy", "numba")
"""Packages whose versions must agree everywhere, as tasks are pickled here and run there."""


@contextmanager
def watching(client: Any) -> Iterator[None]:
    """Warn if versions differ and, on success, log the number of tasks done on each node.

    From now on the workers redact credentials in their logs, and keep few profiles.
    """
    from .plugins import FewProfiles, HideCredentials

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
