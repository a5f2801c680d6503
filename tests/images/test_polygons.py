"""Polygons of regions in GeoParquet files: they are the image of labels, and read by others."""

import dask
import geopandas
import numpy as np
import pytest
import rasterio
import rasterio.features
import shapely
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import seeds
from test_geo_maps import SINUSOIDAL, UTM, scene_with
from test_nodata import bright

from mdh_dask.images import open_image, region_tables
from mdh_dask.images.region_tables import Polygons
from mdh_dask.images.regions import write_segments

pytestmark = pytest.mark.filterwarnings("ignore:Dataset has no geotransform")


def drawn(table, column, like):
    """The image that polygons give when they are drawn on the pixels of another."""
    shapes = zip(table.geometry, table[column], strict=True)
    return rasterio.features.rasterize(shapes, like.shape, fill=-1, transform=like.transform, dtype="int32")


@pytest.mark.slow
@pytest.mark.parametrize("crs", [UTM, SINUSOIDAL])
@pytest.mark.parametrize("sieve", [None, 10])
def test_the_union_of_polygons_is_the_image_of_labels_where_that_lies(crs, sieve, tmp_path):
    image = open_image(scene_with(crs, tmp_path))
    names = {"labels": "l.tif", "connected": "c.tif", "regions": "r.geoparquet"}
    paths = {kind: str(tmp_path / name) for kind, name in names.items()}
    with pytest.MonkeyPatch.context() as patch, dask.config.set({"mdh-dask.block-size": 1}):
        patch.setattr(region_tables, "SIDE", 16)
        write_segments(bright, image, **paths, sieve=sieve, n_labels=3)
    table = geopandas.read_parquet(paths["regions"])
    assert table.crs.equals(crs)
    assert table.geometry.is_valid.all()
    assert {*table.geometry.geom_type} == {"Polygon"}
    np.testing.assert_allclose(table.area, table["area"] * 30 * 30)
    for path, column in zip((paths["labels"], paths["connected"]), ("segment", "region")):
        with rasterio.open(path) as file:
            expected = np.where(file.read(1) == file.nodata, -1, file.read(1).astype("i4"))
            np.testing.assert_array_equal(drawn(table, column, file), expected)
    table.drop(columns="region").to_file(tmp_path / "r.gpkg", engine="pyogrio")
    again = geopandas.read_file(tmp_path / "r.gpkg", engine="pyogrio")
    assert again.geometry.geom_equals(table.geometry).all()


@pytest.mark.slow
@settings(max_examples=20)
@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 5), seeds)
def test_polygons_are_the_same_areas_whatever_the_blocks_in_which_they_are_found(height, width, side, seed):
    labels = np.random.default_rng(seed).integers(-1, 3, (height, width))
    numbers = np.zeros(labels.shape, "i4") - 1
    for i, (shape, _) in enumerate(rasterio.features.shapes(labels.astype("i4"), mask=labels >= 0, connectivity=4)):
        numbers[rasterio.features.rasterize([shape], labels.shape) == 1] = i
    array = zarr.create_array(zarr.storage.MemoryStore(), data=numbers)
    n, found = numbers.max() + 1, []
    for of_block in (side, 99):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(region_tables, "SIDE", of_block)
            parts = Polygons((1.0, 0.0, 0.0, 0.0, 1.0, 0.0))
            for line in range(height):
                parts.add(array, line, line + 1)
            found.append(shapely.from_wkb(parts.take(np.arange(n))))
            assert not parts.parts
    assert shapely.equals(*found).all()
    assert shapely.is_valid(found[0]).all()
    assert shapely.area(found[0]).tolist() == np.bincount(numbers[numbers >= 0], minlength=n).tolist()
