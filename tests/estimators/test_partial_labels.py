"""Trees with labels of some rows: no class is cut, classes are separated, and full labels are ignored."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from helpers import in_turns
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from strategies import seeds

from mdh_dask import (
    DivisiveClustering,
    HierarchicalMDH,
    Links,
    MinimumDensityHyperplane,
    RandomProjectionTree,
    load_model,
)
from mdh_dask.density.histograms import Extents
from mdh_dask.estimators.targets import encoded, partial_target


def trees(**parameters):
    """Return estimators of both kinds of trees, quick ones."""
    return RandomProjectionTree(n_projections=50, **parameters), HierarchicalMDH(**parameters)


def three_groups(n=900, seed=0):
    """Return rows of three groups in a row, and their groups."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    return rng.normal(size=(n, 3)) + np.outer(8 * truth, [1, 0, 0]), truth


def partial(classes, n=30, seed=1):
    """Return labels of so many rows, -1 for the others."""
    y = np.full(len(classes), -1)
    some = np.random.default_rng(seed).choice(len(classes), n, replace=False)
    y[some] = classes[some]
    return y


def cut(model, X, y):
    """Return the labels with rows in several clusters."""
    labels = np.asarray(model.predict(X))
    return [c for c in np.unique(y[y >= 0]) if len(np.unique(labels[y == c])) > 1]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "sample_size"), in_turns([0, 1], [10_000, 300, None]))
def test_no_labelled_class_is_cut_though_the_density_has_a_valley(kind, sample_size):
    X, truth = three_groups()
    y = partial(np.minimum(truth, 1))
    alone, guided = (trees(sample_size=sample_size)[kind].fit(X, target) for target in (None, y))
    assert (alone.n_clusters_, guided.n_clusters_) == (3, 2)
    assert cut(alone, X, y) == [1]
    assert cut(guided, X, y) == []
    np.testing.assert_array_equal(guided.known_labels_, [0, 1])
    assert guided.label_counts_.sum() == 30
    np.testing.assert_array_equal(clone(guided).fit_predict(X, y), guided.labels_)
    assert ((guided.label_counts_ > 0).sum(axis=0) == 1).all()
    assert alone.label_counts_ is None


@pytest.mark.parametrize("kind", [0, 1], ids=["random projections", "minimum density"])
def test_different_labels_are_separated_in_a_valley_too_shallow_for_the_test(kind):
    # Two close groups of few rows, which no test tells from one.
    rng = np.random.default_rng(3)
    truth = np.repeat([0, 1], 60)
    X = rng.normal(size=(120, 2)) + np.outer(4 * truth, [1, 0])
    y = np.full(120, -1)
    y[[0, 1, 2, 3, 60, 61, 62, 63]] = truth[[0, 1, 2, 3, 60, 61, 62, 63]]
    alone, guided = (trees(quantile=0.9999)[kind].fit(X, target) for target in (None, y))
    assert (alone.n_clusters_, guided.n_clusters_) == (1, 2)
    assert np.mean(guided.labels_ == guided.labels_[0]) == pytest.approx(0.5, abs=0.1)
    assert cut(guided, X, y) == []


@given(seeds, st.integers(2, 12), st.integers(1, 4))
@settings(max_examples=10)
def test_whatever_the_labels_no_class_is_cut(seed, n_labelled, n_classes):
    X, _ = three_groups(400, seed % 5)
    X = X.astype(np.float32) if seed % 2 else X
    y = partial(np.random.default_rng(seed).integers(0, n_classes, 400), n_labelled, seed)
    if set(y) == {-1, 1}:  # two classes of all rows
        y[y == 1] = 0
    assert cut(RandomProjectionTree(n_projections=20, sample_size=200).fit(X, y), X, y) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "classes",
    [
        np.arange(900) % 3,
        np.arange(900) / 900,
        np.array(["a", "b", "c"])[np.arange(900) % 3],
        np.zeros((900, 2)),
        np.arange(900) % 2 * 2 - 1,
        da.from_array(np.arange(900) % 3, chunks=300),
        da.from_array(np.arange(900) % 2 * 2 - 1, chunks=300),
    ],
    ids=["integers", "fractions", "texts", "table", "minus one and one", "lazy", "lazy minus one and one"],
)
def test_classes_of_all_rows_as_a_pipeline_passes_them_change_nothing_and_take_no_pass(classes):
    X, _ = three_groups()
    alone, given = (RandomProjectionTree(n_projections=50).fit(X, y) for y in (None, classes))
    np.testing.assert_array_equal(given.tree_.planes, alone.tree_.planes)
    assert (given.n_passes_, given.label_counts_) == (alone.n_passes_, None)


