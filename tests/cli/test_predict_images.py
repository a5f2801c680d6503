"""Models of images on other images: the same columns, labels as an image, drift."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
import tifffile
import zarr
from helpers import in_turns, last_line, run
from ome_zarr_models.v05 import Labels
from PIL import Image
from test_images import beach, ome_image

from mdh_dask import RandomProjectionTree, load_model
from mdh_dask.cli import exits
from mdh_dask.images import open_image, pixel_rows
from mdh_dask.io import write_rows

SIZE = (120, 100)

THREADS = ("--scheduler", "threads")

QUICK = ("--method", "rp", "--n-projections", "20", *THREADS)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Images, and models of the first of them."""
    folder = tmp_path_factory.mktemp("images")
    Image.fromarray(beach(*SIZE)).save(folder / "beach.png")
    Image.fromarray(np.clip(beach(*SIZE)[::-1], 0, 150)).save(folder / "night.png")
    Image.fromarray(beach(*SIZE)[..., 0]).save(folder / "grey.png")
    Image.fromarray(beach(10, 12)).save(folder / "small.png")
    tifffile.imwrite(folder / "beach.tif", beach(*SIZE), photometric="rgb", tile=(64, 64))
    ome_image(folder / "ome.zarr", beach(*SIZE))
    stack = np.stack([beach(40, 30), beach(40, 30)[::-1]])
    zarr.create_array(folder / "stack.zarr", data=stack, chunks=(1, 20, 30, 3), dimension_names=[*"tyxc"])
    zarr.create_array(folder / "unnamed.zarr", data=beach(30, 30).transpose(2, 0, 1), chunks=(3, 10, 30))
    write_rows(beach(*SIZE).reshape(-1, 3), folder / "rows.zarr")
    models = {
        "bands": ("beach.png",),
        "columns": ("beach.png", "--window", 15, "--coordinates", 0.1),
        "axes": ("unnamed.zarr", "--axes", "cyx"),
    }
    for name, (image, *options) in models.items():
        run("segment", folder / image, "--model", folder / f"{name}.model", *options, *QUICK, code=0)
    RandomProjectionTree(n_projections=20).fit(beach(*SIZE).reshape(-1, 3)).save(folder / "rows.model")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("model", "image"), in_turns(["bands", "columns"], ["beach.png", "night.png", "beach.tif"]))
def test_an_image_is_labelled_with_the_columns_of_the_model(image, model, here):
    result = run("predict", f"../in/{image}", "--model", f"../in/{model}.model", "--out", "l.zarr", *THREADS, code=0)
    found = load_model(f"../in/{model}.model")
    assert re.fullmatch(rf"100 x 120 pixels in \d+ of {found.n_clusters_} segments: l.zarr\n", result.stdout)
    features = found.pixel_columns_.features
    rows = pixel_rows(open_image(f"../in/{image}"), features).compute()
    np.testing.assert_array_equal(zarr.open_array("l.zarr", mode="r")[:].ravel(), found.predict(rows))
    assert os.listdir() == ["l.zarr"]


@pytest.mark.slow
def test_the_image_that_a_model_was_fitted_to_gets_the_labels_that_segment_writes(here):
    outputs = ("--out", "a.zarr", "--model", "m.zarr", "--preview", "a.png")
    assert run("segment", "../in/ome.zarr", *outputs, "--coordinates", 0.1, *QUICK).exit_code == 0
    given = ("--model", "m.zarr", "--out", "b.zarr", "--preview", "b.png", "--progress")
    result = run("predict", "../in/ome.zarr", *given, *THREADS, code=0)
    assert result.stdout.endswith("segments: b.zarr, b.png\n")
    assert "writing labels: 100%" in result.stderr
    Labels.from_zarr(zarr.open_group("b.zarr/labels", mode="r"))
    ours, theirs = (zarr.open_array(f"{name}.zarr/labels/segments/0", mode="r")[:] for name in "ab")
    np.testing.assert_array_equal(ours, theirs)
    assert Path("a.png").read_bytes() == Path("b.png").read_bytes()


def test_drift_compares_images_with_the_columns_of_the_model(here):
    for model in ("bands", "columns"):
        same = run("drift", "../in/beach.tif", "--model", f"../in/{model}.model", *THREADS, code=0)
        other = run("drift", "../in/night.png", "--model", f"../in/{model}.model", *THREADS, code=exits.DRIFT)
        assert "no drift among" in same.stdout
        assert "no drift among" not in other.stdout


OUT = ("--out", "l.zarr")
ERRORS = {
    "other bands": (("predict", "../in/grey.png", "--model", "../in/bands.model", *OUT), 65),
    "rows": (("predict", "../in/rows.zarr", "--model", "../in/bands.model", *OUT), 65),
    "small": (("predict", "../in/small.png", "--model", "../in/columns.model", *OUT), 65),
    "columns": (("predict", "../in/beach.png", "--columns", "0,1", "--model", "../in/bands.model", *OUT), 2),
    "axes of rows": (("predict", "../in/rows.zarr", "--axes", "yx", "--model", "../in/rows.model", *OUT), 2),
    "groups of an image": (("drift", "../in/beach.png", "--groups", "0", "--model", "../in/bands.model"), 2),
    "index of rows": (("drift", "../in/rows.zarr", "--index", "t=0", "--model", "../in/rows.model"), 2),
    "preview of rows": (("predict", "../in/rows.zarr", "--preview", "p.png", "--model", "../in/rows.model", *OUT), 2),
    "place": (("predict", "../in/stack.zarr", "--model", "../in/bands.model", *OUT), 65),
    "axes of a picture": (("predict", "../in/beach.png", "--axes", "yxc", "--model", "../in/bands.model", *OUT), 65),
    "output is input": (("predict", "../in/ome.zarr", "--model", "../in/bands.model", "--out", "../in/ome.zarr/l"), 2),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ERRORS)
def test_an_error_is_told_word_for_word_and_leaves_nothing_behind(name, here, wording):
    args, code = ERRORS[name]
    result = run(*args, *THREADS)
    assert (result.exit_code, os.listdir()) == (code, []), result.output
    wording({name: last_line(result)})
