"""Manifests of Kubernetes: valid, and so that nothing runs as root, without limits, in the open or with credentials."""

import re
import tomllib
from ipaddress import ip_address, ip_network
from shutil import copytree

import pytest
import yaml
from helpers import at_night

from mdh_dask.cli import exits, mdh
from mdh_dask.jobs.job import read_job
from tests.manifests import DEPLOY, HAS_KUBECTL, WITHOUT_KUBECTL, assert_valid, of_kind, operated, pods, rendered
from tests.pods import amount

KUBERNETES = DEPLOY / "kubernetes"

FOLDERS = (
    "overlays/local",
    "overlays/s3",
    "once",
    "overlays/gcs",
    "overlays/azure",
    "overlays/spot",
    "overlays/scenes",
)
"""All that is deployed: the first three by day, as the others patch the same base, and those at night."""

pytestmark = pytest.mark.skipif(not HAS_KUBECTL, reason=WITHOUT_KUBECTL)


@pytest.fixture(scope="module", params=at_night(FOLDERS, 3))
def folder(request):
    return request.param


@pytest.fixture(scope="module")
def resources(folder):
    return rendered(KUBERNETES / folder)


@pytest.fixture(scope="module")
def templates(resources):
    return pods(resources)


@pytest.fixture(scope="module")
def containers(templates):
    """All containers by what they do, each with the specification of its pod."""
    return {
        f"{name} {container['name']}": (container, template["spec"])
        for name, template in templates.items()
        for container in template["spec"]["containers"] + template["spec"].get("initContainers", [])
    }


def assert_all_valid(resources):
    """Assert that resources are valid, and what the operator makes of clusters among them."""
    for resource in resources:
        for one in (resource, *(operated(resource) if resource["kind"] == "DaskCluster" else ())):
            assert_valid(one)


@pytest.mark.slow
def test_every_resource_is_valid_and_so_are_those_that_the_operator_makes(resources):
    assert_all_valid(resources)


@pytest.mark.slow
def test_everything_has_the_namespace_also_what_encryption_adds(folder, resources, tmp_path):
    if folder.startswith("overlays"):
        copytree(KUBERNETES, tmp_path / "kubernetes")
        path = tmp_path / "kubernetes" / folder / "kustomization.yaml"
        overlay = yaml.safe_load(path.read_text())
        overlay.setdefault("components", []).append("../../components/tls")
        path.write_text(yaml.dump(overlay))
        resources = [*resources, *rendered(path.parent)]
        assert of_kind(resources, "ConfigMap", "mdh-dask-tls")
    for resource in resources:
        assert resource["metadata"].get("namespace") == "mdh-dask", resource["metadata"]["name"]
        assert all(subject["namespace"] == "mdh-dask" for subject in resource.get("subjects", ()))


@pytest.mark.slow
def test_pods_may_do_nothing_that_they_need_not(templates, containers):
    for template in templates.values():
        spec = template["spec"]
        context = spec["securityContext"]
        assert (context["runAsNonRoot"], context["runAsUser"], context["runAsGroup"]) == (True, 10001, 10001)
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}
        assert spec["automountServiceAccountToken"] is False
        assert spec["serviceAccountName"] == "mdh-dask"
        assert not spec.keys() & {"hostNetwork", "hostPID", "hostIPC"}
        assert not any("hostPath" in volume for volume in spec["volumes"])
    for container, _ in containers.values():
        context = container["securityContext"]
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert "privileged" not in context
        assert not any("hostPort" in port for port in container.get("ports", ()))


