"""Labels of an image's rows, written in place: whole or not there, with what the image says about itself."""

import os

import dask
import dask.array as da
import numpy as np
import pytest
import zarr
from helpers import Stop, files_of, in_turns, names
from hypothesis import given
from hypothesis import strategies as st
from ome_zarr_models.v05 import ImageLabel, Labels
from test_images import beach, bright, image_of, images, ome_image

from mdh_dask.chunks import reduce_rows
from mdh_dask.images import Features, Image, open_image, write_labels
from mdh_dask.images.image import PixelOrder
from mdh_dask.images.label_arrays import is_label_image
from mdh_dask.images.overview import Overview


def expected_labels(pixels):
    return (pixels[..., 0] > 50).astype(int) + (pixels[..., 0] > 150)


@pytest.fixture
def stored(tmp_path):
    """An image in Zarr, opened; four blocks of one row of chunks each."""
    zarr.create_array(tmp_path / "image.zarr", data=beach(), chunks=(16, 20, 3))
    with dask.config.set({"mdh-dask.block-size": 16 * 80 * 3}):
        yield open_image(tmp_path / "image.zarr")


def test_labels_have_the_image_s_shape_and_chunks_and_the_smallest_dtype(stored, tmp_path, scheduler):
    for n_labels, dtype in ((3, "u1"), (256, "u1"), (257, "u2")):
        path = tmp_path / f"{n_labels}.zarr"
        write_labels(bright, stored, path, n_labels=n_labels, attributes={"n_clusters": 3})
        written = zarr.open_array(path)
        np.testing.assert_array_equal(written, expected_labels(beach()))
        assert (written.shape, written.chunks, written.dtype) == ((60, 80), (16, 20), dtype)
        assert written.metadata.dimension_names == ("y", "x")
        assert written.attrs["n_clusters"] == 3
        assert written.attrs["mdh_dask"]["complete"] is True
    assert sorted(os.listdir(tmp_path)) == ["256.zarr", "257.zarr", "3.zarr", "image.zarr"]


@pytest.mark.slow
@given(images(dtypes=("u1", "f4")), st.sampled_from([2, 4, 8, 64]), st.integers(1, 3))
def test_rows_and_back_is_the_image_whatever_chunks_and_panels(case, panel, n_chunks):
    pixels, (height, width) = case[0][:, :, :1], case[1]
    labels = np.arange(pixels[..., 0].size).reshape(pixels.shape[:2])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Image, "order", property(lambda self: PixelOrder(*self.shape[:2], panel)))
        image = image_of(labels[..., None], (height, width))
        url = f"memory://labels/{np.random.default_rng().integers(2**60)}.zarr"
        block = n_chunks * image.label_chunks[0] * image.shape[1] * 8
        with dask.config.set({"scheduler": "synchronous", "mdh-dask.block-size": block}):
            write_labels(lambda rows: rows[:, 0], image, url, n_labels=labels.size)
    np.testing.assert_array_equal(zarr.open_array(url, mode="r"), labels)


def test_labels_of_ome_zarr_are_ome_zarr_with_scale_colours_and_source(tmp_path):
    image = open_image(ome_image(tmp_path / "image.zarr", beach()))
    seen = write_labels(bright, image, tmp_path / "out.zarr", n_labels=3)
    group = zarr.open_group(tmp_path / "out.zarr", mode="r")
    Labels.from_zarr(group["labels"])
    found = ImageLabel.from_zarr(group["labels/segments"]).attributes.ome
    assert found.version == found.image_label.version == "0.5"
    assert found.image_label.source.image == str(tmp_path / "image.zarr")
    assert [(c.label_value, tuple(c.rgba)) for c in found.image_label.colors] == [
        (i, (*map(int, c), 255)) for i, c in enumerate(seen.colours)
    ]
    (scales,) = found.multiscales
    assert [axis.name for axis in scales.axes] == ["y", "x"]
    scale, translation = scales.datasets[0].coordinateTransformations
    assert (scale.scale, translation.translation) == ([1.0, 0.5], [6.0, 8.0])
    labels = group["labels/segments/0"]
    assert labels.chunks == (20, 30)
    np.testing.assert_array_equal(labels, expected_labels(beach()))
    assert is_label_image(group)
    reopened = open_image(tmp_path / "out.zarr" / "labels" / "segments")
    np.testing.assert_array_equal(reopened.pixels.compute()[..., 0], labels)


