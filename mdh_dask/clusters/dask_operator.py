"""Clusters of the Dask operator, judged by the pod of the scheduler."""

import asyncio
import getpass
import logging
import os
from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path
from time import monotonic
from typing import Any

logger = logging.getLogger(__name__)

ACTION_SECONDS = 60.0
"""Time for the operator to make the pod of a scheduler; after this it has missed the resource."""

LOOK_SECONDS = 5.0
"""Time without a pod after which the warnings of Kubernetes are shown."""

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Folder in which Kubernetes mounts the credentials and the namespace of a pod."""

SCHEDULER = "dask.org/component=scheduler,dask.org/cluster-name="


def own_namespace(api: Any) -> str:
    """Return the namespace of the context, or of the service account if the credentials are a pod's.

    The client of kr8s takes "default" for the namespace of every service account.
    """
    if api.auth.server_ca_file == str(SERVICE_ACCOUNT / "ca.crt"):
        return (SERVICE_ACCOUNT / "namespace").read_text().strip()
    return str(api.namespace)


def operated(spec: dict[str, Any], namespace: str, seconds: float) -> Any:
    """Return the ``KubeCluster`` of a ``DaskCluster`` once its scheduler is reached; if that fails, remove everything.

    `seconds` is how long to wait for the scheduler's pod, as its image may have to be pulled. Raises a TimeoutError if
    it is not ready by then, or the operator makes no pod; a ValueError if a cluster of that name exists.
    """
    from dask_kubernetes.operator.kubecluster.kubecluster import CreateMode

    _name_user()
    name, made = spec["metadata"]["name"], _judged_by_pods(spec, seconds)
    try:
        return made(custom_cluster_spec=spec, namespace=namespace, create_mode=CreateMode.CREATE_ONLY, quiet=True)
    except BaseException:
        _remove(name, made._instances)
        raise


def _remove(name: str, instances: Iterable[Any]) -> None:
    """Remove the clusters of a constructor that failed or was interrupted; only the class still refers to them."""
    for cluster in list(instances):
        if cluster.name != name or cluster.status.name == "closed":
            continue
        cluster.shutdown_on_close = cluster.is_ours  # otherwise it would delete an existing cluster when Python exits
        try:
            cluster.close()
        except Exception as error:  # the first error is more informative
            logger.warning("the cluster %s may still exist: %s", name, error)


def _name_user() -> None:
    """Give a name to a user without an entry in passwd, as is common in pods."""
    try:
        getpass.getuser()
    except (KeyError, OSError):  # OSError from Python 3.13
        os.environ["USER"] = str(os.getuid())


def _judged_by_pods(spec: dict[str, Any], seconds: float) -> Any:
    """Return a ``KubeCluster`` that does not wait until its resource has the phase "Running".

    Two handlers of the operator set the phase, in any order (dask-kubernetes 2026.3): "Pending" may come last and stay.
    """
    from dask_kubernetes.operator import KubeCluster

    class Judged(KubeCluster):
        is_ours = False

        async def _create_cluster(self) -> None:
            self.is_ours = True
            await super()._create_cluster()

        async def _wait_for_controller(self) -> None:
            pod = await _scheduler_pod(self.name, self.namespace, ACTION_SECONDS)
            if pod is None and not await warnings_of(self.name, self.namespace):
                logger.warning("the Dask operator has made no scheduler for %s: asking it once more", self.name)
                await _make_again(spec, self.namespace)
                pod = await _scheduler_pod(self.name, self.namespace, ACTION_SECONDS)
            if pod is None:
                if said := await warnings_of(self.name, self.namespace):
                    raise TimeoutError(
                        f"Kubernetes has made no pod for the scheduler of the cluster {self.name} in "
                        f"{ACTION_SECONDS:g} s: {said}"
                    )
                raise TimeoutError(
                    f"the Dask operator has made no scheduler for the cluster {self.name} in {ACTION_SECONDS:g} s, "
                    f"twice: does it run, and does it watch the namespace {self.namespace}?"
                )
            await _until_ready(pod, self.name, seconds)

    return Judged


async def _scheduler_pod(name: str, namespace: str, seconds: float) -> Any:
    """Return the pod of a cluster's scheduler, or None if it does not appear in time."""
    from kr8s.asyncio.objects import Pod

    began, told = monotonic(), ""
    while True:
        async for pod in Pod.list(namespace=namespace, label_selector=f"{SCHEDULER}{name}"):
            if "deletionTimestamp" not in pod.metadata:  # the pod of an earlier cluster of the same name
                return pod
        waited = monotonic() - began
        if waited > min(LOOK_SECONDS, seconds / 2) and (said := await warnings_of(name, namespace)) != told:
            logger.warning("the scheduler of the cluster %s has no pod yet: %s", name, said)
            told = said
        if waited > seconds:
            return None
        await asyncio.sleep(0.25 if waited < LOOK_SECONDS else 1)


async def warnings_of(name: str, namespace: str) -> str:
    """Return the latest warnings about what belongs to a cluster, as of a full quota; "" if none can be read."""
    import kr8s
    from kr8s.asyncio.objects import Event

    found: dict[str, str] = {}
    try:
        async for event in Event.list(namespace=namespace, field_selector="type=Warning"):
            about = event.raw.get("involvedObject", {})
            if str(about.get("name", "")).startswith(f"{name}-"):
                found[about["name"]] = f"{event.raw.get('reason')}: {event.raw.get('message')}"
    except (kr8s.ServerError, kr8s.APITimeoutError):  # the account may not list events
        return ""
    return "; ".join(dict.fromkeys(found.values()))


async def _make_again(spec: dict[str, Any], namespace: str) -> None:
    """Make a resource again once all its pods are gone; the operator makes none while old ones terminate."""
    from dask_kubernetes.operator._objects import DaskCluster

    cluster = await DaskCluster.get(spec["metadata"]["name"], namespace=namespace)
    await cluster.delete(propagation_policy="Foreground")
    until = monotonic() + ACTION_SECONDS
    while await cluster.exists() and monotonic() < until:
        await asyncio.sleep(0.25)
    await (await DaskCluster(deepcopy(spec), namespace=namespace)).create()


async def _until_ready(pod: Any, name: str, seconds: float) -> None:
    """Wait until a pod is ready, or fails repeatedly, in which case ``KubeCluster`` shows its log."""
    until = monotonic() + seconds
    while not await pod.ready():
        states = [container.get("state", {}) for container in pod.status.get("containerStatuses", ())]
        reasons = {state["waiting"].get("reason") for state in states if "waiting" in state}
        if "CrashLoopBackOff" in reasons:
            return
        if monotonic() > until:
            why = await warnings_of(name, pod.namespace) or ", ".join(map(str, reasons))
            raise TimeoutError(
                f"the scheduler of the cluster {name} is not ready in {seconds:g} s ({why}): see what it waits for "
                f"with kubectl -n {pod.namespace} describe pod {pod.name}"
            )
        await asyncio.sleep(0.25)
