"""The demo: pictures of all kinds in, segments and a report out, and nothing where it fails."""

import base64
import io
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import zarr
from helpers import run as command
from PIL import Image
from sklearn.datasets import load_wine
from test_images import beach

from mdh_dask.cli import exits
from mdh_dask.metrics import adjusted_rand_index
from mdh_dask.workflows.facts import HIDDEN, encoded, mask_of

WRITTEN = ["labels.zarr", "model.zarr", "report.html", "segmented.png"]


def run(*args, scheduler="threads", code=None):
    where = () if scheduler is None else ("--scheduler", scheduler)
    return command("demo", *args, *where, code=code)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty current folder, and a picture beside it, without Matplotlib, which the demo does not need."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    (tmp_path / "out").mkdir()
    Image.fromarray(beach()).save(tmp_path / "beach.png")
    monkeypatch.chdir(tmp_path / "out")
    return tmp_path / "out"


def embedded_images(report):
    found = re.findall(r"data:image/\w+;base64,([A-Za-z0-9+/=]+)", report.read_text(encoding="utf-8"))
    return [base64.b64decode(image) for image in found]


# What it writes


def test_a_mask_hides_all_other_segments_and_is_small_for_a_large_image():
    labels = np.repeat(np.arange(4).reshape(2, 2), 700, axis=0).repeat(1000, axis=1)
    mask = Image.open(io.BytesIO(mask_of(labels, 3))).convert("RGBA")
    assert max(mask.size) <= 800
    hidden = np.asarray(mask)[..., 3]
    assert [int(np.unique(part).item()) for part in (hidden[:200, :300], hidden[-200:, -300:])] == [HIDDEN, 0]


@pytest.mark.slow
def test_the_wines_are_clustered_and_shown_by_the_names_of_their_columns(here):
    result = run("--table", code=0)
    assert re.fullmatch(r"3 clusters of 178 rows in [\d.]+ s: open (.+)\n", result.stdout)
    assert sorted(os.listdir("mdh-dask-demo-table")) == ["labels.zarr", "model.zarr", "report.html"]
    kinds, labels = load_wine().target, zarr.open_array("mdh-dask-demo-table/labels.zarr")[:]
    assert adjusted_rand_index(kinds, labels) > 0.9
    report = Path("mdh-dask-demo-table/report.html").read_text(encoding="utf-8")
    assert 'id="picture"' in report
    assert re.search(r'class="sides">\s*<span>.*<b>[^<]*color_intensity', report)
    assert run("--table", "--image", "china").exit_code == 2


@pytest.mark.slow
def test_the_photograph_is_segmented_on_a_local_cluster_by_default(here):
    result = run(scheduler=None, code=0)
    found = re.fullmatch(r"(\d+) segments of 640 x 427 pixels in [\d.]+ s: open (.+)\n", result.stdout)
    assert found[1] == "2"  # on tiles, which show that flowers are not background
    assert Path(found[2]) == here / "mdh-dask-demo" / "report.html"
    assert sorted(os.listdir("mdh-dask-demo")) == WRITTEN
    assert "1 worker in this process" in result.stderr
    report = Path(found[2]).read_text(encoding="utf-8")
    assert "flower by vultilion (CC BY 2.0, from scikit-learn), JPEG, 640 x 427 pixels" in report
    assert zarr.open_array("mdh-dask-demo/labels.zarr").cdata_shape == (16, 2)


def test_the_report_holds_both_pictures_a_mask_and_the_colour_of_each_segment(here):
    run("--image", "../beach.png", "--out", "d")
    *masks, photograph, segmented = embedded_images(Path("d/report.html"))
    assert photograph == encoded(beach(), "JPEG")
    assert segmented == Path("d/segmented.png").read_bytes()
    shown = [np.asarray(Image.open(io.BytesIO(mask)).convert("RGBA"))[..., 3] == 0 for mask in masks]
    own = np.arange(len(masks))[:, None, None]
    np.testing.assert_array_equal(shown, zarr.open_array("d/labels.zarr")[:] == own)
    text = Path("d/report.html").read_text(encoding="utf-8")
    assert "../beach.png, PNG, 80 x 60 pixels" in text
    for colour in np.asarray(Image.open("d/segmented.png"))[[5, 30, 55], 40]:
        assert "#{:02x}{:02x}{:02x}".format(*colour) in text


@pytest.mark.slow
def test_a_filled_folder_is_kept_without_overwrite_and_filled_anew_with_it(here):
    Path("d").mkdir()
    Path("d/notes.txt").write_text("mine")
    refused = run("--image", "../beach.png", "--out", "d", code=exits.CANNOT_CREATE)
    assert "d is not empty: name another folder with --out, or replace it with --overwrite" in refused.stderr
    assert os.listdir("d") == ["notes.txt"]
    for _ in range(2):
        assert run("--image", "../beach.png", "--out", "d", "--overwrite").exit_code == 0
    assert sorted(os.listdir("d")) == sorted([*WRITTEN, "notes.txt"])


# Errors


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("--image", "rome"), exits.NO_INPUT, "expected 'flower', 'china' or a picture's path; got 'rome'"),
        (("--image", "../text.png"), exits.BAD_DATA, "expected an image, as PNG, JPEG, .* got ../text.png"),
        (("--image", "../half.png"), exits.BAD_DATA, "which cannot be read"),
        (("--out", "no/d"), exits.CANNOT_CREATE, "folder .*no of an output does not exist"),
        (("--out", "../beach.png"), exits.CANNOT_CREATE, "beach.png is a file: name a folder with --out"),
        (("--workers", "2"), exits.USAGE, "--workers is for workers started here"),
    ],
)
def test_an_error_is_told_in_one_line_and_leaves_nothing_behind(args, code, message, here):
    Path("../text.png").write_text("no picture")
    Path("../half.png").write_bytes(Path("../beach.png").read_bytes()[:3000])
    result = run(*args, code=code)
    assert re.search(message, result.stderr.splitlines()[-1])
    assert os.listdir() == []
