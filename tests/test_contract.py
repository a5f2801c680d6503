"""What every estimator and feature map of the registry promises, each with its exceptions and their reasons.

``python tests/test_contract.py`` prints which class is tested for which promise.
"""

import pickle
import sys
from inspect import signature

import dask
import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray
from cases import (
    CLASSES,
    ESTIMATORS,
    MAPS,
    assert_same_fit,
    assert_same_results,
    fit,
    fitted,
    groups,
    new,
    results,
    variants,
)
from helpers import at_night, same_partition
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_wine
from strategies import chunkings

from mdh_dask import load_model

ROWS = groups()[0]
N = len(ROWS)
PASSES = (10_000, 100)
"""Sizes of the sample: it holds all rows, or some, so that further passes count the others."""

OF_EACH_KIND = (
    "HierarchicalMDH", "RandomProjectionTree", "HierarchicalKernelMDH", "ConsensusClustering", "HyperplaneEnsemble",
    "DensityTree", "SupportVectorClustering", "KernelKMeans", "SemiSupervisedMDH", "KernelPCAFeatures", "GowerFeatures",
)  # fmt: skip
"""The default, and classes whose passes differ from those of each other. Tests of the others are slow ones,
or, where they take several fits of what the code of these does alike, those of nights."""

pytestmark = pytest.mark.filterwarnings("ignore:found .* of n_clusters")


