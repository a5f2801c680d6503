"""Groups of dependent rows in commands and jobs: columns of files of every kind, and what is refused at once."""

import json
from inspect import signature

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from cases import QUICK
from helpers import at_night, job_text
from helpers import run as command

from mdh_dask import RandomProjectionTree, drift, load_model
from mdh_dask._fields import JobError
from mdh_dask.estimators.registry import METHODS
from mdh_dask.io import open_rows
from mdh_dask.jobs import run
from mdh_dask.jobs.job import read_job

JOB = job_text(
    input={"path": "{path}", "groups": "{groups}"},
    method={"name": "{method}"},
    output={"labels": "l.zarr", "model": "m.zarr"},
).replace("[cluster]", "{parameters}\n[cluster]")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Rows around the centres of twenty donors, in files of every kind, and the fit to their groups."""
    folder = tmp_path_factory.mktemp("groups")
    rng = np.random.default_rng(0)
    donors = np.repeat(np.arange(20), 150)
    rows = rng.normal(size=(len(donors), 2)) + 4 * rng.normal(size=(20, 2))[donors]
    table = pa.table({"a": rows[:, 0], "donor": [f"d{donor:02}" for donor in donors], "b": rows[:, 1]})
    pa.csv.write_csv(table, folder / "x.csv")
    pq.write_table(table, folder / "x.parquet")
    np.save(folder / "x.npy", np.column_stack([rows, donors]))
    model = RandomProjectionTree(n_projections=30).fit(rows, groups=donors)
    assert model.n_clusters_ == 1
    assert RandomProjectionTree(n_projections=30).fit(rows).n_clusters_ > 1
    return folder, model


def fit(path, *args, code=None):
    return command("fit", path, *args, "--scheduler", "threads", code=code)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "column"), [("x.csv", "donor"), ("x.parquet", "donor"), ("x.npy", "2")])
def test_commands_test_groups_as_the_estimator_does_and_do_not_cluster_their_column(store, tmp_path, name, column):
    folder, model = store
    out = ["--out", tmp_path / "l.zarr", "--model", tmp_path / "m.zarr", "--report", tmp_path / "r.html"]
    found = fit(folder / name, "--groups", column, "--method", "rp", "--n-projections", 30, "--json", *out, code=0)
    told = json.loads(found.stdout)
    assert (told["n_groups"], told["n_clusters"]) == (20, 1)
    assert told["compared"] == {"Groups of dependent rows": "20 groups"}
    loaded = load_model(tmp_path / "m.zarr")
    assert (loaded.n_groups_, loaded.n_features_in_) == (20, 2)
    np.testing.assert_array_equal(open_rows(tmp_path / "l.zarr", ndim=1), model.labels_)
    assert "Groups of dependent rows" in (tmp_path / "r.html").read_text()


WITH_GROUPS = [name for name, method in METHODS.items() if "groups" in signature(method.fit).parameters]
FIRST = ["rp", "svc", "density"]


@pytest.mark.slow
@pytest.mark.parametrize("method", at_night([*FIRST, *sorted({*WITH_GROUPS} - {*FIRST})], len(FIRST)))
def test_jobs_of_every_method_and_frames_of_dask_test_groups_and_do_not_cluster_their_column(tmp_path, method):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 2)) + 9 * np.eye(3, 2)[np.arange(600) % 3]
    frame = pd.DataFrame({"a": rows[:, 0], "donor": [f"d{i:02}" for i in rng.integers(20, size=600)], "b": rows[:, 1]})
    frame.to_parquet(tmp_path / "x.parquet", row_group_size=250)
    cls = METHODS[method]
    quick = {name: value for name, value in QUICK.get(cls.__name__, {}).items() if isinstance(value, int | str)}
    lines = "\n".join(f"{name} = {json.dumps(value)}" for name, value in quick.items())
    job = tmp_path / "job.toml"
    job.write_text(JOB.format(path=tmp_path / "x.parquet", groups="donor", method=method, parameters=lines))
    run(job)
    model, direct = load_model(tmp_path / "m.zarr"), cls(**quick).fit(dd.from_pandas(frame, 3), groups="donor")
    for one in (model, direct):
        assert (one.n_groups_, list(one.feature_names_in_)) == (20, ["a", "b"])
        assert "20 groups" in one.why()
    np.testing.assert_array_equal(open_rows(tmp_path / "l.zarr", ndim=1), direct.labels_.compute())


@pytest.mark.parametrize(
    ("method", "parameter", "said"),
    [
        ("divisive", ("stop_rule", "hold-out-uniform"), "expected stop_rule='hold-out' or 'none' with groups"),
        ("kernel-kmeans", None, "KernelKMeans compares rows, and not groups of dependent rows: take one of"),
    ],
)
def test_what_does_not_test_groups_is_refused_before_any_work(store, tmp_path, method, parameter, said):
    option = () if parameter is None else ("-p", "=".join(parameter))
    out = tmp_path / "l.zarr"
    found = fit(store[0] / "x.csv", "--groups", "donor", "--method", method, *option, "--out", out)
    assert said in " ".join(found.output.split())
    line = "" if parameter is None else f'{parameter[0]} = "{parameter[1]}"'
    (tmp_path / "job.toml").write_text(JOB.format(path="x.csv", groups="donor", method=method, parameters=line))
    with pytest.raises(JobError, match=said.split(";")[0].replace("(", r"\(")):
        read_job(tmp_path / "job.toml")


@pytest.mark.parametrize(("name", "column"), [("x.csv", "donor"), ("x.parquet", "donor"), ("x.npy", "2")])
def test_drift_compares_the_groups_of_its_column(store, tmp_path, name, column):
    folder, model = store
    model.save(tmp_path / "m.zarr")
    options = ("--model", tmp_path / "m.zarr", "--groups", column, "--json", "--scheduler", "threads")
    found = command("drift", folder / name, *options, code=0)
    table = pd.read_csv(folder / "x.csv")
    assert json.loads(found.stdout) == drift(model, table[["a", "b"]].to_numpy(), groups=table["donor"]).to_dict()
    assert json.loads(found.stdout)["design_effect"] > 1
