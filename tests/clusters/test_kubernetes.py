"""Clusters that a job makes on Kubernetes, with a server that answers as the Dask operator does and runs its pods."""

import os
import pwd
import re
from importlib import import_module
from pathlib import Path

import dask
import dask.array as da
import kr8s
import numpy as np
import pytest
from click.testing import CliRunner
from distributed.security import Security
from kr8s._auth import KubeAuth

from mdh_dask import RandomProjectionTree, load_model
from mdh_dask._fields import JobError
from mdh_dask.cli import exits, mdh
from mdh_dask.clusters import dask_operator
from mdh_dask.clusters.pods import cluster_spec
from mdh_dask.io import open_rows, write_rows
from mdh_dask.jobs.job import read_job
from tests.kubernetes_api import kubernetes_api
from tests.manifests import DEPLOY, HAS_KUBECTL, WITHOUT_KUBECTL, assert_valid, of_kind, operated, rendered
from tests.pods import Machine

pytestmark = pytest.mark.slow

JOB = """
[input]
path = "x.zarr"
[method]
name = "rp"
n_projections = 20
[output]
model = "m.zarr"
[cluster]
kind = "kubernetes"
image = "registry.example.org/mdh-dask:0.1.0"
"""

needs_kubectl = pytest.mark.skipif(not HAS_KUBECTL, reason=WITHOUT_KUBECTL)


