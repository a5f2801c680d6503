"""Reading and writing on an object store: a real S3 server, with the environment as its only configuration."""

import hashlib
import json
import socket
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import dask
import numpy as np
import pytest
import s3fs
from helpers import at_night, job_text, run
from test_run import rows_of_blobs

from mdh_dask import RandomProjectionTree, load_model
from mdh_dask.cli import exits
from mdh_dask.io import open_rows, verify_rows, write_rows
from mdh_dask.jobs._run import run_job
from mdh_dask.jobs.job import read_job
from mdh_dask.jobs.staging import StagedUrl
from mdh_dask.jobs.state import Fence, new_attempt
from tests.s3 import s3_in_environment

ROWS = rows_of_blobs(900)


@pytest.fixture(scope="module")
def server():
    with s3_in_environment() as address:
        yield address


@pytest.fixture
def bucket(server):
    """The URL of an empty bucket, and the file system."""
    fs = s3fs.S3FileSystem(skip_instance_cache=True, use_listings_cache=False)
    if fs.exists("bucket"):
        fs.rm("bucket", recursive=True)
    fs.mkdir("bucket")
    return "s3://bucket", fs


# Jobs: their labels and models grow at hidden URLs and are copied when all outputs are complete

JOB = job_text(
    input={"path": "{url}/x.zarr"},
    method={"name": "rp", "n_projections": 20, "sample_size": 100},
    output={
        "labels": "{url}/l.zarr",
        "model": "{url}/m.zarr",
        "report": "{url}/out/r.html",
        "metrics": "{url}/out/metrics.json",
        "manifest": "{url}/manifest.json",
    },
    run={"on_change": "restart"},
)


@pytest.fixture
def job(bucket, tmp_path, monkeypatch):
    """A bucket with an input of four blocks, its file system, and the folder of a job."""
    url, fs = bucket
    write_rows(ROWS, f"{url}/x.zarr", chunk_rows=225)
    (tmp_path / "job.toml").write_text(JOB.format(url=url))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DASK_MDH_DASK__BLOCK_SIZE", "2700")
    with dask.config.set({"mdh-dask.block-size": 2700}):
        yield url, fs


def stored(url, fs):
    """All objects but the input's, and what is in them."""
    fs.invalidate_cache()
    root = url.removeprefix("s3://")
    names = [name for name in fs.find(root) if not name.startswith(f"{root}/x.zarr")]
    return {name.removeprefix(f"{root}/"): fs.cat_file(name) for name in names}


FILES = {"out/r.html", "out/metrics.json", "manifest.json"}
"""Objects that tell how long passes took."""


def results(objects):
    """Labels and model, where nothing is missing and nothing else is left."""
    assert {name.partition("/")[0] for name in objects} == {"l.zarr", "m.zarr", "out", "manifest.json"}
    assert objects.keys() >= FILES
    return {name: content for name, content in objects.items() if name not in FILES}


@pytest.mark.slow
def test_a_job_reads_and_writes_there_and_leaves_nothing_else(job):
    url, fs = job
    run("run", "job.toml", code=0)
    expected = RandomProjectionTree(n_projections=20, sample_size=100).fit(ROWS)
    np.testing.assert_array_equal(open_rows(f"{url}/l.zarr", ndim=1), expected.labels_)
    assert load_model(f"{url}/m.zarr").tree_ == expected.tree_
    assert verify_rows(f"{url}/l.zarr") == []
    objects = stored(url, fs)
    assert not any("written" in name for name in results(objects))
    assert b"<title>Clusters of x.zarr</title>" in objects["out/r.html"]
    manifest = json.loads(objects["manifest.json"])
    assert json.loads(objects["out/metrics.json"])["n_clusters"] == 3
    assert manifest["outputs"]["metrics"] == {
        "path": f"{url}/out/metrics.json",
        "checksum": f"sha256:{hashlib.sha256(objects['out/metrics.json']).hexdigest()}",
    }
    assert "nothing to do" in run("run", "job.toml").stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["l.zarr", "out/r.html"])
def test_what_appears_there_meanwhile_is_not_replaced(job, monkeypatch, name):
    def appear(*args):
        write_rows(np.zeros(3), f"{url}/l.zarr") if name == "l.zarr" else fs.pipe_file(f"{url}/{name}", b"mine")
        return original(*args)

    from mdh_dask.jobs._run import _published as original

    url, fs = job
    with monkeypatch.context() as patch:
        patch.setattr("mdh_dask.jobs._run._published", appear)
        result = run("run", "job.toml")
    assert result.exit_code == exits.CANNOT_CREATE
    assert f"{url}/{name} appeared while it was being written: move it elsewhere" in result.stderr
    fs.rm(f"{url}/{name}", recursive=True)
    assert run("run", "job.toml").exit_code == 0
    assert len(open_rows(f"{url}/l.zarr", ndim=1)) == 900


