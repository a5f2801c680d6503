"""Pixels without data: left out of rows, windows, samples and counts, and labelled -1."""

import json
from pathlib import Path

import dask
import numpy as np
import pytest
import rasterio
import reference_windows
import tifffile
import zarr
from distributed import Client, LocalCluster, get_worker
from helpers import job_text, run
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow
from strategies import seeds
from test_images import beach, bright, images, numbers_of

from mdh_dask._jit.sums import valid_window_moments
from mdh_dask.cli import exits
from mdh_dask.images import Features, Image, open_image, pixel_rows, write_labels
from mdh_dask.images.axes import AxesView
from mdh_dask.images.image import PixelOrder
from mdh_dask.images.rows import counted
from mdh_dask.images.validity import Validity, validity_of

HOLES = np.zeros((60, 80), bool)
HOLES[:20, :30] = HOLES[45:, 50:] = HOLES[33, 7] = True
THERE = ~HOLES


def image_with(pixels, valid, chunks=(10, 10)):
    """An image in memory with a mask."""
    mask = AxesView(valid, ("y", "x"))
    return Image(AxesView(pixels, ("y", "x", "c")), "memory", "Zarr", chunks, validity=Validity(mask=mask))


@pytest.fixture
def stored(tmp_path):
    """The beach with holes of 255 in one band, which the Zarr array declares; four blocks of one row of chunks each."""
    pixels = beach()
    pixels[pixels == 255] = 254
    pixels[HOLES, 1] = 255
    zarr.create_array(tmp_path / "image.zarr", data=pixels, chunks=(16, 20, 3), attributes={"_FillValue": 255})
    with dask.config.set({"mdh-dask.block-size": 16 * 80 * 3}):
        yield tmp_path / "image.zarr"


