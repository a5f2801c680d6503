"""What archives hold today: quantised embeddings, files stored from the south, georeferenced Zarr groups."""

import re

import dask
import numpy as np
import pytest
import rasterio
import tifffile
import xarray
import zarr
from test_nodata import geotiff

from mdh_dask import PCATree, load_model
from mdh_dask.images import Features, open_image, pixel_rows, write_labels
from mdh_dask.images.axes import AxesView
from mdh_dask.images.bands import SelectedBands, stacked, with_bands
from mdh_dask.images.maps import place_of
from mdh_dask.images.rows import counted
from mdh_dask.workflows import predict, segment

UTM, PIXEL, HEIGHT, WIDTH, BANDS = "EPSG:32633", 10.0, 50, 60, 64
NORTH_UP = rasterio.Affine(PIXEL, 0, 4e5, 0, -PIXEL, 5e6)
NAMES = [f"A{i:02d}" for i in range(BANDS)]
HOLES = np.zeros((HEIGHT, WIDTH), bool)
HOLES[:7, :9] = HOLES[30, 41] = True


def embeddings(seed=0):
    """Two kinds of ground as unit vectors in the int8 of AlphaEarth, -128 where there are no data, north at the top."""
    rng = np.random.default_rng(seed)
    ground = np.add.outer(np.arange(HEIGHT), 2 * np.arange(WIDTH)) > 70
    vectors = rng.normal(size=(2, BANDS))[ground.astype(int)] + 0.1 * rng.normal(size=(HEIGHT, WIDTH, BANDS))
    vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
    stored = np.rint(np.sign(vectors) * np.sqrt(np.abs(vectors)) * 127.5).clip(-127, 127).astype("i1")
    stored[HOLES] = -128
    return stored, ground, vectors


def turned(transform, height):
    """The transform with lines in the other order."""
    a, b, c, d, e, f = transform[:6]
    return rasterio.Affine(a, b, c, d, -e, f + e * height)


def tile(path, stored, from_south=False, nodata=-128):
    """A GeoTIFF as AlphaEarth has them, with lines from north to south, or from south to north."""
    lines = stored[::-1] if from_south else stored
    transform = turned(NORTH_UP, len(stored)) if from_south else NORTH_UP
    names = NAMES[: stored.shape[2]]
    return geotiff(path, lines, transform=transform, names=names, crs=UTM, nodata=nodata, compress="zstd")


def labels_at(path):
    with rasterio.open(path) as file:
        return file.read(1), file.transform, file.crs, file.nodata


def test_alphaearth_numbers_become_the_vectors_of_unit_length_that_were_stored(tmp_path):
    stored, _, vectors = embeddings()
    image = open_image(tile(tmp_path / "a.tif", stored), dequantise="alphaearth")
    rows = pixel_rows(image).compute()
    expected = np.sign(stored[~HOLES]) * np.float32(np.abs(stored[~HOLES] / np.float32(127.5)) ** 2)
    np.testing.assert_allclose(rows, expected, rtol=1e-6)
    assert (rows.dtype, image.dtype, image.n_without, image.bands) == ("f4", "f4", 0, tuple(NAMES))
    np.testing.assert_allclose(rows, vectors[~HOLES], atol=2 * 127 / 127.5**2 / 2 + 1e-6)  # half a step of the last
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=0.01)
    undeclared = open_image(tile(tmp_path / "b.tif", stored, nodata=None), dequantise="alphaearth")
    np.testing.assert_array_equal(pixel_rows(undeclared), rows)
    assert image.pixels.compute().dtype == "f4"


