"""The resource from which the Dask operator makes pods for a scheduler and workers.

``deploy/kubernetes/base`` describes the same pods for a permanent cluster; a test compares the two.
"""

from collections.abc import Mapping, Sequence
from typing import Any

LABELS = {"app.kubernetes.io/part-of": "mdh-dask"}
"""Label of all pods, by which network policies select them."""

USER = 10001
"""User and group id of the processes."""

SCRATCH = {"HOME": "/tmp", "DASK_TEMPORARY_DIRECTORY": "/tmp"}
"""The only writable folder of a pod. A worker that restarts in its pod finds the compiled loops there."""

PAGES = {
    "DASK_DISTRIBUTED__SCHEDULER__HTTP__ROUTES": '["distributed.http.scheduler.api"]',
    "DASK_DISTRIBUTED__SCHEDULER__PRELOAD": '["mdh_dask.clusters.metrics_page"]',
    "DASK_MDH_DASK__METRICS_PORT": "8789",
}
"""HTTP routes of the scheduler for the operator, which scales by them; metrics and probes have a port of their own."""

LIMITS = {"CPU_LIMIT": "limits.cpu", "MEMORY_LIMIT": "limits.memory"}
"""Variables that pass the limits of the container to Dask, so that they are set only once."""

SCHEDULER = ["scheduler", "--port", "8786", "--no-dashboard", "--dashboard-address", ":8787"]

WORKER = [
    "worker", "--name", "$(DASK_WORKER_NAME)", "--nthreads", "$(CPU_LIMIT)", "--memory-limit", "$(MEMORY_LIMIT)",
    "--death-timeout", "60", "--no-dashboard", "--dashboard-address", ":8788",
]  # fmt: skip
"""Arguments of ``dask``; the operator sets the name and the scheduler's address."""

SCHEDULER_PORTS = {"tcp-comm": 8786, "http-dashboard": 8787, "metrics": 8789}

WORKER_PORTS = {"metrics": 8788}

SCHEDULER_MEMORY = 2 * 2**30

SCHEDULER_SCRATCH, WORKER_SCRATCH = "1Gi", "20Gi"
"""Space on the node's disk for workers to spill to."""


def cluster_spec(
    name: str,
    image: str,
    workers: int,
    threads: int,
    memory: int,
    service_account: str | None = None,
    secrets: Sequence[str] = (),
) -> dict[str, Any]:
    """Return a ``DaskCluster`` whose workers have so much memory, and secrets as environment."""
    scheduler = _container("scheduler", image, SCHEDULER, SCHEDULER_PORTS, 1, SCHEDULER_MEMORY)
    scheduler["env"] += _variables(PAGES)
    scheduler["readinessProbe"] = _probe(periodSeconds=5, timeoutSeconds=5)
    worker = _container("worker", image, WORKER, WORKER_PORTS, threads, memory)
    worker["env"] += [
        {"name": variable, "valueFrom": {"resourceFieldRef": {"resource": resource}}}
        for variable, resource in LIMITS.items()
    ]
    if secrets:
        worker["envFrom"] = [{"secretRef": {"name": secret}} for secret in secrets]
    return {
        "apiVersion": "kubernetes.dask.org/v1",
        "kind": "DaskCluster",
        "metadata": {"name": name, "labels": dict(LABELS)},
        "spec": {
            "scheduler": {"spec": _pod(scheduler, SCHEDULER_SCRATCH, service_account), "service": _service(name)},
            "worker": {"replicas": workers, "spec": _pod(worker, WORKER_SCRATCH, service_account)},
        },
    }


def _container(
    name: str, image: str, args: Sequence[str], ports: Mapping[str, int], processors: int, memory: int
) -> dict[str, Any]:
    amounts = {"cpu": str(processors), "memory": f"{memory // 2**20}Mi"}
    return {
        "name": name,
        "image": image,
        "command": ["dask"],
        "args": list(args),
        "env": _variables(SCRATCH),
        "ports": [{"name": port, "containerPort": number, "protocol": "TCP"} for port, number in ports.items()],
        "resources": {"requests": dict(amounts), "limits": dict(amounts)},
        "livenessProbe": _probe(initialDelaySeconds=30, periodSeconds=20, timeoutSeconds=10, failureThreshold=6),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
    }


def _variables(values: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"name": variable, "value": value} for variable, value in values.items()]


def _probe(**seconds: int) -> dict[str, Any]:
    return {"httpGet": {"path": "/health", "port": "metrics"}, **seconds}


def _pod(container: dict[str, Any], scratch: str, service_account: str | None) -> dict[str, Any]:
    account = {} if service_account is None else {"serviceAccountName": service_account}
    return {
        **account,
        "automountServiceAccountToken": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": [{"name": "tmp", "emptyDir": {"sizeLimit": scratch}}],
    }


def _service(cluster: str) -> dict[str, Any]:
    return {
        "type": "ClusterIP",
        "selector": {"dask.org/cluster-name": cluster, "dask.org/component": "scheduler"},
        "ports": [
            {"name": port, "protocol": "TCP", "port": number, "targetPort": port}
            for port, number in SCHEDULER_PORTS.items()
        ],
    }
