"""A temporary Dask cluster on Kubernetes, made by the Dask operator."""

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from uuid import uuid4

import dask
from dask.utils import parse_bytes

from .._errors import SettingError
from .._fields import Field, positive, whole
from .._packages import require
from .current import is_memory, quieten
from .dask_operator import operated, own_namespace, warnings_of
from .pods import cluster_spec
from .workers import watching

IDLE_SECONDS = 3600
"""Idle time after which the operator removes a cluster, for example that of a lost notebook."""


def _is_image(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    tag = value.rpartition("/")[2].partition("@")[0].partition(":")[2]
    return "@sha256:" in value or tag not in ("", "latest")


def _is_name(value: Any, longest: int = 63) -> bool:
    return (
        isinstance(value, str)
        and len(value) <= longest
        and re.fullmatch("[a-z]([-a-z0-9]*[a-z0-9])?", value) is not None
    )


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_name, value))


def _name_of(what: str, longest: int = 63) -> Field:
    expected = f"the name of {what}, at most {longest} small letters, digits and '-'"
    return Field(expected, lambda value: _is_name(value, longest))


FIELDS = {
    "image": Field(
        "an image with a tag other than 'latest', as 'registry.example.org/mdh-dask:0.1.0'", _is_image, required=True
    ),
    "namespace": _name_of("a namespace"),
    "name": _name_of("a cluster", 53),
    "workers": whole(),
    "minimum": whole(),
    "maximum": whole(),
    "threads_per_worker": whole(default=2),
    "memory_limit": Field("an amount of 100 MB or more, as '4GiB'", is_memory, default="4GiB"),
    "service_account": _name_of("a service account"),
    "secrets": Field("an array of names of secrets", _are_names, default=()),
    "timeout": positive(600),
}
"""Keys of ``[cluster]`` with ``kind = "kubernetes"``."""


def kubernetes_cluster(
    image: str,
    namespace: str | None = None,
    name: str | None = None,
    workers: int | None = None,
    minimum: int | None = None,
    maximum: int | None = None,
    threads_per_worker: int = 2,
    memory_limit: str = "4GiB",
    service_account: str | None = None,
    secrets: Sequence[str] = (),
    timeout: float = 600,
) -> AbstractContextManager[str]:
    """Return a context in which a new cluster on Kubernetes is the current one; its value is a description.

    Nothing is made before it is entered, and everything is removed at the end, or by the operator after an idle hour if
    this process cannot.

    image: image of all pods.
    namespace, name: by default the namespace of the context (in a pod, of its service account) and a unique name.
    workers: number of workers; 2 if neither this nor `maximum` is given.
    minimum, maximum: instead of `workers`: limits between which the operator adapts to the work; `minimum` is 1 by
        default.
    threads_per_worker: threads of each worker, and processors of its pod.
    memory_limit: memory of a worker and of its pod.
    service_account: service account of the pods, which do not get its token.
    secrets: secrets whose keys become environment variables of the workers, such as credentials of an object store.
    timeout: seconds to wait for the scheduler, and then for the first worker.
    Raises SettingError if the numbers of workers are inconsistent.
    Raises ImportError if a package is missing.
    """
    require("dask_kubernetes", "kubernetes")
    if (minimum is not None and maximum is None) or (workers is not None and maximum is not None):
        raise SettingError("expected workers, or maximum with or without minimum, or none of them")
    if maximum is not None and (minimum := minimum or 1) > maximum:
        raise SettingError(f"expected a minimum of at most {maximum}, which is the maximum; got {minimum}")
    spec = cluster_spec(
        name or f"mdh-{uuid4().hex[:10]}", image, workers or minimum or 2, threads_per_worker,
        parse_bytes(memory_limit), service_account, secrets,
    )  # fmt: skip
    spec["spec"]["idleTimeout"] = IDLE_SECONDS
    return _while_needed(spec, namespace, minimum, maximum, timeout)


def size(
    threads_per_worker: int, workers: int | None = None, maximum: int | None = None, **given: Any
) -> tuple[int, int]:
    """Return the most workers, and the threads of each."""
    return workers or maximum or 2, threads_per_worker


def memory(threads_per_worker: int, memory_limit: str, **given: Any) -> tuple[int, int]:
    """Return the memory of each worker in bytes, and its threads."""
    return parse_bytes(memory_limit), threads_per_worker


@contextmanager
def _while_needed(
    spec: dict[str, Any], namespace: str | None, minimum: int | None, maximum: int | None, seconds: float
) -> Iterator[str]:
    from distributed import Client

    quieten()
    name = spec["metadata"]["name"]
    with operated(spec, _checked_namespace(namespace), seconds) as cluster:
        if maximum is not None:
            cluster.adapt(minimum=minimum, maximum=maximum)
        with Client(cluster) as client:
            try:
                client.wait_for_workers(1, timeout=seconds)
            except TimeoutError as error:
                said = cluster.sync(warnings_of, name, cluster.namespace)
                raise TimeoutError(
                    f"no worker of the cluster {name} in {seconds:g} s{said and f' ({said})'}: see what its pods "
                    f"wait for with kubectl -n {cluster.namespace} describe pods -l dask.org/cluster-name={name}"
                ) from error
            with watching(client):
                yield f"{name} on Kubernetes, namespace {cluster.namespace}"


def _checked_namespace(given: str | None) -> str:
    """Return the namespace to use, or raise an error if Dask clusters cannot be listed there.

    A cluster that fails later gives far longer errors.
    """
    import kr8s
    from httpx import TransportError
    from kr8s.objects import new_class

    try:
        api = kr8s.api()
        namespace = given or dask.config.get("kubernetes.namespace", None) or own_namespace(api)
        list(api.get(new_class("DaskCluster", "kubernetes.dask.org/v1"), namespace=namespace))
        return namespace
    except ValueError as error:
        raise PermissionError(f"no way to Kubernetes: {error}; check KUBECONFIG or ~/.kube/config") from error
    except (TransportError, kr8s.APITimeoutError) as error:
        raise ConnectionError(f"Kubernetes cannot be reached: {error}; try kubectl get daskclusters") from error
    except kr8s.ServerError as error:
        status = getattr(error.response, "status_code", None)
        if status in (401, 403):
            raise PermissionError(f"Kubernetes refuses to list its Dask clusters: {error}") from error
        remedy = "; is the Dask operator installed?" if status == 404 else ""
        raise ConnectionError(f"Kubernetes cannot list its Dask clusters: {error}{remedy}") from error
