"""Tiles of images: as large as their patches, whatever the chunks, and smooth fields are one segment on them."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
import zarr
from helpers import at_night
from numpy.testing import assert_array_equal
from scipy.ndimage import gaussian_filter

from mdh_dask import (
    ConsensusClustering,
    DensityTree,
    HierarchicalKernelMDH,
    HierarchicalMDH,
    HyperplaneEnsemble,
    KernelKMeans,
    RandomProjectionTree,
    SupportVectorClustering,
    drift,
    load_model,
)
from mdh_dask._errors import SettingError
from mdh_dask.estimators.groups import Parts
from mdh_dask.images import Features, open_image, pixel_rows, tiles
from mdh_dask.images.rows import counted
from mdh_dask.images.tiles import parts_by_tiles, tiled_rows
from mdh_dask.workflows import segment
from mdh_dask.workflows.facts import numbers_of

METHODS = [
    RandomProjectionTree(), DensityTree(), ConsensusClustering(n_trees=2), HierarchicalMDH(), HierarchicalKernelMDH(),
    HyperplaneEnsemble(), SupportVectorClustering(),
]  # fmt: skip


def smooth(seed, n=128, sigma=4.0, bands=3):
    """Independent smooth normal fields."""
    noise = np.random.default_rng(seed).standard_normal((n, n, bands))
    field = gaussian_filter(noise, (sigma, sigma, 0), mode="wrap") if sigma else noise
    return (field / field.std()).astype(np.float32)


def stored(folder, pixels, chunks=(64, 64), name="a.zarr"):
    zarr.create_array(f"{folder}/{name}", data=pixels, chunks=(*chunks, pixels.shape[2]), overwrite=True)
    return f"{folder}/{name}"


@pytest.mark.parametrize(("sigma", "least", "most"), [(0, 1, 1), (2, 4, 8), (4, 8, 16), (8, 16, 32)])
def test_the_side_is_that_of_the_patches(tmp_path, sigma, least, most):
    found = tiled_rows([open_image(stored(tmp_path, smooth(0, 256, sigma)))])
    assert least <= found.summary.side <= most
    # Of pixels with the autocorrelation exp(-r^2 / (4 sigma^2)), of which 4 pi sigma^2 vary as one.
    assert found.summary.design_effect <= max(1.1, 4 * np.pi * sigma**2)


def test_tiles_are_as_large_as_the_patches_of_the_most_dependent_column(tmp_path):
    fine, coarse = smooth(0, 256, 0), smooth(1, 256, 8)
    alone, both = (
        tiled_rows([open_image(stored(tmp_path, pixels))])
        for pixels in (coarse[..., :1], np.concatenate([fine, coarse[..., :1]], axis=2))
    )
    assert both.summary.side == alone.summary.side >= 16
    assert both.summary.design_effect == alone.summary.design_effect


def test_rows_are_those_of_the_image_and_tiles_do_not_depend_on_chunks(tmp_path):
    pixels = (smooth(0) * 50).astype(np.int16)
    reference = tiled_rows([open_image(stored(tmp_path, pixels, (128, 128)))], side=16)
    found = tiled_rows([open_image(stored(tmp_path, pixels, (16, 48), "b.zarr"))], side=16)
    assert_array_equal(found.rows, pixels.reshape(-1, 3))
    assert found.rows.dtype == pixels.dtype
    assert_array_equal(found.tiles, reference.tiles)
    assert len(found.names) == 64
    assert (found.n == 256).all()


def test_tiles_of_pixels_with_data_and_of_several_images_are_told_apart(tmp_path):
    first, second = smooth(0, 48), smooth(1, 48)
    first[:16, :20] = np.nan
    images = [counted(open_image(stored(tmp_path, own, name=f"{i}.zarr"))) for i, own in enumerate((first, second))]
    found = tiled_rows(images, side=16)
    assert found.n.tolist() == [192, *[256] * 16]
    names, n = np.unique(np.asarray(found.tiles), return_counts=True)
    assert_array_equal(names, found.names)
    assert_array_equal(n, found.n)


@pytest.mark.slow
@pytest.mark.parametrize("sample", [None, 5000])
def test_smooth_fields_are_one_segment_on_tiles_and_many_on_pixels(tmp_path, sample):
    alone, on_tiles = [], []
    for seed, (into, dependence) in product(range(3), ((alone, None), (on_tiles, "auto"))):
        model = RandomProjectionTree(n_projections=200)
        path = stored(tmp_path, smooth(seed, 96, 12.0, 4))
        segment(path, model, labels=f"{tmp_path}/l.zarr", dependence=dependence, sample=sample, overwrite=True)
        into.append(model.n_clusters_)
    assert min(alone) > 5
    assert on_tiles == [1, 1, 1]


def test_classes_in_many_patches_are_found_on_tiles(tmp_path):
    rng = np.random.default_rng(0)
    label = np.kron(rng.permutation(np.arange(256) % 2).reshape(16, 16), np.ones((12, 12), int))
    pixels = smooth(0, 192, 2.0) + 5 * label[..., None]
    for dependence, model in (("auto", RandomProjectionTree()), (12, RandomProjectionTree())):
        segment(stored(tmp_path, pixels), model, labels=f"{tmp_path}/l.zarr", dependence=dependence, overwrite=True)
        found = zarr.open_array(f"{tmp_path}/l.zarr")[:]
        assert model.n_clusters_ == 2
        assert max(np.mean(found == label), np.mean(found != label)) > 0.97


@pytest.mark.slow
@pytest.mark.parametrize("method", [RandomProjectionTree(), DensityTree(n_landmarks=100, sample_size=1000)])
def test_segments_on_tiles_are_the_same_for_any_chunks_of_the_image(tmp_path, method):
    kind = np.kron(np.random.default_rng(0).permutation(np.arange(144) % 2).reshape(12, 12), np.ones((12, 12), int))
    pixels, found = smooth(0, 144, 2.0) + np.float32(5) * kind[..., None].astype(np.float32), []
    for chunks in ((64, 64), (37, 144), (144, 11)):
        path = stored(tmp_path, pixels, chunks)
        segment(path, method, labels=f"{tmp_path}/l.zarr", dependence="auto", overwrite=True)
        found.append(zarr.open_array(f"{tmp_path}/l.zarr")[:])
    assert len(np.unique(found[0])) == 2
    assert_array_equal(found[1], found[0])
    assert_array_equal(found[2], found[0])


@pytest.mark.slow
@pytest.mark.parametrize("model", at_night(METHODS, 3))
def test_the_model_of_any_method_its_log_report_numbers_and_why_say_which_tiles_were_compared(tmp_path, caplog, model):
    report, place = f"{tmp_path}/r.html", f"{tmp_path}/m.zarr"
    path = stored(tmp_path, smooth(0, 48, 12.0, 4))
    with caplog.at_level("INFO"):
        segment(path, model, model=place, labels=f"{tmp_path}/l.zarr", report=report, dependence="auto")
    tiles = load_model(place).pixel_columns_.tiles
    assert tiles.n_tiles * tiles.side**2 == 48**2
    assert 1 < tiles.n_independent < 48**2 / 100
    said = (
        f"{tiles.n_tiles} tiles of {tiles.side} x {tiles.side} pixels, which vary as {tiles.n_independent:.0f} "
        f"independent pixels (design effect {tiles.design_effect:.3g})"
    )
    for told in (caplog.text, Path(report).read_text(), load_model(place).why()):
        assert said in told
    assert 'tiles are few to confirm a split: more scenes show more, and dependence="none" describes' in model.why()
    assert numbers_of(model)["tiles"] == tiles._asdict() | {"n_independent": tiles.n_independent}


def test_a_picture_is_described_and_log_report_and_why_say_so(tmp_path, caplog):
    model, report, place = RandomProjectionTree(min_relative_depth=0.0), f"{tmp_path}/r.html", f"{tmp_path}/m.zarr"
    path = stored(tmp_path, smooth(0, 96, 12.0, 4))
    with caplog.at_level("INFO"):
        segment(path, model, model=place, labels=f"{tmp_path}/l.zarr", report=report)
    assert load_model(place).pixel_columns_.tiles is None
    for told in (Path(report).read_text(), caplog.text, load_model(place).why()):
        assert "patches of smooth noise would be segments, too" in told
        assert "compares tiles" in told


@pytest.mark.slow
def test_several_images_are_tested_on_tiles_unless_asked_otherwise_or_the_method_takes_none(tmp_path):
    for seed in range(3):
        zarr.create_array(f"{tmp_path}/{seed}.zarr", data=smooth(seed, 96, 12.0, 4).astype(np.float32))
    scenes, out, found = [f"{tmp_path}/{seed}.zarr" for seed in range(3)], f"{tmp_path}/{{scene}}-l.zarr", []
    compares_pixels = KernelKMeans(n_clusters=2, feature_map=None)
    for model, asked in ((RandomProjectionTree(), None), (RandomProjectionTree(), "none"), (compares_pixels, None)):
        segment(scenes, model, labels=out, sample=1000, dependence=asked, overwrite=True)
        found.append((model.n_clusters_, model.pixel_columns_.tiles is not None))
    assert found[0] == (1, True)
    assert [on_tiles for _, on_tiles in found[1:]] == [False, False]


def test_scenes_like_those_of_a_model_have_drifted_by_pixels_but_not_by_tiles(tmp_path):
    def scene(number, shift=0, chunks=(64, 64)):
        pixels = smooth(number, 96, 8.0, 4) + np.float32(shift)
        return open_image(stored(tmp_path, pixels, chunks, f"{number}.zarr"))

    tiled = tiled_rows([scene(number) for number in range(3)])
    model = RandomProjectionTree(random_state=1).fit(tiled.rows, groups=tiled.tiles)  # a line that the shift moves
    found = []
    for image in (*map(scene, range(10, 16)), scene(16, shift=4)):
        rows = pixel_rows(image, Features())
        parts = parts_by_tiles(image, tiled.summary.side).compute()
        groups = Parts(parts, len(rows) // tiled.summary.side**2)
        found.append([drift(model, rows).found, drift(model, rows, groups=groups).found])
    assert_array_equal(parts_by_tiles(scene(16, shift=4, chunks=(17, 96)), tiled.summary.side), np.asarray(parts))
    assert sum(by_pixels for by_pixels, _ in found[:-1]) > 0
    assert [by_tiles for _, by_tiles in found] == [False] * 6 + [True]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"window": "5"}, "expected a whole number of 3 or more for window; got '5'"),
        ({"window": 0}, "expected a whole number of 3 or more for window; got 0"),
        ({"sample": -1}, "expected a whole number of 2 or more for sample; got -1"),
        ({"sieve": 2.5}, "expected a whole number of 2 or more for sieve; got 2.5"),
        ({"coordinates": 0}, "expected a number above 0 for coordinates; got 0"),
        ({"coordinates": np.nan}, "expected a number above 0 for coordinates; got nan"),
        ({"bands": []}, "expected names of bands; got none"),
        ({"bands": "red,nir"}, r"expected a list of names for bands; got 'red,nir': give \['red', 'nir'\]"),
        ({"features": "smooth"}, r"expected a list of names for features; got 'smooth': give \['smooth'\]"),
    ],
)
def test_options_that_mean_nothing_are_refused(option, message, tmp_path):
    with pytest.raises(SettingError, match=message):
        segment(stored(tmp_path, smooth(0, 48)), RandomProjectionTree(), labels=f"{tmp_path}/l.zarr", **option)


def test_options_that_exclude_tiles_are_refused(tmp_path, monkeypatch):
    path, out = stored(tmp_path, smooth(0, 48)), f"{tmp_path}/l.zarr"
    with pytest.raises(ValueError, match="expected no coordinates with dependence"):
        segment(path, RandomProjectionTree(), labels=out, dependence="auto", coordinates=1.0)
    with pytest.raises(ValueError, match="expected a number of pixels, 'auto' or 'none' for dependence; got 0"):
        segment(path, RandomProjectionTree(), labels=out, dependence=0)
    monkeypatch.setattr(tiles, "MOST_GIVEN", 4)
    with pytest.raises(ValueError, match="expected at most 4 tiles; got tiles of 16 pixels: at least 24 are needed"):
        segment(path, RandomProjectionTree(), labels=out, dependence=16)
    with pytest.raises(ValueError, match="KernelKMeans compares rows, and not groups of dependent rows"):
        segment(path, KernelKMeans(n_clusters=2), labels=out, dependence="auto")