@pytest.mark.slow
def test_containers_write_to_volumes_only(containers):
    for container, spec in containers.values():
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        writable = {mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")}
        assert writable <= {"/tmp", "/data"}
        env = {variable["name"]: variable.get("value") for variable in container["env"]}
        assert env["HOME"] == "/tmp"
        assert env.get("DASK_TEMPORARY_DIRECTORY", "/tmp") == "/tmp"
        (tmp,) = [volume for volume in spec["volumes"] if volume["name"] == "tmp"]
        assert tmp["emptyDir"]["sizeLimit"]


def test_the_memory_and_the_threads_of_a_worker_are_those_of_its_container(containers):
    workers = [container for name, (container, _) in containers.items() if name.endswith("worker worker")]
    assert workers
    for worker in workers:
        of = dict(zip(worker["args"], worker["args"][1:]))
        assert (of["--memory-limit"], of["--nthreads"]) == ("$(MEMORY_LIMIT)", "$(CPU_LIMIT)")
        env = {variable["name"]: variable for variable in worker["env"]}
        for name, resource in (("MEMORY_LIMIT", "limits.memory"), ("CPU_LIMIT", "limits.cpu")):
            assert env[name] == {"name": name, "valueFrom": {"resourceFieldRef": {"resource": resource}}}
        # The nanny ends a worker at 95 % of its memory; the rest must hold the nanny itself, or Kubernetes ends both.
        assert 0.05 * amount(worker["resources"]["limits"]["memory"]) >= 100e6


def test_commands_are_those_that_there_are(containers):
    commands = {
        name.split()[-1]: (container["command"], container["args"][0]) for name, (container, _) in containers.items()
    }
    assert commands["scheduler"] == (["dask"], "scheduler")
    assert commands["worker"] == (["dask"], "worker")
    assert commands["job"] == (["mdh-dask"], "run")
    for path in KUBERNETES.rglob("*"):
        assert path.is_dir() or not re.search(r"(?<!mdh-)dask-(worker|scheduler|ssh)\b", path.read_text()), path


def test_the_nightly_job_runs_once_at_a_time_and_ends(resources):
    spec = of_kind(resources, "CronJob")["spec"]
    assert spec["concurrencyPolicy"] == "Forbid"
    assert spec["startingDeadlineSeconds"] > 0
    assert spec["successfulJobsHistoryLimit"] > 0
    assert spec["failedJobsHistoryLimit"] > 0
    job = spec["jobTemplate"]["spec"]
    assert 0 < job["activeDeadlineSeconds"] < 24 * 3600
    assert job["backoffLimit"] > 0
    disrupted, failed = job["podFailurePolicy"]["rules"]
    assert disrupted["action"] == "Ignore"
    told = {getattr(exits, name) for name in vars(exits) if name.isupper() and type(getattr(exits, name)) is int}
    may_succeed = {
        exits.FAILED, exits.DRIFT, exits.NOT_READ_OR_WRITTEN, exits.TRY_AGAIN, exits.HUNG_UP, exits.INTERRUPTED,
        exits.TERMINATED,
    }  # fmt: skip
    assert failed["action"] == "FailJob"
    assert set(failed["onExitCodes"]["values"]) == told - may_succeed


def test_the_job_file_is_right_and_what_it_writes_is_kept(resources, templates, tmp_path):
    spec = templates["nightly"]["spec"]
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    text = of_kind(resources, "ConfigMap", volumes["job"]["configMap"]["name"])["data"]["job.toml"]
    (tmp_path / "job.toml").write_text(text)
    job = read_job(tmp_path / "job.toml")
    assert job.run["on_change"] == "restart" or job.input["kind"] == "scenes"
    assert "cluster" not in tomllib.loads(text)  # the command names the scheduler
    kept = persistent(spec)
    assert str(job.work).startswith(kept)
    for key, place in job.content["output"].items():
        # Labels and models are written by workers too.
        also = persistent(templates["worker"]["spec"]) if key in ("labels", "model") else kept
        assert place.startswith(("s3://", "gs://", "az://")) or place.startswith(tuple({*kept} & {*also})), key


def persistent(spec):
    claims = {volume["name"] for volume in spec["volumes"] if "persistentVolumeClaim" in volume}
    return tuple(mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"] if mount["name"] in claims)


def test_no_manifest_holds_credentials(folder, resources, containers):
    assert "Secret" not in {resource["kind"] for resource in resources}
    for container, _ in containers.values():
        for variable in container["env"]:
            assert "value" not in variable or not re.search("KEY|SECRET|TOKEN|PASSWORD", variable["name"])
    secrets = {
        source["secretRef"]["name"]
        for container, _ in containers.values()
        for source in container.get("envFrom", ())
        if "secretRef" in source
    }
    volumes = [volume for _, pod in containers.values() for volume in pod["volumes"]]
    secrets |= {volume["secret"]["secretName"] for volume in volumes if "secret" in volume}
    assert secrets == (set() if folder == "overlays/local" else {"object-store"})


def test_only_workers_and_jobs_get_the_credentials(containers):
    for name, (container, pod) in containers.items():
        if name.endswith("scheduler"):
            assert "envFrom" not in container
            assert not any("secret" in volume for volume in pod["volumes"])


# Who reaches whom

OPERATOR = {"app.kubernetes.io/name": "dask-kubernetes-operator"}


def selects(selector, labels):
    wanted = selector.get("matchLabels", {}).items() <= labels.items()
    return wanted and all(
        (labels.get(rule["key"]) in rule["values"]) == {"In": True, "NotIn": False}[rule["operator"]]
        for rule in selector.get("matchExpressions", ())
    )


def peers(resources, labels, port, kind, side):
    """Return the peers of rules for a port of pods with some labels; None if no policy of this kind is for them."""
    policies = [one["spec"] for one in resources if one["kind"] == "NetworkPolicy"]
    own = [one for one in policies if kind in one["policyTypes"] and selects(one["podSelector"], labels)]
    rules = [rule for policy in own for rule in policy.get(kind.lower(), ())]
    of_port = [rule for rule in rules if any(port == one["port"] for one in rule.get("ports", [{"port": port}]))]
    return [peer for rule in of_port for peer in rule[side]] if own else None


def is_pod(peer, labels, namespace):
    """Tell whether a peer of a rule is a pod with some labels, maybe of another namespace."""
    there = selects(peer["namespaceSelector"], namespace or {}) if "namespaceSelector" in peer else not namespace
    return "podSelector" in peer and there and selects(peer["podSelector"], labels)


def reaches(resources, origin, target, port, namespace=None):
    """Tell whether network policies let a pod with some labels, maybe of another namespace, reach a port of another."""
    found = peers(resources, target, port, "Ingress", "from")
    return found is None or any(is_pod(peer, origin, namespace) for peer in found)


def test_pods_are_reached_only_by_those_that_need_them(resources, templates):
    labels = {name: template["metadata"]["labels"] for name, template in templates.items()}
    jobs, schedulers, workers = (
        [name for name in labels if name.endswith(end)] for end in (("nightly", "once"), "scheduler", "worker")
    )
    stranger, elsewhere = {"app": "other"}, {"kubernetes.io/metadata.name": "dask-operator"}
    for scheduler in schedulers:
        for name in jobs + workers:
            assert reaches(resources, labels[name], labels[scheduler], 8786)
            assert not reaches(resources, labels[name], labels[scheduler], 8787)
        assert reaches(resources, OPERATOR, labels[scheduler], 8787, elsewhere)
        assert not reaches(resources, OPERATOR, labels[scheduler], 8786, elsewhere)
        assert not reaches(resources, labels[scheduler], labels[scheduler], 8787, elsewhere)
        assert not reaches(resources, OPERATOR, labels[scheduler], 8789, elsewhere)
    for worker in workers:
        for name in schedulers + workers:
            assert reaches(resources, labels[name], labels[worker], 40000)
        for name in jobs:
            assert not reaches(resources, labels[name], labels[worker], 40000)
    for name in labels:
        for port in (8786, 8787, 8788, 8789, 40000):
            assert not reaches(resources, stranger, labels[name], port)


def test_nothing_is_open_to_the_outside(resources):
    assert not {resource["kind"] for resource in resources} & {"Ingress", "Service", "Gateway", "HTTPRoute"}
    for resource in resources:
        if resource["kind"] == "DaskCluster":
            assert resource["spec"]["scheduler"]["service"]["type"] == "ClusterIP"


def test_the_dashboard_is_off_unless_one_asks_for_it(folder, containers):
    for name, (container, _) in containers.items():
        if name.endswith(("scheduler", "worker")):
            on = folder == "overlays/local" and name.endswith("scheduler")
            assert ("--no-dashboard" not in container["args"]) == on
            assert ("--dashboard" in container["args"]) == on


# Rights, disruptions, places


def test_only_notebooks_have_rights_and_few(resources):
    (binding,) = [resource for resource in resources if "RoleBinding" in resource["kind"]]
    (role,) = [resource for resource in resources if resource["kind"] in ("Role", "ClusterRole")]
    assert role["kind"] == "Role"
    assert [(one["kind"], one["name"]) for one in binding["subjects"]] == [("ServiceAccount", "mdh-dask-notebook")]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    for rule in role["rules"]:
        assert "*" not in rule["apiGroups"] + rule["resources"] + rule["verbs"]
        assert set(rule["apiGroups"]) <= {"", "kubernetes.dask.org"}
        assert not set(rule["resources"]) & {"secrets", "pods/exec", "deployments"}
        assert rule["apiGroups"] != [""] or set(rule["verbs"]) <= {"get", "list"}


# Components


PROMETHEUS = {"app.kubernetes.io/name": "prometheus"}


@pytest.fixture(scope="module")
def with_components(tmp_path_factory):
    """The resources of the overlay s3 with all components."""
    copy = tmp_path_factory.mktemp("components") / "kubernetes"
    copytree(KUBERNETES, copy)
    path = copy / "overlays/s3/kustomization.yaml"
    names = sorted(folder.name for folder in (copy / "components").iterdir())
    path.write_text(
        yaml.dump(yaml.safe_load(path.read_text()) | {"components": [f"../../components/{n}" for n in names]})
    )
    return rendered(path.parent)


@pytest.mark.slow
def test_components_go_together_and_are_valid(with_components):
    assert_all_valid(
        one for one in with_components if not one["apiVersion"].startswith("monitoring.coreos.com")
    )  # whose schemas are not at hand
    for resource in with_components:
        if resource["kind"] != "PriorityClass":
            assert resource["metadata"]["namespace"] == "mdh-dask"


def test_prometheus_reads_metrics_of_schedulers_and_workers_and_nothing_else(with_components):
    labels = {name: template["metadata"]["labels"] for name, template in pods(with_components).items()}
    monitoring = {"kubernetes.io/metadata.name": "monitoring"}
    for name, own in labels.items():
        port = {"scheduler": 8789, "worker": 8788, "metrics": 9091}.get(name)
        for other in (8786, 8787, 8788, 8789, 9091, 40000):
            reached = reaches(with_components, PROMETHEUS, own, other, monitoring)
            assert not reached or port is not None
            assert reached or other != port
            assert not reached or other in (8788, 8789, 9091)
            assert not reaches(with_components, {"app": "other"}, own, other, monitoring)
    for name, n_pods in (("mdh-dask", 2), ("mdh-gateway", 1)):
        monitor = of_kind(with_components, "PodMonitor", name)["spec"]
        (endpoint,) = monitor["podMetricsEndpoints"]
        read = [
            template["spec"]["containers"][0]
            for template in pods(with_components).values()
            if selects(monitor["selector"], template["metadata"]["labels"])
        ]
        assert len(read) == n_pods
        assert all(endpoint["port"] in [port["name"] for port in container["ports"]] for container in read)


def test_jobs_push_their_metrics_to_the_gateway_and_nobody_else_does(with_components):
    labels = {name: template["metadata"]["labels"] for name, template in pods(with_components).items()}
    service = of_kind(with_components, "Service", "mdh-metrics")["spec"]
    assert selects({"matchLabels": service["selector"]}, labels["metrics"])
    assert not any(selects({"matchLabels": service["selector"]}, labels[n]) for n in labels if n != "metrics")
    for name, own in labels.items():
        assert reaches(with_components, own, labels["metrics"], 9091) == (name in ("nightly", "drift"))
        assert leaves(with_components, own, 9091, labels["metrics"])
    jobs = {name: pods(with_components)[name]["spec"]["containers"][0] for name in ("nightly", "drift")}
    env = {one["name"]: one.get("value") for one in jobs["nightly"]["env"]}
    pushed = {env["MDH_DASK_OPENMETRICS"], jobs["drift"]["args"][jobs["drift"]["args"].index("--openmetrics") + 1]}
    assert pushed == {f"http://mdh-metrics:9091/metrics/job/mdh-{name}" for name in jobs}
    assert {port["port"] for port in service["ports"]} == {9091}


def test_drift_runs_before_the_night_as_its_job_does(with_components):
    drift, nightly = (of_kind(with_components, "CronJob", f"mdh-{name}")["spec"] for name in ("drift", "nightly"))
    assert [spec["schedule"] for spec in (drift, nightly)] == ["30 0 * * *", "0 1 * * *"]
    own, job = (spec["jobTemplate"]["spec"]["template"]["spec"] for spec in (drift, nightly))
    (ours,), (theirs,) = own["containers"], job["containers"]
    theirs["env"] = [one for one in theirs["env"] if one["name"] != "MDH_DASK_OPENMETRICS"]
    differing = {key for key in own if own[key] != job[key]}, {key for key in ours if ours[key] != theirs[key]}
    assert differing == ({"containers"}, {"args", "envFrom"})
    names = [one["configMapRef"]["name"] for one in ours["envFrom"] if one not in theirs["envFrom"]]
    literals = of_kind(with_components, "ConfigMap", names[0])["data"]
    words = [re.sub(r"\$\((\w+)\)", lambda found: literals.get(found[1], "tcp://a:1"), word) for word in ours["args"]]
    with mdh.make_context("mdh", list(words), resilient_parsing=False) as context:
        command = mdh.get_command(context, words[0])
        parameters = command.make_context("drift", words[1:], parent=context).params
    assert parameters["model"] == literals["MODEL"]
    told = {getattr(exits, name) for name in vars(exits) if name.isupper() and type(getattr(exits, name)) is int}
    final = set(drift["jobTemplate"]["spec"]["podFailurePolicy"]["rules"][1]["onExitCodes"]["values"])
    assert final == told & {
        exits.DRIFT,
        *nightly["jobTemplate"]["spec"]["podFailurePolicy"]["rules"][1]["onExitCodes"]["values"],
    }


def leaves(resources, origin, port, labels=None, namespace=None, address=None):
    """Tell whether policies let a pod with some labels reach a port of another one, or of an address outside."""
    found = peers(resources, origin, port, "Egress", "to") or ()
    if address is not None:
        return any(inside(peer["ipBlock"], ip_address(address)) for peer in found if "ipBlock" in peer)
    return any(is_pod(peer, labels, namespace) for peer in found)


def inside(block, address):
    out = block.get("except", ())
    return address in ip_network(block["cidr"]) and not any(address in ip_network(part) for part in out)


def test_pods_leave_for_each_other_names_and_https_outside_only(with_components):
    system = {"kubernetes.io/metadata.name": "kube-system"}
    found = {name: template["metadata"]["labels"] for name, template in pods(with_components).items()}
    for name, own in found.items():
        assert all(leaves(with_components, own, port, found["scheduler"]) for port in (8786, 40000))
        assert leaves(with_components, own, 53, {"k8s-app": "kube-dns"}, system)
        assert not leaves(with_components, own, 443, {"k8s-app": "kube-dns"}, system)
        assert not leaves(with_components, own, 443, {"app": "other"})
        for address in ("8.8.8.8", "2001:4860::1"):
            assert leaves(with_components, own, 443, address=address) == (name not in ("scheduler", "metrics"))
            assert not leaves(with_components, own, 80, address=address)
        for address in ("10.1.2.3", "172.20.0.1", "192.168.1.1", "169.254.169.254", "fd00:ec2::254"):
            assert not leaves(with_components, own, 443, address=address)


def test_the_reader_may_do_no_more_than_the_job_and_cannot_change_what_it_shows():
    reader, nightly = (
        of_kind(rendered(KUBERNETES / "reader"), "Pod"),
        pods(rendered(KUBERNETES / "overlays/s3"))["nightly"],
    )
    assert_valid(reader)
    assert reader["metadata"]["namespace"] == "mdh-dask"
    shared = ("securityContext", "serviceAccountName", "automountServiceAccountToken", "restartPolicy")
    assert [reader["spec"][key] for key in shared] == [nightly["spec"][key] for key in shared]
    (own,), (job,) = reader["spec"]["containers"], nightly["spec"]["containers"]
    assert (own["securityContext"], own["image"]) == (job["securityContext"], job["image"])
    claims = [volume for volume in nightly["spec"]["volumes"] if "persistentVolumeClaim" in volume]
    assert claims == [volume for volume in reader["spec"]["volumes"] if "persistentVolumeClaim" in volume]
    (mount,) = [mount for mount in own["volumeMounts"] if mount["name"] == claims[0]["name"]]
    assert mount["readOnly"] is True
    assert own["args"][own["args"].index("--directory") + 1] == mount["mountPath"]
    assert own["args"][own["args"].index("--bind") + 1] == "127.0.0.1"
    assert 0 < reader["spec"]["activeDeadlineSeconds"] <= 3600
