"""What estimators know about single rows, for all that know it, and rows that stand for clusters."""

import pickle

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from mdh_dask import (
    ConsensusClustering,
    DensityTree,
    HyperplaneEnsemble,
    KernelKMeans,
    PCATree,
    RandomProjectionTree,
    SupportVectorClustering,
)
from mdh_dask.estimators.registry import METHODS
from mdh_dask.growth.exemplars import Exemplars, medoids
from mdh_dask.growth.passes import Sample


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(450, 3)) + np.repeat([[0, 0, 0], [7, 0, 0], [0, 8, 0]], 150, axis=0)


@pytest.mark.parametrize(
    "model",
    [DensityTree(unclassified="leave"), SupportVectorClustering(width=1.0, share_outside=0.1, unclassified="leave")],
)
def test_rows_in_no_cluster_have_the_probability_zero(model, rows):
    found = model.fit(rows)
    outside = found.labels_ == -1
    np.testing.assert_array_equal(found.probabilities_ == 0, outside)
    assert outside.any()
    assert (found.confidence(rows)[outside] > 0).any()


def test_rows_that_were_left_out_have_the_probability_zero(rows):
    gappy = rows.copy()
    gappy[::50, 1] = np.nan
    for X in (gappy, da.from_array(gappy, chunks=(100, 3))):
        sure = np.asarray(RandomProjectionTree(missing="drop").fit(X).probabilities_)
        np.testing.assert_array_equal(np.flatnonzero(sure == 0), np.arange(0, 450, 50))


def test_an_unfitted_model_has_no_probabilities_and_says_so():
    with pytest.raises(NotFittedError, match="fit"):
        _ = RandomProjectionTree().probabilities_


def test_probabilities_of_a_frame_are_a_series_and_follow_the_clusters_of_a_cut(rows):
    frame = pd.DataFrame(rows, columns=list("abc"), index=np.arange(450) + 7)
    model = RandomProjectionTree().fit(frame)
    pd.testing.assert_series_equal(
        model.probabilities_, pd.Series(model.confidence(frame), frame.index, name="probability")
    )
    cut = model.cut(2)
    np.testing.assert_array_equal(cut.probabilities_, cut.confidence(frame))
    coarse = DensityTree().fit(rows)
    assert (coarse.probabilities_ < coarse.cut(1).probabilities_).any()


def test_pickles_hold_no_rows_but_those_of_the_history_and_the_probabilities_that_were_asked_for(rows):
    model = RandomProjectionTree().fit(rows)
    assert len(pickle.dumps(model)) < rows.nbytes + sum(len(pickle.dumps(own)) for own in (model.tree_, model._history))
    with pytest.raises(AttributeError, match=r"not saved: take confidence\(X\)"):
        _ = pickle.loads(pickle.dumps(model)).probabilities_
    expected = model.probabilities_
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).probabilities_, expected)


@pytest.mark.slow
def test_methods_without_outliers_say_why(rows):
    without = [name for name, cls in METHODS.items() if not callable(getattr(cls, "outliers", None))]
    assert without == ["ensemble"]
    with pytest.raises(AttributeError, match=r"HyperplaneEnsemble has no outliers: .* take ConsensusClustering"):
        HyperplaneEnsemble().fit(rows).outliers(rows)
    with pytest.raises(AttributeError, match=r"rows outside .* boundary_distance\(X\) < 0"):
        DensityTree().score_samples(rows)
    several = ConsensusClustering(estimator=DensityTree(), n_trees=2).fit(rows[:300])
    with pytest.raises(ValueError, match=r"got density trees alone: .* boundary_distance\(X\) < 0"):
        several.outliers(rows)


