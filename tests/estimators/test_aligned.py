"""Results have the form of the rows: DataArrays in, DataArrays out, and series for frames."""

import dask.array as da
import numpy as np
import pytest

from mdh_dask import RandomProjectionTree

QUICK = {"n_projections": 30}


@pytest.fixture(scope="module")
def rows():
    """Three clusters of numbers."""
    return np.random.default_rng(0).normal(size=(300, 2)) + np.repeat([[-9, 0], [0, 0], [9, 0]], 100, axis=0)


def data_array(values, names=("x", "y")):
    coords = {"station": [f"s{i}" for i in range(len(values))], "kind": list(names)}
    coords["height"] = ("station", np.arange(len(values)) / 2)
    return pytest.importorskip("xarray").DataArray(values, dims=("station", "kind"), coords=coords)


def test_the_lazy_rows_of_a_data_array_are_never_held_at_once(rows):
    def forbidden(block):
        assert len(block) <= 70
        return block

    array = data_array(da.from_array(rows, chunks=(70, 2)).map_blocks(forbidden, dtype=rows.dtype))
    model = RandomProjectionTree(**QUICK, sample_size=100).fit(array)
    assert len(model.labels_[:5].compute()) == 5


def test_labels_of_a_lazy_frame_are_a_series_of_its_package(rows):
    frames = pytest.importorskip("polars")
    lazy = frames.LazyFrame({"x": rows[:, 0], "y": rows[:, 1]})
    model = RandomProjectionTree(**QUICK).fit(lazy)
    assert isinstance(model.labels_, frames.Series)
    np.testing.assert_array_equal(model.predict(lazy.collect()), model.labels_.to_numpy())
