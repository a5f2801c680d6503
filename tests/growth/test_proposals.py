"""Projections that say where to split: the threshold is theirs, and the counts of all rows are exact for it."""

import dask.array as da
import numpy as np
import pytest
from sklearn.cluster import KMeans

from mdh_dask import DivisiveClustering
from mdh_dask.chunks import run
from mdh_dask.density.kde import resolve_bandwidth
from mdh_dask.growth.labelled import Groups
from mdh_dask.growth.propose import between_groups
from mdh_dask.growth.scaling import Standardiser
from mdh_dask.growth.scoring import Scorer
from mdh_dask.growth.trees import axes_of, recount
from mdh_dask.metrics import adjusted_rand_index
from mdh_dask.projections.directions import Proposal, RawDirections, StandardDirections
from mdh_dask.simulate import gaussian_mixture
from mdh_dask.splits.rules import SplitRule
from mdh_dask.tree.editing import turned


def two_means(rows, rng, n_directions):
    """Return the hyperplane halfway between two means."""
    seed = int(rng.integers(2**31))
    a, b = KMeans(2, n_init=1, random_state=seed).fit(np.asarray(rows, dtype=float)).cluster_centers_
    return (b - a)[None], np.array([(b - a) @ (a + b) / 2])


def bisecting(**options):
    return DivisiveClustering(
        projection=two_means,
        n_projections=1,
        threshold_rule="proposed",
        criterion="variance",
        stop_rule="none",
        **options,
    )


@pytest.fixture(scope="module")
def mixture():
    return [part.compute() for part in gaussian_mixture(8000, 5, 6, sd=0.8, random_state=1)]


@pytest.mark.slow
@pytest.mark.parametrize("sample_size", [10_000, 1000, None])
def test_bisecting_k_means_is_a_projection_with_thresholds(mixture, sample_size):
    X, y = mixture
    model = bisecting(order="scatter", max_clusters=6, sample_size=sample_size).fit(X)
    assert adjusted_rand_index(y, model.labels_) > 0.7
    assert model.n_clusters_ == 6
    lazy = bisecting(order="scatter", max_clusters=6, sample_size=sample_size).fit(da.from_array(X, chunks=(999, 5)))
    assert lazy.tree_ == model.tree_
    np.testing.assert_array_equal(model.tree_.cluster_rows, np.bincount(model.labels_))


@pytest.mark.parametrize("threshold", [-1.7, 0.0, 0.4])
def test_the_split_lies_where_the_projection_says(threshold):
    X = np.random.default_rng(0).normal(size=(5000, 2)) * [3.0, 1.0] + [100.0, 0.0]
    model = DivisiveClustering(
        projection=lambda rows, rng, n: (np.eye(2)[:1], np.array([threshold])), n_projections=1,
        threshold_rule="proposed", stop_rule="none", max_levels=1, sample_size=1000, scale=False,
    ).fit(X)  # fmt: skip
    # The rows are shifted by a mean of few bits before directions are proposed for them.
    assert model.tree_.thresholds[0] / model.tree_.planes[0, 0] == pytest.approx(X[:, 0].mean() + threshold, abs=0.2)
    assert model.tree_.n_rows[1] == (X @ model.tree_.planes[0] <= model.tree_.thresholds[0]).sum()


def test_thresholds_follow_directions_whose_length_the_bandwidth_changes(mixture):
    X, _ = mixture
    trees = [
        bisecting(max_levels=1, bandwidth=bandwidth, min_cluster_size=1).fit(X).tree_
        for bandwidth in ("principal", "multimodal")
    ]
    np.testing.assert_array_equal(trees[0].labels(X), trees[1].labels(X))


@pytest.mark.parametrize("thresholds", [[0.0], [0.0, np.nan], [[0.0], [1.0]]])
def test_thresholds_that_do_not_belong_to_the_directions_are_an_error(mixture, thresholds):
    def propose(rows, rng, n):
        return np.eye(5)[:2], np.array(thresholds)

    with pytest.raises(ValueError, match="expected 2 finite thresholds from the projection"):
        DivisiveClustering(projection=propose, threshold_rule="proposed").fit(mixture[0])


def test_rows_cannot_be_counted_along_a_turned_direction_in_the_bins_of_the_old_one(mixture):
    X, _ = mixture
    tree = bisecting(max_levels=1).fit(X).tree_
    other = turned(tree, np.array([0]), RawDirections(np.eye(5)[:1]), np.zeros(1))
    assert len(axes_of(other)) == len(axes_of(tree)) - 1
    counted = run(recount(other), X).result
    assert len(counted.histogram(0)) == 0
    assert counted.n_rows[1] == (X[:, 0] <= 0).sum()


def test_a_proposed_threshold_is_screened_where_it_is_though_a_few_far_rows_widen_the_bins():
    rows = np.repeat([[0.0], [0.01], [9.0]], [200, 200, 8], axis=0)
    standardise = Standardiser(np.zeros(1), np.ones(1))
    rule, bandwidth = SplitRule("normalised_cut", threshold_rule="proposed"), resolve_bandwidth("normal")
    for threshold in (0.005, 0.009, 1.0):
        proposal = Proposal(StandardDirections(np.ones((1, 1))), np.array([threshold]))
        kept = Scorer(rows, rule, bandwidth, 20, standardise).best(proposal, 1)
        assert len(kept) == (threshold < 1)


def test_a_hyperplane_between_two_groups_of_labels_prefers_neither():
    rng, of = np.random.default_rng(0), np.arange(400) // 200
    rows = rng.normal(size=(400, 2)) + 2 * of[:, None]
    labels = of[::10]  # some rows of either group are beyond any line
    one, other = (between_groups(Groups.of_labels(rows[::10], given), rows) for given in (labels, 1 - labels))
    np.testing.assert_allclose(one.directions.vectors, -other.directions.vectors, atol=1e-6)
    np.testing.assert_allclose(one.thresholds, -other.thresholds, atol=1e-6)
