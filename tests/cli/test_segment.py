"""Segmenting images on the command line: any kind in, labels, model, preview and report out."""

import json
import os
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import tifffile
import zarr
from helpers import last_line
from helpers import run as command
from PIL import Image
from sklearn.metrics import adjusted_rand_score
from test_images import GEO_TAGS, beach, ome_image

from mdh_dask import RandomProjectionTree, load_model
from mdh_dask.cli import exits
from mdh_dask.images import Features, open_image, pixel_rows
from mdh_dask.io import write_rows

THREADS = ("--scheduler", "threads")
QUICK = ("--method", "rp", "--n-projections", "20", *THREADS)
LARGE, SMALL = (300, 250), (90, 60)


run = partial(command, "segment")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A folder of images."""
    folder = tmp_path_factory.mktemp("images")
    Image.fromarray(beach(*LARGE)).save(folder / "beach.png")
    tifffile.imwrite(folder / "geo.tif", beach(*LARGE), photometric="rgb", tile=(64, 64), extratags=GEO_TAGS)
    for name, chunks in (("tiles.zarr", (50, 40, 3)), ("strips.zarr", (7, 250, 3))):
        zarr.create_array(folder / name, data=beach(*LARGE), chunks=chunks)
    zarr.create_array(folder / "small.zarr", data=beach(*SMALL), chunks=(30, 40, 3))
    ome_image(folder / "ome.zarr", beach(*LARGE))
    bad = beach(*LARGE).astype("f4")
    bad[200, 33, 1] = np.inf
    zarr.create_array(folder / "infinite.zarr", data=bad, chunks=(50, 40, 3))
    zarr.create_array(folder / "stack.zarr", data=np.zeros((40, 50, 60), "u1") + 1)
    zarr.create_array(folder / "planes.zarr", data=np.ones((2, 50, 60), "u1"), dimension_names=["z", "y", "x"])
    write_rows(beach(*LARGE).reshape(-1, 3), folder / "rows.zarr")
    (folder / "text.txt").write_text("no image")
    return folder


def labels_of(path="l.zarr"):
    return zarr.open_array(path, mode="r")[:]


TRUTH = np.repeat(np.arange(3), 100)[:, None].repeat(250, axis=1)


@pytest.mark.slow
def test_an_image_gives_labels_model_preview_and_report_and_one_line(here):
    outputs = ("--out", "l.zarr", "--model", "m.zarr", "--preview", "p.png", "--report", "r.html")
    result = run("../in/beach.png", *outputs, *QUICK, code=0)
    line = r"3 segments of 250 x 300 pixels in [\d.]+ s: l.zarr, m.zarr, p.png, r.html\n"
    assert re.fullmatch(line, result.stdout)
    assert adjusted_rand_score(TRUTH.ravel(), labels_of().ravel()) > 0.95
    model = load_model("m.zarr")
    np.testing.assert_array_equal(model.predict(beach(*LARGE).reshape(-1, 3)), labels_of().ravel())
    assert np.asarray(Image.open("p.png")).shape == (300, 250, 3)
    report = Path("r.html").read_text()
    for shown in ("../in/beach.png, PNG, 250 x 300 pixels of uint8", "3 bands", "data:image/png", "data:image/jpeg"):
        assert shown in report
    assert sorted(os.listdir()) == ["l.zarr", "m.zarr", "p.png", "r.html"]


@pytest.mark.slow
def test_all_kinds_and_chunks_of_the_same_image_give_the_same_labels(here):
    names = ("beach.png", "geo.tif", "tiles.zarr", "strips.zarr")
    for name in names:
        assert run(f"../in/{name}", "--out", f"{name}.l", "--sample-size", 2000, *QUICK).exit_code == 0
    for name in names[1:]:
        np.testing.assert_array_equal(labels_of(f"{name}.l"), labels_of("beach.png.l"))
    assert zarr.open_array("tiles.zarr.l").chunks == (50, 40)
    assert zarr.open_array("geo.tif.l").attrs["proj:code"] == "EPSG:32721"


@pytest.mark.slow
def test_the_tree_is_grown_on_as_many_pixels_as_asked_for_and_all_are_labelled(here):
    outputs = ("--out", "l.zarr", "--model", "m.zarr", "--report", "r.html")
    result = run("../in/tiles.zarr", *outputs, "--sample", 5000, *QUICK, code=0)
    assert load_model("m.zarr").tree_.n_rows[0] == 5000
    assert "3 segments in 1 pass" in result.stderr
    report = Path("r.html").read_text()
    assert "<dt>pixels</dt><dd>75,000</dd>" in report
    assert "The 5,000 pixels of which the tree was grown are at the top" in report
    assert f"<td>{np.bincount(labels_of().ravel())[0]:,}</td>" in report
    assert adjusted_rand_score(TRUTH.ravel(), labels_of().ravel()) > 0.95
    other = ("--sample", 5000, "--random-state", 1)
    assert run("../in/tiles.zarr", "--model", "n.zarr", *other, *QUICK).exit_code == 0
    assert not np.array_equal(load_model("m.zarr").tree_.planes, load_model("n.zarr").tree_.planes)


def test_json_counts_the_pixels_of_the_labels_that_are_written_not_those_of_the_sample(here):
    result = run("../in/small.zarr", "--out", "l.zarr", "--sample", 1000, "--json", *QUICK, code=0)
    assert json.loads(result.stdout)["cluster_sizes"] == np.bincount(labels_of().ravel()).tolist()


@pytest.mark.slow
def test_windows_and_coordinates_are_columns_and_weights_count(here):
    assert run("../in/tiles.zarr", "--model", "w.zarr", "--report", "w.html", "--window", 5, *QUICK).exit_code == 0
    assert "in 5 x 5" in Path("w.html").read_text()
    expected = RandomProjectionTree(n_projections=20).fit(
        pixel_rows(open_image("../in/tiles.zarr"), Features(window=5))
    )
    np.testing.assert_array_equal(load_model("w.zarr").tree_.planes, expected.tree_.planes)
    agreement = []
    for weight in (0.01, 10_000):
        # Directions of whitened rows may show the colours whatever the weight, others up to about a hundred.
        outputs = ("--model", f"{weight}.zarr", "--out", f"{weight}.l")
        method = ("--method", "divisive", "-p", "projection=uniform_sphere")
        run("../in/tiles.zarr", *outputs, "--coordinates", weight, *QUICK, *method, code=0)
        model = load_model(f"{weight}.zarr")
        assert (model.n_features_in_, model.scale) == (5, False)
        agreement.append(adjusted_rand_score(TRUTH.ravel(), labels_of(f"{weight}.l").ravel()))
    # Coordinates have no valleys: where they outweigh the colours there is one segment.
    assert agreement[0] > 0.95 > 0.1 > agreement[1]


@pytest.mark.slow
def test_a_preview_alone_is_an_output_and_is_replaced_only_if_asked(here):
    segment = ("../in/beach.png", "--preview", "p.png", *QUICK)
    assert run(*segment).exit_code == 0
    refused = run(*segment, code=exits.CANNOT_CREATE)
    assert "p.png exists: name another output, or replace it with --overwrite" in refused.stderr
    assert run(*segment, "--overwrite").exit_code == 0
    assert os.listdir() == ["p.png"]


OUT = ("--out", "l.zarr")
ERRORS = {
    "missing": (("nope.png", *OUT), 66),
    "no image": (("../in/text.txt", *OUT), 65),
    "rows": (("../in/stack.zarr", *OUT), 65),
    "planes": (("../in/planes.zarr", *OUT), 65),
    "place": (("../in/planes.zarr", *OUT, "--index", "z=2"), 65),
    "axes": (("../in/stack.zarr", *OUT, "--axes", "yx"), 65),
    "axes of a picture": (("../in/beach.png", *OUT, "--axes", "yx"), 65),
    "infinity": (("../in/infinite.zarr", *OUT), 65),
    "nodata": (("../in/beach.png", *OUT, "--nodata", "no"), 2),
    "no data": (("../in/planes.zarr", *OUT, "--index", "z=0", "--nodata", 1), 65),
    "window": (("../in/beach.png", *OUT, "--window", 251), 65),
    "even window": (("../in/beach.png", *OUT, "--window", 4), 2),
    "index": (("../in/planes.zarr", *OUT, "--index", "z"), 2),
    "weight": (("../in/beach.png", *OUT, "--coordinates", 0), 2),
    "no outputs": (("../in/beach.png",), 2),
    "output is input": (("../in/tiles.zarr", "--out", "../in/tiles.zarr"), 2),
    "preview of another format": (("../in/beach.png", "--preview", "p.JPG"), 2),
    "preview is a folder": (("../in/beach.png", "--preview", "."), 73),
    "preview at URL": (("../in/beach.png", "--preview", "https://b/p.png"), 2),
    "other option": (("../in/beach.png", *OUT, "--method", "pddp", "-p", "alpha=1"), 2),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_is_told_with_its_exit_code_and_leaves_nothing_behind(name, here, wording):
    args, code = ERRORS[name]
    result = run(*args, *THREADS)
    assert (result.exit_code, os.listdir()) == (code, []), result.output
    wording({name: last_line(result)}, here.parent)