@pytest.mark.slow
@pytest.mark.parametrize("smallest", [7, 16, 40])
def test_smaller_copies_of_ome_zarr_labels_have_every_second_pixel(smallest, tmp_path, monkeypatch, scheduler):
    monkeypatch.setattr("mdh_dask.images.ome.SMALLEST", smallest)
    monkeypatch.setattr("mdh_dask.images.ome.BLOCK", 45)
    image = open_image(ome_image(tmp_path / "image.zarr", beach(61, 83)))
    write_labels(bright, image, tmp_path / "out.zarr", n_labels=3)
    group = zarr.open_group(tmp_path / "out.zarr" / "labels" / "segments", mode="r")
    (scales,) = ImageLabel.from_zarr(group).attributes.ome.multiscales
    labels = group["0"][:]
    assert len(scales.datasets) == {7: 5, 16: 4, 40: 3}[smallest]
    for number, level in enumerate(scales.datasets):
        assert level.path == str(number)
        np.testing.assert_array_equal(group[level.path], labels[:: 2**number, :: 2**number])
        scale, translation = level.coordinateTransformations
        assert (scale.scale, translation.translation) == ([2**number, 2**number / 2], [6.0, 8.0])
    assert max(group[scales.datasets[-1].path].shape) <= smallest


@pytest.mark.parametrize("kind", ["Zarr", "OME-Zarr"])
def test_only_labels_are_replaced_and_only_if_asked(kind, stored, tmp_path):
    image = stored if kind == "Zarr" else open_image(ome_image(tmp_path / "ome.zarr", beach()))
    path = tmp_path / "l.zarr"
    write_labels(bright, image, path, n_labels=3)
    with pytest.raises(FileExistsError, match=r"l.zarr exists: name another output, or replace it with overwrite=True"):
        write_labels(bright, image, path, n_labels=3)
    write_labels(lambda rows: 2 - bright(rows), image, path, n_labels=3, overwrite=True)
    written = open_image(path / "labels" / "segments" / "0" if kind == "OME-Zarr" else path)
    np.testing.assert_array_equal(written.pixels.compute()[..., 0], 2 - expected_labels(beach()))
    other = tmp_path / "other.zarr"
    zarr.create_array(other, data=beach())
    with pytest.raises(FileExistsError, match=r"is not an image of labels, and nothing else is replaced"):
        write_labels(bright, image, other, n_labels=3, overwrite=True)
    np.testing.assert_array_equal(zarr.open_array(other), beach())


@pytest.mark.parametrize(
    ("label", "kind", "message"),
    [
        (lambda rows: bright(rows) + 1, ValueError, "expected labels from 0 to 2; got . to 3: correct n_labels"),
        (lambda rows: bright(rows) - 1, ValueError, "expected labels from 0 to 2; got -1 to .: correct n_labels"),
        (lambda rows: bright(rows)[1:], TypeError, r"expected an integer for each row; got labels of shape \(\d+,\)"),
        (lambda rows: bright(rows) / 2, TypeError, r"expected an integer for each row; .* float64"),
    ],
)
def test_labels_that_are_not_what_they_should_be_are_refused(label, kind, message, stored, tmp_path):
    with pytest.raises(kind, match=message):
        write_labels(label, stored, tmp_path / "l.zarr", n_labels=3)
    assert names(tmp_path) == ["image.zarr"]


# What is seen of the segments


