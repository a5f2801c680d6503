"""K-means of rows and features of any number, and its number of clusters by the gap statistic."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from helpers import rings
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from strategies import seeds

from mdh_dask import KernelKMeans
from mdh_dask.centroids.passes import CentroidPass, step_for
from mdh_dask.centroids.plan import CentroidSettings, k_means
from mdh_dask.chunks import run
from mdh_dask.simulate import gaussian_mixture

RINGS = rings(900, first=300)[0]

SETTINGS = CentroidSettings(3, 8, 3, 10_000, standardise=True, scale=True, seed=0)


@pytest.fixture(scope="module")
def mixture():
    X, y = gaussian_mixture(4000, 4, 5, sd=1.0, random_state=2)
    return X.compute(), np.asarray(y)


class TestPass:
    @given(seeds, st.integers(1, 60), st.integers(1, 5), st.integers(1, 4))
    def test_means_and_squares_are_those_of_the_rows_nearest_to_each_centroid(self, seed, n, k, d):
        rng = np.random.default_rng(seed)
        rows, centroids = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4), rng.normal(size=(k, d))
        statistic = CentroidPass(np.zeros(d), np.ones(d), centroids, step_for(rows))
        sums = statistic.chunk(0, rows)
        apart = ((rows[:, None] - centroids) ** 2).sum(axis=2)
        nearest = apart.argmin(axis=1)
        np.testing.assert_array_equal(sums.n_rows, np.bincount(nearest, minlength=k))
        for c in range(k):
            expected = rows[nearest == c].mean(axis=0) if (nearest == c).any() else centroids[c]
            np.testing.assert_allclose(statistic.means(sums)[c], expected, rtol=1e-6, atol=1e-7 * np.abs(rows).max())
        total = apart.min(axis=1).sum()
        assert sums.squares.sum() * statistic.step_of_squares == pytest.approx(
            total, rel=1e-5, abs=1e-8 * np.square(rows).max()
        )

    def test_a_row_far_beyond_the_sample_does_not_overflow(self):
        rows = np.array([[0.0], [1e12], [-1e12]])
        sums = CentroidPass(np.zeros(1), np.ones(1), np.array([[-1.0], [1.0]]), step_for(np.ones((1, 1)))).chunk(
            0, rows
        )
        assert sums.sums[0] < 0 < sums.sums[1]


class TestPlan:
    @pytest.mark.slow
    @pytest.mark.parametrize("sample_size", [10_000, 500])
    def test_the_objective_is_that_of_scikit_learn(self, sample_size, mixture):
        found = run(k_means(replace(SETTINGS, n_clusters=5, sample_size=sample_size), mixture[0].shape, id), mixture[0])
        points = found.result.frame(mixture[0])
        best = KMeans(5, n_init=10, random_state=0).fit(points).inertia_
        assert found.result.inertia <= (1 + 1e-3) * best
        assert found.n_passes == 1 if sample_size > 4000 else 2 <= found.n_passes <= 6

    @pytest.mark.parametrize("far", [1e6, 1e9, 1e15])
    def test_a_row_with_a_cluster_of_its_own_hides_no_other_however_far_it_is(self, far):
        rows = np.random.default_rng(0).normal(size=(600, 3)) + np.repeat(8 * np.eye(3), 200, axis=0)
        settings = replace(SETTINGS, n_clusters=4, scale=False)
        found = run(k_means(settings, (601, 3), id), np.vstack([rows, np.full((1, 3), far)])).result
        assert found.n_rows.tolist() == [200, 200, 200, 1]
        near = rows[:200].mean(axis=0) - found.frame.centre
        assert np.abs(found.means - near).max(axis=1).min() < 1e-3
        if far < 1e12:  # from centroids in single precision, differences of farther rows round those of near ones
            assert found.inertia == pytest.approx(600 * 3, rel=0.1)

    def test_more_clusters_than_different_rows_are_refused(self):
        rows = np.repeat(np.eye(2), 50, axis=0)
        with pytest.raises(ValueError, match="expected at least n_clusters=3 different rows; got 2"):
            run(k_means(SETTINGS, rows.shape, id), rows)


class TestKernelKMeans:
    @pytest.mark.slow
    def test_the_objective_is_that_of_k_means_on_the_same_features(self):
        model = KernelKMeans(n_clusters=3, feature_map="local_scaling").fit(RINGS)
        best = KMeans(3, n_init=10, random_state=0).fit(model.feature_map_.transform(RINGS)).inertia_
        assert model.inertia_ == pytest.approx(best, rel=1e-3)
        assert model.n_passes_ == 2

    @pytest.mark.slow
    def test_the_gap_statistic_finds_separated_clusters_and_leaves_one_whole(self, mixture):
        model = KernelKMeans(feature_map=None).fit(mixture[0])
        assert model.n_clusters_ == 5
        assert len(model.gaps_) == 6
        assert KernelKMeans(feature_map=None).fit(np.random.default_rng(0).normal(size=(500, 3))).n_clusters_ == 1

    def test_the_order_of_the_rows_does_not_hide_clusters_from_the_gap_statistic(self):
        centres = np.repeat([[0, 0], [9, 0], [0, 9]], 1500, axis=0)
        rows = centres + np.random.default_rng(0).normal(size=(4500, 2))
        assert KernelKMeans(feature_map=None).fit(rows).n_clusters_ == 3

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["rbf", "local_scaling", "cosine"])
    def test_the_gap_statistic_leaves_features_of_a_cloud_whole_which_lie_along_curves(self, name):
        clouds = [np.random.default_rng(seed).normal(size=(300, 3)) for seed in range(3)]
        assert [KernelKMeans(feature_map=name).fit(cloud).n_clusters_ for cloud in clouds] == [1, 1, 1]

    def test_the_gap_statistic_takes_no_steps_of_integers_for_clusters_of_features(self):
        ratings = np.random.default_rng(0).integers(1, 6, (300, 2))
        assert KernelKMeans().fit(ratings).n_clusters_ == 1

    @pytest.mark.slow
    def test_the_gap_statistic_finds_clusters_of_features(self):
        X = load_wine().data
        model = KernelKMeans().fit(X)
        assert (model.n_clusters_, model.n_passes_) == (3, 2)

    @pytest.mark.slow
    def test_the_gap_statistic_compares_mixed_columns_with_rows_of_independent_ones(self):
        rng = np.random.default_rng(0)
        group = rng.integers(0, 2, 300)
        table = pd.DataFrame({"x": rng.normal(size=300) + 9 * group, "y": rng.normal(size=300), "kind": group})
        table["kind"] = table["kind"].map({0: "low", 1: "high"})
        table.loc[3, "x"] = np.nan
        model = KernelKMeans(feature_map="gower").fit(table)
        assert 2 <= model.n_clusters_ < 6
        assert [group[model.labels_ == k].std() for k in range(model.n_clusters_)] == [0.0] * model.n_clusters_

    def test_as_many_clusters_as_are_allowed_unasked_are_a_warning(self, mixture):
        with pytest.warns(UserWarning, match="max_clusters=2 allows.*give n_clusters"):
            KernelKMeans(feature_map=None, max_clusters=2).fit(mixture[0])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            KernelKMeans(feature_map=None, n_clusters=2, max_clusters=2).fit(mixture[0])
