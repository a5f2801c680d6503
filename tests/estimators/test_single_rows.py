"""What estimators know about single rows, for all that know it: lazily, for any chunks, and after saving."""

import dask.array as da
import numpy as np
import pytest

from mdh_dask import load_model
from mdh_dask.estimators.registry import METHODS

OF_ROWS = ("boundary_distance", "confidence", "score_samples", "outliers")
"""Methods of estimators; the last is also a parameter of some."""

QUICK = {"ConsensusClustering": {"n_trees": 3}}

KNOWN = [cls for cls in METHODS.values() if any(callable(getattr(cls, name, None)) for name in OF_ROWS)]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(450, 3)) + np.repeat([[0, 0, 0], [7, 0, 0], [0, 8, 0]], 150, axis=0)


@pytest.mark.parametrize("cls", KNOWN, ids=lambda cls: cls.__name__)
def test_values_of_rows_are_lazy_the_same_in_any_chunks_and_survive_saving(cls, rows, tmp_path):
    model, lazy = (cls(**QUICK.get(cls.__name__, {})) for _ in range(2))
    model.fit(rows)
    lazy.fit(da.from_array(rows, chunks=(131, 3)))
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(lazy.labels_, model.labels_)
    for name in (name for name in OF_ROWS if callable(getattr(model, name, None))):
        expected, found = getattr(model, name)(rows), getattr(lazy, name)(da.from_array(rows, chunks=(77, 3)))
        assert isinstance(found, da.Array)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(getattr(loaded, name)(rows), expected)
    if hasattr(model, "exemplar_indices_"):
        np.testing.assert_array_equal(lazy.exemplar_indices_, model.exemplar_indices_)
        np.testing.assert_array_equal(loaded.exemplar_indices_, model.exemplar_indices_)
        np.testing.assert_array_equal(model.labels_[model.exemplar_indices_], np.arange(model.n_clusters_))


def test_all_methods_but_those_of_centroids_know_how_sure_labels_or_how_far_separators_are():
    others = {cls.__name__ for cls in METHODS.values() if cls not in KNOWN}
    assert others <= {"KernelKMeans", "SpectralClustering"}