def test_links_hold_rows_together_and_apart():
    X, truth = three_groups()
    first, second, third = (np.flatnonzero(truth == c)[:2] for c in range(3))
    must = [(first[0], second[0]), (second[0], second[1])]
    model = RandomProjectionTree(n_projections=50).fit(X, Links(must=must, cannot=[(first[1], third[0])]))
    labels = np.asarray(model.labels_)
    assert len(set(labels[[first[0], *second]])) == 1
    assert labels[first[1]] != labels[third[0]]
    assert model.n_clusters_ == 2


def test_groups_without_a_link_that_keeps_them_apart_are_not_split():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    assert RandomProjectionTree(n_projections=50).fit(X, Links(must=[(0, 1), (2, 3), (4, 5)])).n_clusters_ == 1


@pytest.mark.parametrize(
    ("links", "message"),
    [
        (Links(must=[(0, 1), (1, 2)], cannot=[(2, 0)]), r"rows \[2, 0\] are linked by must"),
        (Links(must=[(0, 900)]), "expected row numbers from 0 to 899 for must; got 900"),
        (Links(cannot=[(0, 1, 2)]), r"expected pairs of row numbers for cannot, such as \[\(0, 7\)"),
    ],
    ids=["contradiction", "outside", "triple"],
)
def test_links_that_cannot_be_are_refused(links, message):
    X, _ = three_groups()
    with pytest.raises(ValueError, match=message):
        RandomProjectionTree(n_projections=50).fit(X, links)


@pytest.mark.slow
def test_refinement_and_merging_respect_the_labels():
    X, truth = three_groups()
    y = partial(np.minimum(truth, 1))
    assert cut(DivisiveClustering(n_projections=50, refine=True).fit(X, y), X, y) == []
    kernel = HierarchicalMDH(feature_map="rbf", merge=True, sample_size=300).fit(X, y)
    assert cut(kernel, X, y) == []
    assert ((kernel.label_counts_ > 0).sum(axis=1) <= 1).all()
    assert MinimumDensityHyperplane().fit(X, y).label_counts_.shape == (2, 2)


def test_counts_of_labels_are_saved(tmp_path):
    X, truth = three_groups()
    model = RandomProjectionTree(n_projections=50).fit(X, np.array(["", "a", "b"])[partial(np.minimum(truth, 1)) + 1])
    model.save(tmp_path / "model.zarr")
    loaded = load_model(tmp_path / "model.zarr")
    np.testing.assert_array_equal(loaded.label_counts_, model.label_counts_)
    assert loaded.known_labels_.tolist() == ["a", "b"]
    assert loaded.partial_fit(X).label_counts_ is None


@given(seeds, st.integers(1, 5), st.integers(1, 4))
def test_masks_of_groups_are_those_of_rows_one_by_one(seed, n_groups, n_directions):
    rng = np.random.default_rng(seed)
    group = np.sort(np.append(rng.integers(0, n_groups, 6), np.arange(n_groups)))
    projections = rng.uniform(0, 8, (n_directions, len(group)))
    apart = rng.integers(0, n_groups, (2, 2))
    low, high = (
        np.stack([f(projections[:, group == g], axis=1) for g in range(n_groups)], 1) for f in (np.min, np.max)
    )
    cut, separating = Extents(low, high, apart).on(np.zeros(n_directions), np.ones(n_directions), 8)
    for j in range(n_directions):
        for k in range(8):
            below = [set((projections[j, group == g] < k + 1).tolist()) for g in range(n_groups)]
            assert cut[j, k] == any(len(sides) > 1 for sides in below)
            assert separating[j, k] == (not cut[j, k] and any(below[a] != below[b] for a, b in apart))