@given(images(dtypes=("u1", "i4", "f8")), st.integers(1, 7), st.integers(1, 9), st.integers(1, 30))
def test_the_overview_is_that_of_the_whole_image_whatever_the_blocks(case, panel, lines, largest):
    pixels, _ = case
    order = PixelOrder(*pixels.shape[:2], panel)
    labels = np.random.default_rng(0).integers(0, 4, pixels.shape[:2])
    blocks = [order.block(i, lines) for i in range(len(order.sizes(lines)))]
    sizes = (order.sizes(lines),)
    rows, flat = (np.concatenate([a[b].reshape(-1, a.shape[2]) for b in blocks]) for a in (pixels, labels[..., None]))
    seen = reduce_rows(
        Overview(order, 5, 3 if pixels.shape[2] > 2 else 1, largest=largest),
        da.from_array(flat[:, 0], chunks=sizes),
        da.from_array(rows, chunks=(sizes[0], -1)),
    )
    shown = pixels[..., : 3 if pixels.shape[2] > 2 else 1]
    step = -(-max(labels.shape) // largest)
    np.testing.assert_array_equal(seen.sizes, np.bincount(labels.ravel(), minlength=5))
    for i in range(4):
        if (labels == i).any():
            np.testing.assert_allclose(seen.means[i], shown[labels == i].mean(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(seen.labels, labels[::step, ::step])
    np.testing.assert_array_equal(seen.pixels, shown[::step, ::step])
    assert max(seen.labels.shape) <= largest


def test_a_photograph_is_shown_as_it_is_and_segments_in_their_mean_colours_with_darker_boundaries(stored):
    seen = write_labels(bright, stored, None, n_labels=3)
    labels = expected_labels(beach())
    np.testing.assert_array_equal(seen.photograph, beach())
    means = np.array([np.rint(beach()[labels == i].mean(axis=0)) for i in range(3)])
    np.testing.assert_array_equal(seen.colours, means)
    picture = seen.segmented()
    edge = np.zeros(labels.shape, bool)
    edge[1:] |= labels[1:] != labels[:-1]
    edge[:, 1:] |= labels[:, 1:] != labels[:, :-1]
    np.testing.assert_array_equal(picture[~edge], means[labels][~edge])
    assert (picture[edge].sum(axis=1) < means[labels][edge].sum(axis=1)).all()


@pytest.mark.parametrize("dtype", ["u2", "f4"])
def test_other_images_are_stretched_between_percentiles_of_each_band(dtype):
    pixels = np.stack([np.linspace(lo, hi, 4800).reshape(60, 80) for lo, hi in ((0, 500), (1000, 9000))], axis=-1)
    image = image_of(np.concatenate([pixels, pixels], axis=-1).astype(dtype))
    seen = write_labels(bright, image, None, n_labels=3)
    assert seen.photograph.shape == (60, 80, 3)
    assert [seen.photograph[..., i].min() for i in range(3)] == [0, 0, 0]
    assert [seen.photograph[..., i].max() for i in range(3)] == [255, 255, 255]


# Writing that was interrupted


COLUMNS = {
    "bands": Features(),
    "window": Features(window=3),
    "weighted": Features(coordinates=True).times(np.array([1, 1, 1, 0.5, 0.25])),
}


class Labeller:
    """Labels by the first band; stops before it labels one block more than it may, and counts the pixels it labels."""

    def __init__(self, blocks=None):
        self.left, self.n_pixels = blocks, 0

    def __call__(self, rows):
        if self.left == 0:
            raise Stop
        if self.left is not None:
            self.left -= 1
        self.n_pixels += len(rows)
        return bright(rows)


@pytest.fixture(params=["Zarr", "OME-Zarr"])
def image(request, tmp_path, monkeypatch):
    """An image of 60 x 80 pixels in four blocks of one row of chunks, opened; there are copies of small images."""
    monkeypatch.setattr("mdh_dask.images.ome.SMALLEST", 30)
    if request.param == "Zarr":
        zarr.create_array(tmp_path / "in" / "image.zarr", data=beach(), chunks=(16, 20, 3))
    else:
        ome_image(tmp_path / "in" / "image.zarr", beach(), chunks=(1, 1, 16, 20))
    with dask.config.set({"mdh-dask.block-size": 1, "scheduler": "synchronous"}):
        yield open_image(tmp_path / "in" / "image.zarr")


@pytest.mark.slow
@pytest.mark.parametrize(("features", "n_blocks"), in_turns(COLUMNS, [0, 1, 3]))
def test_pixels_that_were_labelled_are_not_labelled_again(n_blocks, features, image, tmp_path):
    options = {"n_labels": 3, "features": COLUMNS[features], "resume": "job"}
    expected = write_labels(Labeller(), image, tmp_path / "undisturbed" / "l.zarr", **options)
    stopped, resumed = Labeller(n_blocks), Labeller()
    with pytest.raises(Stop):
        write_labels(stopped, image, tmp_path / "l.zarr", **options)
    seen = write_labels(resumed, image, tmp_path / "l.zarr", **options)
    assert all(map(np.array_equal, seen, expected))
    assert resumed.n_pixels == beach()[..., 0].size - stopped.n_pixels < 4800 + (n_blocks == 0)
    assert files_of(tmp_path / "l.zarr") == files_of(tmp_path / "undisturbed" / "l.zarr")
