"""Trees on the features of a kernel: the same as on features made beforehand, wherever these are kept."""

import dask
import dask.array as da
import numpy as np
import pytest
from cases import new
from helpers import at_night, noting_passes, noting_reads, rings
from sklearn.base import clone
from sklearn.utils.metaestimators import _safe_split

from mdh_dask import DivisiveClustering, HierarchicalKernelMDH, KernelPCAFeatures, load_model
from mdh_dask.estimators import states
from mdh_dask.estimators.divisive_tree import DivisiveTree
from mdh_dask.estimators.registry import estimators
from mdh_dask.kernels import RBF, Quadratic
from mdh_dask.metrics import normalized_mutual_information

MAP = KernelPCAFeatures(kernel="quadratic", n_landmarks=50, n_components=4)
METHODS = [
    new(name, **{"DePDDP": {"min_cluster_size": 50}}.get(name, {}))
    for name, cls in estimators().items()
    if issubclass(cls, DivisiveTree) and name != "HierarchicalSpectral"  # which needs affinities
]


@pytest.fixture(scope="module")
def rows():
    """Rows on two circles, one inside the other, which no line separates."""
    return rings(1200, (1.0, 5.0))[0].astype(np.float32)


def tree_of_rows(**parameters):
    """A quick tree; most rows are not in its sample, so that it takes several passes."""
    defaults = {"n_projections": 30, "max_clusters": 2, "sample_size": 100, "feature_map": clone(MAP)}
    return DivisiveClustering(**defaults | parameters)


@pytest.fixture(scope="module")
def expected(rows):
    """The tree on rows in memory."""
    return tree_of_rows().fit(rows)


# What a tree on features is


@pytest.mark.slow
@pytest.mark.parametrize("method", at_night(METHODS, 5), ids=lambda method: type(method).__name__)
def test_the_tree_is_that_of_features_made_beforehand_and_taken_as_they_are(method, rows):
    # Merging compares the density of the rows themselves, not that of their features.
    method = clone(method).set_params(**{"merge": False} if "merge" in method.get_params() else {})
    model = clone(method).set_params(feature_map=MAP).fit(rows)
    features = clone(MAP).fit_transform(rows)
    beforehand = clone(method).set_params(feature_map=None, scale=False).fit(features)
    # Single columns describe leaves, but not single features of a map.
    splits = model.tree_.left >= 0
    for name in ("left", "right", "n_rows", "cluster"):
        np.testing.assert_array_equal(getattr(model.tree_, name), getattr(beforehand.tree_, name), err_msg=name)
    np.testing.assert_array_equal(model.tree_.thresholds[splits], beforehand.tree_.thresholds[splits])
    np.testing.assert_array_equal(model.labels_, beforehand.labels_)
    np.testing.assert_array_equal(model.predict(rows), model.labels_)
    assert model.tree_.n_features == model.feature_map_.n_components_ == 4
    assert model.n_features_in_ == 2


@pytest.mark.parametrize("kernel", ["precomputed", KernelPCAFeatures(kernel="precomputed", n_landmarks=80)])
def test_a_precomputed_kernel_gives_the_tree_of_the_rows_also_when_it_is_saved(kernel, tmp_path):
    some = np.random.default_rng(0).normal(np.repeat([[1.0], [6.0]], 100, axis=0), 0.5, size=(200, 2))
    gram = Quadratic().gram(some)
    by_rows = tree_of_rows(feature_map="quadratic", scale=False, max_clusters=2).fit(some)
    for X in (gram, da.from_array(gram, chunks=(70, 90))):
        model = tree_of_rows(feature_map=kernel).fit(X)
        np.testing.assert_array_equal(np.asarray(model.labels_), by_rows.labels_)
        np.testing.assert_array_equal(model.predict(gram[:9]), by_rows.labels_[:9])
        model.save(tmp_path / "model.zarr", overwrite=True)
        np.testing.assert_array_equal(load_model(tmp_path / "model.zarr").predict(gram), by_rows.labels_)


def test_a_precomputed_kernel_is_split_by_rows_and_columns():
    gram = np.arange(25.0).reshape(5, 5)
    for feature_map in ("precomputed", KernelPCAFeatures(kernel="precomputed")):
        some, _ = _safe_split(tree_of_rows(feature_map=feature_map), gram, None, [0, 3])
        np.testing.assert_array_equal(some, gram[np.ix_([0, 3], [0, 3])])
    for feature_map in (None, "rbf", MAP):
        assert _safe_split(tree_of_rows(feature_map=feature_map), gram, None, [0, 3])[0].shape == (2, 5)


# Passes


