"""Weights of rows in commands and jobs: files and columns, what is refused, and what the report says."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
import zarr
from helpers import job_text
from helpers import run as run_command

from mdh_dask import RandomProjectionTree, load_model
from mdh_dask._fields import JobError
from mdh_dask.io import open_rows, write_rows
from mdh_dask.jobs import run

N = 300


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Rows and their weights in files of every kind, and in tables with a column of weights."""
    folder = tmp_path_factory.mktemp("weights")
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(N, 2)) + np.repeat([[0], [6]], N // 2, axis=0)
    weights = rng.integers(0, 4, N)
    write_rows(rows, folder / "x.zarr", chunk_rows=100)
    np.save(folder / "w.npy", weights)
    table = pa.table({"a": rows[:, 0], "times": weights, "b": rows[:, 1]})
    pa.csv.write_csv(table.select(["times"]), folder / "w.csv")
    pa.csv.write_csv(table, folder / "x.csv")
    pq.write_table(table, folder / "x.parquet")
    np.save(folder / "x.npy", np.column_stack([rows, weights]))
    sp.save_npz(folder / "x.npz", sp.csr_array(np.column_stack([rows, weights])))
    model = RandomProjectionTree(n_projections=30).fit(rows, sample_weight=weights)
    assert model.n_clusters_ == 2
    assert model.tree_ != RandomProjectionTree(n_projections=30).fit(rows).tree_
    return folder, model


def fit(folder, *args, code=None):
    places = [str(folder / arg) if "." in str(arg) and "/" not in str(arg) else str(arg) for arg in args]
    options = [] if "--method" in args else ["--method", "rp", "--n-projections", "30"]
    return run_command("fit", *places, "--scheduler", "threads", *options, code=code)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        ("x.csv", "--weight-column", "times"), ("x.parquet", "--weight-column", "times"),
        ("x.npy", "--weight-column", "2"), ("x.npz", "--weight-column", "2"),
    ],
)  # fmt: skip
def test_commands_weight_rows_as_the_estimator_does(store, tmp_path, name, option, value):
    folder, model = store
    report = tmp_path / "r.html"
    fit(folder, name, option, value, "--out", tmp_path / "l.zarr", "--model", tmp_path / "m.zarr",
                "--report", report, code=0)  # fmt: skip
    loaded = load_model(tmp_path / "m.zarr")
    assert loaded.tree_ == model.tree_
    np.testing.assert_array_equal(open_rows(tmp_path / "l.zarr", ndim=1), model.labels_)
    assert re.search(
        f"{value} of .*{name}, a sum of {model.tree_.n_rows[0]}; the model counts them", report.read_text()
    )


def test_the_column_of_weights_is_never_clustered(store, tmp_path):
    folder, _ = store
    fit(folder, "x.csv", "--weight-column", "times", "--columns", "b", "--model", tmp_path / "m.zarr", code=0)
    assert load_model(tmp_path / "m.zarr").feature_names_in_.tolist() == ["b"]


@pytest.mark.slow
def test_missing_chunks_of_weights_are_filled_if_those_of_rows_are(store, tmp_path):
    folder, _ = store
    both = zarr.create_array(tmp_path / "both.zarr", shape=(N, 3), chunks=(100, 3), dtype="f8")
    both[:200] = np.column_stack([np.load(folder / "x.npy")[:200, :2], weights := np.arange(200) % 3])
    options = ("--weight-column", "2", "--columns", "0,1", "--missing-chunks", "fill", "--model", tmp_path / "m.zarr")
    fit(folder, tmp_path / "both.zarr", *options, code=0)
    assert load_model(tmp_path / "m.zarr").tree_.n_rows[0] == weights.sum()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["negative.npy", "--weight-column", "2"], "at least 0 for the weights in .*negative.npy; got -1.0 in row 5"),
        (["share.npy", "--weight-column", "2"], "whole numbers .* the fraction 0.5: give counts"),
        (["x.csv", "--weight-column", "time"], "expected one of the columns a, times, b for the weights; got time"),
        (["t.csv", "--weight-column", "t"], "numbers for the weights; got string in .* t of .*t.csv: name another"),
        (["w.csv", "--weight-column", "times"], "other columns than that of the weights; got only times in .*w.csv"),
        (["x.csv", "--weight-column", "a", "--columns", "a,b"], "in a column that is not clustered; got a for both"),
        (["x.npy", "--weight-column", "2", "--labels", "w.npy"], "weights of rows or labels of some of them; got both"),
        (["x.csv", "--weight-column", "times", "--groups", "b"], "expected weights of rows or their groups; got both"),
    ],
)
def test_weights_that_cannot_be_used_are_refused_before_any_work(store, tmp_path, options, message, monkeypatch):
    folder, _ = store
    monkeypatch.setattr(RandomProjectionTree, "_plan", lambda *_: pytest.fail("work was begun"))
    np.save(folder / "negative.npy", np.column_stack([np.ones((N, 2)), np.where(np.arange(N) == 5, -1, 1)]))
    np.save(folder / "share.npy", np.full((N, 3), 0.5))
    (folder / "t.csv").write_text("a,b,t\n1,2,x\n3,4,y\n")
    found = fit(folder, *options, "--model", tmp_path / "m.zarr")
    assert found.exit_code in (2, 65, 66), found.output
    assert re.search(message, found.output), found.output
    assert not (tmp_path / "m.zarr").exists()


def test_a_job_weights_rows_and_notices_when_the_column_changes(store, tmp_path):
    folder, model = store
    job = tmp_path / "job.toml"
    given, method = {"path": f"{folder}/x.csv", "weight_column": "times"}, {"name": "rp", "n_projections": 30}
    text = job_text(input=given, method=method, output={"model": "m.zarr"})
    job.write_text(text)
    run(job)
    assert load_model(tmp_path / "m.zarr").tree_ == model.tree_
    assert "nothing to do" in run(job)
    job.write_text(text.replace("times", "b"))
    with pytest.raises(JobError, match=r"input\.weight"):
        run(job)
