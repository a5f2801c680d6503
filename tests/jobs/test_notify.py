"""What a run tells monitors: metrics that Prometheus reads."""

import json
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest
from helpers import job_text
from helpers import run as command
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.parser import text_string_to_metric_families as families_of_text

from mdh_dask import PCATree
from mdh_dask._errors import SettingError
from mdh_dask.cli import exits
from mdh_dask.workflows import drift

JOB = job_text(input={"path": "x.npy"}, output={"labels": "l.zarr"}, run={"openmetrics": 'metrics "a".prom'})


@pytest.fixture
def job(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "x.npy", rng.normal(size=(600, 2)) + np.repeat([[0], [9]], 300, axis=0))
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path / "job.toml"


@pytest.fixture
def gateway():
    """The address of a stand-in for a Pushgateway, and a function that returns what it holds."""
    held = {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            text = self.rfile.read(int(self.headers["Content-Length"])).decode()
            held.update({f.name: f.samples[0].value for f in families_of_text(text)})
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", lambda: dict(held)
    server.shutdown()
    thread.join()
    server.server_close()


run = partial(command, "run")


def metrics(job, parse=text_string_to_metric_families):
    """The metrics as Prometheus reads them."""
    families = list(parse((job.parent / 'metrics "a".prom').read_text()))
    assert all(family.documentation and family.type == "gauge" for family in families)
    samples = [sample for family in families for sample in family.samples]
    assert {sample.labels["job_file"] for sample in samples} == {str(job)}
    return {sample.name.removeprefix("mdh_dask_job_"): sample.value for sample in samples}


def test_a_run_writes_what_it_did_in_openmetrics(job):
    assert run(job).exit_code == 0
    found = metrics(job)
    assert (found["exit_code"], found["rows"], found["clusters"], found["rows_without_data"]) == (0, 600, 2, 0)
    assert found["passes"] >= 2
    assert found["pass_seconds"] > 0
    assert found["last_success_timestamp_seconds"] == found["last_run_timestamp_seconds"]
    assert metrics(job, families_of_text) == found


@pytest.mark.slow
def test_jobs_of_the_same_file_name_in_two_folders_are_told_apart(job, monkeypatch):
    (job.parent / "other").mkdir()
    (job.parent / "other/job.toml").write_text(JOB.replace("x.npy", "../x.npy") + 'name = "the other"\n')
    labels = []
    for folder in (job.parent, job.parent / "other"):
        monkeypatch.chdir(folder)
        assert run("job.toml").exit_code == 0
        labels.append(families_of_text((folder / 'metrics "a".prom').read_text()))
    assert [next(families).samples[0].labels for families in labels] == [
        {"job_file": str(job), "job_name": "job"},
        {"job_file": str(job.parent / "other/job.toml"), "job_name": "the other"},
    ]


WHOLE = '# TYPE mdh_dask_job_rows gauge\nmdh_dask_job_rows{job_file="/a"} 7\n# EOF\n'


@pytest.mark.parametrize(
    "damaged", [b"", b"\xff\xfe", WHOLE[:-6].encode(), WHOLE.replace("7", "1-2").encode()],
    ids=["empty", "no text", "cut off", "no number"],
)  # fmt: skip
def test_a_damaged_file_of_metrics_is_replaced_with_a_warning(damaged, job):
    (job.parent / 'metrics "a".prom').write_bytes(damaged)
    result = run(job, code=0)
    assert "no metrics of an earlier run (" in result.stderr
    assert (metrics(job)["rows"], metrics(job)["exit_code"]) == (600, 0)
    assert "no metrics of an earlier run (" not in run(job).stderr


@pytest.mark.slow
def test_a_failure_keeps_the_last_success(job):
    assert run(job).exit_code == 0
    before = metrics(job)
    np.save(job.parent / "x.npy", np.full((600, 2), np.nan))
    run(job, code=exits.BAD_JOB)
    after = metrics(job)
    assert after["exit_code"] == exits.BAD_JOB
    assert after["last_success_timestamp_seconds"] == before["last_success_timestamp_seconds"]
    assert after["last_run_timestamp_seconds"] > before["last_run_timestamp_seconds"]


@pytest.mark.parametrize("place", ["x.npy", "l.zarr", "job.toml", "job.work/m.prom"])
def test_metrics_replace_no_file_of_the_job(place, job):
    job.write_text(JOB.replace(json.dumps('metrics "a".prom'), json.dumps(place)))
    before = (job.parent / "x.npy").read_bytes(), job.read_bytes()
    result = run(job, code=exits.BAD_JOB)
    assert "run.openmetrics: expected separate paths" in " ".join(result.stderr.split())
    assert ((job.parent / "x.npy").read_bytes(), job.read_bytes()) == before
    assert not (job.parent / "l.zarr").exists()


def test_metrics_of_a_run_are_pushed_to_a_gateway_which_keeps_the_last_success(job, gateway, monkeypatch):
    url, held = gateway
    job.write_text(JOB.partition("[run]")[0])
    monkeypatch.setenv("MDH_DASK_OPENMETRICS", f"{url}/metrics/job/nightly")
    assert run(job).exit_code == 0
    first = held()
    assert (first["mdh_dask_job_exit_code"], first["mdh_dask_job_clusters"]) == (0, 2)
    np.save(job.parent / "x.npy", np.zeros((0, 2)))
    assert run(job).exit_code == exits.BAD_DATA
    failed = held()
    assert failed["mdh_dask_job_exit_code"] == exits.BAD_DATA
    success = "mdh_dask_job_last_success_timestamp_seconds"
    assert failed[success] == first[success] <= failed["mdh_dask_job_last_run_timestamp_seconds"]


def test_drift_is_pushed_to_a_gateway_and_one_that_is_not_there_is_named(job, gateway):
    url, held = gateway
    X = np.load(job.parent / "x.npy")
    PCATree().fit(X).save(job.parent / "m.zarr")
    np.save(job.parent / "new.npy", X[:300])
    new, model = str(job.parent / "new.npy"), str(job.parent / "m.zarr")
    assert drift(new, model, openmetrics=f"{url}/metrics/job/drift").found
    assert held()["mdh_dask_drift_found"] == 1
    report = job.parent / "drift.html"
    options = ("--model", model, "--report", report, "--openmetrics", "http://127.0.0.1:1/metrics/job/drift")
    result = command("drift", new, *options, code=exits.DRIFT)
    assert "metrics were not pushed to http://127.0.0.1:1" in result.stderr
    assert "Drift of new.npy" in report.read_text()


def test_drift_writes_what_it_found_in_openmetrics(job):
    folder = job.parent
    model = PCATree().fit(np.load(folder / "x.npy"))
    model.save(folder / "m.zarr")
    np.save(folder / "new.npy", np.load(folder / "x.npy")[:300])
    for place in ("x.npy", "m.zarr"):
        with pytest.raises(SettingError, match="expected separate paths"):
            drift(str(folder / "x.npy"), str(folder / "m.zarr"), openmetrics=str(folder / place))
    for name, drifted in (("x", 0), ("new", 1)):
        options = ("--model", f"{folder}/m.zarr", "--openmetrics", f"{folder}/d.prom")
        command("drift", f"{folder}/{name}.npy", *options, code=exits.DRIFT if drifted else 0)
        (*families,) = text_string_to_metric_families((folder / "d.prom").read_text())
        values = {family.name: family.samples[0].value for family in families}
        assert values["mdh_dask_drift_found"] == drifted
        assert (values["mdh_dask_drift_alarms"] > 0) == drifted
        assert values["mdh_dask_drift_rows"] == {"x": 600, "new": 300}[name]


def test_one_file_for_the_metrics_of_two_jobs_is_refused_wherever_it_is_named(job, monkeypatch):
    job.write_text(JOB.partition("[run]")[0])
    other = job.with_name("other.toml")
    other.write_text(job.read_text().replace("l.zarr", "m.zarr"))
    monkeypatch.setenv("MDH_DASK_OPENMETRICS", str(job.parent / "all.prom"))
    assert run(job).exit_code == 0
    assert "holds the metrics of another job" in run(other, code=exits.BAD_JOB).stderr.replace("\n", " ")


def test_the_folder_of_metrics_is_there_as_that_of_other_outputs(job):
    folder = job.parent
    place = folder / "nodir" / "m.prom"
    job.write_text(job_text(input={"path": "x.npy"}, output={"labels": "l.zarr"}, run={"openmetrics": "nodir/m.prom"}))
    assert "nodir of an output does not exist" in run(job, code=exits.CANNOT_CREATE).stderr.replace("\n", " ")
    PCATree().fit(np.load(folder / "x.npy")).save(folder / "m.zarr")
    with pytest.raises(OSError, match="nodir of an output does not exist"):
        drift(str(folder / "x.npy"), str(folder / "m.zarr"), openmetrics=str(place))
    assert not place.parent.exists()
