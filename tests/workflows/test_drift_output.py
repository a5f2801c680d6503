"""Drift as it is drawn, written into a report and told on the command line."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers import run

from mdh_dask import PCATree, RandomProjectionTree, drift, load_model
from mdh_dask.cli import exits
from mdh_dask.io import open_rows, write_rows
from mdh_dask.plotting import plot_drift
from mdh_dask.report import write_report
from mdh_dask.report.differences import MAX_OVERLAYS, differences_of

THREADS = ("--scheduler", "threads")


def groups(seed, *sizes):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(size=(n, 3)) + 8 * i * np.eye(3)[i] for i, n in enumerate(sizes)])


OLD, SAME, OTHER = groups(0, 2000, 1500, 1500), groups(1, 400, 300, 300), groups(2, 400, 300, 0)


@pytest.fixture(scope="module")
def model():
    return RandomProjectionTree(n_projections=100).fit(OLD)


@pytest.fixture
def here(model, tmp_path, monkeypatch):
    """A folder with inputs in every format, a model of numbers and one of names."""
    monkeypatch.chdir(tmp_path)
    model.save("m.zarr")
    for name, rows in (("old", OLD), ("same", SAME), ("other", OTHER)):
        write_rows(rows, f"{name}.zarr")
        np.save(f"{name}.npy", rows)
        named = dict(zip(("c", "a", "b"), rows.T)) | {"day": ["monday"] * len(rows)}
        pq.write_table(pa.table(named), f"{name}.parquet")
    return tmp_path


# Drawn


def test_the_line_of_new_rows_is_low_where_they_are_gone(model):
    found = drift(model, OTHER)
    gone = next(split for split in found.splits if 1.0 in split.left or 0.0 in split.left)
    ax = plot_drift(found, gone.node)
    assert ax.get_title() == (
        f"node {gone.node}: {gone.rows[0]:,} rows old, {gone.rows[1]:,} rows new\n"
        f"relative depth {re.search('depth (.*) old', ax.get_title())[1]} old, "
        f"{re.search('old, ([^,]*) new, d', ax.get_title())[1]} new, "
        f"distance {gone.distance.value:.2f} ({gone.distance.lower_bound:.2f})"
    )
    left = gone.left[1] == 1.0
    position, density = next(line.get_xydata() for line in ax.get_lines() if line.get_label() == "new rows").T
    beyond = position > found.old.thresholds[gone.node] if left else position < found.old.thresholds[gone.node]
    assert density[beyond].sum() < 0.05 * density.sum()


# In a report


def test_the_report_shows_tables_alarms_and_both_densities(model, tmp_path):
    found = drift(model, OTHER)
    html = write_report(tmp_path / "r.html", model.tree_, title="t", facts={}, drift=found).read_text()
    assert '<a href="#drift">Drift</a>' in html
    assert "Drift among 700 new rows, compared with 5,000 rows of the model." in html
    assert all(f"<li>{alarm}</li>" in html for alarm in found.alarms)
    assert html.count('<path class="new"') == np.count_nonzero(np.diff(model.tree_.first_bin))
    assert "http" not in html.replace("http-equiv", "")


def test_the_largest_distances_are_drawn_first_and_only_so_many():
    model = (
        PCATree(min_relative_depth=0.0, min_cluster_size=10).as_divisive(stop_rule="none").fit(groups(0, 900, 900, 900))
    )
    section = differences_of(drift(model, SAME))
    n_known = np.count_nonzero(np.diff(model.tree_.first_bin))
    assert len(section["overlays"]) == min(n_known, MAX_OVERLAYS)
    assert section["n_left_out"] == n_known - len(section["overlays"])
    distances = [float(m[1]) for o in section["overlays"] if (m := re.search(r"distance (\d\.\d\d)", o["facts"]))]
    assert distances == sorted(distances, reverse=True)


# On the command line


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["zarr", "npy"])
def test_the_exit_code_tells_drift(here, suffix):
    same = run("drift", f"same.{suffix}", "--model", "m.zarr", *THREADS)
    other = run("drift", f"other.{suffix}", "--model", "m.zarr", *THREADS)
    assert (same.exit_code, other.exit_code) == (0, exits.DRIFT) == (0, 3)
    assert same.stdout == drift(load_model("m.zarr"), SAME).to_text() + "\n"
    assert "\n\ndrift among 700 rows" in other.stdout


def test_json_is_all_that_is_on_standard_output(here):
    result = run("drift", "other.zarr", "--model", "m.zarr", "--json", *THREADS)
    assert json.loads(result.stdout) == drift(load_model("m.zarr"), OTHER).to_dict()
    assert result.exit_code == exits.DRIFT


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("no.zarr", "--model", "m.zarr"), 66, "there is no Zarr array at no.zarr; check the path"),
        (("same.zarr", "--model", "no.zarr"), 66, "no.zarr is not there"),
        (("same.npy", "--model", "m.zarr", "--columns", "0,1"), 65, "expected 3 columns, as m.zarr was fitted to"),
        (("same.zarr", "--model", "m.zarr", "--threshold", "0"), 2, "0.0 is not in the range 0<x<=1"),
        (("same.zarr", "--model", "m.zarr", "--report", "no/r.html"), 73, "does not exist: make it first"),
        (("same.zarr", "--model", "m.zarr", "--report", "http://b/r.html"), 2, "a store that can be written to"),
    ],
)
def test_errors_have_their_own_exit_codes(here, args, code, message):
    result = run("drift", *args, *THREADS, code=code)
    assert message in result.stderr.splitlines()[-1]
    assert result.stdout == ""


# Columns of tables, from fit to drift


def test_predict_and_drift_take_the_columns_of_the_model_and_refuse_others(here):
    method = ("--method", "rp", "--n-projections", 100, *THREADS)
    run("fit", "old.parquet", "--columns", "a,b,c", "--model", "t.zarr", *method, code=0)
    for args in (("predict", "old.parquet", "--out", "l.zarr", "--overwrite"), ("drift", "same.parquet")):
        options = ("--model", "t.zarr", *THREADS)
        run(*args, *options, code=0)
        result = run(*args, "--columns", "c,b,a", *options, code=exits.BAD_DATA)
        assert result.stderr.splitlines()[-1].endswith(
            "expected the columns a,b,c, as t.zarr was fitted to; got c,b,a: leave out --columns, or fit a model to "
            "these"
        )
    expected = load_model("t.zarr").tree_.labels(OLD[:, [1, 2, 0]])
    np.testing.assert_array_equal(open_rows("l.zarr", ndim=1), expected)


def test_a_table_with_other_columns_says_how_to_name_some(here):
    result = run("fit", "old.parquet", "--out", "l.zarr", *THREADS, code=exits.BAD_DATA)
    assert result.stderr.splitlines()[-1].endswith(
        "expected numeric columns; got day (string) in old.parquet: convert them, or name the columns to take with "
        "--columns, as c,a,b; models with --feature-map gower take others, too"
    )
