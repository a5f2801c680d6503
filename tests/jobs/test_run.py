"""Jobs: what they write, that they can be killed at any moment, and that two runs do not mix."""

import json
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import zarr
from distributed.scheduler import KilledWorker
from disturbed import COMMAND, contents, emptied, undisturbed_outputs
from helpers import at_night, job_text, rows_of_blobs
from helpers import run as command

from mdh_dask import RandomProjectionTree, load_model
from mdh_dask.cli import exits
from mdh_dask.io import open_rows, verify_rows, write_rows
from mdh_dask.io.staging import locked
from mdh_dask.jobs._run import run_job
from mdh_dask.jobs.job import read_job
from mdh_dask.jobs.state import Fence

JOB = job_text(
    input={"path": "x.zarr"},
    method={"name": "rp", "n_projections": 20, "sample_size": 300},
    output={
        "labels": "out/l.zarr",
        "model": "out/m.zarr",
        "report": "out/r.html",
        "metrics": "out/metrics.json",
        "manifest": "out/manifest.json",
    },
)

NIGHTLY = JOB + "[run]\non_change = 'restart'\n"

OUTPUTS = ["l.zarr", "m.zarr", "manifest.json", "metrics.json", "r.html"]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Twelve blocks of rows, so that there is something to be interrupted in."""
    monkeypatch.setattr("mdh_dask.chunks.mapping.LEAST_BLOCK_BYTES", 6000)


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("input")
    write_rows(rows_of_blobs(), folder / "x.zarr", chunk_rows=500)
    return folder


@pytest.fixture
def here(store, monkeypatch):
    """A folder with an input and a job file, always the same as outputs name it."""
    folder = emptied(store / "here")
    shutil.copytree(store / "x.zarr", folder / "x.zarr", copy_function=shutil.copy2)
    (folder / "job.toml").write_text(JOB)
    monkeypatch.chdir(folder)
    return folder


run = partial(command, "run")


@pytest.fixture
def undisturbed(here):
    """What the job writes if nothing happens."""
    return undisturbed_outputs("rows", here, run)


# What a job writes


def test_a_job_writes_what_fit_writes(here):
    result = run("job.toml", code=0)
    assert re.fullmatch(r"3 clusters of 6,000 rows in [\d.]+ s: \S*l.zarr, .*manifest.json\n", result.stdout)
    assert sorted(os.listdir("out")) == OUTPUTS
    expected = RandomProjectionTree(n_projections=20, sample_size=300).fit(open_rows("x.zarr"))
    np.testing.assert_array_equal(open_rows("out/l.zarr", ndim=1), expected.labels_)
    assert load_model("out/m.zarr").tree_ == expected.tree_
    assert verify_rows("out/l.zarr") == []
    assert sorted(os.listdir("job.work")) == ["attempt.json", "job.json", "lock", "manifest.json"]


def test_metrics_count_rows_bytes_passes_and_clusters(here):
    run("job.toml")
    metrics = json.loads(Path("out/metrics.json").read_text())
    assert {key: metrics[key] for key in ("n_rows", "n_columns", "n_clusters", "passes", "bytes_read")} == {
        "n_rows": 6000, "n_columns": 3, "n_clusters": 3, "passes": 3, "bytes_read": 3 * 6000 * 12,
    }  # fmt: skip
    assert metrics["cluster_sizes"] == np.bincount(open_rows("out/l.zarr", ndim=1).compute()).tolist()
    assert [made["statistic"] for made in metrics["each_pass"]] == [
        "FirstPass", "BranchPass", "WriteBlocks+Together",
    ]  # fmt: skip
    assert metrics["seconds"] == sum(made["seconds"] for made in metrics["each_pass"])


@pytest.mark.slow
@pytest.mark.parametrize("rows", [rows_of_blobs()[:600], np.random.default_rng(0).normal(size=(600, 3))])
@pytest.mark.parametrize("method", ["density", "kernel-kmeans"])
def test_what_a_method_counts_in_memory_is_no_pass_of_the_metrics(method, rows, here):
    np.save("x.npy", rows)
    Path("job.toml").write_text(
        job_text(input={"path": "x.npy"}, method={"name": method}, output={"labels": "l.zarr", "metrics": "m.json"})
    )
    run("job.toml", code=0)
    metrics = json.loads(Path("m.json").read_text())
    assert len(metrics["each_pass"]) == metrics["passes"]


def test_the_manifest_tells_what_was_made_of_what(here):
    import hashlib

    run("job.toml")
    manifest = json.loads(Path("out/manifest.json").read_text())
    assert manifest["job"]["sha256"] == hashlib.sha256(JOB.encode()).hexdigest()
    assert manifest["job"]["input"]["path"] == str(here / "x.zarr")
    assert (manifest["input"]["shape"], manifest["input"]["dtype"]) == ([6000, 3], "<f4")
    assert manifest["input"]["chunks"][1] == 3
    assert manifest["parameters"]["n_projections"] == 20
    assert manifest["versions"]["numpy"] == np.__version__
    assert len(manifest["attempts"]) == 1
    outputs = manifest["outputs"]
    assert sorted(outputs) == ["labels", "metrics", "model", "report"]
    record = zarr.open_array("out/l.zarr", mode="r").attrs["mdh_dask"]["record"]
    assert outputs["labels"] == {"path": str(here / "out/l.zarr"), "checksum": f"crc32:{record:08x}"}
    of_report = hashlib.sha256(Path("out/r.html").read_bytes()).hexdigest()
    assert outputs["report"]["checksum"] == f"sha256:{of_report}"


def test_check_tells_what_a_job_needs_and_computes_nothing(here, monkeypatch):
    monkeypatch.setattr("mdh_dask.chunks.reduction._reduced", lambda *_: pytest.fail("something was computed"))
    result = run("--check", "job.toml", code=0)
    lines = dict(line.split(":", 1) for line in result.stdout.splitlines())
    assert lines["job"].strip() == f"{here}/job.toml, not begun"
    assert "6,000 rows of 3 float32 columns, 0.1 MB in 12 blocks" in lines["input"]
    assert lines["method"].strip() == "RandomProjectionTree(n_projections=20, sample_size=300)"
    assert lines["passes"].strip() == "about 3 to 5, the one that writes the labels included"
    assert lines["tasks"].strip() == "15 in every pass"
    assert re.search(r"400 MB \+ threads x .* MB \(5 x 0.006 MB of a block \+ 2 x .* of results\)", lines["memory"])
    assert not (here / "job.work").exists()


def test_the_check_refuses_kinds_of_columns_that_are_not_there(here):
    Path("t.csv").write_text("a,t\n" + "1,x\n2,y\n" * 100)
    method = {"name": "rp", "feature_map": "gower"}
    for path, column, said in (("t.csv", "nope", "'a', 't'; got 'nope'"), ("x.zarr", 9, "from 0 to 2; got 9")):
        given = {"path": path, "columns.categorical": [column]}
        Path("job.toml").write_text(job_text(input=given, method=method, output={"model": "m.zarr"}))
        for options in ([], ["--check"]):
            assert said in run("job.toml", *options, code=exits.BAD_DATA).stderr
        assert not Path("job.work/job.json").exists()


@pytest.mark.parametrize("key", ["labels", "previous"])
def test_what_belongs_to_the_rows_may_come_after_a_run_without_it(key, here):
    given = {"path": "x.zarr", key: "later.zarr"}
    Path("job.toml").write_text(job_text(input=given, method={"name": "rp"}, output={"model": "m.zarr"}))
    for options in ([], ["--check"]):
        assert f"later.zarr is not there: check the path input.{key}" in run("job.toml", *options, code=66).stderr
    shutil.copytree("x.zarr", "later.zarr")  # the check does not open it
    run("--check", "job.toml", code=0)


@pytest.mark.parametrize(("work", "why"), [("x.npy", "is not a folder"), ("none/w", "does not exist: make it first")])
def test_the_check_refuses_a_folder_of_work_that_cannot_be_made(work, why, here):
    Path("x.npy").touch()
    Path("job.toml").write_text(job_text(input={"path": "x.zarr"}, output={"model": "m.zarr"}, run={"work": work}))
    for options in ([], ["--check"]):
        assert why in run("job.toml", *options, code=73).stderr


def test_check_tells_what_thousands_of_clusters_need_where_they_are_looked_for(here):
    wide = zarr.create_array("wide.zarr", shape=(300_000, 64), dtype="float32", chunks=(50_000, 64))
    wide[0] = 1.0  # one chunk is stored
    for method, said in (("rp", True), ("pddp", False)):
        Path("job.toml").write_text(
            job_text(
                input={"path": "wide.zarr", "missing_chunks": "fill"},
                method={"name": method},
                output={"labels": "l.zarr"},
            )
        )
        # A sample of all rows has 77 MB.
        more = "up to 133.1 MB more for every thread, and 2,458 MB more in the process of the command"
        assert (more in run("--check", "job.toml", code=0).stdout) == said


@pytest.mark.parametrize(
    "cluster",
    [
        'kind = "local"\nworkers = 1\nthreads_per_worker = 2\nmemory_limit = "200MB"',
        'kind = "slurm"\ncores = 4\nprocesses = 2\nmemory = "400MB"\ninterface = "lo"',
    ],
)
def test_workers_with_less_memory_than_they_need_are_refused_by_the_check(cluster, here):
    (here / "job.toml").write_text(JOB.replace('kind = "threads"', cluster))
    result = run("--check", "job.toml", code=exits.BAD_JOB)
    said = (
        r"\[cluster\]: each worker of 2 threads has 200 MB of memory and needs about 4\d\d.* MB = 400 MB \+ threads x "
    )
    assert re.search(said, result.stderr)
    (here / "job.toml").write_text(JOB.replace('kind = "threads"', cluster.replace("00MB", "000MB")))
    assert run("--check", "job.toml").exit_code == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "passes"),
    [
        ("sample_size = 10000", "1"),
        ("name = 'divisive'\nprojection = 'pca'\nsample_size = 300\nrefine = true", "about 2 to 9"),
        ("sample_size = 'none'", "2 or more, about one for every level of the tree"),
        ("name = 'divisive'\nprojection = 'pca'\nsample_size = 'none'\nmax_levels = 3", "about 2 to 5"),
        ("feature_map = 'rbf'\ncache = 'none'", "2"),
        ("feature_map = 'rbf'\ncache = 'none'\nsample_size = 300", "about 3 to 5"),
    ],
)
def test_the_passes_that_are_estimated_are_those_made(method, passes, here):
    method = method if "name" in method else f"name = 'pca'\n{method}"
    text = re.sub(r"(?s)\[method\].*\[cluster\]", f"[method]\n{method}\n[cluster]", JOB)
    (here / "job.toml").write_text(re.sub("(labels|report).*\n", "", text))
    told = re.search("passes: *(.*)", run("--check", "job.toml").stdout)[1]
    assert told == passes
    run("job.toml")
    made = json.loads(Path("out/metrics.json").read_text())["passes"]
    low, *high = map(int, re.findall(r"\d+", told))
    assert low <= made <= (high[0] if high else 99 if "more" in told else low)


@pytest.mark.parametrize(
    ("given", "method", "passes"),
    [
        ({"columns": ["a", "b"]}, {}, "2"),
        ({"columns": ["a", "b"]}, {"missing": "drop"}, "3"),
        ({"columns": ["a", "t"]}, {"feature_map": "gower"}, "4"),
        ({"columns.ordinal": ["t"], "columns.use": ["b", "t"]}, {}, "3"),
        ({"weight_column": "n", "columns": ["a", "b"]}, {}, "about 2 to 5"),
        ({"groups": "n", "columns": ["a", "b"]}, {"missing": "mean"}, "3"),
    ],
)
def test_passes_for_levels_missing_values_and_weights_are_estimated(given, method, passes, here):
    Path("t.csv").write_text("a,b,t,n\n" + "1,2,x,0\n2,3,y,99\n1,7,x,999999\n" * 100)
    method, output = {"name": "rp", "n_projections": 20, **method}, {"labels": "l.zarr", "metrics": "m.json"}
    Path("job.toml").write_text(job_text(input={"path": "t.csv", **given}, method=method, output=output))
    told = re.search("passes: *(.*), the one that", run("--check", "job.toml", code=0).stdout)[1]
    assert told == passes
    run("job.toml", code=0)
    low, *high = map(int, re.findall(r"\d+", told))
    assert low <= json.loads(Path("m.json").read_text())["passes"] <= (high[0] if high else low)


# Errors, before any work


def test_outputs_that_exist_are_refused_before_anything_is_made(here):
    Path("out/l.zarr").mkdir()
    for arguments in (["job.toml"], ["--check", "job.toml"]):
        result = run(*arguments, code=exits.CANNOT_CREATE)
        assert "l.zarr exists: name another output, or replace it with --overwrite" in result.stderr
    assert sorted(os.listdir()) == ["job.toml", "out", "x.zarr"]


@pytest.mark.parametrize("place", ["job.toml", "job.work/l.zarr", "x.zarr/c", "out/m.zarr"])
def test_outputs_on_top_of_something_of_the_job_are_refused(place, here):
    (here / "job.toml").write_text(JOB.replace("out/l.zarr", place))
    result = run("job.toml", "--overwrite", code=exits.BAD_JOB)
    assert "expected separate paths" in result.stderr


# A job that is run again


def test_a_finished_job_does_nothing_and_says_so(here):
    run("job.toml")
    before = {path: path.stat().st_mtime_ns for path in (here / "out").rglob("*")}
    result = run("job.toml", code=0)
    assert re.fullmatch(rf"finished on \S+, nothing to do: {here}/out/l.zarr, .*\n", result.stdout)
    assert {path: path.stat().st_mtime_ns for path in (here / "out").rglob("*")} == before
    assert "finished on" in run("--check", "job.toml").stdout


@pytest.mark.slow
def test_a_finished_job_whose_output_is_gone_says_so(here):
    run("job.toml")
    shutil.rmtree("out/m.zarr")
    result = run("job.toml", code=exits.BAD_JOB)
    assert re.search(
        rf"finished on \S+, but {here}/out/m.zarr is gone: make all again with --restart and --overwrite", result.stderr
    )
    assert run("job.toml", "--restart", "--overwrite").exit_code == 0
    assert sorted(os.listdir("out")) == OUTPUTS


@pytest.mark.parametrize("finished", [True, False])
def test_a_job_that_changed_is_an_error_that_says_what_changed(finished, here, monkeypatch):
    if finished:
        run("job.toml")
    else:
        monkeypatch.setattr("mdh_dask.jobs.inputs.fit_rows", lambda *_, **__: exec("raise KeyboardInterrupt"))
        assert run("job.toml").exit_code == exits.INTERRUPTED
    text = JOB.replace("n_projections = 20", "n_projections = 30").replace("sample_size = 300\n", "")
    (here / "job.toml").write_text(text)
    for arguments in (["job.toml"], ["--check", "job.toml"]):
        result = run(*arguments, code=exits.BAD_JOB)
        assert re.search(
            r"since the job began, on \S+, job.method.n_projections was 20 and is 30; job.method.sample_size was 300 "
            r"and is not given: change it back, or discard its work with --restart\n",
            result.stderr,
        )


@pytest.mark.slow
def test_an_input_that_changed_is_an_error_though_it_looks_the_same(here):
    run("job.toml")
    write_rows(rows_of_blobs()[::-1].copy(), "x.zarr", chunk_rows=500, overwrite=True)
    result = run("job.toml", code=exits.BAD_JOB)
    assert re.search(r"input.listing was '?\w{8}'? and is '?\w{8}", result.stderr)
    assert run("job.toml", "--restart").exit_code == exits.CANNOT_CREATE
    assert run("job.toml", "--restart", "--overwrite").exit_code == 0
    assert "nothing to do" in run("job.toml").stdout


@pytest.mark.parametrize(
    ("name", "other", "said"),
    [
        ("__version__", "99", r"versions.mdh_dask was \S+ and is '?99'?"),
        ("code_digest", lambda: "0" * 64, r"versions.code was \w{8} and is 00000000"),
    ],
    ids=["version", "code"],
)
def test_other_code_or_another_version_does_not_go_on_but_knows_a_finished_job(name, other, said, here, monkeypatch):
    run("job.toml")
    monkeypatch.setattr(f"mdh_dask.jobs.state.{name}", other)
    assert "nothing to do" in run("job.toml").stdout
    (here / "job.work" / "manifest.json").unlink()
    assert re.search(f"{said}: change it back, or discard", run("job.toml", code=exits.BAD_JOB).stderr)


DAMAGE = {
    "no attempts": lambda content: content.update(attempts=[]),
    "an attempt without a number": lambda content: content["attempts"][0].pop("id"),
    "no outputs": lambda content: content["about"]["job"].pop("output"),
    "numbers for outputs": lambda content: content["about"]["job"].update(output={"labels": 3}),
    "no input": lambda content: content["about"].update(input=None),
    "no places": lambda content: content.pop("replaces"),
    "no job": lambda content: content.update(about=[]),
}


@pytest.mark.slow
def test_a_submission_that_is_started_again_restarts_once_and_not_before_its_turn(here, monkeypatch):
    def began():
        return [attempt["id"] for attempt in json.loads(Path("job.work/job.json").read_text())["attempts"]]

    np.save("few.npy", rows_of_blobs(300))
    quick = {"name": "rp", "n_projections": 20}
    Path("job.toml").write_text(
        job_text(input={"path": "few.npy"}, method=quick, cluster={"kind": "threads"}, output={"labels": "out/l.zarr"})
    )
    again = ("job.toml", "--restart", "--overwrite")
    run("job.toml", code=0)
    monkeypatch.setenv("MDH_DASK_SUBMISSION", "7")
    first = began()
    with locked(Path("job.work/lock"), "the job", keep=True):
        run(*again, code=exits.TRY_AGAIN)
    assert began() == first
    run(*again, code=0)
    second = began()
    assert not {*first} & {*second}
    assert "nothing to do" in run(*again, code=0).stdout
    assert began() == second
    monkeypatch.setenv("MDH_DASK_SUBMISSION", "8")
    run(*again, code=0)
    assert began() != second


def test_a_state_that_no_job_writes_is_damage_and_restart_gives_it_up(here):
    run("job.toml")
    file = here / "job.work" / "job.json"
    whole = file.read_text()
    for damage in [*DAMAGE, "no dict", "deep"]:
        content = json.loads(whole)
        if damage in DAMAGE:
            DAMAGE[damage](content)
        file.write_text({"no dict": "[1]", "deep": "[" * 100_000}.get(damage) or json.dumps(content))
        result = run("job.toml", code=78)
        assert re.search(
            r"job.json is damaged \(.*\): restore it from a copy, or discard its work with --restart", result.stderr
        ), damage
    assert run("job.toml", "--restart", "--overwrite").exit_code == 0
    assert "nothing to do" in run("job.toml").stdout


# A job that is interrupted


@pytest.mark.slow
def test_an_output_that_appears_meanwhile_is_not_replaced(here, undisturbed, monkeypatch):
    def appear(*args):
        Path("out/m.zarr").mkdir()
        return original(*args)

    from mdh_dask.jobs._run import _published as original

    monkeypatch.setattr("mdh_dask.jobs._run._published", appear)
    result = run("job.toml", code=exits.CANNOT_CREATE)
    assert f"{here}/out/m.zarr appeared while it was being written: move it elsewhere" in result.stderr
    monkeypatch.undo()
    os.chdir(here)
    Path("out/m.zarr").rmdir()
    assert run("job.toml").exit_code == 0
    assert contents(here / "out") == undisturbed


# Two runs


@pytest.mark.slow
def test_two_runs_of_a_job_exclude_each_other(here):
    Path("job.work").mkdir()
    with locked(here / "job.work" / "lock", "the job", keep=True):
        result = run("job.toml")
    assert result.exit_code == exits.TRY_AGAIN
    assert result.stderr.endswith("ERROR job.toml is being worked on by another run: wait until it has ended\n")
    assert os.listdir("out") == []
    assert run("job.toml").exit_code == 0


@pytest.mark.slow
@pytest.mark.parametrize("moment", at_night(["FolderJournal", "manifest_of", "write_json", "Fence.claim"], 2))
def test_without_locks_the_attempt_that_loses_leaves_nothing_behind(moment, here, undisturbed, monkeypatch):
    monkeypatch.setattr("mdh_dask.io.staging.fcntl", None)
    module, name = (Fence, "claim") if moment == "Fence.claim" else (sys.modules["mdh_dask.jobs._run"], moment)
    original, entered = getattr(module, name), []

    def overtaken(*args, **kwargs):
        found = original(*args, **kwargs)
        if not entered:
            entered.append(moment)
            run_job(read_job(Path("job.toml")))
        return found

    monkeypatch.setattr(module, name, overtaken)
    result = run("job.toml", code=exits.TRY_AGAIN)
    assert "the job was taken over by attempt" in result.stderr
    assert sorted(os.listdir("out")) == OUTPUTS
    assert contents(here / "out") == undisturbed


# Workers that die


def test_killed_workers_are_an_error_that_names_the_need_and_the_remedy(here, monkeypatch):
    def die(*_):
        raise KilledWorker("task", None, 3)

    monkeypatch.setattr("mdh_dask.chunks.reduction._reduced", die)
    result = run("job.toml", code=exits.NO_MEMORY)
    assert re.search(
        r"several workers died one after another of the same task, most likely for lack of memory: one needs about "
        r"400 MB \+ threads x .* MB \(5 x 0.006 MB of a block .*\)\. Give workers more memory or fewer threads, or "
        r"make blocks smaller by DASK_MDH_DASK__BLOCK_SIZE=8MiB in the environment\n",
        result.stderr,
    )


@pytest.mark.slow
@pytest.mark.cluster
def test_a_worker_that_dies_of_a_chunk_too_large_for_it_says_so(tmp_path):
    """Of two chunks larger than a worker, one is stored, without taking room."""
    chunks = {"chunks": (5 * 10**7, 2), "compressors": None}
    zarr.create_array(tmp_path / "x.zarr", shape=(10**8, 2), dtype="f8", fill_value=1.0, **chunks)
    (tmp_path / "x.zarr/c/0").mkdir(parents=True)
    with (tmp_path / "x.zarr/c/0/0").open("wb") as file:
        file.truncate(8 * 10**8)
    fit = "fit x.zarr --missing-chunks fill --workers 1 --threads-per-worker 1 --memory-limit 600MB --out l.zarr"
    environment = os.environ | {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
    done = subprocess.run([*COMMAND, *fit.split()], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == exits.NO_MEMORY, done.stderr
    assert "exceeded 95% memory budget. Restarting" in done.stderr
    assert re.search(
        r"ERROR several workers died one after another of the same task, most likely for lack of memory: one needs "
        r"about 400 MB \+ threads x 4,0\d\d MB \(5 x 800 MB of a block \+ 2 x [\d.]+ MB of results\)\. Give workers "
        r"more memory or fewer threads, or store the input in smaller chunks: one of 800 MB is read whole\n$",
        done.stderr,
    ), done.stderr
    assert not (tmp_path / "l.zarr").exists()


# Night after night


@pytest.fixture
def next_night(here):
    """A job that begins anew where its input has changed: done on 6000 rows, with 5500 others in their place."""
    Path("job.toml").write_text(NIGHTLY)
    run("job.toml", code=0)
    bring(5500)


def bring(n):
    write_rows(rows_of_blobs(n), "x.zarr", chunk_rows=500, overwrite=True)


def rows_shown():
    """Return the rows of which there are labels and a model, both complete."""
    assert load_model("out/m.zarr").n_clusters_ == 3
    return len(open_rows("out/l.zarr", ndim=1))


@pytest.mark.slow
def test_an_input_that_changes_while_it_is_read_makes_no_outputs(next_night, monkeypatch):
    def changing(*args, **kwargs):
        bring(6000)
        return original(*args, **kwargs)

    from mdh_dask.jobs._run import metrics_of as original

    before = contents(Path("out"))
    with monkeypatch.context() as patch:
        patch.setattr("mdh_dask.jobs._run.metrics_of", changing)
        result = run("job.toml", code=exits.BAD_JOB)
    assert "ERROR since the job began, on " in result.stderr
    assert "input.objects was 13 and is 14; " in result.stderr
    assert {name: content for name, content in contents(Path("out")).items() if not name.startswith(".")} == before
    run("job.toml", code=0)
    assert rows_shown() == 6000


@pytest.mark.slow
def test_only_outputs_that_the_job_made_itself_are_replaced(next_night):
    Path("out/mine.json").write_text("mine")
    Path("job.toml").write_text(NIGHTLY.replace("metrics.json", "mine.json"))
    for _ in range(2):
        result = run("job.toml", code=exits.CANNOT_CREATE)
        assert result.stderr.endswith("mine.json exists: name another output, or replace it with --overwrite\n")
    assert (Path("out/mine.json").read_text(), rows_shown()) == ("mine", 6000)
    run("job.toml", "--overwrite", code=0)
    assert rows_shown() == 5500
