"""STAC items of labels: valid, and true to the files that they describe; maps as others validate them."""

import json
from pathlib import Path

import numpy as np
import pytest
import rasterio
import zarr
from test_geo_maps import SINUSOIDAL, UTM, run, scene_with
from test_images import beach

pystac = pytest.importorskip("pystac", reason="needs pystac, of the extra test")
validate_dict = pytest.importorskip("pystac.validation").validate_dict
ClassificationExtension = pytest.importorskip("pystac.extensions.classification").ClassificationExtension
ProjectionExtension = pytest.importorskip("pystac.extensions.projection").ProjectionExtension
RasterExtension = pytest.importorskip("pystac.extensions.raster").RasterExtension

FIT = ("--method", "rp", "--n-projections", "20", "--scheduler", "threads")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def item_at(path):
    """An item that fits the schema of items; those of extensions are on the web."""
    validate_dict(json.loads(Path(path).read_text()), extensions=[])
    return pystac.Item.from_file(path)


@pytest.mark.slow
@pytest.mark.parametrize("crs", [UTM, SINUSOIDAL])
def test_the_item_of_a_map_says_where_it_lies_and_which_names_colours_and_sizes_its_segments_have(crs, tmp_path):
    scene_with(crs, tmp_path)
    result = run("segment", "scene.tif", "--out", "out/labels.tif", "--item", "items.json", *FIT)
    assert result.exit_code == 73, "the folder of an output is not made"
    Path("out").mkdir()
    result = run("segment", "scene.tif", "--out", "out/labels.tif", "--item", "out/item.json", *FIT)
    assert result.exit_code == 0, result.output
    item = item_at("out/item.json")
    assert item.id == "scene"
    assert [link.href for link in item.links if link.rel == "derived_from"] == ["../scene.tif"]
    asset = item.assets["labels"]
    assert (asset.href, asset.media_type) == ("labels.tif", pystac.MediaType.COG)
    with rasterio.open("out/labels.tif") as file:
        place, band = ProjectionExtension.ext(item), RasterExtension.ext(asset).bands[0]
        assert (place.shape, place.transform) == ([*file.shape], [*file.transform[:6]])
        found = place.code if crs == UTM else place.projjson
        assert rasterio.crs.CRS.from_user_input(found) == file.crs
        assert (band.data_type, band.nodata, band.sampling) == (file.dtypes[0], file.nodata, "area")
        assert band.spatial_resolution == 30
        labels, colours = file.read(1), file.colormap(1)
        classes = ClassificationExtension.ext(asset).classes
        assert [one.value for one in classes] == [*np.unique(labels)]
        for one, size in zip(classes[:-1], band.histogram.buckets, strict=True):
            assert file.tags(1)[f"CATEGORY_{one.value}"] == f"segment {one.value}" == one.to_dict()["title"]
            assert one.color_hint == "{:02X}{:02X}{:02X}".format(*colours[one.value][:3])
            assert size == (labels == one.value).sum()
        assert classes[-1].nodata
        lon, lat = rasterio.warp.transform(file.crs, "EPSG:4326", *zip(file.xy(0, 0), file.xy(59, 79)))
        west, south, east, north = item.bbox
        assert west < min(lon) <= max(lon) < east
        assert south < min(lat) <= max(lat) < north


def test_the_item_of_a_zarr_array_without_a_place_has_neither_geometry_nor_values_without_data():
    zarr.create_array("a.zarr", data=beach(), chunks=(20, 20, 3))
    assert run("segment", "a.zarr", "--out", "l.zarr", "--item", "l.json", *FIT).exit_code == 0
    item = item_at("l.json")
    assert (item.geometry, item.bbox) == (None, None)
    asset = item.assets["labels"]
    assert asset.media_type == "application/vnd.zarr"
    assert RasterExtension.ext(asset).bands[0].data_type == zarr.open("l.zarr").dtype == "uint8"
    assert not any(one.nodata for one in ClassificationExtension.ext(asset).classes)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore:Dataset has no geotransform")
def test_maps_are_valid_cloud_optimised_geotiffs_in_the_eyes_of_rio_cogeo():
    cogeo = pytest.importorskip("rio_cogeo", reason="needs rio-cogeo, of the extra test")
    scene_with(UTM, Path())
    pixels = np.tile(beach(), (12, 10, 1))
    zarr.create_array("large.zarr", data=pixels, chunks=(100, 100, 3))
    for image in ("scene.tif", "large.zarr"):
        paths = f"{image}-labels.tif", f"{image}-regions.tif"
        result = run("segment", image, "--out", paths[0], "--connected", paths[1], "--sample", "500", *FIT)
        assert result.exit_code == 0, result.output
        for path in paths:
            assert cogeo.cog_validate(path, strict=True) == (True, [], [])