@pytest.mark.parametrize(
    ("model", "name", "remedy"),
    [
        (DensityTree(), "predict_proba", r"take confidence\(X\)"),
        (ConsensusClustering(), "boundary_distance", r"take confidence\(X\)"),
        (ConsensusClustering(), "cut", "fit with n_clusters="),
        (ConsensusClustering(), "tree_", "trees_"),
    ],
)
def test_what_other_trees_have_is_not_there_with_a_remedy(model, name, remedy):
    with pytest.raises(AttributeError, match=rf"{type(model).__name__} has no {name}: .*{remedy}"):
        getattr(model, name)


@pytest.mark.parametrize(
    "model", [ConsensusClustering(n_trees=4, estimator=PCATree()), KernelKMeans(n_clusters=3, feature_map=None)]
)
def test_far_rows_are_outliers_and_few_of_the_fitted_ones(model, rows):
    model.fit(rows)
    scores = model.score_samples(rows)
    for level in (0.001, 0.05, 0.3):
        assert (scores < level).mean() <= level
    assert ((scores >= 0) & (scores <= 1)).all()
    assert model.outliers(np.array([[60.0, -50.0, 40.0], [0.0, 0.0, 0.0]])).tolist() == [True, False]


@pytest.mark.parametrize("unclassified", ["nearest", "leave"])
@pytest.mark.parametrize(
    "model", [DensityTree(share_outside=0.1), SupportVectorClustering(width=1.0, share_outside=0.1)]
)
def test_outliers_of_a_density_level_are_the_rows_outside_it(model, unclassified, rows):
    model.set_params(unclassified=unclassified).fit(rows)
    found = model.outliers(rows)
    assert 0.05 < found.mean() < 0.15
    if unclassified == "leave":
        np.testing.assert_array_equal(found, model.labels_ < 0)
    assert model.outliers(da.from_array(rows, chunks=100)).compute().tolist() == found.tolist()
    assert model.outliers(rows[:2] + 90).tolist() == [True, True]


class TestCentroids:
    @pytest.fixture
    def model(self, rows):
        return KernelKMeans(n_clusters=3, feature_map=None, scale=False).fit(rows)

    def test_confidence_is_a_half_between_two_centroids_and_one_at_each(self, model):
        centres = model.cluster_centers_ + model.state_.centre
        np.testing.assert_allclose(model.confidence(centres), 1)
        middle = (centres[[0]] + centres[[1]]) / 2
        np.testing.assert_allclose(model.confidence(middle), 0.5)
        np.testing.assert_allclose(model.boundary_distance(middle), 0, atol=1e-9)

    def test_distances_are_those_to_the_nearest_border(self, model):
        row = np.array([[1.0, 0.5, -0.3]])
        step, own = np.linspace(0, 10, 20001)[:, None], model.predict(row)[0]
        centres = model.cluster_centers_
        ways = [
            (centre - centres[own]) / np.linalg.norm(centre - centres[own]) for centre in np.delete(centres, own, 0)
        ]
        first = [step[(model.predict(row + step * way) != own).argmax(), 0] for way in ways]
        np.testing.assert_allclose(model.boundary_distance(row), min(first), atol=1e-3)

    def test_scores_are_the_shares_of_the_cluster_that_are_no_nearer_but_for_the_bins(self, model, rows):
        away = np.linalg.norm(rows[:, None] - model.state_.centre - model.cluster_centers_, axis=2).min(axis=1)
        near, far = (
            [(away[model.labels_ == own] >= f * d).mean() for own, d in zip(model.labels_, away)] for f in (0.96, 1)
        )
        scores = model.score_samples(rows)
        assert ((scores >= far) & (scores <= near)).all()

    def test_exemplars_are_the_nearest_rows(self, model, rows):
        away = np.linalg.norm(rows[:, None] - model.state_.centre - model.cluster_centers_, axis=2)
        np.testing.assert_array_equal(model.exemplar_indices_, away.argmin(axis=0))

    def test_a_single_cluster_is_certain_and_equal_far_and_infinite_distances_give_numbers(self, rows):
        one = KernelKMeans(n_clusters=1, feature_map=None).fit(rows)
        assert (one.confidence(rows) == 1).all()
        assert (one.boundary_distance(rows) == np.inf).all()
        far = np.full((2, 3), 1e200)
        model = KernelKMeans(n_clusters=3, feature_map=None).fit(rows)
        assert ((model.confidence(far) >= 0) & (model.confidence(far) <= 1)).all()
        assert (model.boundary_distance(far) >= 0).all()


