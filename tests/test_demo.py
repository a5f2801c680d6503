"""The demo: pictures of all kinds in, segments and a report out, and nothing where it fails."""

import base64
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from mdh_dask import load_model
from mdh_dask.cli import exits, mdh
from mdh_dask.cli.pictures import SAMPLE_IMAGES, encoded, mean_colours, read_picture
from mdh_dask.io import open_rows

WRITTEN = ["labels.zarr", "model.zarr", "pixels.zarr", "report.html", "segmented.png"]
SKY, SEA, SAND = (90, 150, 220), (20, 60, 90), (210, 180, 120)


def run(*args, scheduler="threads"):
    where = () if scheduler is None else ("--scheduler", scheduler)
    return CliRunner().invoke(mdh, ["demo", *map(str, args), *where], prog_name="mdh-dask")


def beach(height=60, width=80):
    """A picture of three colours in bands, with some noise."""
    bands = np.repeat([SKY, SEA, SAND], -(-height // 3), axis=0)[:height, None]
    noise = np.random.default_rng(0).normal(0, 6, (height, width, 3))
    return np.clip(bands + noise, 0, 255).astype(np.uint8)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty current folder, and a picture beside it."""
    (tmp_path / "out").mkdir()
    Image.fromarray(beach()).save(tmp_path / "beach.png")
    monkeypatch.chdir(tmp_path / "out")
    return tmp_path / "out"


def embedded_images(report):
    found = re.findall(r"data:image/\w+;base64,([A-Za-z0-9+/=]+)", report.read_text(encoding="utf-8"))
    return [base64.b64decode(image) for image in found]


# What it writes


def test_the_photograph_is_segmented_on_a_local_cluster_by_default(here):
    result = run(scheduler=None)
    assert result.exit_code == 0, result.output
    found = re.fullmatch(r"(\d+) segments of 273280 pixels: open (.+)\n", result.stdout)
    assert 2 <= int(found[1]) <= 200
    assert Path(found[2]) == here / "mdh-dask-demo" / "report.html"
    assert sorted(os.listdir("mdh-dask-demo")) == WRITTEN
    assert "1 worker in this process" in result.stderr
    report = Path(found[2]).read_text(encoding="utf-8")
    assert "flower by vultilion (CC BY 2.0, from scikit-learn), 640 x 427 pixels" in report
    assert open_rows("mdh-dask-demo/pixels.zarr", block_bytes=1).numblocks == (16, 1)


def test_either_photograph_is_segmented(here):
    assert run("--image", "china").exit_code == 0
    assert "china by danielbuechele" in Path("mdh-dask-demo/report.html").read_text(encoding="utf-8")


def test_a_picture_of_three_colours_has_three_segments_in_their_mean_colours(here):
    assert run("--image", "../beach.png", "--out", "d").exit_code == 0
    segmented = np.asarray(Image.open("d/segmented.png"))
    colours = np.unique(segmented.reshape(-1, 3), axis=0)
    np.testing.assert_allclose(colours, sorted([SKY, SEA, SAND]), atol=2)
    model, labels = load_model("d/model.zarr"), open_rows("d/labels.zarr", ndim=1).compute()
    np.testing.assert_array_equal(model.predict(beach().reshape(-1, 3)), labels)
    assert open_rows("d/pixels.zarr", ndim=2).shape == (4800, 3)


def test_the_report_holds_both_pictures_and_the_colours_of_the_segments(here):
    run("--image", "../beach.png", "--out", "d")
    photograph, segmented = embedded_images(Path("d/report.html"))
    assert photograph == encoded(beach(), "JPEG")
    assert segmented == Path("d/segmented.png").read_bytes()
    colours = np.unique(np.asarray(Image.open("d/segmented.png")).reshape(-1, 3), axis=0)
    text = Path("d/report.html").read_text(encoding="utf-8")
    assert "beach.png, 80 x 60 pixels" in text
    for colour in colours:
        assert "#{:02x}{:02x}{:02x}".format(*colour) in text


def test_a_filled_folder_is_kept_without_overwrite_and_filled_anew_with_it(here):
    Path("d").mkdir()
    Path("d/notes.txt").write_text("mine")
    refused = run("--image", "../beach.png", "--out", "d")
    assert refused.exit_code == exits.CANNOT_CREATE
    assert "d is not empty: name another folder with --out, or replace it with --overwrite" in refused.stderr
    assert os.listdir("d") == ["notes.txt"]
    for _ in range(2):
        assert run("--image", "../beach.png", "--out", "d", "--overwrite").exit_code == 0
    assert sorted(os.listdir("d")) == sorted([*WRITTEN, "notes.txt"])


def test_an_empty_folder_is_filled(here):
    assert run("--image", "../beach.png", "--out", ".").exit_code == 0
    assert sorted(os.listdir()) == WRITTEN


def test_progress_bars_cover_all_passes_where_asked_for(here):
    result = run("--image", "../beach.png", "--out", "d", "--progress")
    for step in ("pass 1: reading", "writing labels"):
        assert re.search(rf"{step}: 100%", result.stderr)
    assert "%" not in run("--image", "../beach.png", "--out", "e").stderr


# Errors


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("--image", "rome"), exits.NO_INPUT, "expected 'flower', 'china' or a picture's path; got 'rome'"),
        (("--image", "../text.png"), exits.BAD_DATA, "expected a picture, as PNG or JPEG; got '../text.png'"),
        (("--image", "../half.png"), exits.BAD_DATA, "which cannot be read"),
        (("--out", "no/d"), exits.CANNOT_CREATE, "folder .*no of an output does not exist"),
        (("--out", "../beach.png"), exits.CANNOT_CREATE, "beach.png is a file: name a folder with --out"),
        (("--workers", "2"), exits.USAGE, "--workers is for workers that are started here"),
    ],
)
def test_an_error_is_told_in_one_line_and_leaves_nothing_behind(args, code, message, here):
    Path("../text.png").write_text("no picture")
    Path("../half.png").write_bytes(Path("../beach.png").read_bytes()[:3000])
    result = run(*args)
    assert result.exit_code == code, result.output
    assert re.search(message, result.stderr.splitlines()[-1])
    assert os.listdir() == []


@pytest.mark.parametrize("existed", [False, True])
def test_a_failure_at_the_end_leaves_the_folder_as_it_was(existed, here, monkeypatch):
    def fail(*args, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mdh_dask.cli.demo.write_report", fail)
    if existed:
        Path("d").mkdir()
        Path("d/report.html").write_text("old")
    result = run("--image", "../beach.png", "--out", "d", "--overwrite")
    assert result.exit_code == exits.NOT_READ_OR_WRITTEN
    assert os.listdir() == (["d"] if existed else [])
    assert not existed or (os.listdir("d"), Path("d/report.html").read_text()) == (["report.html"], "old")


@pytest.mark.parametrize("package", ["PIL", "jinja2"])
def test_a_missing_package_is_named_before_any_work(package, here, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    result = run("--image", "../beach.png")
    assert (result.exit_code, os.listdir()) == (exits.MISSING_PACKAGE, [])
    assert f'expected the package {package}; it is missing: pip install "mdh_dask[demo]"' in result.stderr


def test_the_demo_needs_no_matplotlib():
    program = "import sys; sys.modules['matplotlib'] = None; import mdh_dask.cli.demo"
    subprocess.run([sys.executable, "-c", program], check=True)


# Pictures


@pytest.mark.parametrize("name", SAMPLE_IMAGES)
def test_the_photographs_are_there_without_a_network(name):
    assert (read_picture(name).shape, read_picture(name).dtype) == ((427, 640, 3), np.uint8)


def save(picture, path, **options):
    picture.save(path, **options)
    return str(path)


def test_pictures_of_every_mode_become_red_green_and_blue(tmp_path):
    pixels = beach()
    grey = Image.fromarray(pixels).convert("L")
    for name, picture in (
        ("rgb.png", Image.fromarray(pixels)),
        ("photo.jpg", Image.fromarray(pixels)),
        ("grey.png", grey),
        ("grey.jpg", grey),
        ("palette.gif", Image.fromarray(pixels).quantize(64)),
        ("print.jpg", Image.fromarray(pixels).convert("CMYK")),
        ("bits.png", grey.convert("1")),
    ):
        read = read_picture(save(picture, tmp_path / name))
        assert (read.shape, read.dtype) == ((60, 80, 3), np.uint8), name
        if name == "grey.png":
            np.testing.assert_array_equal(read, np.repeat(np.asarray(grey)[..., None], 3, axis=2))


def test_transparent_pixels_are_white(tmp_path):
    pixels = np.dstack([beach(), np.full((60, 80), 255, np.uint8)])
    pixels[:10, :, 3] = 0
    read = read_picture(save(Image.fromarray(pixels), tmp_path / "a.png"))
    assert (read[:10] == 255).all()
    np.testing.assert_array_equal(read[10:], beach()[10:])


def test_a_palette_with_a_transparent_colour_is_read(tmp_path):
    picture = Image.fromarray(beach()).quantize(3)
    read = read_picture(save(picture, tmp_path / "a.png", transparency=0))
    assert (read == 255).all(axis=2).any()
    assert not (read == 255).all()


@pytest.mark.parametrize("dtype", ["uint16", "int32"])
def test_grey_levels_of_many_bits_span_the_range(dtype, tmp_path):
    ramp = np.linspace(1000, 3000, 4800).reshape(60, 80).astype(dtype)
    read = read_picture(save(Image.fromarray(ramp), tmp_path / "a.tif"))
    assert (read.min(), read.max()) == (0, 255)
    assert (np.diff(read[..., 0].ravel().astype(int)) >= 0).all()


def test_a_picture_is_turned_upright_as_its_camera_says(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees clockwise
    path = save(Image.fromarray(beach()), tmp_path / "a.png", exif=exif)
    np.testing.assert_array_equal(read_picture(path), np.rot90(beach(), -1))


def test_mean_colours_are_the_means_of_the_segments():
    pixels, labels = beach().reshape(-1, 3), np.random.default_rng(0).integers(4, size=4800)
    expected = [np.rint(pixels[labels == i].mean(axis=0)) for i in range(4)]
    np.testing.assert_array_equal(mean_colours(pixels, labels, 4), expected)


def test_large_pictures_are_made_smaller_for_the_report():
    small = encoded(np.zeros((300, 400, 3), np.uint8), "PNG", widest=100)
    with Image.open(io.BytesIO(small)) as picture:
        assert picture.size == (100, 75)
