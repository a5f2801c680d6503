"""The scikit-learn face of the estimators, and what they accept and refuse."""

import re
import tracemalloc
from functools import partial
from itertools import product

import dask.array as da
import numpy as np
import pyarrow as pa
import pytest
import xarray
import zarr
from sklearn.exceptions import NotFittedError

import mdh_dask
from mdh_dask import PDDP, DensityTree, DivisiveClustering, MinimumDensityHyperplane, PCATree, RandomProjectionTree
from mdh_dask.estimators.registry import estimators
from mdh_dask.simulate import gaussian_mixture

QUICK = {"n_projections": 60}


@pytest.fixture(scope="module")
def rows():
    return gaussian_mixture(4000, 5, 3, sd=1.0, random_state=1)[0].compute()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("criterion", "stop_rule"),
    [("relative_depth", "hold-out-uniform"), ("dip", "hold-out"), ("variance", "level"), ("kurtosis", "fixed")],
)
def test_every_criterion_and_stop_rule_finds_separated_clusters(rows, criterion, stop_rule):
    model = DivisiveClustering(**QUICK, criterion=criterion, stop_rule=stop_rule, min_cluster_size=300).fit(rows)
    assert model.n_clusters_ == 3


WITHOUT_NUMBER = [cls for cls in estimators().values() if "n_clusters" not in cls._get_param_names()]


