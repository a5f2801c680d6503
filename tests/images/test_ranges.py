"""Images at URLs, of which only what is needed is read."""

import re

import numpy as np
import pytest
import rasterio
import rasterio.shutil
from helpers import serving

from mdh_dask.images import open_image

TILE = 128


@pytest.mark.slow
def test_a_tile_of_a_large_file_takes_a_small_part_of_it(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 255, (3, 1500, 1500), dtype=np.uint8)
    about = {"driver": "GTiff", "height": 1500, "width": 1500, "count": 3, "dtype": "uint8", "crs": "EPSG:32721"}
    with rasterio.open(tmp_path / "a.tif", "w", **about, transform=rasterio.Affine(30, 0, 5e5, 0, -30, 7e6)) as file:
        file.write(pixels)
    rasterio.shutil.copy(tmp_path / "a.tif", tmp_path / "cog.tif", driver="COG", compress="deflate", blocksize=TILE)
    size, pixels = (tmp_path / "cog.tif").stat().st_size, pixels.transpose(1, 2, 0)
    with serving(tmp_path) as (url, asked):
        image = open_image(f"{url}/cog.tif")
        block = slice(TILE, 2 * TILE), slice(TILE, 2 * TILE)
        np.testing.assert_array_equal(image.source[block], pixels[block])
        ranges = [tuple(map(int, re.findall(r"\d+", one))) for one in asked]
        assert size > 6_000_000
        assert sum(last + 1 - first for first, last in ranges) < size / 10
        assert not np.count_nonzero(image.source[:, :] != pixels)
