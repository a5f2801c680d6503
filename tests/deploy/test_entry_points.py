"""The scheduler, the worker and the job of the manifests, as processes with exactly their commands and environments."""

import os
import time

import numpy as np
import pytest
import s3fs
import yaml
from distributed.security import Security

from mdh_dask import load_model
from mdh_dask.io import open_rows, write_rows
from tests.manifests import DEPLOY, HAS_KUBECTL, WITHOUT_KUBECTL, pods, rendered
from tests.pods import Machine
from tests.s3 import s3_server

KUBERNETES = DEPLOY / "kubernetes"

SECRET = "wJalrXUtnFEMIK7MDENGbPxRfiCYzz"

KEY = "AKIAJ7QEXAMPLEZZ"

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(not HAS_KUBECTL, reason=WITHOUT_KUBECTL)]


@pytest.fixture
def start(tmp_path):
    """Make a machine that runs the scheduler and a worker of some manifests, which are stopped in the end."""
    machines = []

    def started(resources, secrets=None):
        maps = [resource for resource in resources if resource["kind"] == "ConfigMap"]
        machine = Machine(tmp_path / "machine", maps, secrets or {}, os.environ["MDH_DASK_CACHE"])
        machines.append(machine)
        specs = {name: template["spec"] for name, template in pods(resources).items()}
        machine.run("scheduler", specs["scheduler"])
        machine.probe(specs["scheduler"], "readinessProbe")
        machine.run("worker", specs["worker"])
        machine.probe(specs["worker"], "livenessProbe")
        return machine, specs["nightly"]

    yield started
    for machine in machines:
        machine.stop()


def finished(machine, process, seconds=600):
    """Return the exit code of a process."""
    until = time.monotonic() + seconds
    while process.poll() is None:
        assert time.monotonic() < until, machine.told()
        time.sleep(0.1)
    return process.returncode


@pytest.mark.slow
def test_the_local_job_ends_and_the_next_one_has_nothing_to_do(start):
    machine, job = start(rendered(KUBERNETES / "overlays/local"))
    work = machine.folder / "work"
    assert finished(machine, machine.run("input", job, of="initContainers")) == 0, machine.told()
    assert finished(machine, machine.run("job", job)) == 0, machine.told()
    assert sorted(os.listdir(work)) == [
        "input.zarr", "labels.zarr", "manifest.json", "metrics.json", "model.zarr", "nightly", "report.html",
    ]  # fmt: skip
    assert load_model(work / "model.zarr").n_clusters_ == 10
    tree = load_model(work / "model.zarr").tree_
    assert np.bincount(open_rows(work / "labels.zarr", ndim=1).compute()).tolist() == tree.n_rows[tree.leaves].tolist()
    assert machine.get("8787", "/status")[0] == 200
    assert finished(machine, machine.run("again", job)) == 0, machine.told()
    assert "nothing to do" in machine.logs[-1].read_text()


@pytest.mark.slow
def test_who_may_read_metrics_can_give_no_orders(start):
    machine, _ = start(rendered(KUBERNETES / "overlays/local"))
    for port in ("8788", "8789"):  # those which the component metrics admits
        assert machine.get(port, "/metrics")[0] == 200
        assert machine.get(port, "/api/v1/retire_workers", b'{"n": 1}')[0] == 404
        assert machine.get(port, "/metrics", b"{}")[0] == 405
        assert machine.get(port, "/status")[0] == 404
    assert b"dask_scheduler_workers" in machine.get("8789", "/metrics")[1]
    assert machine.get("8787", "/metrics")[0] == 404
    assert machine.get("8787", "/api/v1/retire_workers", b'{"n": 0}')[0] == 200  # for the operator


@pytest.fixture
def bucket(monkeypatch):
    """The credentials of a store, as a Secret has them, and its file system."""
    with s3_server() as address:
        secret = {
            "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": address,
        }  # fmt: skip
        for name, value in secret.items():
            monkeypatch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        fs = s3fs.S3FileSystem(skip_instance_cache=True, use_listings_cache=False)
        fs.mkdir("my-bucket")
        yield secret, fs
        s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def encrypted(tmp_path):
    """The manifests for S3 with encrypted connections, and the certificate."""
    folder = tmp_path / "encrypted"
    folder.mkdir()
    parts = {part: os.path.relpath(KUBERNETES / part, folder) for part in ("overlays/s3", "components/tls")}
    kustomization = {"resources": [parts["overlays/s3"]], "components": [parts["components/tls"]]}
    (folder / "kustomization.yaml").write_text(yaml.dump(kustomization))
    made = Security.temporary()
    certificate = {"ca.crt": made.tls_ca_file, "tls.crt": made.tls_scheduler_cert, "tls.key": made.tls_scheduler_key}
    return rendered(folder), certificate


@pytest.mark.slow
@pytest.mark.nightly
def test_a_job_on_s3_with_encrypted_connections_ends_and_tells_no_credentials(start, bucket, encrypted):
    secret, fs = bucket
    resources, certificate = encrypted
    y = np.arange(3000) % 3
    rows = (np.random.default_rng(0).normal(size=(3000, 4)) + 12 * y[:, None]).astype("float32")
    write_rows(rows, "s3://my-bucket/features.zarr", chunk_rows=500)
    machine, job = start(resources, {"object-store": secret, "mdh-dask-tls": certificate})
    assert machine.get("8787", "/status")[0] == 404
    assert machine.get("8787", "/info/main/workers.html")[0] == 404
    assert machine.get("8787", "/api/v1/adaptive_target") == (200, b'{"workers": 0}')  # for the operator
    assert finished(machine, machine.run("job", job)) == 0, machine.told()
    labels = open_rows("s3://my-bucket/labels.zarr", ndim=1).compute()
    np.testing.assert_array_equal(load_model("s3://my-bucket/model.zarr").predict(rows), labels)
    assert len(set(zip(y, labels))) == len(set(labels)) == 3
    assert "tls://" in (machine.folder / "scheduler.log").read_text()
    assert "tcp://" not in machine.told()
    # What was written, but for the volumes that hold the secrets themselves.
    files = [path for path in machine.folder.rglob("*") if path.is_file() and "etc" not in path.parts[-4:]]
    names = {path.name for path in files}
    assert {"scheduler.log", "worker.log", "job.log", "report.html", "metrics.json", "manifest.json"} <= names
    written = {path: path.read_bytes() for path in files} | {path: fs.cat(path) for path in fs.find("my-bucket")}
    for word in (SECRET, KEY, certificate["tls.key"].splitlines()[1]):
        assert [path for path, text in written.items() if word.encode() in text] == []