@pytest.mark.slow
@pytest.mark.parametrize("dequantise", [None, "alphaearth"])
def test_a_tile_stored_from_the_south_has_the_labels_of_the_same_tile_stored_from_the_north(dequantise, tmp_path):
    stored, ground, _ = embeddings()
    for name, from_south in {"north": False, "south": True}.items():
        with dask.config.set({"mdh-dask.block-size": 16 * WIDTH * BANDS}):
            segment(
                str(tile(tmp_path / f"{name}.tif", stored, from_south)), PCATree(random_state=0),
                labels=str(tmp_path / f"{name}-labels.tif"), dequantise=dequantise,
            )  # fmt: skip
    found, transform, crs, nodata = labels_at(tmp_path / "north-labels.tif")
    np.testing.assert_array_equal(found, labels_at(tmp_path / "south-labels.tif")[0])
    assert labels_at(tmp_path / "south-labels.tif")[1:] == (transform, crs, nodata) == (NORTH_UP, UTM, 255)
    np.testing.assert_array_equal(found == 255, HOLES)
    if dequantise is None:  # roots of small values of either sign lie apart, as if they were two kinds
        return
    some = ~HOLES & (np.arange(HEIGHT * WIDTH).reshape(HEIGHT, WIDTH) % 11 == 0)
    middles = [(4e5 + PIXEL * (x + 0.5), 5e6 - PIXEL * (y + 0.5)) for y, x in np.argwhere(some)]
    for name in ("north", "south"):
        with rasterio.open(tmp_path / f"{name}.tif") as file, rasterio.open(tmp_path / f"{name}-labels.tif") as labels:
            assert sorted(file.bounds) == sorted(labels.bounds)
            own = np.array([*file.sample(middles)])
            assert (own == stored[some]).all()
            at = np.array([*labels.sample(middles)]).ravel()
    assert (at == ground[some]).all() or (at == ~ground[some]).all()


def test_a_zarr_image_stored_from_the_south_has_its_labels_from_the_north(tmp_path):
    stored = embeddings()[0]
    north, south = [PIXEL, 0, 4e5, 0, -PIXEL, 5e6], [PIXEL, 0, 4e5, 0, PIXEL, 5e6 - PIXEL * HEIGHT]
    for name, transform, pixels in (("n", north, stored), ("s", south, stored[::-1])):
        attributes = {"proj:code": UTM, "spatial:transform": transform, "nodata": -128}
        zarr.create_array(tmp_path / f"{name}.zarr", data=np.ascontiguousarray(pixels), chunks=(16, 20, 64),
                          attributes=attributes, dimension_names=("y", "x", "band"))  # fmt: skip
        segment(str(tmp_path / f"{name}.zarr"), PCATree(random_state=0), labels=str(tmp_path / f"{name}-l.zarr"))
    found, other = (zarr.open_array(tmp_path / f"{name}-l.zarr") for name in "ns")
    np.testing.assert_array_equal(found[:], other[:])
    assert found.attrs["spatial:transform"] == other.attrs["spatial:transform"] == north


@pytest.mark.parametrize("from_south", [False, True])
def test_chunks_that_would_not_fit_are_read_in_parts_and_seldom_decoded_again(from_south, tmp_path, monkeypatch):
    stored, read = np.tile(embeddings()[0], (2, 1, 1))[:96], []
    image = open_image(tile(tmp_path / "a.tif", stored, from_south), dequantise="alphaearth")
    expected = pixel_rows(image).compute()
    own = AxesView.__getitem__
    monkeypatch.setattr(AxesView, "__getitem__", lambda self, block: (read.append(block), own(self, block))[1])
    monkeypatch.setattr("mdh_dask.images.image.MOST_BYTES", 4 * WIDTH * BANDS * 4)
    assert image.label_chunks == (4, 16)
    with dask.config.set({"scheduler": "synchronous", "mdh-dask.block-size": 1}):
        rows = pixel_rows(counted(image))
        read.clear()
        np.testing.assert_array_equal(rows.compute(), expected)
        decoded = [lines for lines, columns in read if columns.start == 0]
        assert rows.numblocks[0] == 24 > 2 * len(decoded)
        features = Features(window=3)
        np.testing.assert_array_equal(pixel_rows(image, features), pixel_rows(image, features, lines=96))


def with_scales(path, stored, scales, offsets):
    tile(path, stored)
    with rasterio.open(path, "r+") as file:
        file.scales, file.offsets = scales, offsets
    return path


def test_declared_scales_and_offsets_of_each_band_make_values_of_tiff_and_zarr(tmp_path):
    stored = embeddings()[0][..., :3]
    path = with_scales(tmp_path / "a.tif", stored, (0.5, 1.0, 2.0), (0.0, -1.0, 3.0))
    expected = stored[~HOLES] * np.array([0.5, 1, 2]) + np.array([0, -1, 3])
    image = open_image(path, dequantise="declared")
    np.testing.assert_array_equal(pixel_rows(image), expected)
    np.testing.assert_array_equal(pixel_rows(with_bands(image, ["A02", "A00"])), expected[:, [2, 0]])
    one, other = (with_bands(image, [name]) for name in ("A01", "A02"))
    np.testing.assert_array_equal(pixel_rows(stacked([other, one])), expected[:, [2, 1]])
    np.testing.assert_array_equal(pixel_rows(open_image(path)), stored[~HOLES])
    attributes = {"scale_factor": 0.5, "add_offset": -2, "_FillValue": -128}
    zarr.create_array(tmp_path / "a.zarr", data=stored, attributes=attributes)
    image = open_image(tmp_path / "a.zarr", dequantise="declared")
    np.testing.assert_array_equal(pixel_rows(image), stored[~HOLES] * 0.5 - 2)