# Two attempts where no lock reaches, as those of a job that was sent to another host because the first was cut off

RACES = [(moment, True) for moment in ("labels", "_copy", "_commit")] + [("_check", False)]


@pytest.mark.slow
@pytest.mark.parametrize(("moment", "changed"), at_night(RACES))
def test_of_two_attempts_the_one_that_began_last_publishes_and_nothing_is_mixed(moment, changed, job, monkeypatch):
    """The first attempt goes on after the second has finished, at the moment that is worst for it."""

    def race(*args, **kwargs):
        patch.setattr(where, original)
        patch.setattr(StagedUrl, "resume", resume)
        if changed:
            write_rows(ROWS[::-1].copy(), f"{url}/x.zarr", chunk_rows=225, overwrite=True)
        run_job(read_job(Path("job.toml")))
        second.append(stored(url, fs))
        return original(*args, **kwargs)

    url, fs = job
    second = []
    monkeypatch.setattr("mdh_dask.jobs._run._alone", lambda job, _: nullcontext(job.work.mkdir(exist_ok=True)))
    where = (
        "mdh_dask.workflows._fit.write_labels" if moment == "labels" else "mdh_dask.jobs.staging.StagedUrl." + moment
    )
    from mdh_dask.workflows._fit import write_labels

    original = write_labels if moment == "labels" else getattr(StagedUrl, moment)
    resume = StagedUrl.resume
    with monkeypatch.context() as patch:
        patch.setattr(StagedUrl, "resume", lambda _: patch.setattr(where, race))
        with pytest.raises(BlockingIOError, match=r"the job was taken over by attempt|is being published by another"):
            run_job(read_job(Path("job.toml")))
    assert {name: content for name, content in stored(url, fs).items() if "/." not in f"/{name}"} == second[0]
    assert verify_rows(f"{url}/l.zarr") == []
    assert load_model(f"{url}/m.zarr").n_clusters_ == 3
    assert "nothing to do" in run("run", "job.toml").stdout


def staged(url, name, folder):
    """An array on its way, and the fence of a work folder of its own."""
    one = StagedUrl(f"{url}/l.zarr", name * 16)
    write_rows(np.full(900, ord(name)), one.path, chunk_rows=225)
    fence = Fence(Path(folder, name), new_attempt())
    fence.claim()
    return one, fence


@pytest.mark.slow
def test_two_jobs_that_publish_to_one_place_do_not_mix(bucket, tmp_path, monkeypatch):
    url = f"{bucket[0]}/both"  # where no worker of a job that was killed in another test writes
    a, of_a = staged(url, "a", tmp_path)
    claim = {"job": a.job, "attempt": of_a.attempt.id}
    a._claim(False, claim)
    a._clear()
    a._copy(claim, of_a)
    b, of_b = staged(url, "b", tmp_path)
    b.publish(True, of_b)
    with pytest.raises(BlockingIOError, match=r"l.zarr is being published by another run: wait until it has ended"):
        a._commit(claim)
    staged(url, "a", tmp_path)
    monkeypatch.setattr(StagedUrl, "_check", lambda *_: None)  # the moment between the last look and the commit
    with pytest.raises(BlockingIOError, match=r"l.zarr is being published by another run: wait until it has ended"):
        a._commit(claim)
    np.testing.assert_array_equal(open_rows(f"{url}/l.zarr", ndim=1), np.full(900, ord("b")))
    assert verify_rows(f"{url}/l.zarr") == []


@pytest.mark.slow
def test_a_model_is_saved_to_a_repository_at_a_url(bucket):
    pytest.importorskip("icechunk")
    model = RandomProjectionTree(n_projections=20).fit(ROWS)
    model.save(f"icechunk::{bucket[0]}/archive@main/model")
    loaded = load_model(f"icechunk::{bucket[0]}/archive@main/model")
    assert loaded.tree_ == model.tree_
    assert [name for name in bucket[1].ls("bucket", detail=False) if "staged" in name] == []


@pytest.mark.slow
def test_the_server_ends_with_tests_that_are_killed():
    tests = "from tests.s3 import s3_server\nwith s3_server() as address: print(address, flush=True); input()"
    command, root = [sys.executable, "-c", tests], Path(__file__).parents[2]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root) as killed:
        port = int(killed.stdout.readline().rpartition(":")[2])
        killed.kill()
    until, listens = time.monotonic() + 60, True
    while listens:
        assert time.monotonic() < until
        with socket.socket() as probe:
            listens = probe.connect_ex(("127.0.0.1", port)) == 0
        time.sleep(0.1)
