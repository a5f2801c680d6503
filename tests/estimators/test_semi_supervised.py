"""Semi-supervised minimum density hyperplanes: labels, passes, chunks, files, and what is refused."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest

from mdh_dask import SemiSupervisedMDH
from mdh_dask.growth.labelled import LabelledPass
from mdh_dask.io import open_rows
from mdh_dask.workflows import predict


def two_groups(n=600, d=3, seed=0):
    """Return rows of two groups, their classes, and labels for eight rows."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 2, n)
    X = rng.normal(size=(n, d)) + 2.5 * (2 * classes[:, None] - 1) * np.eye(d)[0]
    y = np.full(n, -1)
    some = np.concatenate([np.flatnonzero(classes == c)[:4] for c in (0, 1)])
    y[some] = classes[some]
    return X, classes, y


def test_the_other_rows_get_the_class_of_their_side():
    X, classes, y = two_groups()
    model = SemiSupervisedMDH().fit(X, y)
    assert model.score(X, classes) > 0.98
    assert model.classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(model.predict(X), model.classes_[model.labels_])
    np.testing.assert_array_equal(model.decision_function(X) > 0, model.labels_ == 1)
    assert (model.n_clusters_, model.n_passes_) == (2, 1)
    assert np.isfinite([model.density_, model.relative_depth_]).all()


@pytest.mark.parametrize("feature_map", [None, "quadratic"])
def test_distances_take_little_memory_beside_the_rows_and_are_the_same_for_any_blocks(feature_map):
    X, _, y = two_groups(d=8)
    state = SemiSupervisedMDH(feature_map=feature_map).fit(X, y).state_
    rows = np.tile(np.round(X).astype(np.int8), (200, 1))
    tracemalloc.start()
    found = state.decision(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6e6  # the distances alone take two arrays of a megabyte
    np.testing.assert_array_equal(found[:600], state.decision(rows[:600]))
    np.testing.assert_array_equal(found[[1]], state.decision(rows[[1]]))
    np.testing.assert_array_equal(found > 0, state.labels(rows) == 1)


def test_of_more_labels_than_are_used_some_are_chosen_by_rows_and_the_fit_is_another():
    X, classes, _ = two_groups()
    few, again, all_labels = (SemiSupervisedMDH(max_labelled=most).fit(X, classes) for most in (20, 20, 600))
    np.testing.assert_array_equal(few.direction_, again.direction_)
    assert (few.direction_ != all_labels.direction_).any()
    assert few.score(X, classes) > 0.98


def test_labels_of_a_small_class_hold_the_hyperplane_beyond_its_bound():
    rng = np.random.default_rng(1)
    classes = (np.arange(400) < 40).astype(int)
    X = rng.normal(size=(400, 3)) + 4 * np.outer(classes, [1, 0, 0])
    y = np.full(400, -1)
    some = [0, 1, 2, 397, 398, 399]
    y[some] = classes[some]
    model = SemiSupervisedMDH().fit(X, y)
    along = X @ model.direction_
    assert abs(model.offset_ - along.mean()) > model.alpha_max * along.std()
    assert model.tree_.n_leaves == 2
    assert model.score(X, classes) > 0.93


@pytest.mark.parametrize(
    ("names", "classes"), [((7, 3), [3, 7]), (("spam", "ham"), ["ham", "spam"])], ids=["integers", "texts"]
)
def test_classes_have_their_own_names_and_order(names, classes):
    X, truth, y = two_groups()
    named = np.array(names, dtype=object)
    model = SemiSupervisedMDH().fit(X, np.where(y < 0, -1, named[y]).astype(type(names[0])))
    assert model.classes_.tolist() == classes
    assert (model.predict(X) == named[truth]).mean() > 0.98


def test_labelled_rows_count_though_the_sample_does_not_hold_them():
    # Two valleys; which of them is meant, only the labels tell.
    rng = np.random.default_rng(0)
    corners = rng.choice([-1, 1], (5000, 2))
    X = rng.normal(size=(5000, 2)) + 3 * corners
    for axis in (0, 1):
        y = np.full(5000, -1)
        y[:6] = corners[:6, axis] > 0
        model = SemiSupervisedMDH(sample_size=500).fit(X, y)
        assert ((model.predict(X) == 1) == (corners[:, axis] > 0)).mean() > 0.98


@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_a_number_for_the_bandwidth_is_the_factor_of_its_rule(scale):
    X, _, y = two_groups()
    models = [SemiSupervisedMDH(bandwidth=rule, scale=False).fit(scale * X, y) for rule in (0.9, "principal", 3)]
    np.testing.assert_allclose(models[0].direction_, models[1].direction_, rtol=1e-9)
    assert models[0].offset_ == pytest.approx(models[1].offset_, rel=1e-9)
    assert np.abs(models[2].direction_ - models[1].direction_).max() > 1e-6


def test_of_more_labelled_rows_than_wanted_the_smallest_hashes_stay():
    X, y = np.arange(200.0)[:, None], np.arange(200) % 2
    whole = LabelledPass(3, 200).chunk(0, X, y)
    few = LabelledPass(3, 20)
    halves = few.combine(few.chunk(0, X[:90], y[:90]), few.chunk(90, X[90:], y[90:]))
    chosen = np.sort(np.argsort(whole[0].hashes)[:20])
    np.testing.assert_array_equal(halves[0].numbers, chosen)
    np.testing.assert_array_equal(halves[1], y[chosen])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "the target y is None: labels of some rows, -1 for the others. MinimumDensityHyperplane needs none"),
        (np.zeros(5, int), r"expected one label for each of the 600 rows; got an array of shape \(5,\)"),
        (np.full(600, 0.5), "expected integers, -1 for rows without a label; got labels of dtype float64"),
        (np.full(600, -1), "expected labelled rows of two classes; got none"),
        (np.zeros(600, int), r"expected labelled rows of two classes; got those of \[0\]. Label a row of another"),
        (np.arange(600) % 3, r"got those of \[0, 1, 2\]. Fit one model for each pair of classes"),
    ],
    ids=["none", "length", "fractions", "unlabelled", "one class", "three classes"],
)
def test_labels_that_cannot_be_learned_from_are_refused(y, message):
    X, _, _ = two_groups()
    with pytest.raises(ValueError, match=message):
        SemiSupervisedMDH().fit(X, y)


