"""Connected regions and the sieve: exact whatever the blocks, in images, tables and polygons."""

import json
from dataclasses import replace
from pathlib import Path

import dask
import geopandas
import numpy as np
import pyarrow.parquet
import pytest
import rasterio
import rasterio.features
import shapely
import zarr
from helpers import job_text, run
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import ndimage
from strategies import seeds
from test_geo_maps import SINUSOIDAL, UTM, scene_with
from test_images import beach, bright
from test_nodata import HOLES

from mdh_dask.images import components, open_image, region_tables
from mdh_dask.images.components import find_regions, sieved, write_regions
from mdh_dask.images.labels import write_segments
from mdh_dask.images.region_tables import Polygons

pytestmark = pytest.mark.filterwarnings("ignore:Dataset has no geotransform")


def stored(labels, chunks):
    return zarr.create_array(zarr.storage.MemoryStore(), data=labels, chunks=chunks)


def drawn(regions, labels):
    """The image of the numbers of regions."""
    place = f"memory://regions/{np.random.default_rng().integers(2**60)}"
    return write_regions(labels, regions, place, None)[:]


def named(labels):
    """Regions by SciPy, numbered by their first pixels, and how many."""
    out, n = np.full(labels.shape, -1), 0
    for value in np.unique(labels[labels >= 0]):
        found, more = ndimage.label(labels == value)
        out[found > 0] = found[found > 0] + n
        n += more
    firsts = {number: i for i, number in reversed([*enumerate(out.ravel())]) if number >= 0}
    order = {number: i for i, number in enumerate(sorted(firsts, key=firsts.get))}
    return np.vectorize(lambda number: order.get(number, -1), otypes=[int])(out), n


def naive_sieve(labels, least):
    """The smallest region merges into the neighbour of longest border, until none is small; one pixel at a time."""
    labels = labels.copy()
    while True:
        numbers, n = named(labels)
        borders = np.zeros((n, n), int)
        for a, b in ((numbers[1:], numbers[:-1]), (numbers[:, 1:], numbers[:, :-1])):
            there = (a >= 0) & (b >= 0) & (a != b)
            np.add.at(borders, (a[there], b[there]), 1)
        borders += borders.T
        areas = np.bincount(numbers[numbers >= 0], minlength=n)
        small = [i for i in np.argsort(areas, kind="stable") if areas[i] < least and borders[i].any()]
        if not small:
            return labels
        to = max(np.flatnonzero(borders[small[0]]), key=lambda j: (borders[small[0], j], areas[j], -j))
        labels[numbers == small[0]] = labels[numbers == to][0]


@pytest.mark.slow
@settings(max_examples=15)
@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 12), st.integers(1, 12), st.integers(1, 4), seeds)
@example(10, 6, 1, 1, 3, 234666504)  # a merged region begins where its first part did
def test_regions_are_those_of_the_whole_image_whatever_the_blocks(height, width, lines, columns, n, seed):
    labels = np.random.default_rng(seed).integers(-1, n, (height, width)).astype("i1")
    expected, n_regions = named(labels)
    with dask.config.set(scheduler="synchronous"), pytest.MonkeyPatch.context() as patch:
        patch.setattr(components, "SIDE", 1)
        array = stored(labels, (min(lines, height), min(columns, width)))
        regions = find_regions(array)
        np.testing.assert_array_equal(drawn(regions, array), expected)
        small = sieved(regions, 4)
        assert regions.n == n_regions
        for number in range(n_regions):
            y, x = np.nonzero(expected == number)
            assert regions.areas[number] == len(y)
            assert regions.boxes[number].tolist() == [y.min(), y.max(), x.min(), x.max()]
            assert regions.classes[number] == labels[y[0], x[0]]
        numbers = drawn(small, array)
    found = np.append(small.classes, -1)[numbers]
    np.testing.assert_array_equal(found, naive_sieve(labels.astype(int), 4))
    np.testing.assert_array_equal(numbers, named(found)[0])


def test_small_regions_go_to_the_neighbour_of_longest_border_and_islands_stay():
    labels = np.zeros((6, 9), "i1")
    labels[:, 5:] = 1
    labels[2:4, 4] = 2  # six edges: three with 0, one above and below, and two with 1
    labels[0, 0] = -1
    labels[5, 0], labels[4, 0], labels[5, 1] = 3, -1, -1
    array = stored(labels, (4, 4))
    merged = sieved(find_regions(array), 3)
    found = np.append(merged.classes, -1)[drawn(merged, array)]
    assert (found[2:4, 4] == 0).all()
    assert found[5, 0] == 3
    assert merged.areas.tolist() == [(found == i).sum() for i in (0, 1, 3)]


