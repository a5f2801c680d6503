"""Labels as maps: GeoTIFF in, cloud-optimised GeoTIFF out, read back by rasterio; DataArrays in, DataArrays out."""

import json
import re
from dataclasses import replace
from pathlib import Path
from unittest.mock import ANY

import dask
import dask.array as da
import fsspec
import numpy as np
import pytest
import rasterio
import xarray
import zarr
from helpers import job_text, run, serving
from rasterio.shutil import copy
from test_images import beach, bright, image_of
from test_nodata import HOLES, THERE, geotiff

from mdh_dask import PCATree, load_model
from mdh_dask._errors import SettingError
from mdh_dask.cli import exits
from mdh_dask.images import open_image, pixel_rows, write_labels
from mdh_dask.images.maps import place_of
from mdh_dask.workflows import segment

EXPECTED = np.where(THERE, bright(beach().reshape(-1, 3)).reshape(60, 80), 255)

UTM = "EPSG:32721"

SINUSOIDAL = "+proj=sinu +lon_0=11 +x_0=0 +y_0=0 +R=6371007.181 +units=m +no_defs"
"""A coordinate system without a code, as that of MODIS."""


def scene_with(crs, folder):
    """The beach with holes as a GeoTIFF by GDAL."""
    pixels = beach().clip(0, 254)
    pixels[HOLES] = 255
    return geotiff(folder / "scene.tif", pixels, nodata=255, crs=crs)


@pytest.mark.slow
@pytest.mark.parametrize("crs", [UTM, SINUSOIDAL])
def test_a_map_lies_where_the_image_does_with_colours_names_and_nodata(crs, tmp_path):
    scene = scene_with(crs, tmp_path)
    with dask.config.set({"mdh-dask.block-size": 1}):
        seen = write_labels(bright, open_image(scene), tmp_path / "labels.tif", n_labels=3)
    with rasterio.open(scene) as image, rasterio.open(tmp_path / "labels.tif") as found:
        assert (found.crs, found.transform, found.bounds) == (image.crs, image.transform, image.bounds)
        assert (found.nodata, found.dtypes, found.shape) == (255, ("uint8",), (60, 80))
        assert found.tags(ns="IMAGE_STRUCTURE")["LAYOUT"] == "COG"
        assert found.profile["compress"] == "deflate"
        np.testing.assert_array_equal(found.read(1), EXPECTED)
        np.testing.assert_array_equal(found.dataset_mask() == 0, HOLES)
        colours = found.colormap(1)
        assert [colours[i] for i in range(3)] == [(*map(int, colour), 255) for colour in seen.colours]
        assert [found.tags(1)[f"CATEGORY_{i}"] for i in range(3)] == ["segment 0", "segment 1", "segment 2"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["labels.tif", "scene.tif"]
    reopened = open_image(tmp_path / "labels.tif")
    assert reopened.georeference["spatial:transform"] == [30.0, 0.0, 5e5, 0.0, -30.0, 7e6]


@pytest.mark.parametrize("point", ["Area", "Point"])
def test_an_overview_is_opened_by_its_level_with_its_mask_and_where_the_image_lies(point, tmp_path):
    pixels, there = np.tile(beach().clip(1, 250), (20, 11, 1)), np.tile(THERE, (20, 11))
    place = rasterio.Affine(30, 0, 5e5, 0, -20, 7e6)
    with rasterio.open(geotiff(tmp_path / "a.tif", pixels, there, place, crs=UTM), "r+") as file:
        file.update_tags(AREA_OR_POINT=point)
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True):
        copy(tmp_path / "a.tif", tmp_path / "cog.tif", driver="COG", blocksize=256, overview_resampling="nearest")
    image = open_image(tmp_path / "cog.tif", index={"level": 2})
    with rasterio.open(tmp_path / "cog.tif", overview_level=1) as file:
        inside = file.dataset_mask() != 0
        np.testing.assert_array_equal(pixel_rows(image).compute(), file.read().transpose(1, 2, 0)[inside])
        assert place_of(image) == place_of(replace(image, geo_tags=()))._replace(gcps=ANY, tags=ANY)
        seen = write_labels(bright, image, tmp_path / "labels.tif", n_labels=3)
        with rasterio.open(tmp_path / "labels.tif") as labels:
            assert (labels.shape, labels.transform, labels.bounds) == ((300, 220), file.transform, file.bounds)
    assert seen.n_without == (~inside).sum() > 0
    with pytest.raises(ValueError, match=r"expected a level from 0 to 3 in .*, of 1200 x 880 x 3, .*150 x 110 x 3"):
        open_image(tmp_path / "cog.tif", index={"level": 4})


