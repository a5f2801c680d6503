"""Images of all kinds: opened without being read, their pixels as rows whatever the chunks."""

import re
import sys

import dask
import imagecodecs
import numpy as np
import pytest
import reference_windows
import tifffile
import zarr
from helpers import counted_computes
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow
from strategies import seeds

from mdh_dask._jit.sums import window_moments
from mdh_dask.chunks import map_rows, reduce_rows
from mdh_dask.growth.passes import FirstPass
from mdh_dask.images import Features, Image, open_image, pixel_rows
from mdh_dask.images.axes import AxesView, view_of
from mdh_dask.images.image import PixelOrder
from mdh_dask.images.overview import Overview
from mdh_dask.io import write_rows

SKY, SEA, SAND = (90, 150, 220), (20, 60, 90), (210, 180, 120)


def beach(height=60, width=80):
    """A picture of three colours in bands, with some noise."""
    bands = np.repeat([SKY, SEA, SAND], -(-height // 3), axis=0)[:height, None]
    noise = np.random.default_rng(0).normal(0, 6, (height, width, 3))
    return np.clip(bands + noise, 0, 255).astype(np.uint8)


def bright(rows):
    """Labels of rows: 0, 1 or 2 by the first band."""
    return (rows[:, 0] > 50).astype("int32") + (rows[:, 0] > 150)


def image_of(pixels, chunks=(10, 10)):
    """An image of an array in memory."""
    return Image(AxesView(pixels, ("y", "x", "c")), "memory", "Zarr", chunks)


def read(path, **options):
    return open_image(path, **options).pixels.compute(scheduler="synchronous")


# The order of pixels


def numbers_of(order):
    """The row number of every pixel: panel by panel from the left, and line by line in each."""
    y, x = np.indices((order.height, order.width)).reshape(2, -1)
    return np.argsort(np.lexsort((x, y, x // order.panel))).reshape(order.height, order.width)


@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 12), st.integers(1, 40))
def test_rows_of_all_blocks_are_every_pixel_once_and_numbered_the_same_whatever_their_lines(
    height, width, panel, lines
):
    order = PixelOrder(height, width, panel)
    start, seen = 0, np.full((height, width), -1)
    for i, size in enumerate(order.sizes(lines)):
        block = order.block(i, lines)
        assert order.block_of(start, size) == block
        numbers = np.arange(start, start + size).reshape([s.stop - s.start for s in block])
        assert (seen[block] == -1).all()
        seen[block] = numbers
        start += size
    assert start == order.n_rows
    np.testing.assert_array_equal(seen, numbers_of(order))


# Axes


@pytest.mark.parametrize(
    ("shape", "names", "axes", "index", "expected"),
    [
        ((50, 40), None, None, {}, "y x"),
        ((50, 40, 3), None, None, {}, "y x c"),
        ((6, 50, 40), None, None, {}, "c y x"),
        ((3, 50, 31), None, "cyx", {}, "c y x"),
        ((40, 50), ("x", "y"), None, {}, "x y"),
        ((3, 50, 40), ("band", "latitude", "Longitude"), None, {}, "c y x"),
        ((3, 50, 40), ("time", "y", None), None, {}, "c y x"),
        ((1, 3, 1, 50, 40), "tczyx", None, {}, "t c z y x"),
        ((2, 3, 7, 50, 40), "tczyx", None, {"t": 1, "z": 6}, "t c z y x"),
        ((7, 50, 40), "zyx", "cyx", {}, "c y x"),
    ],
)
def test_axes_are_what_is_told_else_their_names_else_their_lengths(shape, names, axes, index, expected):
    array = np.random.default_rng(0).integers(0, 99, shape)
    view = view_of(array, names, axes, index)
    assert " ".join(view.axes) == expected
    pixels = view[10:30, 5:25]
    assert pixels.shape == (20, 20, view.shape[2])
    where = {"y": 11, "x": 7, "c": view.shape[2] - 1} | {
        axis: index.get(axis, 0) for axis in view.axes if axis not in "yxc"
    }
    assert pixels[1, 2, -1] == array[tuple(where[axis] for axis in view.axes)]


@pytest.mark.parametrize(
    ("shape", "names", "axes", "index", "message"),
    [
        ((3, 50, 4), None, None, {}, r"got shape \(3, 50, 4\), which does not say what its axes are: name them with"),
        ((300, 50, 40), None, None, {}, "as the one axis of at most 32, first or last"),
        ((50,), None, None, {}, "which does not say what its axes are"),
        ((5, 50, 40), None, "yx", {}, r"expected a letter for each of 3 axes of shape \(5, 50, 40\); got 'yx'"),
        ((5, 50, 40), None, "cyy", {}, "expected one axis y, one axis x and at most one of bands; got c, y, y"),
        ((5, 50, 40), None, "tzx", {}, "expected one axis y, one axis x and at most one of bands; got t, z, x"),
        ((5, 50, 40), "zyx", None, {}, "axis z has length 5, of which an image uses one: choose it with index, as"),
        ((5, 50, 40), "zyx", None, {"z": 5}, "expected an index from 0 to 4 on axis z; got 5"),
        ((5, 50, 40), "cyx", None, {"t": 0}, "there is no axis t for an index"),
    ],
)
def test_axes_that_are_not_clear_are_refused(shape, names, axes, index, message):
    with pytest.raises(ValueError, match=message):
        view_of(np.zeros(shape, "u1"), names, axes, index)


# Kinds of images


def test_zarr_images_are_read_in_place_with_bands_first_or_last(tmp_path):
    pixels = beach()
    zarr.create_array(tmp_path / "last.zarr", data=pixels, chunks=(20, 30, 3))
    zarr.create_array(tmp_path / "first.zarr", data=pixels.transpose(2, 0, 1), chunks=(1, 20, 30), shards=(3, 40, 60))
    named = zarr.create_array(tmp_path / "two.zarr", data=pixels[..., 0].T, zarr_format=2, chunks=(30, 20))
    named.attrs["_ARRAY_DIMENSIONS"] = ["x", "y"]
    last, first, two = (open_image(tmp_path / f"{name}.zarr") for name in ("last", "first", "two"))
    assert [image.chunks for image in (last, first, two)] == [(20, 30), (40, 60), (20, 30)]
    assert {image.kind for image in (last, first, two)} == {"Zarr"}
    for image in (last, first):
        np.testing.assert_array_equal(image.pixels.compute(), pixels)
        assert image.pixels.chunks[:2] == tuple(dask.array.core.normalize_chunks(image.chunks, (60, 80)))
    np.testing.assert_array_equal(two.pixels.compute(), pixels[..., :1])


OME_AXES = [{"name": n, "type": t} for n, t in zip("tcyx", ("time", "channel", "space", "space"))]


def ome_image(path, pixels, version="0.5", chunks=(1, 1, 20, 30)):
    """Write an OME-Zarr image of two levels; the transformations of both kinds multiply."""
    root = zarr.open_group(path, mode="w", zarr_format=3 if version == "0.5" else 2)
    data = pixels.transpose(2, 0, 1)[None]
    keys = {"dimension_names": [a["name"] for a in OME_AXES]} if version == "0.5" else {}
    root.create_array("full", data=data, chunks=chunks, **keys)
    root.create_array("half", data=data[..., ::2, ::2].copy(), chunks=chunks, **keys)
    levels = [
        {
            "path": name,
            "coordinateTransformations": [
                {"type": "scale", "scale": [1, 1, 0.5 * f, 0.25 * f]},
                {"type": "translation", "translation": [0, 0, 3, 4]},
            ],
        }
        for name, f in (("full", 1), ("half", 2))
    ]
    scales = {"axes": OME_AXES, "datasets": levels, "name": "beach"}
    scales["coordinateTransformations"] = [{"type": "scale", "scale": [1, 1, 2, 2]}]
    attributes = {"multiscales": [scales | ({} if version == "0.5" else {"version": version})]}
    root.attrs.update({"ome": {"version": version, **attributes}} if version == "0.5" else attributes)
    return str(path)


@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_the_full_resolution_of_ome_zarr_is_read(version, tmp_path):
    image = open_image(ome_image(tmp_path / "a.zarr", beach(), version))
    assert (image.kind, image.chunks) == ("OME-Zarr", (20, 30))
    np.testing.assert_array_equal(image.pixels.compute(), beach())
    assert image.multiscale.scale == (1.0, 0.5)
    assert image.multiscale.translation == (6.0, 8.0)


@pytest.mark.parametrize("path", ["../secret.zarr", "/etc/secret.zarr", "0/../../secret.zarr", "file:///secret.zarr"])
def test_the_metadata_of_ome_zarr_lead_to_no_array_outside_of_it(path, tmp_path):
    zarr.create_array(tmp_path / "secret.zarr", data=beach())
    group = zarr.open_group(ome_image(tmp_path / "a.zarr", beach()))
    about = group.attrs["ome"]
    about["multiscales"][0]["datasets"][0]["path"] = path
    group.attrs["ome"] = about
    with pytest.raises(ValueError, match="leads out of the group"):
        open_image(tmp_path / "a.zarr")


@pytest.mark.parametrize(
    ("multiscales", "message"),
    [
        ([{"datasets": [{"path": "0"}], "axes": ["y", "x"]}], "axes without names, as before version 0.4"),
        ([{"datasets": []}], "expected the metadata of OME-Zarr 0.4 or 0.5"),
    ],
)
def test_metadata_that_are_not_those_of_a_known_version_are_refused(multiscales, message, tmp_path):
    zarr.open_group(tmp_path / "a.zarr", mode="w", attributes={"multiscales": multiscales})
    with pytest.raises(ValueError, match=message):
        open_image(tmp_path / "a.zarr")


GEO_TAGS = [
    (33550, "d", 3, (30.0, 30.0, 0.0), True),
    (33922, "d", 6, (0.0, 0.0, 0.0, 5e5, 7e6, 0.0), True),
    (34735, "H", 16, (1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 32721), True),
]


@pytest.mark.parametrize(
    ("options", "chunks"),
    [
        ({"photometric": "rgb", "tile": (16, 32), "compression": "lzw"}, (16, 32)),
        ({"photometric": "rgb", "rowsperstrip": 7, "bigtiff": True}, None),
        ({"photometric": "rgb", "planarconfig": "separate", "tile": (16, 16), "compression": "zlib"}, (16, 16)),
        ({"photometric": "minisblack"}, None),
        ({"photometric": "minisblack", "byteorder": ">"}, None),
        ({"photometric": "minisblack", "metadata": {"axes": "CYX"}, "ome": True, "tile": (32, 32)}, (32, 32)),
    ],
)
def test_tiff_of_tiles_strips_planes_and_pages_is_read(options, chunks, tmp_path):
    pages = options["photometric"] == "minisblack" or "planarconfig" in options
    data = beach().astype("u2") * 100 if pages else beach()
    tifffile.imwrite(tmp_path / "a.tif", data.transpose(2, 0, 1).copy() if pages else data, **options)
    image = open_image(tmp_path / "a.tif")
    np.testing.assert_array_equal(image.pixels.compute(), data)
    assert (image.kind, image.dtype) == ("TIFF", data.dtype)
    assert image.label_chunks == (chunks or (60, 80))


def test_of_several_tiffs_in_a_file_one_is_chosen_and_smaller_copies_are_none(tmp_path):
    with tifffile.TiffWriter(tmp_path / "two.tif") as file:
        for i in range(2):
            file.write(beach() + np.uint8(i), photometric="rgb", contiguous=False)
    with pytest.raises(ValueError, match=r"holds 2 images, of shapes \(60, 80, 3\), \(60, 80, 3\): .* as series=0"):
        open_image(tmp_path / "two.tif")
    np.testing.assert_array_equal(read(tmp_path / "two.tif", index={"series": 1}), beach() + np.uint8(1))
    with tifffile.TiffWriter(tmp_path / "pyramid.tif") as file:
        file.write(beach(), photometric="rgb", tile=(16, 16), subifds=1)
        file.write(beach()[::2, ::2], photometric="rgb", tile=(16, 16), subfiletype=1)
    np.testing.assert_array_equal(read(tmp_path / "pyramid.tif"), beach())


def test_booleans_are_0_and_1_and_alpha_of_a_tiff_is_left_out(tmp_path):
    bits = beach()[..., 0] > 100
    tifffile.imwrite(tmp_path / "bits.tif", bits)
    zarr.create_array(tmp_path / "bits.zarr", data=bits)
    Pillow.fromarray(bits).save(tmp_path / "bits.png")
    for name in ("bits.tif", "bits.zarr", "bits.png"):
        image = open_image(tmp_path / name)
        assert image.dtype == np.uint8
        np.testing.assert_array_equal(image.pixels.compute()[..., 0], bits)
    tifffile.imwrite(
        tmp_path / "rgba.tif",
        np.dstack([beach(), bits * np.uint8(255)]),
        photometric="rgb",
        extrasamples=["unassalpha"],
    )
    np.testing.assert_array_equal(read(tmp_path / "rgba.tif"), beach())


def test_the_last_of_four_samples_is_no_opacity_where_axes_say_that_they_are_no_bands(tmp_path):
    pages = np.arange(4 * 6 * 5, dtype=np.uint8).reshape(4, 6, 5)
    colours = {"photometric": "rgb", "planarconfig": "separate", "extrasamples": ["unassalpha"]}
    tifffile.imwrite(tmp_path / "pages.tif", pages, **colours)  # as some writers take any four pages
    assert read(tmp_path / "pages.tif").shape == (6, 5, 3)
    np.testing.assert_array_equal(read(tmp_path / "pages.tif", axes="tyx", index={"t": 3})[..., 0], pages[3])
    np.testing.assert_array_equal(read(tmp_path / "pages.tif", axes="yxc"), pages)


def test_where_a_geotiff_lies_is_kept(tmp_path):
    tifffile.imwrite(tmp_path / "geo.tif", beach()[..., 0], extratags=GEO_TAGS)
    found = open_image(tmp_path / "geo.tif").georeference
    assert found["spatial:transform"] == [30.0, 0.0, 5e5, 0.0, -30.0, 7e6]
    assert (found["proj:code"], found["spatial:registration"]) == ("EPSG:32721", "pixel")
    assert [convention["name"] for convention in found["zarr_conventions"]] == ["spatial", "proj"]
    assert found["geotiff"]["ProjectedCSTypeGeoKey"] == 32721
    zarr.create_array(tmp_path / "geo.zarr", data=beach(), attributes=dict(found) | {"other": 1})
    assert open_image(tmp_path / "geo.zarr").georeference == found


def test_pictures_keep_grey_levels_and_turn_other_colours_into_red_green_and_blue(tmp_path):
    pixels = beach()
    grey = Pillow.fromarray(pixels).convert("L")
    deep = pixels[..., 0].astype("u2") * 257
    for name, picture, bands in (
        ("rgb.png", Pillow.fromarray(pixels), 3),
        ("photo.jpg", Pillow.fromarray(pixels), 3),
        ("grey.png", grey, 1),
        ("palette.png", Pillow.fromarray(pixels).quantize(64), 3),
        ("palette.gif", Pillow.fromarray(pixels).quantize(64), 3),
        ("print.jpg", Pillow.fromarray(pixels).convert("CMYK"), 3),
        ("deep.png", Pillow.fromarray(deep), 1),
    ):
        picture.save(tmp_path / name)
        image = open_image(tmp_path / name)
        assert image.shape == (60, 80, bands), name
        assert image.pixels.compute().dtype == image.dtype == ("u2" if name == "deep.png" else "u1"), name
        assert image.kind == name.rpartition(".")[2].upper().replace("JPG", "JPEG")
    np.testing.assert_array_equal(read(tmp_path / "rgb.png"), pixels)
    np.testing.assert_array_equal(read(tmp_path / "grey.png")[..., 0], np.asarray(grey))
    np.testing.assert_array_equal(read(tmp_path / "deep.png")[..., 0], deep)


def test_transparent_pixels_are_white(tmp_path):
    alpha = np.full((60, 80), 255, np.uint8)
    alpha[:10] = 0
    Pillow.fromarray(np.dstack([beach(), alpha])).save(tmp_path / "a.png")
    Pillow.fromarray(np.dstack([beach()[..., 0], alpha]), "LA").save(tmp_path / "grey.png")
    Pillow.fromarray(beach()).quantize(3).save(tmp_path / "palette.png", transparency=0)
    pixels, grey, palette = (read(tmp_path / f"{name}.png") for name in ("a", "grey", "palette"))
    assert (pixels[:10] == 255).all()
    np.testing.assert_array_equal(pixels[10:], beach()[10:])
    assert grey.shape == (60, 80, 1)
    assert (grey[:10] == 255).all()
    assert (palette == 255).all(axis=2).any()
    assert not (palette == 255).all()


def test_a_picture_is_turned_upright_as_its_camera_says(tmp_path):
    exif = Pillow.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees clockwise
    Pillow.fromarray(beach()).save(tmp_path / "a.png", exif=exif)
    np.testing.assert_array_equal(read(tmp_path / "a.png"), np.rot90(beach(), -1))


@pytest.fixture
def broken(tmp_path):
    """A folder of what is no image."""
    (tmp_path / "text.png").write_text("no picture")
    (tmp_path / "empty.png").write_bytes(b"")
    Pillow.fromarray(beach()).save(tmp_path / "a.png")
    (tmp_path / "half.png").write_bytes((tmp_path / "a.png").read_bytes()[:3000])
    (tmp_path / "broken.tif").write_bytes(b"II*\0" + b"\xff" * 100)
    (tmp_path / "deep.png").write_bytes(imagecodecs.png_encode(beach().astype("u2") * 257))
    pixels = np.dstack([beach(), beach()[..., :2]])
    tifffile.imwrite(tmp_path / "opacity.tif", pixels, photometric="rgb", extrasamples=["unassalpha", "unspecified"])
    (tmp_path / "folder").mkdir()
    zarr.open_group(tmp_path / "group.zarr", mode="w").create_array("a", data=beach())
    zarr.create_array(tmp_path / "missing.zarr", shape=(60, 80), chunks=(30, 80), dtype="u1")
    zarr.create_array(tmp_path / "none.zarr", shape=(0, 80), chunks=(30, 80), dtype="u1")
    zarr.create_array(tmp_path / "complex.zarr", data=beach()[..., 0].astype("c8"))
    zarr.create_array(tmp_path / "rows.zarr", data=np.arange(50))
    return tmp_path


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("nope.png", FileNotFoundError, "there is no file at .*nope.png"),
        ("text.png", ValueError, "expected an image, as PNG, JPEG, TIFF, OME-Zarr or a Zarr array; got .*text.png"),
        ("text.png", ValueError, r"text.png, which cannot be read \(it is of no kind that Pillow knows\)"),
        ("empty.png", ValueError, "expected an image, as PNG, JPEG, TIFF"),
        ("half.png", ValueError, "half.png, which cannot be read"),
        ("broken.tif", ValueError, "broken.tif is a TIFF file that cannot be read"),
        ("opacity.tif", ValueError, "expected opacity in the last bands of"),
        ("deep.png", ValueError, "deep.png has colours of 16 bits, 8 of which would be lost: convert it to TIFF"),
        ("folder", ValueError, "is not a Zarr array"),
        ("group.zarr", ValueError, "add one to the path, for example .*group.zarr/a"),
        ("missing.zarr", ValueError, "2 of 2 chunks are missing .* pass missing_chunks='fill'"),
        ("none.zarr", ValueError, r"none.zarr: expected pixels, got an image of \(0, 80, 1\) lines, columns and bands"),
        ("complex.zarr", TypeError, "expected booleans, integers or real numbers, got pixels of complex64"),
        ("rows.zarr", ValueError, r"got shape \(50,\), which does not say what its axes are"),
    ],
)
def test_what_is_no_image_is_refused(name, kind, message, broken):
    with pytest.raises(kind, match=message):
        open_image(broken / name)


def test_another_word_for_missing_chunks_is_refused(broken):
    with pytest.raises(ValueError, match="missing_chunks must be 'error' or 'fill'; got 'ignore'"):
        open_image(broken / "missing.zarr", missing_chunks="ignore")


@pytest.mark.parametrize(("package", "name"), [("PIL.Image", "a.png"), ("tifffile", "broken.tif")])
def test_a_missing_package_is_named_with_its_remedy(package, name, broken, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=re.escape('is missing: pip install "mdh_dask[images]"')):
        open_image(broken / name)


def test_urls_are_read(tmp_path):
    Pillow.fromarray(beach()).save(tmp_path / "a.png")
    tifffile.imwrite(tmp_path / "a.tif", beach(), photometric="rgb", tile=(16, 16))
    write_rows(beach()[..., 0], f"memory://{tmp_path.name}/a.zarr")
    for name in ("a.png", "a.tif"):
        np.testing.assert_array_equal(read(f"file://{tmp_path}/{name}"), beach())
    np.testing.assert_array_equal(read(f"memory://{tmp_path.name}/a.zarr")[..., 0], beach()[..., 0])


# Rows


@st.composite
def images(draw, dtypes=("u1", "u2", "i4", "f4", "f8")):
    """Small images and the chunks they are stored in."""
    height, width, bands = draw(st.integers(1, 24)), draw(st.integers(1, 24)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(seeds))
    pixels = rng.normal(100, 30, (height, width, bands)).clip(0, 255).astype(draw(st.sampled_from(dtypes)))
    return pixels, (draw(st.integers(1, 30)), draw(st.integers(1, 30)))


@given(images(), st.integers(1, 12), st.integers(1, 12))
def test_rows_of_a_wide_image_are_in_the_order_of_panels_whatever_the_chunks(case, panel, lines):
    pixels, chunks = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Image, "order", property(lambda self: PixelOrder(*self.shape[:2], panel)))
        image = image_of(pixels, chunks)
        lazy, order = pixel_rows(image, lines=lines), image.order
        assert lazy.dtype == pixels.dtype
        assert np.isfinite(lazy.chunks[0]).all()
        rows = lazy.compute(scheduler="synchronous")
        np.testing.assert_array_equal(rows[numbers_of(order)], pixels)


