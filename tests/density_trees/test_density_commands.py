"""Density trees on the command line: rows, pixels and drift."""

import json

import numpy as np
import pytest
import zarr
from helpers import run as command

from mdh_dask import load_model


def run(*args, code=0):
    return command(*args, "--scheduler", "threads", code=code).stdout


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def stored(path):
    found = zarr.open(path, mode="r")
    return np.asarray(found if isinstance(found, zarr.Array) else found["0"])


def pair(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(600, 2)) + np.repeat([[0, 0], [9, 0]], [400, 200], axis=0)


@pytest.mark.slow
def test_rows_are_fitted_labelled_and_compared(here):
    for name, rows in (("old", pair(0)), ("new", pair(1)), ("moved", np.add(pair(1), [0, 20]))):
        np.save(f"{name}.npy", rows)
    options = ["--method", "density", "-p", "unclassified=leave", "-p", "share_outside=0.05"]
    run("fit", "old.npy", *options, "--model", "model.zarr", "--out", "labels.zarr", "--report", "fit.html")
    labels, model = stored("labels.zarr"), load_model("model.zarr")
    assert set(labels) == {-1, 0, 1}
    assert model.state_.sizes.tolist() == np.bincount(labels[labels >= 0]).tolist()
    run("predict", "old.npy", "--model", "model.zarr", "--out", "again.zarr")
    for same in (stored("again.zarr"), model.predict(pair(0))):
        np.testing.assert_array_equal(same, labels)
    assert "The landmarks of the model" in (here / "fit.html").read_text(encoding="utf-8")
    assert "no drift" in run("drift", "new.npy", "--model", "model.zarr", "--report", "drift.html")
    assert "No drift" in (here / "drift.html").read_text(encoding="utf-8")
    found = json.loads(run("drift", "moved.npy", "--model", "model.zarr", "--json", code=3))
    assert found["drift"]


@pytest.mark.slow
def test_an_image_is_segmented(here):
    pixels = np.random.default_rng(0).normal(size=(30, 40, 3)) + np.repeat([[[0]], [[9]]], [20, 10], axis=0)
    zarr.create_array("image.zarr", data=pixels)
    method = ("--method", "density", "-p", "unclassified=leave")
    said = run("segment", "image.zarr", "--axes", "yxc", *method, "--out", "labels.zarr")
    assert said.startswith("2 segments of 40 x 30 pixels")
    labels = stored("labels.zarr")
    assert set(np.unique(labels)) == {-1, 0, 1}