@pytest.mark.slow
def test_only_contours_that_leave_rows_outside_have_the_label_for_no_cluster(rows):
    assert not SupportVectorClustering().noise
    assert SupportVectorClustering(unclassified="leave").noise
    assert (SupportVectorClustering(share_outside=0.1).fit(rows).predict(rows * 9) >= 0).all()
    assert (SupportVectorClustering(share_outside=0.1, unclassified="leave").fit(rows).predict(rows * 9) < 0).any()


def test_exemplars_say_that_rows_were_left_out(rows):
    gappy = rows.copy()
    gappy[3, 0] = np.nan
    model = RandomProjectionTree(n_projections=4, missing="drop").fit(gappy)
    with pytest.raises(AttributeError, match="fit complete rows"):
        model.exemplar_indices_  # noqa: B018


@pytest.fixture(scope="module")
def three_groups():
    rng = np.random.default_rng(0)
    centres = np.repeat([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0]], [900, 500, 200], axis=0)
    return (centres + rng.normal(size=(1600, 2)))[rng.permutation(1600)].astype(np.float32)


def test_medoids_have_the_least_sum_of_distances():
    rng = np.random.default_rng(1)
    points, cluster = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    sample = Sample(points, rng.integers(2**63, size=60, dtype=np.uint64), np.arange(60))
    found = medoids(sample, points, cluster, 4).numbers
    sums = np.linalg.norm(points[:, None] - points, axis=2) @ (cluster[:, None] == np.arange(4))
    assert found[3] == -1
    for label in range(3):
        own = np.flatnonzero(cluster == label)
        assert found[label] == own[sums[own, label].argmin()]


def test_a_union_of_clusters_keeps_the_exemplar_of_the_largest(three_groups):
    model = RandomProjectionTree(n_projections=50).fit(three_groups)
    cut = model.cut(1)
    assert cut.exemplar_indices_.tolist() == [model.exemplar_indices_[model.tree_.cluster_rows.argmax()]]
    some = Exemplars(None, np.array([-1, 7, 9])).united(np.array([0, 0, 1]), np.array([90, 5, 1]))
    assert some.numbers.tolist() == [7, 9]


def test_changed_clusters_and_lazy_rows_with_a_map_have_no_exemplars_in_memory(three_groups):
    model = RandomProjectionTree(n_projections=50).fit(three_groups)
    assert not hasattr(model.with_tree(model.tree_), "exemplars_")
    assert not hasattr(model.partial_fit(three_groups), "exemplars_")
    lazy = PCATree(feature_map="quadratic").fit(da.from_array(three_groups, chunks=(400, 2)))
    assert not hasattr(lazy, "exemplars_")
    np.testing.assert_array_equal(lazy.predict(three_groups[lazy.exemplar_indices_]), np.arange(3))


@pytest.mark.parametrize(
    ("rows", "numbers"),
    [
        (None, np.array([1, 2, 3])),
        (None, np.array([1.0, 2.0])),
        (None, np.array([1, -2])),
        (np.ones((3, 4)), np.array([1, -1])),
        (np.ones(2), np.array([1, -1])),
        (np.full((2, 4), "1"), np.array([1, -1])),
    ],
)
def test_exemplars_that_no_fit_gives_are_refused(rows, numbers):
    Exemplars(np.ones((2, 4)), np.array([1, -1])).check_clusters(2)
    with pytest.raises(ValueError, match="as exemplars"):
        Exemplars(rows, numbers).check_clusters(2)