@given(images(), st.sampled_from([3, 5, 9]), st.integers(1, 30), st.integers(1, 12))
def test_features_are_those_of_the_whole_image_to_the_last_bit_whatever_the_blocks(case, window, lines, panel):
    pixels, chunks = case
    height, width, bands = pixels.shape
    window = min(window, (min(height, width) - 1) // 2 * 2 + 1)
    features = Features(window if window > 1 else None, coordinates=True, kinds=("gradient",))
    whole = pixel_rows(image_of(pixels), features, lines=height).compute(scheduler="synchronous")
    assert whole.shape == (height * width, features.n_columns(bands))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Image, "order", property(lambda self: PixelOrder(*self.shape[:2], panel)))
        patch.setattr("mdh_dask.images.local_columns.PIECE_BYTES", 1)
        image = image_of(pixels, chunks)
        rows = pixel_rows(image, features, lines=lines).compute(scheduler="synchronous")
        number = numbers_of(image.order).ravel()
    np.testing.assert_array_equal(rows[number], whole)
    np.testing.assert_array_equal(whole[:, -2:], [*np.ndindex(height, width)])
    np.testing.assert_array_equal(whole[:, :bands], pixels.reshape(-1, bands))
    if window > 1:
        mean, sd = reference_windows.local_moments(pixels, window)
        np.testing.assert_allclose(whole[:, bands : 2 * bands], mean.reshape(-1, bands), rtol=1e-6)
        np.testing.assert_allclose(whole[:, 2 * bands : 3 * bands], sd.reshape(-1, bands), rtol=1e-5, atol=1e-5)
    steep = np.hypot(
        *(np.gradient(np.pad(pixels.astype(float), 1, mode="edge"), axis=i)[1:-1, 1:-1, 1:-1] for i in (0, 1))
    )
    np.testing.assert_allclose(whole[:, -2 - bands : -2].reshape(steep.shape), steep, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("pixels", "features", "message"),
    [
        (np.ones((9, 9, 2), "u1"), {"kinds": ("lab",)}, "expected red, green and blue of uint8 or uint16 for 'lab'"),
        (np.ones((9, 9, 3)), {"kinds": ("lab",)}, "got 3 bands of float64"),
        (np.ones((9, 9, 3), "u1"), {"kinds": ("texture",)}, "expected a window for texture; got none: give window=5"),
        (beach(), {"window": 61}, "expected a window within the image's 60 x 80 pixels; got 61"),
        (np.ones((9, 9, 3), "u1"), {"kinds": ("labs",)}, "expected features among lab, smooth, texture, gradient"),
    ],
)
def test_features_that_an_image_does_not_have_are_refused_before_anything_is_read(pixels, features, message):
    with pytest.raises(ValueError, match=message):
        pixel_rows(image_of(pixels), Features(**features))