@pytest.mark.parametrize("blocks", [(7, 11), (40, 53)])
def test_islands_are_filled_as_gdal_fills_them_also_beside_pixels_without_data(blocks):
    rng, labels = np.random.default_rng(0), np.zeros((40, 53), "i1")
    labels[:, 26:] = 1
    labels[12:29, 20:33] = -1
    for y, x in np.ndindex(8, 13):  # islands in cells of their own have one neighbour, which GDAL takes, too
        cell = labels[5 * y : 5 * y + 4, 4 * x : 4 * x + 3]
        if np.unique(cell).size == 1 and cell[0, 0] >= 0:
            labels[5 * y + 1 : 5 * y + 1 + rng.integers(1, 4), 4 * x + 1] = 2
    labels[18, 25] = 2  # among pixels without data, where no neighbour takes it
    array = stored(labels, blocks)
    merged = sieved(find_regions(array), 3)
    expected = rasterio.features.sieve(labels.astype("i2"), 3, mask=labels >= 0)
    np.testing.assert_array_equal(np.append(merged.classes, -1)[drawn(merged, array)], expected)
    assert 1 < (expected == 2).sum() < (labels == 2).sum()


@pytest.fixture
def image(tmp_path):
    """The beach with holes and specks."""
    pixels = beach().clip(0, 254)
    pixels[np.random.default_rng(1).random((60, 80)) < 0.05] = 200
    pixels[HOLES] = 255
    zarr.create_array(tmp_path / "a.zarr", data=pixels, chunks=(16, 20, 3), attributes={"nodata": 255})
    return open_image(tmp_path / "a.zarr")


@pytest.mark.slow
@pytest.mark.parametrize("sieve", [None, 10])
def test_labels_regions_and_table_agree(sieve, image, tmp_path):
    names = {"labels": "l.zarr", "connected": "c.zarr", "regions": "r.parquet"}
    results = []
    for block in (1, 10**9):
        paths = {kind: str(tmp_path / f"{block}{name}") for kind, name in names.items()}
        with dask.config.set({"mdh-dask.block-size": block}), pytest.MonkeyPatch.context() as patch:
            patch.setattr(components, "SIDE", block)
            patch.setattr(region_tables, "SIDE", block)
            seen = write_segments(bright, image, **paths, sieve=sieve, n_labels=3)
        labels, regions = (zarr.open_array(paths[kind], mode="r")[:] for kind in ("labels", "connected"))
        results.append((labels, regions, pyarrow.parquet.read_table(paths["regions"])))
    assert all(np.array_equal(a, b) for a, b in zip(*results, strict=True))
    table = pyarrow.parquet.read_table(paths["regions"]).sort_by("region").to_pydict()
    np.testing.assert_array_equal(regions, named(labels.astype(int))[0])
    np.testing.assert_array_equal(labels == -1, HOLES)
    np.testing.assert_array_equal(seen.sizes, [(labels == i).sum() for i in range(3)])
    pixels = zarr.open_array(tmp_path / "a.zarr", mode="r")[:]
    assert table["region"] == list(range(regions.max() + 1))
    for i in table["region"]:
        inside = regions == i
        assert table["area"][i] == inside.sum()
        assert {*labels[inside].tolist()} == {table["segment"][i]}
        assert [table[f"mean_{j}"][i] for j in range(3)] == pytest.approx(pixels[inside].mean(axis=0))
    if sieve:
        assert np.count_nonzero(np.array(table["area"]) < sieve) <= 1  # the pixel of its own among the holes
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


def test_bands_of_one_name_are_numbered_in_a_table_of_regions(tmp_path):
    zarr.create_array(tmp_path / "a.zarr", data=np.arange(12).reshape(2, 2, 3), attributes={"bands": ["a", "b", "a"]})
    image, path = open_image(tmp_path / "a.zarr", axes="yxc"), str(tmp_path / "r.parquet")
    write_segments(lambda rows: 0 * rows[:, 0], image, regions=path, sieve=None, n_labels=1)
    table = pyarrow.parquet.read_table(path).to_pydict()
    assert [table[f"mean_{j}"] for j in range(3)] == [[4.5], [5.5], [6.5]]


@pytest.mark.parametrize("registration", ["pixel", "node"])
def test_regions_have_coordinates_and_bands_have_their_names(tmp_path, registration):
    pixels = np.tile(np.array([0, 0, 1, 1])[:, None], (2, 1, 2))
    zarr.create_array(tmp_path / "a.zarr", data=pixels)
    place = {"spatial:transform": (10.0, 0.0, 500.0, 0.0, -10.0, 900.0), "spatial:registration": registration}
    image = replace(open_image(tmp_path / "a.zarr", axes="yxc"), bands=("red", "nir"), georeference=place)
    path = str(tmp_path / "r.parquet")
    write_segments(lambda rows: rows[:, 0], image, regions=path, sieve=None, n_labels=2)
    table = pyarrow.parquet.read_table(path).sort_by("region").to_pydict()
    assert [name for name in table if "mean" in name] == ["mean_red", "mean_nir"]
    shift = 5.0 if registration == "pixel" else 0.0
    assert table["x"] == [505 + shift, 525 + shift]
    assert table["y"] == [895 - shift] * 2