@pytest.mark.parametrize("estimator", WITHOUT_NUMBER)
def test_a_number_of_clusters_is_refused_with_what_there_is_instead(estimator):
    instead = "it is 2 at most" if estimator is MinimumDensityHyperplane else "max_clusters= is the most that are kept"
    with pytest.raises(TypeError, match=rf"^{estimator.__name__}\(\) has no parameter n_clusters: .*; {instead}$"):
        estimator(n_clusters=3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'n_cluster'"):
        estimator(n_cluster=3)


def test_what_is_misspelt_and_a_path_in_place_of_rows_get_a_remedy(tmp_path):
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'n_projection' \(did you mean 'n_projections'\?"):
        RandomProjectionTree(n_projection=3)
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'n_treshold' \(did you mean 'n_thresholds'\?"):
        mdh_dask.GowerFeatures(n_treshold=3)
    with pytest.raises(
        TypeError, match=r"unexpected keyword argument 'k'; its parameters are n_clusters, .*, progress$"
    ):
        DensityTree(k=3)
    with pytest.raises(
        TypeError, match=r"give it to the trees, as estimator=HierarchicalMDH\(min_cluster_size=\.\.\.\)$"
    ):
        mdh_dask.ConsensusClustering(min_cluster_size=3)
    for name, meant in (("PCATre", "PCATree"), ("load_modle", "load_model")):
        message = rf"module 'mdh_dask' has no attribute '{name}' \(did you mean '{meant}'\?"
        with pytest.raises(AttributeError, match=message):
            getattr(mdh_dask, name)
    for path in (tmp_path, "x.npy"):
        with pytest.raises(TypeError, match=r"expected rows; got the path .*: open it by mdh_dask.io.open_features"):
            RandomProjectionTree().fit(path)
    with pytest.raises(TypeError, match=r"expected rows; got the path 'https://") as caught:
        RandomProjectionTree().fit("https://me:secret@example.org/x.npy")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("lazy", [np.asarray, da.from_array])
def test_arrays_without_rows_and_columns_are_told_by_their_shape_not_by_all_values(lazy):
    for shape, remedy in (((600,), r"X.reshape\(-1, 1\) for one column"), ((9, 4, 2), r"X.reshape\(len\(X\), -1\)")):
        with pytest.raises(
            ValueError, match=rf"^expected .* got shape {re.escape(str(shape))}. Reshape .* {remedy}"
        ) as caught:
            PCATree().fit(lazy(np.zeros(shape)))
        assert len(str(caught.value)) < 250


@pytest.mark.parametrize("estimator", [DensityTree, PCATree])
def test_a_number_of_clusters_before_fit_is_an_error_that_says_so(estimator):
    with pytest.raises(NotFittedError, match=f"This {estimator.__name__} instance is not fitted yet"):
        _ = estimator().n_clusters_
    assert not hasattr(estimator(), "n_clusters_")


@pytest.mark.parametrize(
    ("parameters", "meant"),
    [({"feature_map": "gowr"}, "gower"), ({"feature_map": "polynomal"}, "polynomial"), ({"missing": "MEAN"}, "mean")],
)
def test_a_choice_that_is_none_is_refused_with_the_nearest(parameters, meant):
    with pytest.raises(ValueError, match=rf"parameter of PCATree must be .* \(did you mean '{meant}'\?\)"):
        PCATree(**parameters).fit(np.zeros((9, 2)))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.uint64, ">i2", np.longdouble])
def test_numbers_of_any_width_are_clustered(rows, dtype):
    X = (rows * 3 + 60).astype(dtype)
    model = RandomProjectionTree(**QUICK).fit(X)
    assert model.n_clusters_ == 3
    np.testing.assert_array_equal(
        RandomProjectionTree(**QUICK).fit(da.from_array(X, chunks=999)).labels_, model.labels_
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", [RandomProjectionTree(n_projections=20), PCATree(), PDDP(), MinimumDensityHyperplane(starts="pca2")]
)
def test_memory_grows_with_the_columns_and_not_with_their_square(model):
    rows = np.random.default_rng(0).normal(size=(60, 20_000)).astype(np.float32)
    tracemalloc.start()
    try:
        model.fit(rows)
        assert tracemalloc.get_traced_memory()[1] < 150e6  # a matrix of columns by columns has 1600 MB
    finally:
        tracemalloc.stop()


def unknown_chunks() -> da.Array:
    X = da.random.default_rng(0).normal(size=(100, 3), chunks=20)
    return X[X[:, 0] > 0]


BAD_INPUT = {
    "nan": (np.array([[1.0, 2.0], [np.nan, 1.0]]), "1 NaN and 0 infinite .* row 1"),
    "infinity": (np.array([[1.0, 2.0], [3.0, 1.0], [np.inf, -np.inf]]), "0 NaN and 2 infinite .* row 2"),
    "lazy nan": (da.ones((50, 2), chunks=10).astype("f4") * np.float32(np.nan), "100 NaN .* row 0"),
    "overflow": (np.array([[0.0, 1.0], [0.0, 1e200]]), "1e\\+200 in column 1, whose square overflows"),
    "underflow": (np.outer(np.arange(50.0), [1.0, 1e-158]), "4.9e-157 in column 1, whose square vanishes"),
    "named underflow": (
        pa.table({"a": np.arange(50.0), "b": 1e-158 * np.arange(50)}),
        "4.9e-157 in column 'b', whose square",
    ),
    "one row": (np.ones((1, 3)), "1 sample"),
    "one lazy row": (da.ones((1, 3), chunks=1), "1 sample"),
    "no columns": (np.ones((5, 0)), "0 feature"),
    "no lazy columns": (da.ones((5, 0), chunks=5), "0 feature"),
    "one dimension": (np.ones(5), r"got shape \(5,\)"),
    "one lazy dimension": (da.ones(5, chunks=2), r"got shape \(5,\)"),
    "objects": (np.array([[1, "b"], [2.0, "d"]], dtype=object), r"numbers or dates; got 1 \(object\)\. Leave them out"),
    "lazy objects": (da.from_array(np.array([["a"], ["b"]], dtype=object), chunks=1), "got dtype object"),
    "texts": (np.array([["a", "b"], ["c", "d"]]), r"got dtype <U1\. Convert the columns to numbers"),
    "complex": (np.ones((5, 2), dtype=complex), "Complex data not supported; got dtype complex128: make columns"),
    "lazy complex": (da.ones((5, 2), chunks=2, dtype=complex), "got dtype complex128: make columns"),
    "lists of several lengths": ([[1.0, 2.0], [3.0]], "as many values in every row; got a list of rows of several"),
    "dates": (np.arange(10).astype("M8[s]").reshape(5, 2), r"got dtype datetime64\[s\]"),
    "unknown chunks": (unknown_chunks(), "compute_chunk_sizes"),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_rows_are_refused_with_the_reason(case):
    X, message = BAD_INPUT[case]
    with pytest.raises(ValueError, match=message):
        RandomProjectionTree(**QUICK).fit(X)


@pytest.mark.parametrize("X", [None, 5, {"a": [1, 2]}, {1, 2}, iter([[1.0], [2.0]])], ids=lambda X: type(X).__name__)
def test_what_holds_no_rows_is_refused_by_its_type(X):
    with pytest.raises(TypeError, match=f"a list of rows; got a value of type {type(X).__name__}: make one of it"):
        RandomProjectionTree(**QUICK).fit(X)


def test_a_sample_of_one_row_is_refused_as_it_shows_no_valley(rows):
    with pytest.raises(ValueError, match=r"'sample_size' .*range \[2, inf\). Got 1"):
        RandomProjectionTree(**QUICK, sample_size=1).fit(rows)


def test_a_group_is_refused_with_the_remedy(tmp_path):
    group = zarr.create_group(tmp_path / "group.zarr")
    group.create_array("features", shape=(4, 2), dtype="f4")
    with pytest.raises(TypeError, match="features"):
        RandomProjectionTree(**QUICK).fit(group)


def test_new_rows_must_fit_the_model(rows):
    model = RandomProjectionTree(**QUICK).fit(rows)
    with pytest.raises(ValueError, match=r"X has 3 features.*expecting 5"):
        model.predict(rows[:, :3])
    with pytest.raises(ValueError, match=r"X has 3 features.*expecting 5"):
        model.predict(da.from_array(rows[:, :3]))
    with pytest.raises(ValueError, match="5 NaN"):
        model.predict(np.full((1, 5), np.nan))
    lazy = model.predict(da.full((4, 5), np.nan, chunks=2))
    with pytest.raises(ValueError, match="10 NaN"):
        lazy.compute()


@pytest.mark.slow
def test_clouds_without_clusters_are_one_cluster():
    # tests/benchmarks/honesty.py runs more seeds of more clouds.
    split = []
    for (cloud, d), seed in product((("normal", 2), ("normal", 50), ("uniform", 10), ("standard_t", 2)), range(10)):
        rng = np.random.default_rng([seed, d])
        draw = partial(rng.standard_t, 5) if cloud == "standard_t" else getattr(rng, cloud)
        split.append(RandomProjectionTree(**QUICK, random_state=seed).fit(draw(size=(3000, d))).n_clusters_ > 1)
    assert sum(split) <= 1  # a rate of a tenth would show so few in one of twelve draws of these 40


def test_the_lazy_rows_of_a_data_array_are_never_held_at_once(rows):
    def forbidden(block):
        assert len(block) <= 700
        return block

    lazy = da.from_array(rows, chunks=(700, 5)).map_blocks(forbidden, dtype=rows.dtype)
    model = RandomProjectionTree(**QUICK, sample_size=500).fit(xarray.DataArray(lazy, dims=("station", "kind")))
    assert len(model.labels_[:5].compute()) == 5