def test_the_place_of_a_zarr_image_is_that_of_its_attributes(tmp_path):
    attributes = {"proj:code": UTM, "spatial:transform": [30.0, 0, 5e5, 0, -30, 7e6], "spatial:registration": "node"}
    zarr.create_array(tmp_path / "a.zarr", data=beach(), attributes=attributes)
    place = place_of(open_image(tmp_path / "a.zarr"))
    assert place.crs == rasterio.crs.CRS.from_epsg(32721)
    assert place.transform == rasterio.Affine(30, 0, 5e5 - 15, 0, -30, 7e6 + 15)
    assert place_of(image_of(beach())) is None


def test_a_map_is_written_to_a_url_and_a_failure_leaves_nothing_behind(tmp_path):
    scene, url = scene_with(UTM, tmp_path), f"memory://{tmp_path.name}/l.tif"
    write_labels(bright, open_image(scene), url, n_labels=3)
    np.testing.assert_array_equal(open_image(url).pixels.compute()[..., 0], EXPECTED)
    assert [Path(name).name for name in fsspec.filesystem("memory").ls(tmp_path.name, detail=False)] == ["l.tif"]
    with pytest.raises(FileExistsError, match=r"l.tif exists"):
        write_labels(bright, open_image(scene), url, n_labels=3)
    with pytest.raises(ValueError, match="correct n_labels"):
        write_labels(bright, open_image(scene), tmp_path / "l.tif", n_labels=2)
    with pytest.raises(ValueError, match="is the image itself"):
        write_labels(bright, open_image(scene), scene, n_labels=3, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["scene.tif"]


JOB = job_text(
    input={"kind": "image", "path": "scene.tif"},
    method={"name": "rp", "n_projections": 20},
    output={"labels": "labels.tif", "manifest": "manifest.json"},
)


def test_commands_and_jobs_write_maps(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scene_with(UTM, tmp_path)
    quick = ("--method", "rp", "--n-projections", 20, "--scheduler", "threads")
    run("segment", "scene.tif", "--out", "by-hand.tif", *quick, code=0)
    assert run("segment", "scene.tif", "--out", "by-hand.tif", *quick).exit_code == exits.CANNOT_CREATE
    Path("job.toml").write_text(JOB)
    run("run", "job.toml", code=0)
    assert json.loads(Path("manifest.json").read_text())["outputs"]["labels"]["checksum"].startswith("sha256:")
    with rasterio.open("by-hand.tif") as one, rasterio.open("labels.tif") as other:
        np.testing.assert_array_equal(one.read(1), other.read(1))
        np.testing.assert_array_equal(one.read(1) == 255, HOLES)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "by-hand.tif", "job.toml", "job.work", "labels.tif",
        "manifest.json", "scene.tif",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_tile_of_a_large_file_takes_a_small_part_of_it(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 255, (1500, 1500, 3), dtype=np.uint8)
    geotiff(tmp_path / "a.tif", pixels, crs=UTM)
    copy(tmp_path / "a.tif", tmp_path / "cog.tif", driver="COG", compress="deflate", blocksize=128)
    size = (tmp_path / "cog.tif").stat().st_size
    with serving(tmp_path) as (url, asked):
        image = open_image(f"{url}/cog.tif")
        block = slice(128, 256), slice(128, 256)
        np.testing.assert_array_equal(image.source[block], pixels[block])
        ranges = [tuple(map(int, re.findall(r"\d+", one))) for one in asked]
        assert size > 6_000_000
        assert sum(last + 1 - first for first, last in ranges) < size / 10
        assert not np.count_nonzero(image.source[:, :] != pixels)


# DataArrays


@pytest.fixture
def array():
    """The beach with holes, bands first, with coordinates."""
    pixels = beach().astype("f4")
    pixels[HOLES] = -1
    coords = {"y": np.arange(60) * -30.0, "x": np.arange(80) * 30.0, "band": ["r", "g", "b"], "time": 7}
    coords["height"] = (("y", "x"), np.arange(4800).reshape(60, 80))
    dims, attributes = ("band", "y", "x"), {"_FillValue": -1.0, "title": "beach"}
    return xarray.DataArray(pixels.transpose(2, 0, 1), coords, dims, attrs=attributes)


@pytest.mark.slow
@pytest.mark.parametrize("window", [None, 3])
def test_a_data_array_gives_a_data_array_of_labels(window, array, tmp_path):
    labels = segment(array, PCATree(), window=window)
    assert isinstance(labels.data, np.ndarray)
    assert (labels.dims, labels.attrs["title"], labels.attrs["nodata"]) == (("y", "x"), "beach", -1)
    assert set(labels.coords) == {"y", "x", "time", "height"}
    xarray.testing.assert_equal(labels.y, array.y)
    np.testing.assert_array_equal(labels == -1, HOLES)
    zarr.create_array(tmp_path / "a.zarr", data=array.values, attributes={"nodata": -1}, dimension_names=array.dims)
    segment(tmp_path / "a.zarr", PCATree(), labels=str(tmp_path / "l.zarr"), window=window)
    np.testing.assert_array_equal(labels, zarr.open_array(tmp_path / "l.zarr"))


def test_data_arrays_by_name_share_a_model_and_keep_their_places_and_attributes(array, tmp_path):
    other = array.isel(y=slice(10, 57), x=slice(3, 70), band=[2, 0, 1]).assign_attrs(title="part")
    model = PCATree()
    given = {"a": array, "b": other.copy(data=da.from_array(other.values, chunks=(2, 17, 30)))}
    labels = segment(given, model, labels=f"{tmp_path}/{{scene}}.zarr", bands=["g", "b"])
    assert model.pixel_columns_.bands == ("g", "b")
    assert isinstance(labels["b"].data, da.Array)
    for name, one in given.items():
        rows = one.sel(band=["g", "b"]).transpose("y", "x", "band").values
        there = (rows != -1).all(axis=2)
        np.testing.assert_array_equal(labels[name].values[there], model.predict(rows[there]))
        np.testing.assert_array_equal(labels[name] == -1, ~there)
        np.testing.assert_array_equal(labels[name], zarr.open_array(tmp_path / f"{name}.zarr"))
        xarray.testing.assert_equal(labels[name].height, one.height)
        assert (labels[name].dims, labels[name].attrs["title"]) == (("y", "x"), one.attrs["title"])
    together = np.concatenate([one.sel(band=["g", "b"]).values.reshape(2, -1).T for one in given.values()])
    assert model.n_clusters_ == PCATree().fit(together[(together != -1).all(axis=1)]).n_clusters_


@pytest.mark.parametrize("value", [np.int16(-1), np.float32(-1), np.array([-1, -2]), -1])
def test_values_of_no_data_have_any_type_of_numpy(value, array, tmp_path):
    labels = segment(array.assign_attrs(_FillValue=value), PCATree())
    np.testing.assert_array_equal(labels == -1, HOLES)
    if np.ndim(value) == 0:
        model, path = PCATree(), tmp_path / "m.zarr"
        plain = array.astype("i2").drop_attrs()
        np.testing.assert_array_equal(segment(plain, model, nodata=value, model=path) == -1, HOLES)
        assert load_model(path).pixel_columns_.nodata == -1


def test_numbers_that_xarray_has_decoded_may_have_the_stored_value_of_no_data(array):
    raw = array.astype("i2")
    lowest = raw.values[raw.values >= 0].min()
    raw.attrs = {"_FillValue": -1, "scale_factor": 1.0, "add_offset": -1.0 - lowest}
    decoded = xarray.decode_cf(raw.to_dataset(name="raw")).raw
    assert (decoded == -1).any()
    np.testing.assert_array_equal(segment(decoded, PCATree()) == -1, HOLES)


@pytest.mark.parametrize("nodata", [True, "x", [-1]])
def test_a_value_of_no_data_that_is_no_number_is_refused(nodata, array):
    with pytest.raises(ValueError, match="expected a number or 'none' for nodata; got"):
        segment(array, PCATree(), nodata=nodata)


@pytest.mark.parametrize("nodata", [None, "none"])
def test_labels_of_a_data_array_have_no_scale_or_fill_value_of_its_numbers(nodata, array):
    about = {"scale_factor": 1e-4, "add_offset": -0.1, "missing_value": -1, "nodata": 0}
    labels = segment(array.assign_attrs(about), PCATree(), nodata=nodata)
    assert labels.attrs == {"title": "beach"} | ({} if nodata else {"nodata": -1})
    np.testing.assert_array_equal(xarray.decode_cf(labels.to_dataset()).segments, labels)


def test_data_arrays_may_have_other_bands_than_those_that_are_chosen(array):
    more = array.sel(band=["r", "g", "b", "r"]).assign_coords(band=["x", "g", "b", "r"])
    labels = segment({"a": more, "b": array}, PCATree(), bands=["g", "b"])
    np.testing.assert_array_equal(labels["a"], labels["b"])
    plain = segment({"a": array.drop_vars("band"), "b": array}, PCATree(), bands=["g", "b"])
    np.testing.assert_array_equal(plain["a"], labels["a"])


def test_data_arrays_with_labels_at_one_place_are_refused_before_any_work(array, tmp_path):
    with pytest.raises(SettingError, match="which overlap"):
        segment({"a": array, "./a": array}, PCATree(), labels=f"{tmp_path}/{{scene}}.zarr", overwrite=True)
    assert not any(tmp_path.iterdir())


def test_labels_of_a_data_array_lie_where_it_does(array, tmp_path):
    mapping = {"crs_wkt": rasterio.crs.CRS.from_user_input(UTM).to_wkt()}
    place = array.assign_coords(spatial_ref=((), 0, mapping))
    segment(place, PCATree(), labels=str(tmp_path / "l.tif"))
    with rasterio.open(tmp_path / "l.tif") as file:
        assert file.crs == rasterio.crs.CRS.from_user_input(UTM)
        assert file.transform == rasterio.Affine(30, 0, -15, 0, -30, 15)
