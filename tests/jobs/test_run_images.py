"""Jobs on images: what they write, and that they can be killed at any moment."""

import json
import os
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import tifffile
import zarr
from disturbed import emptied
from helpers import at_night, job_text, last_line
from helpers import run as command
from ome_zarr_models.v05 import Labels
from PIL import Image
from test_images import GEO_TAGS, beach, ome_image

from mdh_dask import load_model

SIZE = (300, 250)

TILE = (40, 50)

JOB = job_text(
    input={"kind": "image", "path": "image", "window": 3, "coordinates": 0.01},
    method={"name": "rp", "n_projections": 20, "sample_size": 300},
    output={
        "labels": "out/l.zarr",
        "model": "out/m.zarr",
        "report": "out/r.html",
        "preview": "out/p.png",
        "metrics": "out/metrics.json",
        "manifest": "out/manifest.json",
    },
)

OUTPUTS = ["l.zarr", "m.zarr", "manifest.json", "metrics.json", "p.png", "r.html"]

BLOCK = 24_000
"""Bytes of a block of rows: seven or more of them, so that there is something to be interrupted in."""


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr("mdh_dask.chunks.mapping.LEAST_BLOCK_BYTES", BLOCK)


@pytest.fixture(scope="session")
def images(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    tifffile.imwrite(folder / "geo.tif", beach(*SIZE), photometric="rgb", tile=(64, 64), extratags=GEO_TAGS)
    zarr.create_array(folder / "tiles.zarr", data=beach(*SIZE), chunks=(*TILE, 3))
    ome_image(folder / "ome.zarr", beach(*SIZE), chunks=(1, 1, *TILE))
    Image.fromarray(beach(*SIZE)).save(folder / "beach.png")
    zarr.create_array(folder / "stack.zarr", data=np.ones((40, 50, 60), "u1"))
    return folder


@pytest.fixture
def here(images, monkeypatch):
    """A folder with a job file for an image in tiles, always the same as outputs name it."""
    folder = emptied(images / "here")
    monkeypatch.chdir(folder)
    describe(images / "tiles.zarr")
    return folder


def describe(image, text=JOB):
    Path("job.toml").write_text(text.replace('path = "image"', f'path = "{image}"'))


run = partial(command, "run")


# What a job writes


@pytest.mark.slow
@pytest.mark.parametrize("name", at_night(["geo.tif", "tiles.zarr", "ome.zarr", "beach.png"], 2))
def test_a_job_writes_what_segment_writes(name, images, here):
    describe(images / name)
    result = run("job.toml", code=0)
    assert re.fullmatch(r"4 segments of 250 x 300 pixels in [\d.]+ s: \S*l.zarr, .*p.png, .*\n", result.stdout)
    assert sorted(os.listdir("out")) == OUTPUTS
    outputs = ("--out", "l.zarr", "--model", "m.zarr", "--preview", "p.png")
    method = ("--method", "rp", "--n-projections", 20, "--sample-size", 300, "--scheduler", "threads")
    command("segment", images / name, *outputs, "--window", 3, "--coordinates", 0.01, *method, code=0)
    place = "/labels/segments/0" if name == "ome.zarr" else ""
    ours, theirs = (zarr.open_array(path + place, mode="r") for path in ("out/l.zarr", "l.zarr"))
    np.testing.assert_array_equal(ours, theirs)
    assert (ours.chunks, Path("out/p.png").read_bytes()) == (theirs.chunks, Path("p.png").read_bytes())
    assert load_model("out/m.zarr").tree_ == load_model("m.zarr").tree_
    if name == "ome.zarr":
        Labels.from_zarr(zarr.open_group("out/l.zarr/labels", mode="r"))
    if name == "geo.tif":
        assert ours.attrs["proj:code"] == "EPSG:32721"


@pytest.mark.slow
def test_metrics_and_manifest_tell_of_all_pixels(images, here):
    describe(images / "tiles.zarr", JOB.replace("window = 3\n", "sample = 2000\n"))
    assert run("job.toml").exit_code == 0
    metrics = json.loads(Path("out/metrics.json").read_text())
    assert metrics["n_rows"] == SIZE[0] * SIZE[1] == sum(metrics["cluster_sizes"])
    assert (metrics["n_columns"], metrics["n_clusters"], metrics["passes"]) == (5, 3, 2)
    labels = zarr.open_array("out/l.zarr", mode="r")
    assert metrics["cluster_sizes"] == np.bincount(labels[:].ravel()).tolist()
    manifest = json.loads(Path("out/manifest.json").read_text())
    assert manifest["input"]["shape"] == [*SIZE, 3]
    assert manifest["job"]["input"]["sample"] == 2000
    assert sorted(manifest["outputs"]) == ["labels", "metrics", "model", "preview", "report"]
    assert manifest["outputs"]["labels"]["checksum"] == f"crc32:{labels.attrs['mdh_dask']['record']:08x}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "passes"),
    [
        ({}, "about 4 to 6"),
        ({"coordinates = 0.01\n": ""}, "about 4 to 6"),
        ({"coordinates = 0.01\n": "dependence = 'none'\n"}, "about 3 to 5"),
        ({"window = 3\n": "sample = 500\n"}, "2"),
        ({"coordinates = 0.01\n": "sample = 500\n"}, "3"),
    ],
)
def test_check_tells_what_a_job_needs_and_computes_nothing(changes, passes, images, here, monkeypatch):
    text = JOB.replace("sample_size = 300\n", "")
    for old, new in changes.items():
        text = text.replace(old, new)
    describe(images / "tiles.zarr", text)
    with monkeypatch.context() as patch:
        patch.setattr("mdh_dask.chunks.reduction._reduced", lambda *_: pytest.fail("something was computed"))
        result = run("--check", "job.toml")
    assert result.exit_code == 0, result.output
    told = dict(line.split(":", 1) for line in result.stdout.splitlines())
    columns = 3 * (1 + 2 * ("window" in text)) + 2 * ("coordinates" in text)
    kind = "float32" if columns > 3 else "uint8"
    assert re.search(
        rf"tiles.zarr, Zarr, 250 x 300 pixels of 3 uint8 bands, rows of {columns} {kind} columns, 0.2 MB in \d+ block",
        told["input"],
    )
    assert told["passes"].strip() == f"{passes}, the one that writes the labels included"
    assert not Path("job.work").exists()
    run("job.toml")
    found = json.loads(Path("out/metrics.json").read_text())
    low, *high = map(int, re.findall(r"\d+", passes))
    no_split = bool(high) and found["n_clusters"] == 1  # nothing is counted
    assert low - no_split <= found["passes"] <= (high[0] if high else low)


# Errors, before any work

ERRORS = {
    "window": ("tiles.zarr", {"window = 3": "window = 251"}, 65),
    "axes": ("stack.zarr", {}, 65),
    "missing": ("nope.zarr", {}, 66),
    "preview is a folder": ("tiles.zarr", {"out/p.png": "out"}, 78),
    "preview at a URL": ("tiles.zarr", {"out/p.png": "https://b/p.png"}, 78),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_is_told_word_for_word_before_any_work(name, images, here, wording):
    image, changes, code = ERRORS[name]
    text = JOB
    for old, new in changes.items():
        text = text.replace(old, new)
    describe(images / image, text)
    for arguments in (["job.toml"], ["--check", "job.toml"]):
        result = run(*arguments, code=code)
        wording({name: last_line(result)}, images)
    assert sorted(os.listdir()) == ["job.toml", "out"]
    assert os.listdir("out") == []