@pytest.mark.slow
def test_suggested_rows_are_the_nearest_to_separators_of_each_cluster_without_a_label():
    X, truth = three_groups()
    y = partial(truth)
    model = RandomProjectionTree(n_projections=50).fit(X, y)
    found = model.suggest_labels(X, 12, y)
    distance, labels = model.boundary_distance(X), np.asarray(model.labels_)
    for cluster in range(3):
        free = np.flatnonzero((labels == cluster) & (y < 0))
        assert set(found[labels[found] == cluster]) == set(free[np.argsort(distance[free])[:4]])
    lazy = model.suggest_labels(da.from_array(X, chunks=(97, 3)), 12, da.from_array(y, chunks=200))
    np.testing.assert_array_equal(lazy, found)
    assert len(model.suggest_labels(X[:5], 12)) == 5
    with pytest.raises(ValueError, match="expected a positive number of rows for n; got 0"):
        model.suggest_labels(X, 0)
    with pytest.raises(ValueError, match=r"expected a positive number of rows for n; got 2\.5"):
        model.suggest_labels(X, 2.5)


def hidden(y, dtype):
    """Return labels of which a mask hides those of other rows."""
    return np.ma.array(np.where(y < 0, 9, y).astype(dtype), mask=y < 0)


WITHOUT_LABELS = {
    "masked": lambda y: hidden(y, "i8"),
    "masked, unsigned": lambda y: hidden(y, "u1"),
    "masked, lazy": lambda y: da.from_array(hidden(y, "u1"), chunks=70),
    "NaN": lambda y: np.where(y < 0, np.nan, y),
    "NaN, lazy": lambda y: da.from_array(np.where(y < 0, np.nan, y), chunks=70),
    "masked, floats, lazy": lambda y: da.from_array(hidden(y, "f8"), chunks=70),
    "None": lambda y: np.array([None if label < 0 else str(label) for label in y], dtype=object),
    "None beside integers": lambda y: [None if label < 0 else int(label) for label in y],
    "series of Dask": lambda y: dd.from_pandas(pd.Series(np.where(y < 0, np.nan, y)), npartitions=3),
    "pandas' integers": lambda y: pd.Series(np.where(y < 0, np.nan, y)).astype("Int64"),
}


@pytest.mark.slow
@pytest.mark.parametrize("form", WITHOUT_LABELS.values(), ids=WITHOUT_LABELS)
def test_labels_that_are_missing_or_masked_are_none(form):
    X, truth = three_groups(400)
    y = partial(np.minimum(truth, 1))
    rows = da.from_array(X, chunks=(97, 2)) if isinstance(form(y), da.Array) else X
    expected, found = trees()[0].fit(X, y), trees()[0].fit(rows, form(y))
    assert found.tree_ == expected.tree_
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_array_equal(found.label_counts_, expected.label_counts_)
    assert found.known_labels_.astype(int).tolist() == [0, 1]


def test_whole_numbers_beside_none_are_integers_and_others_texts():
    assert partial_target([7, None, 5.0, -1], 4).labels.tolist() == [7, -1, 5, -1]
    assert partial_target([7, None, 5.5], 3).names.tolist() == ["5.5", "7"]
    assert partial_target([True, None, False], 3).names.tolist() == ["False", "True"]


@pytest.mark.parametrize(
    ("lazy", "labels"),
    in_turns([False, True], [np.array([1, 2**63, -1.0, np.nan]), np.array([1, 2**63, 3, 4], dtype=np.uint64)]),
)
def test_labels_that_no_integer_of_64_bits_holds_are_refused(labels, lazy):
    given = da.from_array(labels, chunks=2) if lazy else labels
    of = partial_target if labels.dtype.kind == "f" else encoded
    with pytest.raises(ValueError, match=r"expected labels from -2\*\*63 to 2\*\*63 - 1; got 9.*numpy.unique"):
        np.asarray(of(given, 4).labels)


def test_two_classes_of_all_rows_do_not_guide_a_fit():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 2)) + np.repeat([[0], [9]], 200, axis=0)
    y, weights = np.where(rng.random(400) < 0.5, 1, -1), rng.integers(1, 3, 400)
    model = RandomProjectionTree(n_projections=20)
    np.testing.assert_array_equal(
        model.fit(rows, y, sample_weight=weights).labels_, model.fit(rows, sample_weight=weights).labels_
    )
    rows[0, 0] = np.nan
    assert model.set_params(missing="drop").fit(rows, y).n_clusters_ == 2
