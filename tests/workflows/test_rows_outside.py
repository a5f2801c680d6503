"""Rows outside all clusters, labelled -1: in commands, arrays of labels, jobs, reports and scores."""

import numpy as np
import pytest
from helpers import run

from mdh_dask import SupportVectorClustering, load_model
from mdh_dask.io import open_rows, write_rows

LEAVE = {"width": 1.0, "outliers": 0.1, "unclassified": "leave"}


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder with rows in two groups, and what the command writes when it leaves rows outside."""
    folder = tmp_path_factory.mktemp("outside")
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 600)
    rows = rng.normal(size=(600, 2)) + np.outer(9 * truth, [1, 0])
    write_rows(rows, folder / "x.zarr", chunk_rows=200)
    options = ["--method", "svc", *(f"-p{name}={value}" for name, value in LEAVE.items()), "--scheduler", "threads"]
    written = [f"--out={folder / 'y.zarr'}", f"--model={folder / 'm.zarr'}", f"--report={folder / 'r.html'}"]
    found = run("fit", folder / "x.zarr", *options, *written, code=0)
    assert "2 clusters of 600 rows" in found.output
    return folder, rows, truth


def labels_in(path):
    stored = open_rows(path, ndim=1)
    assert stored.dtype == np.int32
    return np.asarray(stored)


@pytest.mark.slow
def test_a_command_writes_the_labels_of_the_estimator(fitted):
    folder, rows, _ = fitted
    labels = labels_in(folder / "y.zarr")
    np.testing.assert_array_equal(labels, SupportVectorClustering(**LEAVE).fit_predict(rows))
    assert 0 < (labels == -1).sum() <= 60


@pytest.mark.slow
def test_a_loaded_model_leaves_the_same_rows_outside_and_any_far_row(fitted):
    folder, _, _ = fitted
    options = ("--model", folder / "m.zarr", "--out", folder / "p.zarr", "--scheduler", "threads")
    run("predict", folder / "x.zarr", *options, code=0)
    np.testing.assert_array_equal(labels_in(folder / "p.zarr"), labels_in(folder / "y.zarr"))
    assert load_model(folder / "m.zarr").predict(np.array([[99.0, 99.0]])).tolist() == [-1]