@pytest.mark.parametrize("scale", [True, False])
def test_equal_rows_with_labels_of_both_classes_are_refused(scale):
    _, _, y = two_groups()
    with pytest.raises(ValueError, match=r"expected rows that differ, .*; got 600 equal rows"):
        SemiSupervisedMDH(scale=scale).fit(np.full((600, 2), 5.0), y)


def test_levels_of_a_table_are_counted_as_in_other_trees():
    X, _, y = two_groups()
    table = pd.DataFrame(X).assign(grade=pd.Categorical(np.where(X[:, 1] > 0, "high", "low"), ["low", "high"], True))
    (counts,) = SemiSupervisedMDH().fit(table, y).level_counts_
    assert counts.tolist() == [(X[:, 1] <= 0).sum(), (X[:, 1] > 0).sum(), 0, 0]


def test_weights_of_labels_must_be_positive():
    X, _, y = two_groups()
    with pytest.raises(ValueError, match=r"gamma must be positive numbers, got \(0.1, -1\)"):
        SemiSupervisedMDH(gamma=(0.1, -1)).fit(X, y)
    of_numpy, plain = (SemiSupervisedMDH(gamma=gamma).fit(X, y) for gamma in (np.array([1, 10]), [1, 10]))
    assert of_numpy.tree_ == plain.tree_


def test_commands_write_the_places_of_the_classes(tmp_path):
    X, truth, y = two_groups()
    SemiSupervisedMDH().fit(X, np.array(["", "a", "b"])[y + 1]).save(tmp_path / "model.zarr")
    np.save(tmp_path / "x.npy", X)
    predict(f"{tmp_path}/x.npy", f"{tmp_path}/model.zarr", f"{tmp_path}/labels.zarr")
    assert (open_rows(tmp_path / "labels.zarr", ndim=1).compute() == truth).mean() > 0.98