@pytest.mark.slow
@pytest.mark.parametrize(("cache", "refine"), [("memory", False), ("auto", True)])
def test_rows_are_read_twice_if_features_are_kept_and_once_more_for_labels(rows, cache, refine):
    lazy, read = noting_reads(da.from_array(rows, chunks=(300, 2)))
    model = tree_of_rows(cache=cache, refine=refine).fit(lazy)
    assert sum(read) / len(rows) == model.n_passes_ == 2
    model.labels_.compute()
    assert sum(read) / len(rows) == 3


@pytest.mark.parametrize("refine", [False, True])
def test_without_a_cache_rows_are_read_in_every_pass_and_once_for_the_map(rows, refine, monkeypatch):
    passes, (lazy, read) = noting_passes(monkeypatch), noting_reads(da.from_array(rows, chunks=(300, 2)))
    model = tree_of_rows(cache=None, refine=refine).fit(lazy)
    assert sum(read) / len(rows) == len(passes) == model.n_passes_ > 2


def test_long_blocks_are_labelled_in_parts(rows, expected, monkeypatch):
    lengths = []

    def mapped(self, rows):
        lengths.append(len(rows))
        return whole(self, rows)

    whole = type(expected.feature_map_.map_).__call__
    monkeypatch.setattr(states, "ROWS_AT_ONCE", 500)
    monkeypatch.setattr(type(expected.feature_map_.map_), "__call__", mapped)
    np.testing.assert_array_equal(expected.predict(rows), expected.labels_)
    assert lengths == [500, 500, 200]
    (nothing,) = expected.state_.labels(rows[:0]).shape
    assert nothing == 0


def test_blocks_of_rows_that_are_wider_than_their_features_stay_small(monkeypatch):
    lengths = []

    def transform(self, X):
        lengths.extend(X.chunks[0])
        return whole(self, X)

    whole = KernelPCAFeatures.transform
    monkeypatch.setattr(KernelPCAFeatures, "transform", transform)
    X = da.random.default_rng(0).normal(size=(2000, 50), chunks=(400, 50))
    with dask.config.set({"mdh-dask.block-size": "40kB"}):
        tree_of_rows(feature_map=MAP).fit(X)
    assert max(lengths) == 100


# Saved models


@pytest.mark.parametrize("name", ["DensityTree", "RandomProjectionTree"])
def test_models_of_long_doubles_are_saved_with_their_exemplars(name, tmp_path):
    rows = np.linspace(0, 1, 60, dtype=np.longdouble).reshape(-1, 2)
    model = new(name, feature_map="gower").fit(rows)
    model.save(tmp_path / "model.zarr")
    np.testing.assert_array_equal(load_model(tmp_path / "model.zarr").exemplars_, model.exemplars_)


def test_a_model_whose_kernel_is_a_function_is_not_saved(rows, tmp_path):
    feature_map = KernelPCAFeatures(kernel=lambda A, B: A @ B.T, n_landmarks=30)
    model = tree_of_rows(feature_map=feature_map).fit(rows)
    with pytest.raises(TypeError, match=r"expected a kernel of .* got the function .*KERNELS\['mine'\] = cls"):
        model.save(tmp_path / "model.zarr")
    assert list(tmp_path.iterdir()) == []


# Bad input


@pytest.mark.parametrize(
    ("feature_map", "message"),
    [
        ("gaussian", r"The 'feature_map' parameter of DivisiveClustering must be .*'local_scaling'.* Got 'gaussian'"),
        (RBF(), "The 'feature_map' parameter of DivisiveClustering must be .* Got RBF"),
        (KernelPCAFeatures, "The 'feature_map' parameter of DivisiveClustering"),
        (KernelPCAFeatures(kernel="gaussian"), "The 'kernel' parameter of KernelPCAFeatures must be"),
        (KernelPCAFeatures(n_landmarks=1), "The 'n_landmarks' parameter of KernelPCAFeatures must be"),
        (KernelPCAFeatures(variance=0), "The 'variance' parameter of KernelPCAFeatures must be"),
        ("precomputed", r"expected a square array for a precomputed kernel.* got shape \(1200, 2\)"),
    ],
    ids=str,
)
def test_a_bad_map_is_named_before_any_work(feature_map, message, rows):
    lazy, read = noting_reads(da.from_array(rows, chunks=(300, 2)))
    for X in (rows, lazy):
        with pytest.raises(ValueError, match=message):
            tree_of_rows(feature_map=feature_map).fit(X)
    assert not read


@pytest.mark.slow
def test_the_grain_of_the_landmarks_is_not_taken_for_clusters():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 20_000)
    X = (rng.normal(size=(20_000, 6)) + 6 * rng.normal(size=(4, 6))[y]).astype(np.float32)
    labels = HierarchicalKernelMDH().fit(X).labels_
    assert normalized_mutual_information(y, labels) > 0.999