@pytest.mark.slow
def test_means_of_regions_of_a_wide_image_whose_rows_are_in_panels(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 3, (5, 90)).repeat(8, axis=0).repeat(50, axis=1)
    pixels = (kinds * 50 + rng.integers(0, 50, kinds.shape)).astype("u1")[..., None]
    zarr.create_array(tmp_path / "a.zarr", data=pixels, chunks=(8, 1024, 1))
    monkeypatch.setattr(region_tables, "SIDE", 16)
    paths = {"connected": str(tmp_path / "c.zarr"), "regions": str(tmp_path / "r.parquet")}
    with dask.config.set({"mdh-dask.block-size": 1}):
        image = open_image(tmp_path / "a.zarr", axes="yxc")
        write_segments(lambda rows: rows[:, 0] // 50, image, **paths, sieve=None, n_labels=3)
    numbers = zarr.open_array(paths["connected"], mode="r")[:].ravel()
    table = pyarrow.parquet.read_table(paths["regions"]).sort_by("region").to_pydict()
    np.testing.assert_allclose(table["mean_0"], np.bincount(numbers, pixels.ravel()) / table["area"], rtol=1e-15)


def test_pixels_in_no_segment_are_in_no_region(image, tmp_path):
    labels, connected, regions = (str(tmp_path / name) for name in ("l.zarr", "new/c.zarr", "r.parquet"))
    paths = {"labels": labels, "connected": connected, "regions": regions}
    none = lambda rows: np.full(len(rows), -1)  # noqa: E731
    seen = write_segments(none, image, **paths, sieve=10, n_labels=2, lowest=-1)
    assert seen.sizes.tolist() == [(~HOLES).sum(), 0]
    assert pyarrow.parquet.read_table(regions).num_rows == 0
    for path in (labels, connected):
        assert (zarr.open_array(path, mode="r")[:] == -1).all()


JOB = job_text(
    input={"kind": "image", "path": "a.zarr", "sieve": 10},
    method={"name": "rp", "n_projections": 20},
    output={
        "labels": "l.tif",
        "connected": "c.tif",
        "regions": "r.parquet",
        "manifest": "manifest.json",
        "metrics": "metrics.json",
    },
)


def test_a_table_of_regions_is_not_named_like_another_format(image, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("segment", "a.zarr", "--regions", "s.csv")
    assert "a Parquet table; got s.csv, the name of a file of another format: name it s.parquet" in result.output


def test_commands_and_jobs_write_regions(image, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("job.toml").write_text(JOB)
    options = (
        "--connected",
        "c.zarr",
        "--regions",
        "s.parquet",
        "--out",
        "l.zarr",
        "--sieve",
        "10",
        "--preview",
        "p.png",
    )
    arguments = ["segment", "a.zarr", *options, "--method", "rp", "--n-projections", "20", "--scheduler", "threads"]
    for command in (arguments, ["run", "job.toml"]):
        run(*command, code=0)
    with rasterio.open("c.tif") as found:
        numbers = zarr.open_array("c.zarr", mode="r")[:]
        np.testing.assert_array_equal(np.where(found.read(1) == found.nodata, -1, found.read(1).astype(int)), numbers)
    assert Path("r.parquet").read_bytes() == Path("s.parquet").read_bytes()
    assert {*json.loads(Path("manifest.json").read_text())["outputs"]} == {
        "labels", "connected", "regions", "metrics",
    }  # fmt: skip
    metrics = json.loads(Path("metrics.json").read_text())
    over_pixels = [made for made in metrics["each_pass"] if made["n_rows"] >= (~HOLES).sum()]
    assert metrics["passes"] == len(over_pixels)
    result = run("segment", "a.zarr", "--sieve", 10, "--preview", "q.png")
    assert "expected --out, --connected or --regions with --sieve" in " ".join(result.stderr.split())


# Polygons


def painted(table, column, like):
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
            np.testing.assert_array_equal(painted(table, column, file), expected)
    table.drop(columns="region").to_file(tmp_path / "r.gpkg", engine="pyogrio")
    again = geopandas.read_file(tmp_path / "r.gpkg", engine="pyogrio")
    assert again.geometry.geom_equals(table.geometry).all()


@pytest.mark.slow
@settings(max_examples=10)
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