def test_values_that_a_file_does_not_have_are_refused(tmp_path):
    path = tile(tmp_path / "a.tif", embeddings()[0].astype("i2"))
    with pytest.raises(ValueError, match=r"expected a scale or an offset in .*a.tif for dequantise='declared'"):
        open_image(path, dequantise="declared")
    with pytest.raises(ValueError, match=r"expected int8 pixels for dequantise='alphaearth'; got int16 in .*a.tif"):
        open_image(path, dequantise="alphaearth")
    with pytest.raises(ValueError, match=r"expected 'declared', 'alphaearth', 'tessera' or None .*; got 'sqrt'"):
        open_image(path, dequantise="sqrt")
    for name, other in {"a.tif": path, "a.zarr": group_of(tmp_path / "a.zarr", embeddings()[0]) / "embeddings"}.items():
        with pytest.raises(
            ValueError, match=f"expected int8 pixels and an array 'scales' .* no such array at .*{name}"
        ):
            open_image(other, dequantise="tessera")
    zarr.open_group(tmp_path / "a.zarr").create_array("scales", data=np.ones(HEIGHT, "f4"), dimension_names=("y",))
    with pytest.raises(ValueError, match="expected one axis y, one axis x"):
        open_image(other, dequantise="tessera")


def tessera(folder, stored, scales, from_south=False):
    """A zone of TESSERA embeddings: years, bands, lines and columns in shards, and a scale for every pixel."""
    lines = slice(None, None, -1 if from_south else 1)
    transform = list(turned(NORTH_UP, HEIGHT) if from_south else NORTH_UP)[:6]
    root = zarr.create_group(folder, attributes={"proj:code": UTM, "spatial:transform": transform})
    for name, values, sizes in (("embeddings", stored.transpose(2, 0, 1), (BANDS,)), ("scales", scales, ())):
        root.create_array(
            name, data=np.stack([np.ones_like(values), values[..., lines, :]]), chunks=(1, *sizes, 8, 8),
            shards=(1, *sizes, 32, 32), dimension_names=("time", *["band"][: len(sizes)], "y", "x"),
        )  # fmt: skip
    return f"{folder}/embeddings"


@pytest.mark.parametrize("from_south", [False, True])
def test_tessera_numbers_times_the_scale_of_their_pixel_are_values_where_it_is_finite(from_south, tmp_path):
    stored, ground, _ = embeddings()
    scales = np.random.default_rng(1).uniform(0.005, 0.01, (HEIGHT, WIDTH)).astype("f4")
    scales[HOLES], scales[20] = np.nan, np.inf  # water, and a year that is not there yet
    without = ~np.isfinite(scales)
    path = tessera(tmp_path / "a.zarr", stored, scales, from_south)
    image = open_image(path, index={"time": 1}, dequantise="tessera")
    expected = stored * np.where(without, np.nan, scales)[..., None]
    assert (image.dtype, image.shape) == ("f4", stored.shape)
    np.testing.assert_array_equal(pixel_rows(image), expected[~without].astype("f4"))
    chosen = SelectedBands((image.source,), ((5, 0),))
    np.testing.assert_array_equal(chosen.open()[slice(10, 21), slice(3, 9)], expected[10:21, 3:9, [5, 0]].astype("f4"))
    about = {"index": {"time": 1}, "dequantise": "tessera"}
    segment(path, PCATree(random_state=0), labels=str(tmp_path / "l.tif"), model=str(tmp_path / "m.zarr"), **about)
    found, transform, crs, _ = labels_at(tmp_path / "l.tif")
    assert (transform, crs) == (NORTH_UP, UTM)
    np.testing.assert_array_equal(found == 255, without)
    assert (found == ground)[~without].all() or (found == ~ground)[~without].all()
    predict(path, str(tmp_path / "m.zarr"), labels=str(tmp_path / "again.tif"), index={"time": 1})
    np.testing.assert_array_equal(labels_at(tmp_path / "again.tif")[0], found)