@given(st.integers(1, 5), st.integers(0, 6), st.integers(1, 4), st.integers(1, 9), seeds)
def test_the_loop_of_windows_does_what_its_twin_does(size, more, width, n, seed):
    rng = np.random.default_rng(seed)
    means, squares = rng.normal(size=(size + more, width)), rng.random((size + more, width))
    for actual, expected in zip(
        window_moments(means, squares, n, size), reference_windows.window_moments(means, squares, n, size), strict=True
    ):
        np.testing.assert_allclose(actual, expected, rtol=1e-13, atol=1e-15)


def test_a_large_mean_takes_no_digits_from_a_small_deviation():
    pixels = np.random.default_rng(0).normal(0, 1e-4, (40, 40, 1))
    columns = Features(window=5)
    near, far = (pixel_rows(image_of(values), columns).compute()[:, 2] for values in (pixels, pixels + 1e8))
    np.testing.assert_allclose(far, near, rtol=1e-3)


def test_a_block_is_read_once_in_a_pass_by_the_task_that_needs_it(tmp_path):
    zarr.create_array(tmp_path / "a.zarr", data=beach(), chunks=(10, 40, 3))
    image = open_image(tmp_path / "a.zarr")
    rows = pixel_rows(image, Features(window=3), lines=10)
    with counted_computes() as computes:
        reduce_rows(FirstPass(0, 2**60), rows)
        reduce_rows(
            Overview(image.order, 1, 3), map_rows(lambda _, block: np.zeros(len(block), "i4"), rows, dtype="i4"), rows
        )
    tasks = [[key[0] for key in keys if isinstance(key, tuple)] for keys in computes]
    alone, labelled = ([name for name in names if not name.startswith("combine")] for names in tasks)
    assert len(alone) == 6
    assert sum("_read_rows" in name for name in labelled) == 6


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_pixel_that_is_no_number_is_named_by_its_place(value):
    pixels = np.ones((40, 30, 2))
    pixels[25, 7, 1] = pixels[26, 3, 0] = value
    message = (
        "got 2 with NaN or infinity in lines 20 to 39 and columns 0 to 29, the first in line 25, column 7: fill them in"
    )
    with pytest.raises(ValueError, match=message):
        pixel_rows(image_of(pixels), lines=20).compute(scheduler="synchronous")


@pytest.mark.parametrize(
    ("width", "chunks", "expected"),
    [
        (500, (30, 50), (30, 50)),
        (500, (9000, 9000), (100, 500)),
        (9000, (30, 512), (30, 512)),
        (9000, (30, 1000), (30, 512)),
        (9000, (30, 9000), (30, 2048)),
    ],
)
def test_labels_have_the_chunks_of_the_image_unless_a_panel_does_not_consist_of_them(width, chunks, expected):
    assert image_of(np.broadcast_to(np.uint8(0), (100, width, 1)), chunks).label_chunks == expected