@pytest.mark.slow
@settings(max_examples=15)
@given(images(), st.sampled_from([1, 3, 5]), st.integers(1, 30), st.integers(1, 12), st.floats(0, 1), seeds)
def test_rows_are_those_of_pixels_with_data_to_the_last_bit_whatever_the_blocks(
    case, window, lines, panel, share, seed
):
    pixels, chunks = case
    height, width, bands = pixels.shape
    valid = np.random.default_rng(seed).random((height, width)) < share
    valid[height // 2, width // 3] = True
    window = min(window, (min(height, width) - 1) // 2 * 2 + 1)
    features = Features(window if window > 1 else None, coordinates=True, kinds=("gradient",))
    with dask.config.set(scheduler="synchronous"), pytest.MonkeyPatch.context() as patch:
        whole = pixel_rows(image_with(pixels, valid), features, lines=height).compute()
        patch.setattr(Image, "order", property(lambda self: PixelOrder(*self.shape[:2], panel)))
        patch.setattr("mdh_dask.images.local_columns.PIECE_BYTES", 1)
        patch.setattr("mdh_dask.images.local_columns.STRIP", 4)
        image = image_with(pixels, valid, chunks)
        rows = pixel_rows(image, features, lines=lines)
        assert 0 not in rows.chunks[0]
        number = numbers_of(image.order)[valid]
        np.testing.assert_array_equal(rows.compute()[np.argsort(np.argsort(number))], whole)
    np.testing.assert_array_equal(whole[:, -2:], np.argwhere(valid))
    np.testing.assert_array_equal(whole[:, :bands], pixels[valid])
    if window > 1:
        mean, sd = reference_windows.local_moments_of_valid(pixels, valid, window)
        np.testing.assert_allclose(whole[:, bands : 2 * bands], mean[valid], rtol=1e-6)
        np.testing.assert_allclose(whole[:, 2 * bands : 3 * bands], sd[valid], rtol=1e-5, atol=1e-4)


@given(st.integers(1, 5), st.integers(0, 6), st.integers(1, 4), seeds)
def test_the_loop_of_windows_with_holes_does_what_its_twin_does(size, more, width, seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 3, (size + more, width)).astype(float)
    means, squares = (counts > 0) * rng.normal(size=counts.shape), (counts > 0) * rng.random(counts.shape)
    arguments = counts, means, squares, size, 2 * size
    for actual, expected in zip(
        valid_window_moments(*arguments), reference_windows.valid_window_moments(*arguments), strict=True
    ):
        np.testing.assert_allclose(actual, expected, rtol=1e-13, atol=1e-15)


# What files declare


PLACE = rasterio.Affine(30, 0, 5e5, 0, -30, 7e6)


def geotiff(path, pixels, mask=None, transform=PLACE, names=None, **options):
    """Write a GeoTIFF by GDAL; with a mask inside the file, and with names of the bands."""
    height, width, bands = pixels.shape
    about = {"driver": "GTiff", "height": height, "width": width, "count": bands, "dtype": pixels.dtype.name}
    about |= {"tiled": True, "blockxsize": 16, "blockysize": 16, "transform": transform}
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(path, "w", **about, **options) as f:
        f.write(pixels.transpose(2, 0, 1))
        f.descriptions = names or f.descriptions
        if mask is not None:
            f.write_mask(mask)
    return path


def declaring(kind, folder):
    """An image in a file that declares the holes."""
    pixels = beach().clip(1, 250)
    if kind == "mask in a TIFF":
        return open_image(geotiff(folder / "a.tif", pixels, mask=THERE))
    if kind == "alpha of a TIFF":
        rgba = np.dstack([pixels, THERE * np.uint8(200)])
        return open_image(geotiff(folder / "a.tif", rgba, photometric="rgb", alpha="yes"))
    if kind.endswith("own mask"):
        mask = np.where(THERE, 1, np.nan).astype("f4") if "NaN" in kind else THERE * np.uint8(255)
        tifffile.imwrite(folder / "mask.tif", mask)
        zarr.create_array(folder / "a.zarr", data=pixels)
        return open_image(folder / "a.zarr", mask=folder / "mask.tif")
    pixels = pixels.astype("f4" if kind != "nodata of a user" else "u1")
    pixels[HOLES, 1] = {"NaN": np.nan, "nodata of a TIFF": -9999.5, "attribute": 1e30}.get(kind, 255)
    if kind == "nodata of a TIFF":
        return open_image(geotiff(folder / "a.tif", pixels, nodata=-9999.5))
    zarr.create_array(folder / "a.zarr", data=pixels, attributes={"nodata": 1e30} if kind == "attribute" else {})
    return open_image(folder / "a.zarr", nodata=255 if kind == "nodata of a user" else None)


KINDS = ("NaN", "attribute", "nodata of a TIFF", "nodata of a user", "mask in a TIFF", "alpha of a TIFF", "own mask",
         "NaN in an own mask")  # fmt: skip


def test_an_image_of_one_pixel_with_data_is_refused(tmp_path):
    pixels = np.zeros((40, 50, 3), np.uint8)
    pixels[1, 2] = 7
    zarr.create_array(tmp_path / "image.zarr", data=pixels, attributes={"_FillValue": 0})
    told = "expected at least 2 pixels with data; got 1"
    assert (
        told
        in run(
            "segment", tmp_path / "image.zarr", "--out", tmp_path / "s.zarr", "--scheduler", "threads", code=65
        ).output
    )
    Pillow.fromarray(pixels[1:2, 2:3]).save(tmp_path / "one.png")
    assert (
        told
        in run("segment", tmp_path / "one.png", "--out", tmp_path / "s.zarr", "--scheduler", "threads", code=65).output
    )


@pytest.mark.parametrize("kind", KINDS)
def test_holes_are_found_by_whatever_declares_them(kind, tmp_path, monkeypatch):
    monkeypatch.setattr("mdh_dask.images.validity.PIECE", 700)  # several pieces of a block
    image = declaring(kind, tmp_path)
    np.testing.assert_array_equal(pixel_rows(image).compute(), beach().clip(1, 250)[THERE])
    assert counted(image).n_without == HOLES.sum()


@pytest.mark.parametrize(
    ("dtype", "declared", "expected"),
    [
        ("u1", ["255"], (255,)), ("u1", ["256", -1, 0.5, "nan"], ()), ("i2", ["-9999.0"], (-9999,)),
        ("f4", ["-3.4028234663852886e+38"], (float(np.finfo("f4").min),)), ("f8", ["AAAAAACH88A="], (-79984.0,)),
        ("u8", [str(2**53 + 1), str(2**64 - 1)], (2**53 + 1, 2**64 - 1)), ("i8", [2**63 - 1], (2**63 - 1,)),
        ("u1", [None, True, "text", [3]], ()), ("i4", ["inf"], ()),
    ],
)  # fmt: skip
def test_a_declared_value_counts_if_pixels_can_have_it(dtype, declared, expected):
    found = validity_of(dtype, declared)
    assert (() if found is None else found.nodata) == expected


def test_all_pixels_hold_data_if_the_user_says_so(stored):
    assert open_image(stored, nodata="none").validity is None
    assert pixel_rows(open_image(stored, nodata="none")).shape == (4800, 3)


# Labels


def test_pixels_without_data_have_the_label_minus_one_and_are_in_no_count(stored, tmp_path):
    seen = write_labels(bright, open_image(stored), tmp_path / "l.zarr", n_labels=3)
    written = zarr.open_array(tmp_path / "l.zarr")
    expected = np.where(THERE, bright(beach().reshape(-1, 3)).reshape(60, 80), -1)
    np.testing.assert_array_equal(written, expected)
    assert (written.dtype, written.attrs["nodata"]) == ("i1", -1)
    np.testing.assert_array_equal(seen.sizes, [(expected == i).sum() for i in range(3)])
    np.testing.assert_allclose(seen.means, [beach()[expected == i].mean(axis=0) for i in range(3)])
    assert seen.n_without == HOLES.sum()
    np.testing.assert_array_equal(seen.segmented()[..., 3] == 0, HOLES)
    np.testing.assert_array_equal(seen.photograph[THERE], beach()[THERE])
    assert pixel_rows(open_image(tmp_path / "l.zarr")).shape == (THERE.sum(), 1)


def test_a_block_without_data_is_read_once_to_be_counted_and_labelled_without(stored, tmp_path, monkeypatch):
    pixels = zarr.open_array(stored, mode="r+")
    pixels[16:48] = 255
    image = counted(open_image(stored))
    read, old = [], AxesView.__getitem__
    monkeypatch.setattr(AxesView, "__getitem__", lambda self, block: read.append(block) or old(self, block))
    assert pixel_rows(image).compute(scheduler="synchronous").shape[0] == THERE[:16].sum() + THERE[48:].sum()
    write_labels(bright, image, tmp_path / "l.zarr", n_labels=3)
    assert {lines.start for lines, _ in read} == {0, 48}
    assert (zarr.open_array(tmp_path / "l.zarr")[16:48] == -1).all()


def test_tiles_that_a_mask_leaves_out_are_never_read(tmp_path, monkeypatch):
    mask = np.zeros((60, 80), np.uint8)
    mask[:16, 40:60] = mask[50, 3] = 1
    zarr.create_array(tmp_path / "image.zarr", data=beach(), chunks=(16, 20, 3))
    tifffile.imwrite(tmp_path / "mask.tif", mask)
    image = open_image(tmp_path / "image.zarr", mask=tmp_path / "mask.tif")
    read, old = [], AxesView.__getitem__
    monkeypatch.setattr(
        AxesView, "__getitem__", lambda self, block: read.append((self.shape[2], *block)) or old(self, block)
    )
    rows = pixel_rows(image, Features(window=3), lines=60).compute(scheduler="synchronous")
    np.testing.assert_array_equal(rows[:, :3], beach()[mask == 1])
    held = {(y.start // 16, x.start // 20) for bands, y, x in read if bands == 3}
    assert held == {(0, 2), (3, 0)}


def test_an_image_without_data_is_refused_and_nothing_is_written(stored, tmp_path):
    zarr.open_array(stored, mode="r+")[:] = 255
    for make in (counted, pixel_rows, lambda image: write_labels(bright, image, None, n_labels=3)):
        with pytest.raises(ValueError, match=r"expected pixels with data in .*image.zarr; got none among 4800"):
            make(open_image(stored))
    with pytest.raises(ValueError, match="expected pixels with data"):
        write_labels(bright, open_image(stored), tmp_path / "l.zarr", n_labels=3)
    assert not (tmp_path / "l.zarr").exists()


# The command line and jobs


QUICK = ("--method", "rp", "--n-projections", 20, "--scheduler", "threads")


def test_commands_leave_out_pixels_without_data_and_the_model_knows_which(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pixels = beach().clip(1, 254)
    pixels[HOLES] = 255
    zarr.create_array("a.zarr", data=pixels, chunks=(16, 20, 3))
    outputs = ("--out", "l.zarr", "--model", "m.zarr", "--report", "r.html", "--preview", "p.png")
    result = run("segment", "a.zarr", *outputs, "--nodata", 255, "--window", 3, *QUICK, code=0)
    assert f"segments of 80 x 60 pixels, {HOLES.sum()} without data, in" in result.stdout
    assert f"{HOLES.sum():,} of 4,800, {HOLES.mean():.1%}, with the label -1" in Path("r.html").read_text()
    labels = zarr.open_array("l.zarr", mode="r")[:]
    np.testing.assert_array_equal(labels == -1, HOLES)
    np.testing.assert_array_equal(np.asarray(Pillow.open("p.png"))[..., 3] == 0, HOLES)
    result = run("predict", "a.zarr", "--model", "m.zarr", "--out", "again.zarr", "--scheduler", "threads")
    assert f"segments, {HOLES.sum()} without data" in result.stdout, result.output
    np.testing.assert_array_equal(zarr.open_array("again.zarr", mode="r"), labels)
    result = run("drift", "a.zarr", "--model", "m.zarr", "--json", "--scheduler", "threads")
    assert json.loads(result.stdout)["rows"] == [THERE.sum()] * 2, result.output


def test_drift_takes_an_image_whose_bands_have_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    geotiff("a.tif", beach(), names=("red", "green", "blue"))
    run("segment", "a.tif", "--model", "m.zarr", *QUICK, code=0)
    result = run("drift", "a.tif", "--model", "m.zarr", "--json", "--scheduler", "threads", code=0)
    assert json.loads(result.stdout)["rows"] == [4800, 4800]
    for command in (("predict", "*.tif", "--out", "l.zarr"), ("drift", "*.tif")):
        assert "expected one image; got *.tif, which names several" in run(*command, "--model", "m.zarr", code=2).stderr


JOB = job_text(
    input={"kind": "image", "path": "a.zarr", "mask": "mask.tif", "nodata": float("nan")},
    method={"name": "rp", "n_projections": 20},
    output={"labels": "l.zarr", "metrics": "metrics.json", "manifest": "manifest.json"},
)


def test_a_job_counts_what_it_leaves_out_and_knows_when_the_mask_has_changed(tmp_path):
    zarr.create_array(tmp_path / "a.zarr", data=beach(), chunks=(16, 20, 3))
    tifffile.imwrite(tmp_path / "mask.tif", THERE)
    job = tmp_path / "job.toml"
    job.write_text(JOB)
    result = run("run", job, code=0)
    metrics, manifest = (json.loads((tmp_path / name).read_text()) for name in ("metrics.json", "manifest.json"))
    for found in (metrics, manifest):
        assert (found["n_rows"], found["n_without_data"]) == (THERE.sum(), HOLES.sum())
    assert sum(metrics["cluster_sizes"]) == THERE.sum()
    assert metrics["passes"] == len(metrics["each_pass"])
    assert "nothing to do" in run("run", job).stdout
    tifffile.imwrite(tmp_path / "mask.tif", ~THERE)
    result = run("run", job, code=exits.BAD_JOB)
    assert "input.mask" in result.stderr


WAITING = []


def zero(rows):
    """Label rows, and keep how many tasks this worker has been given."""
    WAITING.append(sum(task.state in ("ready", "executing") for task in get_worker().state.tasks.values()))
    return np.zeros(len(rows), int)


def test_workers_get_the_blocks_of_a_pass_one_by_one_so_that_their_memory_does_not_grow_with_their_number(tmp_path):
    zarr.create_array(
        tmp_path / "a.zarr", data=np.ones((2000, 9, 2), "i1"), chunks=(20, 9, 2), attributes={"nodata": 7}
    )
    image, options = open_image(tmp_path / "a.zarr", axes="yxc"), {"processes": False, "dashboard_address": None}
    WAITING.clear()
    with (
        dask.config.set({"mdh-dask.block-size": 1}),
        LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster,
        Client(cluster),
    ):
        write_labels(zero, counted(image), tmp_path / "l.zarr", n_labels=1)
    assert len(WAITING) >= 100
    assert max(WAITING) <= 3


def test_chunks_of_a_mask_that_are_not_stored_are_filled_on_request(tmp_path):
    zarr.create_array(tmp_path / "a.zarr", data=beach(), chunks=(30, 80, 3))
    mask = zarr.create_array(tmp_path / "mask.zarr", shape=(60, 80), chunks=(30, 80), dtype="u1")
    mask[:30] = 1
    with pytest.raises(ValueError, match="missing_chunks='fill'"):
        open_image(tmp_path / "a.zarr", mask=str(tmp_path / "mask.zarr"))
    image = open_image(tmp_path / "a.zarr", mask=str(tmp_path / "mask.zarr"), missing_chunks="fill")
    np.testing.assert_array_equal(pixel_rows(counted(image)), beach()[:30].reshape(-1, 3))