@pytest.fixture(scope="module", autouse=True)
def imported():
    """Import it without the files that it writes to the home folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dask.config, "ensure_file", lambda *args, **kwargs: None)
        import_module("dask_kubernetes.operator.controller")


@pytest.fixture
def api(tmp_path, monkeypatch):
    """Kubernetes, with an operator that starts a scheduler and a worker as processes."""
    from dask_kubernetes.operator.kubecluster import kubecluster

    machine = Machine(tmp_path / "machine", secrets={"object-store": {}})

    def start(made):
        scheduler, worker, _ = (one["spec"].get("template", one)["spec"] for one in operated(made))
        machine.run("scheduler", scheduler)
        machine.probe(scheduler, "readinessProbe")
        if state.workers:
            machine.run("worker", worker)

    async def address(service, namespace, port_name="tcp-comm", **kwargs):
        return f"tcp://127.0.0.1:{machine.ports['8786' if port_name == 'tcp-comm' else '8787']}"

    monkeypatch.setattr(kubecluster, "get_scheduler_address", address)
    with kubernetes_api(tmp_path, start) as (state, config):
        monkeypatch.setenv("KUBECONFIG", str(config))
        yield state
        machine.stop()


@pytest.fixture
def here(tmp_path, monkeypatch):
    kr8s.Api._instances.clear()  # they know the server of the test before
    rows = np.random.default_rng(0).normal(size=(900, 3)) + 9 * (np.arange(900) % 3)[:, None]
    write_rows(rows.astype("float32"), tmp_path / "x.zarr", chunk_rows=300)
    (tmp_path / "job.toml").write_text(JOB)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args):
    return CliRunner().invoke(mdh, ["run", *map(str, args), "job.toml"])


# Running


@pytest.mark.cluster
@needs_kubectl
def test_a_job_runs_on_pods_that_are_made_for_it_and_removed(here, api):
    (here / "job.toml").write_text(JOB + 'memory_limit = "600MiB"\nthreads_per_worker = 1\nminimum = 1\nmaximum = 3\n')
    result = run()
    assert result.exit_code == 0, result.output
    assert load_model("m.zarr").tree_ == RandomProjectionTree(n_projections=20).fit(open_rows("x.zarr")).tree_
    made, scaled = api.made
    assert_valid(made)
    assert_valid(scaled)
    assert made["spec"]["idleTimeout"] == 3600
    assert (scaled["kind"], scaled["spec"]["minimum"], scaled["spec"]["maximum"]) == ("DaskAutoscaler", 1, 3)
    assert api.resources["daskclusters"] == {}
    granted = rights(of_kind(rendered(DEPLOY / "kubernetes/base"), "Role"))
    assert api.asked <= granted
    # Asked for now and then: to show how far a cluster is, and when a scheduler does not start.
    assert {resource for _, resource, _ in granted - api.asked} <= {"daskworkergroups", "pods/log", "events"}


def rights(role):
    return {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


@pytest.mark.cluster
def test_a_cluster_without_workers_is_given_up_and_removed(here, api):
    (here / "job.toml").write_text(JOB + 'name = "slow"\ntimeout = 0.5\n')
    api.workers = False
    result = run()
    assert result.exit_code == exits.TRY_AGAIN
    assert "no worker of the cluster slow in 0.5 s: see what its pods wait for with kubectl -n team" in result.stderr
    assert api.resources["daskclusters"] == {}


# The operator, judged by the scheduler's pod


@pytest.fixture
def alone(api, monkeypatch):
    """Kubernetes that starts no processes, and a cluster that ends where one would connect to its scheduler."""
    from dask_kubernetes.operator.kubecluster import kubecluster

    async def reached(address):
        raise ConnectionError("reached")

    monkeypatch.setattr(kubecluster, "wait_for_scheduler_comm", reached)
    monkeypatch.setattr(dask_operator, "ACTION_SECONDS", 0.5)
    api.start = lambda made: None
    return api


def test_what_the_operator_ignores_is_deleted_and_made_again_once(here, alone):
    (here / "job.toml").write_text(JOB + 'name = "again"\n')
    alone.ignored = 1
    result = run()
    assert "WARNING the Dask operator has made no scheduler for again: asking it once more" in result.stderr
    assert result.stderr.endswith("ERROR reached\n")
    first, second = alone.made
    assert first["spec"] == second["spec"]
    assert alone.deleted[0] == ("again", "Foreground")  # the operator makes nothing beside pods that are dying


def test_an_operator_that_does_nothing_is_told_and_nothing_stays(here, alone):
    alone.ignored = 2
    result = run()
    assert result.exit_code == exits.TRY_AGAIN
    assert "in 0.5 s, twice: does it run, and does it watch the namespace team?" in result.stderr
    assert alone.resources["daskclusters"] == {}


def test_a_full_quota_is_told_at_once_and_is_no_missing_operator(here, alone):
    (here / "job.toml").write_text(JOB + 'name = "big"\n')
    alone.full = True
    result = run()
    assert result.exit_code == exits.TRY_AGAIN
    event = "FailedCreate: Error creating: pods is forbidden: exceeded quota: small"
    assert f"WARNING the scheduler of the cluster big has no pod yet: {event}\n" in result.stderr
    assert f"ERROR Kubernetes has made no pod for the scheduler of the cluster big in 0.5 s: {event}\n" in result.stderr
    assert "operator" not in result.stderr
    assert len(alone.made) == 1
    assert alone.resources["daskclusters"] == {}


def test_a_scheduler_that_does_not_become_ready_is_told_with_what_it_waits_for(here, alone):
    (here / "job.toml").write_text(JOB + 'name = "pulled"\ntimeout = 0.5\n')
    alone.pod = {"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff"}}}]}
    result = run()
    assert result.exit_code == exits.TRY_AGAIN
    assert "the scheduler of the cluster pulled is not ready in 0.5 s (ImagePullBackOff): see what" in result.stderr
    assert "kubectl -n team describe pod pulled-scheduler" in result.stderr
    assert alone.resources["daskclusters"] == {}


def test_what_a_failed_start_has_made_is_removed_but_not_what_others_made(here, alone):
    (here / "job.toml").write_text(JOB + 'name = "mine"\n')
    run()
    assert alone.resources["daskclusters"] == {}
    alone.resources["daskclusters"]["mine"] = {"metadata": {"name": "mine"}, "spec": {}}
    result = run()
    assert "Cluster mine already exists" in result.stderr
    assert alone.resources["daskclusters"].keys() == {"mine"}


# In a pod


def test_in_a_pod_clusters_are_made_in_its_own_namespace_by_a_user_without_a_name(here, alone, monkeypatch):
    account = here / "account"
    account.mkdir()
    for name, text in {"token": "t", "ca.crt": Security.temporary().tls_ca_file, "namespace": "of-account\n"}.items():
        (account / name).write_text(text)
    host, port = re.search(r"//([\w.]+):(\d+)", Path(os.environ["KUBECONFIG"]).read_text()).groups()
    monkeypatch.setenv("KUBECONFIG", str(here / "none"))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
    monkeypatch.setattr(dask_operator, "SERVICE_ACCOUNT", account)
    monkeypatch.setattr(
        KubeAuth, "_serviceaccount", property(lambda auth: str(account), lambda *of: None), raising=False
    )
    monkeypatch.setattr(KubeAuth, "_format_server_address", staticmethod(lambda host, port: f"http://{host}:{port}"))
    for variable in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", lambda number: {}[number])
    result = run()
    assert result.stderr.endswith("ERROR reached\n")
    assert alone.namespaces == {"of-account"}


# What is refused, and what is only checked


@pytest.mark.parametrize(("status", "code", "message"), [
    (401, exits.NOT_PERMITTED, "Kubernetes refuses to list its Dask clusters: .*"),
    (403, exits.NOT_PERMITTED, "Kubernetes refuses to list its Dask clusters: .*"),
    (404, exits.TRY_AGAIN, "Kubernetes cannot list its Dask clusters: .*; is the Dask operator installed[?]"),
    (500, exits.TRY_AGAIN, "Kubernetes cannot list its Dask clusters: .*"),
])  # fmt: skip
def test_what_kubernetes_refuses_is_told(here, api, status, code, message):
    api.refusal = status
    result = run()
    assert result.exit_code == code, result.output
    assert re.search(f"ERROR {message}\n$", result.stderr)
    assert api.made == []


def test_a_server_that_is_not_there_may_be_there_later(here, api, monkeypatch):
    config = Path(os.environ["KUBECONFIG"])
    config.write_text(re.sub(r"127.0.0.1:\d+", "127.0.0.1:9", config.read_text()))
    result = run()
    assert result.exit_code == exits.TRY_AGAIN
    assert "Kubernetes cannot be reached: All connection attempts failed; try kubectl get daskclusters" in result.stderr


WRONG = (
    "", "image = 'a/b'", "image = 'host:5000/b'", "image = 'a/b:latest'", "image = 'a:1'\nworkers = 0",
    "image = 'a:1'\nworkers = 1\nmaximum = 2", "image = 'a:1'\nminimum = 2", "image = 'a:1'\nminimum = 3\nmaximum = 2",
    "image = 'a:1'\nmemory_limit = 'auto'", "image = 'a:1'\nnamespace = 'My'", f"image = 'a:1'\nname = '{'n' * 54}'",
    "image = 'a:1'\nsecrets = 'a'",
)  # fmt: skip


def test_the_first_thing_that_is_wrong_is_told(tmp_path, wording):
    said = {}
    for text in WRONG:
        (tmp_path / "job.toml").write_text(JOB.partition("image")[0] + text)
        with pytest.raises(JobError) as caught:
            read_job(tmp_path / "job.toml")
        said[text] = str(caught.value)
    wording(said, tmp_path)


# The resource


def test_a_resource_is_valid_and_so_are_its_pods():
    made = cluster_spec("mdh", "a:1", 3, 2, 4 * 2**30, "account", ["object-store"])
    assert_valid(made)
    for resource in operated(made):
        assert_valid(resource)
    (worker,) = made["spec"]["worker"]["spec"]["containers"]
    assert worker["envFrom"] == [{"secretRef": {"name": "object-store"}}]
    assert worker["resources"]["limits"] == {"cpu": "2", "memory": "4096Mi"}
    assert made["spec"]["scheduler"]["spec"]["serviceAccountName"] == "account"


@needs_kubectl
def test_the_cluster_of_the_manifests_is_the_same():
    base = of_kind(rendered(DEPLOY / "kubernetes/base"), "DaskCluster")
    assert base["spec"] == cluster_spec("mdh", "mdh-dask:0.1.0", 1, 2, 4 * 2**30, "mdh-dask")["spec"]


@pytest.mark.cluster
@pytest.mark.nightly
def test_the_python_of_the_page_runs_on_pods_that_scale_from_one(here, api, monkeypatch):
    (text,) = re.findall(r"```python\n(.*?)```", (DEPLOY / "kubernetes/README.md").read_text(), re.DOTALL)
    rows = da.from_zarr("x.zarr")
    monkeypatch.setattr(da, "from_zarr", lambda url: rows)
    found = {}
    exec(text, found)
    assert found["labels"].shape == (900,)
    made, scaled = api.made
    assert (made["spec"]["worker"]["replicas"], scaled["spec"]["minimum"], scaled["spec"]["maximum"]) == (1, 1, 20)
    assert api.namespaces == {"mdh-dask"}
    assert api.resources["daskclusters"] == {}