@pytest.mark.parametrize(
    ("options", "passes"),
    [({}, 4), ({"sample": 1000}, 3), ({"dependence": "auto"}, 5), ({"dependence": "auto", "sample": 1000}, 4),
     ({"sieve": 9}, 5), ({"regions": "r.parquet"}, 6)],
)  # fmt: skip
def test_every_pixel_is_read_once_in_each_pass_of_a_segmentation(options, passes, tmp_path, monkeypatch):
    stored, read, own = np.tile(embeddings()[0], (2, 2, 1)), [], AxesView.__getitem__
    stored[stored == -128] = 1
    path = tile(tmp_path / "a.tif", stored)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(AxesView, "__getitem__", lambda self, block: (read.append(block), own(self, block))[1])
    with dask.config.set(scheduler="threads"):
        model = PCATree(random_state=0, sample_size=1000)
        segment(str(path), model, labels="l.zarr", dequantise="alphaearth", **options)
    n_read = sum((lines.stop - lines.start) * (columns.stop - columns.start) for lines, columns in read)
    assert n_read == passes * stored[..., 0].size
    of_regions = {"sieve": 1, "regions": 2}.get(next(iter(options), ""), 0)
    assert model.n_passes_ == passes - 1 - of_regions  # and one for the labels


def test_bands_of_different_zones_are_not_one_scene(tmp_path):
    one = open_image(tile(tmp_path / "a.tif", embeddings()[0][..., :1]))
    with rasterio.open(tile(tmp_path / "b.tif", embeddings()[0][..., 1:2]), "r+") as file:
        file.crs = "EPSG:32634"
    with pytest.raises(ValueError, match="expected bands of one place; got EPSG:32633 and EPSG:32634 in "):
        stacked([one, open_image(tmp_path / "b.tif")])


def dataset(stored, transform=NORTH_UP):
    """A Dataset as xarray users have it, with coordinates of pixels' middles and a grid mapping."""
    x = transform.c + transform.a * (np.arange(WIDTH) + 0.5)
    y = transform.f + transform.e * (np.arange(HEIGHT) + 0.5)
    coords = {"band": NAMES, "y": y, "x": x}
    found = xarray.Dataset({"embeddings": (("band", "y", "x"), stored.transpose(2, 0, 1))}, coords)
    found["embeddings"].attrs.update(grid_mapping="spatial_ref", _FillValue=-128)
    crs = rasterio.crs.CRS.from_user_input(UTM)
    return found.assign_coords(spatial_ref=((), 0, {"crs_wkt": crs.to_wkt()}))


@pytest.mark.filterwarnings("ignore:.*does not have a Zarr V3 specification")
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("from_south", [False, True])
def test_a_group_of_xarray_is_read_where_its_coordinates_and_grid_mapping_say(zarr_format, from_south, tmp_path):
    stored = embeddings()[0]
    given = dataset(stored[::-1], turned(NORTH_UP, HEIGHT)) if from_south else dataset(stored)
    given.to_zarr(tmp_path / "a.zarr", zarr_format=zarr_format, consolidated=False)
    for path in (tmp_path / "a.zarr", tmp_path / "a.zarr/embeddings"):
        image = open_image(path)
        assert (image.shape, image.bands) == ((HEIGHT, WIDTH, BANDS), tuple(NAMES))
        assert place_of(image)[:2] == (rasterio.crs.CRS.from_user_input(UTM), NORTH_UP)
        np.testing.assert_array_equal(pixel_rows(image), stored[~HOLES])
        write_labels(lambda rows: (rows[:, 0] > 0).astype(int), image, tmp_path / "l.tif", n_labels=2, overwrite=True)
        found, *where = labels_at(tmp_path / "l.tif")
        assert where == [NORTH_UP, UTM, 255]
        np.testing.assert_array_equal(found[~HOLES], stored[~HOLES][:, 0] > 0)


def group_of(folder, stored, *, group=None, array=None, mapping=None, x=None):
    root = zarr.create_group(folder, attributes=group or {}, overwrite=True)
    root.create_array("embeddings", data=stored, dimension_names=("y", "x", "band"), attributes=array or {})
    if mapping:
        root.create_array("crs", data=np.int64(0), attributes=mapping)
    if x is not None:
        y = NORTH_UP.f - PIXEL * (np.arange(HEIGHT) + 0.5)
        for name, values in (("x", x), ("y", y)):
            root.create_array(name, data=values, dimension_names=(name,))
    return folder


