"""Ids of clusters in place of labels, and models that keep those of the night before."""

import json
from pathlib import Path

import numpy as np
import pytest
import zarr
from helpers import job_text, rows_around, run

from mdh_dask import RandomProjectionTree, jobs, load_model
from mdh_dask._fields import JobError
from mdh_dask.io.openmetrics import read_gauges
from mdh_dask.jobs.notify import ABOUT, PREFIX
from mdh_dask.workflows import fit, predict


@pytest.fixture
def nights(tmp_path, monkeypatch):
    """Two nights, of which the second has the first's clusters in another order of sizes, and one more."""
    monkeypatch.chdir(tmp_path)
    np.save("one.npy", rows_around((0, 900), (9, 600)))
    np.save("two.npy", rows_around((0, 500), (9, 900), (18, 700), seed=1))
    fit("one.npy", RandomProjectionTree(n_projections=50), model="one.zarr")


@pytest.mark.parametrize(
    "also", [{}, {"report": "r.html"}, {"confidence": "c.zarr"}], ids=["alone", "report", "confidence"]
)
def test_a_refit_writes_the_ids_of_the_night_before(nights, also):
    estimator = RandomProjectionTree(n_projections=50)
    fit("two.npy", estimator, labels="l.zarr", model="two.zarr", previous="one.zarr", ids=True, **also)
    written, model = zarr.open_array("l.zarr", mode="r")[:], load_model("two.zarr")
    assert model.ids_.tolist() == [1, 2, 0]
    np.testing.assert_array_equal(written, model.ids_[model.predict(np.load("two.npy"))])
    assert np.bincount(written).argmax() == 1
    assert [one["event"] for one in model.history_.to_records() if one["night"]].count("born") == 1
    if "report" in also:
        assert "Nights 0 to 1" in " ".join(Path("r.html").read_text(encoding="utf-8").split())


def test_predictions_are_ids_on_request(nights):
    fit("two.npy", RandomProjectionTree(n_projections=50), model="two.zarr", previous="one.zarr")
    summary = predict("one.npy", "two.zarr", "ids.zarr", ids=True)
    predict("one.npy", "two.zarr", "labels.zarr")
    labels = zarr.open_array("labels.zarr", mode="r")[:]
    np.testing.assert_array_equal(zarr.open_array("ids.zarr", mode="r")[:], load_model("two.zarr").ids_[labels])
    assert summary.startswith("1,500 rows in 2 of 3 clusters")


JOB = job_text(
    input={"path": "night.npy", "previous": "m.zarr", "ids": True},
    method={"name": "rp", "n_projections": 50},
    output={"labels": "l.zarr", "model": "m.zarr"},
    run={"on_change": "restart", "openmetrics": "job.prom"},
)


@pytest.mark.slow
def test_a_nightly_job_keeps_the_ids_of_the_model_that_it_replaces(nights):
    Path("job.toml").write_text(JOB)
    for night, ids in (("one", [0, 1]), ("two", [1, 2, 0])):
        Path("night.npy").write_bytes(Path(f"{night}.npy").read_bytes())
        jobs.run("job.toml")
        written, model = zarr.open_array("l.zarr", mode="r")[:], load_model("m.zarr")
        assert model.ids_.tolist() == ids
        np.testing.assert_array_equal(written, model.ids_[model.predict(np.load(f"{night}.npy"))])
        assert "nothing to do" in jobs.run("job.toml")
    told = read_gauges(Path("job.prom").read_text(), ABOUT, PREFIX)[0]
    assert {kind: told[f"clusters_{kind}"] for kind in ("born", "split", "merged", "died")} == {
        "born": 1, "split": 0, "merged": 0, "died": 0,
    }  # fmt: skip


def test_a_check_counts_the_passes_that_the_metrics_of_the_run_count(nights):
    job = JOB.replace("night.npy", "two.npy").replace("m.zarr", "one.zarr", 1)
    Path("job.toml").write_text(job.replace("[output]", '[output]\nmetrics = "m.json"'))
    assert "passes:  3, the one that writes the labels included" in jobs.check("job.toml")
    jobs.run("job.toml")
    assert json.loads(Path("m.json").read_text())["passes"] == 3


def test_a_job_refuses_ids_without_labels_and_a_previous_model_that_is_missing(nights):
    Path("job.toml").write_text(JOB.replace('labels = "l.zarr"', ""))
    with pytest.raises(JobError, match=r"must name labels with input[.]ids"):
        jobs.run("job.toml")
    Path("job.toml").write_text(JOB.replace("m.zarr", "gone.zarr", 1).replace("night", "one"))
    with pytest.raises(FileNotFoundError, match=r"gone.zarr"):
        jobs.run("job.toml")


@pytest.mark.parametrize("names", ["c,b,a", "a,b,d", "a,b"])
def test_other_columns_than_those_of_the_previous_model_are_refused_before_the_fit(nights, names):
    three = np.hstack([np.load("one.npy")] * 3)[:, :3]
    for path, header in (("one.csv", "a,b,c"), ("two.csv", names)):
        np.savetxt(path, three[:, : header.count(",") + 1], delimiter=",", header=header, comments="")
    estimator = RandomProjectionTree(n_projections=50)
    fit("one.csv", estimator, model="first.zarr")
    other = RandomProjectionTree(n_projections=50)
    with pytest.raises(ValueError, match=r"models of the same columns; got .* in the previous one: take"):
        fit("two.csv", other, model="second.zarr", previous="first.zarr")
    assert not hasattr(other, "tree_")


def test_the_commands_write_ids_too(nights):
    method = ("--method", "rp", "--n-projections", 50, "--previous", "one.zarr", "--ids")
    run("fit", "two.npy", *method, "--out", "l.zarr", "--model", "two.zarr", code=0)
    assert sorted(np.unique(zarr.open_array("l.zarr", mode="r")[:])) == [0, 1, 2]
