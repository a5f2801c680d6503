"""Labels of some rows in commands and jobs: files of several kinds, what is refused, and what the report says."""

import gzip
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers import job_text, run

from mdh_dask import load_model
from mdh_dask._fields import JobError
from mdh_dask.io import write_rows
from mdh_dask.jobs._run import run_job
from mdh_dask.jobs.job import read_job
from mdh_dask.workflows.row_files import open_labels


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A folder with three groups of rows in a row, of which labels join the last two."""
    folder = tmp_path_factory.mktemp("labels")
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 600)
    write_rows(rng.normal(size=(600, 2)) + np.outer(9 * truth, [1, 0]), folder / "x.zarr", chunk_rows=200)
    y = np.full(600, -1)
    y[:20] = np.minimum(truth[:20], 1)
    np.save(folder / "y.npy", y)
    write_rows(y, folder / "y.zarr", chunk_rows=300)
    lines = [f"{row},{('left', 'right')[label]}" for row, label in enumerate(y[:20])]
    (folder / "y.csv").write_text("\n".join(["row,label", *lines, ""]))
    return folder


def fit(store, *args, code=None):
    options = ["--method", "rp", "--n-projections", "20"] if "--method" not in args else []
    return run("fit", store / "x.zarr", "--scheduler", "threads", *options, *args, code=code)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["y.npy", "y.zarr", "y.csv"])
def test_trees_do_not_cut_the_labels_of_a_file(store, tmp_path, name):
    fit(store, "--labels", store / name, "--model", tmp_path / "m.zarr", "--report", tmp_path / "r.html", code=0)
    model = load_model(tmp_path / "m.zarr")
    assert model.n_clusters_ == 2
    assert model.known_labels_.tolist() == (["left", "right"] if name == "y.csv" else [0, 1])
    left = int(model.label_counts_[:, 0].argmax())
    report = (tmp_path / "r.html").read_text()
    assert f"cluster {left}" in report
    assert f"{model.label_counts_[left, 0]} of {model.known_labels_[0]}" in report


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--method", "semi-supervised"],
            "SemiSupervisedMDH needs labels of some rows: give a file of them, with --labels",
        ),
        (["--method", "svc", "--labels", "y.npy"], "SupportVectorClustering has no use for labels of rows"),
        (["--labels", "x.zarr"], "expected 1 dimension"),
        (["--labels", "short.npy"], r"expected 600 integers, one for each row, in .*; got int64 of shape \(3,\)"),
        (["--labels", "header.csv"], "expected the header row,label in .*; got 'row'"),
        (["--labels", "outside.csv"], "expected a row from 0 to 599 and its label in line 2 of .*; got '600,a'"),
        (["--labels", "twice.csv"], "expected one label for each row in .*; row 1 has several"),
    ],
    ids=["none", "useless", "rows", "short", "header", "outside", "twice"],
)
def test_labels_that_cannot_be_used_are_refused_before_any_work(store, tmp_path, options, message):
    np.save(tmp_path / "short.npy", np.arange(3))
    (tmp_path / "header.csv").write_text("row\n1\n")
    (tmp_path / "outside.csv").write_text("row,label\n600,a\n")
    (tmp_path / "twice.csv").write_text("row,label\n1,a\n1,b\n")
    places = [
        str((tmp_path if (tmp_path / name).exists() else store) / name) if "." in name else name for name in options
    ]
    found = fit(store, *places, "--model", tmp_path / "m.zarr")
    assert found.exit_code != 0
    assert re.search(message, found.output), found.output
    assert not (tmp_path / "m.zarr").exists()


@pytest.mark.parametrize("name", ["y.csv", "y.npy", "y.zarr"])
def test_missing_labels_are_said_to_be_read_for_who_wanted_to_write_them(tmp_path, name):
    with pytest.raises(FileNotFoundError, match=rf"there are no labels at .*{name}: .*; --out writes labels"):
        open_labels(str(tmp_path / name), 5)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("y.csv", "\ufeffrow,label\n2,b\n0,NA\n\n".encode()),
        ("y.csv", b"row;label\r\n2;b\r\n0;NA\r\n"),
        ("y.tsv", b"row\tlabel\n2\t b\n0\tNA\n"),
        ("y.csv.gz", gzip.compress(b"row,label\n2,b\n0,NA\n")),
    ],
    ids=["mark and empty line", "semicolons", "tabs", "compressed"],
)
def test_tables_of_labels_are_read_as_other_tables(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    assert open_labels(str(tmp_path / name), 4).tolist() == ["NA", "", "b", ""]


def test_whole_labels_of_floats_are_integers_and_missing_ones_are_refused(tmp_path):
    path = str(tmp_path / "y.parquet")
    pq.write_table(pa.table({"row": [2, 0], "label": [1.0, 3.0]}), path)
    assert open_labels(path, 4).tolist() == [3, -1, 1, -1]
    for missing in (None, float("nan")):
        pq.write_table(pa.table({"row": [2, 0], "label": pa.array([1.0, missing])}), path)
        with pytest.raises(ValueError, match=r"its label in line 3 of .*; got '0,'"):
            open_labels(path, 4)


def test_jobs_take_labels_and_notice_when_they_change(store, tmp_path):
    (tmp_path / "y.csv").write_text((store / "y.csv").read_text())
    given = {"path": f"{store}/x.zarr", "labels": "y.csv"}
    text = job_text(input=given, method={"name": "semi-supervised"}, output={"model": "model.zarr"})
    (tmp_path / "job.toml").write_text(text)
    described = read_job(tmp_path / "job.toml")
    run_job(described)
    assert load_model(tmp_path / "model.zarr").classes_.tolist() == ["left", "right"]
    assert "nothing to do" in run_job(described)
    (tmp_path / "y.csv").write_text((store / "y.csv").read_text().replace("right", "far"))
    with pytest.raises(JobError, match=r"input\.labels"):
        run_job(described)
