"""Images of labels whose writing was interrupted: what is there stays, and the end is the same to the last bit."""

import dask
import numpy as np
import pytest
import zarr
from helpers import Stop, files_of, in_turns
from test_images import beach, ome_image

from mdh_dask.images import Features, open_image, write_labels

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
        return (rows[:, 0] > 50).astype("i4") + (rows[:, 0] > 150)


@pytest.fixture(params=["Zarr", "OME-Zarr"])
def image(request, tmp_path):
    """An image of 60 x 80 pixels in four blocks, opened."""
    if request.param == "Zarr":
        zarr.create_array(tmp_path / "in" / "image.zarr", data=beach(), chunks=(16, 20, 3))
    else:
        ome_image(tmp_path / "in" / "image.zarr", beach(), chunks=(1, 1, 16, 20))
    return open_image(tmp_path / "in" / "image.zarr")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of one row of chunks, and copies of small images."""
    monkeypatch.setattr("mdh_dask.images.ome.SMALLEST", 30)
    with dask.config.set({"mdh-dask.block-size": 1, "scheduler": "synchronous"}):
        yield


def write(image, path, label, features="bands", **options):
    return write_labels(label, image, path, n_labels=3, features=COLUMNS[features], resume="job", **options)


def same(seen, other):
    assert all(np.array_equal(a, b) for a, b in zip(seen, other))


@pytest.mark.slow
@pytest.mark.parametrize(("features", "n_blocks"), in_turns(COLUMNS, [0, 1, 3]))
def test_pixels_that_were_labelled_are_not_labelled_again(n_blocks, features, image, tmp_path):
    expected = write(image, tmp_path / "undisturbed" / "l.zarr", Labeller(), features)
    path = tmp_path / "l.zarr"
    stopped, resumed = Labeller(n_blocks), Labeller()
    with pytest.raises(Stop):
        write(image, path, stopped, features)
    same(write(image, path, resumed, features), expected)
    assert resumed.n_pixels == beach()[..., 0].size - stopped.n_pixels < 4800 + (n_blocks == 0)
    assert files_of(path) == files_of(tmp_path / "undisturbed" / "l.zarr")