@pytest.fixture(scope="module", autouse=True)
def small_blocks():
    """Let blocks be the chunks of the rows: neighbours are merged up to megabytes, which would be all rows here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mdh_dask.chunks.mapping._merged", lambda chunks, most: list(chunks))
        yield


def every(names, but=(), others=pytest.mark.slow):
    """Test all of these classes, those of no other kind later; some are expected to fail, each for its reason."""
    marks = {name: [] if name in OF_EACH_KIND else [others] for name in names}
    for name, reason in dict(but).items():
        marks[name].append(pytest.mark.xfail(strict=True, reason=reason))
    return pytest.mark.parametrize("name", [pytest.param(name, marks=marks[name]) for name in names])


def some(*strategies):
    """Draw few examples and shrink none: a fit takes longer than what it is compared with."""
    few = settings(max_examples=settings.default.max_examples // 10, phases=[Phase.explicit, Phase.generate])
    return lambda test: few(given(*strategies)(test))


def sample(name, size):
    """Return the parameter for the size of the sample, if a class has it."""
    return {"sample_size": size} if "sample_size" in CLASSES[name]._get_param_names() else {}


# The same rows in other forms


@every(CLASSES)
@some(chunkings(N, empty=False), st.integers(1, 3), st.sampled_from(PASSES), st.sampled_from(["sync", "threads"]))
def test_chunks_and_schedulers_change_no_bit(name, chunks, columns, size, scheduler):
    X = da.from_array(ROWS, chunks=(chunks, columns))
    expected = fitted(name, **sample(name, size))
    with dask.config.set(scheduler=scheduler, num_workers=3):
        model = fit(new(name, **sample(name, size)), X)
        assert_same_fit(model, expected)
        assert_same_results(results(model, X), results(expected, ROWS))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", at_night(sorted(CLASSES, key=lambda name: name not in OF_EACH_KIND), len(OF_EACH_KIND))
)
def test_a_distributed_scheduler_changes_no_bit(name, client):
    model = fit(new(name), da.from_array(ROWS, chunks=(99, 2)))
    assert_same_fit(model, fitted(name))
    assert_same_results(results(model, da.from_array(ROWS, chunks=(70, 3))), results(fitted(name), ROWS))


@every(CLASSES)
def test_results_of_lazy_rows_are_lazy_in_their_chunks(name):
    X = da.from_array(ROWS, chunks=(99, 2))
    model = fitted(name)
    found = model.transform(X) if name in MAPS else model.predict(X)
    assert isinstance(found, da.Array)
    assert found.chunks[0] == X.chunks[0]


@every(ESTIMATORS)
def test_probabilities_are_the_confidence_in_the_labels_of_fit(name):
    expected = results(fitted(name), ROWS)["confidence"]
    np.testing.assert_array_equal(fitted(name).probabilities_, expected)
    lazy = fit(new(name), da.from_array(ROWS, chunks=(99, 2)))
    assert isinstance(lazy.probabilities_, da.Array)
    assert lazy.probabilities_.chunks == lazy.labels_.chunks
    np.testing.assert_array_equal(lazy.probabilities_, expected)


@every(CLASSES, others=pytest.mark.nightly)
def test_sparse_rows_and_the_layout_and_order_of_bytes_in_memory_change_no_bit(name):
    for rows in (csr_array(ROWS), np.asfortranarray(ROWS).astype(">f8")):
        model = fit(new(name), rows)
        assert_same_fit(model, fitted(name))
        assert_same_results(results(model, rows), results(fitted(name), ROWS))


@every(CLASSES, others=pytest.mark.nightly)
def test_frames_are_their_rows_and_labels_a_series_of_their_index(name):
    columns = dict(zip("abc", ROWS.T))
    indexed = pd.DataFrame(columns, index=np.arange(N)[::-1] // 2)  # not unique
    for frame in (indexed, pl.DataFrame(columns), pl.LazyFrame(columns)):
        model = fit(new(name), frame)
        assert model.feature_names_in_.tolist() == ["a", "b", "c"]
        assert_same_results(results(model, frame), results(fitted(name), ROWS))
        if name in ESTIMATORS:
            assert type(model.labels_) is (pd.Series if frame is indexed else pl.Series)
            assert model.labels_.name == "cluster"
            assert frame is not indexed or model.labels_.index.equals(frame.index)
            np.testing.assert_array_equal(model.labels_, fitted(name).labels_)


@every(CLASSES, others=pytest.mark.nightly)
def test_data_arrays_are_their_rows_and_labels_have_their_coordinates(name):
    coords = {"row": np.arange(N) * 2, "column": list("abc")}
    array = xarray.DataArray(ROWS, dims=("row", "column"), coords=coords)
    model = fit(new(name), array)
    assert_same_results(results(model, array), results(fitted(name), ROWS))
    if name in ESTIMATORS:
        assert model.labels_.dims == ("row",)
        np.testing.assert_array_equal(model.labels_.row, array.row)


WEIGHTED = [name for name in CLASSES if "sample_weight" in signature(CLASSES[name].fit).parameters]


def test_estimators_take_weights_unless_they_count_labels():
    assert ESTIMATORS.keys() - {*WEIGHTED} == {"SemiSupervisedMDH"}


@every(WEIGHTED, others=pytest.mark.nightly)
@some(st.integers(0, 99), st.sampled_from(PASSES))
def test_weights_are_repeated_rows(name, seed, size):
    weights = np.random.default_rng(seed).integers(0, 4, N)
    sources = np.repeat(np.arange(N), weights)
    repeated = fit(new(name, **sample(name, size)), ROWS[sources])
    model = fit(new(name, **sample(name, size)), ROWS, sample_weight=weights)
    assert_same_fit(model, repeated, sources=sources)
    np.testing.assert_array_equal(model.labels_[sources], repeated.labels_)
    np.testing.assert_array_equal(model.exemplars_, repeated.exemplars_)


# The same rows in other units


@every(
    CLASSES,
    but={
        "QuadraticFeatures": "products depend on where zero is",
        "TruncatedSVDFeatures": "columns are not centred, so that zeros stay zeros",
        "UnitLengthFeatures": "columns are not centred, as lengths are those of the rows",
    },
)
@some(st.tuples(*[st.sampled_from([-777.0, 0.0, 3.0, 1e5])] * 3))
def test_a_constant_added_to_a_column_changes_no_label(name, constants):
    assert_same_clusters(name, ROWS + constants)


@every(
    CLASSES,
    but={name: "columns are not scaled" for name in ("TruncatedSVDFeatures", "UnitLengthFeatures")},
    others=pytest.mark.nightly,
)
@some(st.tuples(*[st.integers(-30, 30)] * 3))
def test_a_power_of_two_times_a_column_changes_no_label(name, exponents):
    assert_same_clusters(name, np.ldexp(ROWS, exponents))


def assert_same_clusters(name, rows):
    """Compare labels exactly, and features in proportion, which are float32."""
    model = fit(new(name), rows)
    if name in MAPS:
        assert_same_results(results(model, rows), results(fitted(name), ROWS), rtol=1e-3, atol=1e-3)
    else:
        np.testing.assert_array_equal(model.labels_, fitted(name).labels_)


@every(CLASSES, others=pytest.mark.nightly)
@some(st.permutations(range(3)))
def test_the_order_of_columns_changes_no_cluster(name, order):
    model = fit(new(name), ROWS[:, order])
    if name in MAPS:  # features may have other signs, and inner products have not
        found, expected = (
            results(*one)["features"].astype(float) for one in ((model, ROWS[:, order]), (fitted(name), ROWS))
        )
        np.testing.assert_allclose(
            found @ found.T, expected @ expected.T, atol=1e-3 * np.square(expected).sum(axis=1).max()
        )
    else:
        assert same_partition(model.labels_, fitted(name).labels_)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["RandomProjectionTree", "HierarchicalMDH", "HierarchicalKernelMDH", "DensityTree"])
def test_the_order_of_columns_changes_no_label_where_clusters_overlap(name):
    rng = np.random.default_rng(0)
    near = rng.normal(size=(500, 3)) + 2.2 * rng.normal(size=(5, 3))[rng.integers(5, size=500)]
    for rows in (near, load_wine().data):
        labels, reversed_labels = (new(name).fit(np.ascontiguousarray(x)).labels_ for x in (rows, rows[:, ::-1]))
        np.testing.assert_array_equal(labels, reversed_labels)


# One model


@every(CLASSES)
def test_predictions_are_the_results_of_the_fit(name):
    for size in PASSES:
        model = fitted(name, **sample(name, size))
        if name in MAPS:
            again = new(name, **sample(name, size)).fit_transform(ROWS)
            np.testing.assert_array_equal(again, results(model, ROWS)["features"])
        else:
            np.testing.assert_array_equal(results(model, ROWS)["cluster_labels"], model.labels_)
            assert np.unique(model.labels_).tolist() == list(range(model.n_clusters_))


@every(ESTIMATORS)
def test_sizes_of_clusters_are_the_counts_of_labels(name):
    for size in PASSES:
        model = fitted(name, **sample(name, size))
        np.testing.assert_array_equal(model.state_.sizes, np.bincount(model.labels_))


@every(ESTIMATORS)
def test_exemplars_are_rows_of_their_clusters(name):
    model = fitted(name)
    np.testing.assert_array_equal(model.labels_[model.exemplar_indices_], np.arange(model.n_clusters_))
    np.testing.assert_array_equal(model.exemplars_, ROWS[model.exemplar_indices_])


@every(CLASSES)
def test_a_model_is_the_same_after_pickling(name):
    model = fitted(name)
    again = pickle.loads(pickle.dumps(model))
    assert_same_fit(again, model)
    assert_same_results(results(again, ROWS), results(model, ROWS))


@every(ESTIMATORS)
def test_a_saved_model_is_loaded_as_it_was(name, tmp_path):
    model = fitted(name)
    model.save(tmp_path / "m.zarr")
    loaded = load_model(tmp_path / "m.zarr")
    assert repr(loaded) == repr(model)
    assert type(loaded.feature_map_) is type(model.feature_map_)
    assert_same_fit(loaded, model)
    assert_same_results(results(loaded, ROWS), results(model, ROWS))
    np.testing.assert_array_equal(loaded.exemplars_, model.exemplars_)
    assert loaded.why() == model.why()
    assert loaded.evidence().to_dict() == model.evidence().to_dict()


@pytest.mark.slow
@pytest.mark.parametrize("size", at_night(PASSES[::-1]))
@pytest.mark.parametrize(("model", "rows", "more"), [pytest.param(*own, id=name) for name, *own in variants()])
def test_variants_have_the_same_bits_in_chunks_and_when_they_are_saved(model, rows, more, size, tmp_path):
    sized = {"sample_size": size} if getattr(model, "sample_size", None) else {}
    model, lazy = (clone(model).set_params(**sized) for _ in range(2))
    model.fit(rows, **more)
    lazy.fit(da.from_array(rows, chunks=((1, 99, len(rows) - 100), 3)), **more)
    assert_same_fit(lazy, model)
    np.testing.assert_array_equal(lazy.labels_, model.labels_)
    if getattr(model, "feature_map_", None) is None:  # clusters of features are told by landmarks if rows are lazy
        assert lazy.why() == model.why()
    model.save(tmp_path / "m.zarr")
    loaded = load_model(tmp_path / "m.zarr")
    assert repr(loaded) == repr(model)
    assert_same_fit(loaded, model)
    assert_same_results(results(loaded, rows), results(model, rows))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "rows", "more"), at_night([tuple(own) for _, *own in variants() if "groups" in own[-1]], 2)
)
def test_workers_change_no_bit_where_groups_are_compared(model, rows, more, client_of_processes):
    model, by_threads = (clone(model).set_params(**sample(type(model).__name__, PASSES[1])) for _ in range(2))
    lazy, groups = da.from_array(rows, chunks=(99, 3)), da.from_array(more["groups"], chunks=70)
    model.fit(lazy, groups=groups)
    with dask.config.set(scheduler="threads"):
        by_threads.fit(lazy, groups=groups)
        assert_same_fit(model, by_threads)
    np.testing.assert_array_equal(model.labels_, by_threads.labels_)


@every(MAPS)
def test_a_map_is_saved_with_the_model_of_its_features(name, tmp_path):
    model = fit(new("PCATree", feature_map=new(name)), ROWS)
    model.save(tmp_path / "m.zarr")
    loaded = load_model(tmp_path / "m.zarr")
    assert repr(loaded) == repr(model)
    assert_same_fit(loaded.feature_map_, fitted(name))
    np.testing.assert_array_equal(loaded.predict(ROWS), model.labels_)


@every(CLASSES, others=pytest.mark.nightly)
def test_a_clone_has_all_parameters_and_fits_the_same_again(name):
    given = {"random_state": 7, **sample(name, 77)}
    model = fit(new(name, **given), ROWS)
    copy = clone(model)
    assert repr(copy) == repr(new(name, **given))
    assert not hasattr(copy, "n_passes_")
    assert_same_fit(fit(copy, ROWS), model)


def table():
    """Yield lines of a table of promises by class: + is tested, x fails for a reason, and . is not its promise."""
    promises = {}
    for name, test in globals().items():
        if name.startswith("test_"):
            for mark in (mark for mark in getattr(test, "pytestmark", ()) if mark.args[:1] == ("name",)):
                tested = [value if isinstance(value, tuple) else pytest.param(value) for value in mark.args[1]]
                promises[name] = {
                    names[0]: "x" if any(mark.name == "xfail" for mark in marks) else "+" for names, marks, _ in tested
                }
    yield from (f"{i:2} {name[5:].replace('_', ' ')}" for i, name in enumerate(promises, start=1))
    yield f"\n{'':26}{''.join(f'{i:3}' for i in range(1, len(promises) + 1))}"
    for name in CLASSES:
        yield f"{name:26}{''.join(tested.get(name, '.').rjust(3) for tested in promises.values())}"


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in table())
