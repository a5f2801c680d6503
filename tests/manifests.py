"""Manifests of Kubernetes: rendered, checked against schemas, and as the pods that the Dask operator makes of them."""

import json
import subprocess
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from shutil import which

import dask
import jsonschema
import kubernetes_validate
import pytest
import yaml

DEPLOY = Path(__file__).parents[1] / "deploy"

OLDEST, NEWEST = "1.31.0", "1.37.0"
"""Versions of Kubernetes: the oldest has all that the manifests use."""

WITHOUT_KUBECTL = "kubectl is missing: it renders the manifests"

HAS_KUBECTL = which("kubectl") is not None

CRDS = "operator/deployment/helm/dask-kubernetes-operator/crds"


@cache
def operator():
    """Return the operator's module, imported without the files that it writes to the home folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dask.config, "ensure_file", lambda *args, **kwargs: None)
        return import_module("dask_kubernetes.operator.controller.controller")


@cache
def _rendered(folder):
    return subprocess.run(["kubectl", "kustomize", str(folder)], check=True, capture_output=True, text=True).stdout


def rendered(folder):
    """Return the resources of a kustomization."""
    return [resource for resource in yaml.safe_load_all(_rendered(folder)) if resource]


def of_kind(resources, kind, name=None):
    """Return the only resource of a kind."""
    (found,) = [one for one in resources if one["kind"] == kind and name in (None, one["metadata"]["name"])]
    return found


def assert_valid(resource):
    """Assert that a resource has only fields that are known of its kind, and values that these take."""
    _check(json.dumps(resource))


@cache
def _check(text):
    resource = json.loads(text)
    if resource["apiVersion"].startswith("kubernetes.dask.org"):
        jsonschema.validate(resource, _schema(resource["kind"]))
    else:
        for version in (OLDEST, NEWEST):
            kubernetes_validate.validate(resource, version, strict=True)


@cache
def _schema(kind):
    text = files(operator().__package__.partition(".")[0]).joinpath(CRDS, f"{kind.lower()}.yaml").read_text()
    (version,) = yaml.safe_load(text)["spec"]["versions"]
    schema = _closed(version["schema"]["openAPIV3Schema"])
    schema["properties"] |= {"apiVersion": {"type": "string"}, "kind": {"const": kind}, "metadata": {"type": "object"}}
    return schema


def _closed(schema):
    """Return a schema of Kubernetes as one of JSON that refuses fields which it does not name."""
    if isinstance(schema, list):
        return [_closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    out = {}
    for key, value in schema.items():
        if key in ("properties", "patternProperties"):
            out[key] = {name: _closed(one) for name, one in value.items()}
        elif key in ("items", "not", "additionalProperties", "allOf", "anyOf", "oneOf"):
            out[key] = _closed(value)
        elif key not in ("format", "nullable") and not key.startswith("x-kubernetes"):
            out[key] = value
    if schema.get("x-kubernetes-int-or-string"):
        out.pop("type", None)
        out["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    if schema.get("nullable") and "type" in out:
        out["type"] = [out["type"], "null"]
    if "properties" in out and not schema.get("x-kubernetes-preserve-unknown-fields"):
        out.setdefault("additionalProperties", False)
    return out


def operated(cluster):
    """Return what the operator makes of a DaskCluster: the scheduler's and a worker's Deployment, and the Service."""
    controller = operator()
    name, spec = cluster["metadata"]["name"], json.loads(json.dumps(cluster["spec"]))
    namespace = cluster["metadata"].get("namespace", "default")
    labels = cluster["metadata"].get("labels", {})
    scheduler = controller.build_scheduler_deployment_spec(name, spec["scheduler"]["spec"], {}, labels)
    service = controller.build_scheduler_service_spec(name, spec["scheduler"]["service"], {}, labels)
    group = controller.build_default_worker_group_spec(name, spec["worker"], {}, labels)
    worker = controller.build_worker_deployment_spec(
        group["metadata"]["name"], namespace, name, "0123456789", spec["worker"]["spec"], {},
        group["metadata"]["labels"],
    )  # fmt: skip
    return scheduler, worker, service


def pods(resources):
    """Return all pods that come of some resources by the names of these, each with its labels and its specification."""
    found = {}
    for resource in resources:
        kind, spec = resource["kind"], resource.get("spec", {})
        name = resource.get("metadata", {}).get("name", "").removeprefix("mdh-")
        if kind == "CronJob":
            found[name] = spec["jobTemplate"]["spec"]["template"]
        elif kind == "Deployment":
            found[name] = spec["template"]
        elif kind == "DaskCluster":
            scheduler, worker, _ = operated(resource)
            found |= {"scheduler": scheduler["spec"]["template"], "worker": worker["spec"]["template"]}
        elif kind == "DaskJob":
            made = json.loads(json.dumps(resource))
            cluster = {"kind": "DaskCluster", "metadata": made["metadata"], "spec": spec["cluster"]["spec"]}
            found |= {f"once {name}": pod for name, pod in pods([cluster]).items()}
            labels = made["metadata"]["labels"] | made["spec"]["job"]["metadata"]["labels"]
            name = made["metadata"]["name"]
            job = made["spec"]["job"]["spec"]
            found["once"] = operator().build_job_pod_spec(name, name, "mdh-dask", job, {}, labels)
    return found