def test_a_place_is_taken_from_the_first_of_conventions_grid_mapping_and_even_coordinates(tmp_path):
    stored, transform = embeddings()[0], [PIXEL, 0, 4e5, 0, -PIXEL, 5e6]
    geozarr = {"proj:code": UTM, "spatial:transform": transform}
    path = group_of(tmp_path / "a.zarr", stored, group=geozarr)
    assert place_of(open_image(path))[:2] == (rasterio.crs.CRS.from_user_input(UTM), NORTH_UP)
    wkt = {"crs_wkt": rasterio.crs.CRS.from_user_input(UTM).to_wkt(), "GeoTransform": "4e5 10 0 5e6 0 -10"}
    path = group_of(tmp_path / "b.zarr", stored, mapping=wkt, array={"grid_mapping": "crs: x y"})
    assert place_of(open_image(path / "embeddings"))[:2] == (rasterio.crs.CRS.from_user_input(UTM), NORTH_UP)
    moved = 5e5 + PIXEL * (np.arange(WIDTH) + 0.5)  # as after a selection, of which GeoTransform knows nothing
    path = group_of(tmp_path / "c.zarr", stored, mapping=wkt, array={"grid_mapping": "crs"}, x=moved)
    assert place_of(open_image(path)).transform == rasterio.Affine(PIXEL, 0, 5e5, 0, -PIXEL, 5e6)
    uneven = np.where(np.arange(WIDTH) > 30, moved + 4, moved)
    path = group_of(tmp_path / "d.zarr", stored, mapping=wkt, array={"grid_mapping": "crs"}, x=uneven)
    assert place_of(open_image(path)) is None
    assert "proj:wkt2" in open_image(path).georeference


def test_a_group_with_several_images_asks_for_one_and_a_pyramid_for_a_level(tmp_path):
    stored = embeddings()[0]
    path = group_of(tmp_path / "a.zarr", stored)
    zarr.open_group(path).create_array("scales", data=stored[..., 0], dimension_names=("y", "x"))
    with pytest.raises(ValueError, match=r"a Zarr group of 2 arrays \(embeddings, scales\): add one to the path"):
        open_image(path)
    pyramid = tmp_path / "b.zarr"
    for level in range(2):
        group_of(pyramid / str(level), np.ascontiguousarray(stored[:: 1 + level, :: 1 + level]))
    zarr.create_group(pyramid, attributes={"multiscales": {"layout": [{"asset": "0"}, {"asset": "1"}]}})
    assert open_image(pyramid).shape == stored.shape
    np.testing.assert_array_equal(open_image(pyramid, index={"level": 1}).pixels, stored[::2, ::2])
    with pytest.raises(ValueError, match="expected a level of GeoZarr from 0 to 1; got 2"):
        open_image(pyramid, index={"level": 2})


@pytest.mark.parametrize("from_south", [False, True])
def test_a_tile_of_another_zone_is_labelled_in_the_zone_that_is_asked_for_as_rasterio_warps_it(from_south, tmp_path):
    stored = embeddings()[0]
    path, zone = tile(tmp_path / "a.tif", stored, from_south), "EPSG:32632"
    image = open_image(path, reproject=zone, dequantise="alphaearth")
    assert (image.bands, image.dtype) == (tuple(NAMES), "f4")
    a, _, c, _, e, f = image.georeference["spatial:transform"]
    assert (a, e, c % PIXEL, f % PIXEL) == (PIXEL, -PIXEL, 0, 0)
    segment(str(path), PCATree(random_state=0), labels=str(tmp_path / "l.tif"), reproject=zone, dequantise="alphaearth")
    found, transform, crs, _ = labels_at(tmp_path / "l.tif")
    assert (transform[:6], crs) == ((a, 0, c, 0, e, f), zone)
    segment(str(path), PCATree(random_state=0), labels=str(tmp_path / "own.tif"), dequantise="alphaearth")
    with rasterio.open(tmp_path / "own.tif") as own:
        about = {"crs": zone, "transform": transform, "height": found.shape[0], "width": found.shape[1]}
        with rasterio.vrt.WarpedVRT(own, **about) as warped:
            expected = warped.read(1)
    assert (expected == 255).sum() < expected.size / 2
    np.testing.assert_array_equal(expected == 255, found == 255)
    inside = expected != 255
    assert (expected == found)[inside].all() or (expected == 1 - found)[inside].all()  # numbered by size
    np.testing.assert_array_equal(open_image(path, reproject=UTM).pixels, open_image(path).pixels)


def test_what_cannot_be_reprojected_is_refused(tmp_path):
    path = tile(tmp_path / "a.tif", embeddings()[0][..., :3])
    with pytest.raises(ValueError, match=r"'EPSG:0' is no coordinate system .*; give one as EPSG:32633"):
        open_image(path, reproject="EPSG:0")
    zarr.create_array(tmp_path / "a.zarr", data=embeddings()[0])
    with pytest.raises(ValueError, match=r"expected a GeoTIFF to reproject; got Zarr in .*a\.zarr"):
        open_image(tmp_path / "a.zarr", axes="yxc", reproject=UTM)
    tifffile.imwrite(tmp_path / "b.tif", embeddings()[0][..., 0])
    with pytest.raises(ValueError, match=r"expected coordinates in .*b\.tif, to reproject it; it has none"):
        open_image(tmp_path / "b.tif", reproject=UTM)


def test_a_model_of_an_image_names_its_bands_and_predicts_pixels_without_names(tmp_path):
    path = str(tile(tmp_path / "a.tif", embeddings()[0]))
    segment(path, PCATree(random_state=0), model=str(tmp_path / "m.zarr"), window=3)
    model = load_model(tmp_path / "m.zarr")
    assert model.feature_names_in_[[0, BANDS]].tolist() == [NAMES[0], f"mean {NAMES[0]} in 3 x 3"]
    assert re.search("A[0-9]{2}", model.why())
    assert " x0 " not in model.why()
    assert len(model.predict(np.zeros((2, 3 * BANDS), np.float32))) == 2


def test_scales_that_are_not_stored_are_an_error_and_no_number_is_left_out_beside_them(tmp_path):
    stored = embeddings()[0]
    path = tessera(tmp_path / "a.zarr", stored, np.full((HEIGHT, WIDTH), 0.01, "f4"))
    with pytest.raises(ValueError, match="expected no nodata with dequantise='tessera'"):
        open_image(path, index={"time": 1}, dequantise="tessera", nodata=-128)
    lost = next(file for file in (tmp_path / "a.zarr/scales/c").rglob("*") if file.is_file())
    lost.unlink()
    with pytest.raises(ValueError, match="scales"):
        open_image(path, index={"time": 1}, dequantise="tessera")


def test_a_level_of_a_pyramid_lies_where_its_layout_says_and_not_where_the_first_does(tmp_path):
    stored = embeddings()[0]

    def pyramid(name, transforms, **about):
        layout = [{"asset": str(i), **({"spatial:transform": own} if own else {})} for i, own in enumerate(transforms)]
        root = zarr.create_group(
            tmp_path / name, attributes={"multiscales": {"layout": layout}, "proj:code": UTM, **about}
        )
        for level in range(2):
            pixels = np.ascontiguousarray(stored[:: 1 + level, :: 1 + level])
            root.create_array(str(level), data=pixels, dimension_names=("y", "x", "band"))
        return [open_image(tmp_path / name, index={"level": level}).georeference for level in range(2)]

    first, second = [10.0, 0, 4e5, 0, -10.0, 5e6], [20.0, 0, 4e5, 0, -20.0, 5e6]
    found = pyramid("a.zarr", [first, second])
    assert [own["spatial:transform"] for own in found] == [first, second]
    assert [own["proj:code"] for own in found] == [UTM, UTM]
    found = pyramid("b.zarr", [None, None], **{"spatial:transform": first})
    assert found[0]["spatial:transform"] == first
    assert "spatial:transform" not in found[1]


def test_bands_in_files_of_their_own_are_reprojected_together(tmp_path):
    stored, zone = embeddings()[0], "EPSG:32632"
    whole = open_image(tile(tmp_path / "a.tif", stored), reproject=zone)
    parts = [
        open_image(tile(tmp_path / f"{i}.tif", np.ascontiguousarray(stored[..., i : i + 1])), reproject=zone)
        for i in range(2)
    ]
    both, two = stacked(parts), with_bands(whole, whole.bands[:2])
    np.testing.assert_array_equal(pixel_rows(counted(both)), pixel_rows(counted(two)))
