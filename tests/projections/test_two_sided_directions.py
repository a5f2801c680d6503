"""Directions of two means, clusterability and normalised cuts, and the trees that split along them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from strategies import seeds

from mdh_dask import BisectingKernelKMeans, ClusterabilityTree, NormalisedCutTree
from mdh_dask.metrics import adjusted_rand_index
from mdh_dask.projections import PROJECTIONS, clusterable_direction, cutting_direction, two_means_direction
from mdh_dask.projections.bipartition import cut_along
from mdh_dask.simulate import gaussian_mixture

TREES = [
    BisectingKernelKMeans(max_clusters=4, feature_map=None),
    ClusterabilityTree(),
    NormalisedCutTree(),
    NormalisedCutTree(max_clusters=4).as_divisive(stop_rule="none", order="criterion"),
]


def some_rows(seed, n=60, d=3):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d)) * rng.uniform(0.5, 2, d) + np.repeat([0.0, 3.0], [n // 2, n - n // 2])[:, None]
    return rows - rows.mean(axis=0)


def ratio_along(rows, v):
    """The largest ratio of the squares between and within two sides, by trying every threshold."""
    p = np.sort(rows @ v)
    within = min(sum(((side - side.mean()) ** 2).sum() for side in (p[:k], p[k:])) for k in range(1, len(p)))
    return ((p - p.mean()) ** 2).sum() / within - 1


class TestCut:
    @given(seeds, st.floats(0.1, 20), st.integers(1, 10))
    def test_it_is_the_least_over_all_thresholds_and_pairs_of_rows(self, seed, scale, least_rows):
        rows, v = some_rows(seed), np.random.default_rng(seed).normal(size=3)
        p = np.sort(rows @ v / np.linalg.norm(v))
        affinity = np.exp(-np.abs(p[:, None] - p) / scale)
        values = [
            affinity[:k, k:].sum() * (1 / affinity[:k].sum() + 1 / affinity[k:].sum())
            for k in range(least_rows, len(p) - least_rows + 1)
        ]
        assert cut_along(rows, v, scale, least_rows).value == pytest.approx(min(values), rel=1e-9)

    @given(seeds, st.floats(0.3, 20))
    def test_its_gradient_is_that_of_differences(self, seed, scale):
        rows, v = some_rows(seed), np.random.default_rng(seed).normal(size=3)
        step = 1e-6
        found = cut_along(rows, v, scale, 5)
        around = [[cut_along(rows, v + by * e, scale, 5) for by in (-step, step)] for e in np.eye(3)]
        # At a kink, where another threshold becomes the best, there is no gradient.
        if all(abs(a.threshold - b.threshold) < 1e-3 for a, b in around):
            differences = [(b.value - a.value) / (2 * step) for a, b in around]
            np.testing.assert_allclose(found.gradient, differences, atol=1e-5)

    def test_equal_projections_are_not_divided(self):
        rows = np.repeat([[-1.0, 0.0], [1.0, 0.0]], [3, 7], axis=0)
        assert cut_along(rows, np.array([1.0, 0.0]), 1.0, 1).threshold == 0
        assert cut_along(rows, np.array([0.0, 1.0]), 1.0, 1).value == 2.0
        assert cut_along(rows, np.array([1.0, 0.0]), 1.0, 4).value == 2.0


class TestDirections:
    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(5))
    def test_two_means_are_those_of_scikit_learn(self, seed):
        rows = some_rows(seed, 300)
        directions, thresholds = two_means_direction(rows, np.random.default_rng(seed))
        means = KMeans(2, n_init=10, random_state=0).fit(rows)
        upper = rows @ directions[0] > thresholds[0]
        inertia = sum(((side - side.mean(axis=0)) ** 2).sum() for side in (rows[upper], rows[~upper]))
        assert inertia == pytest.approx(means.inertia_, rel=1e-3)

    @pytest.mark.parametrize("seed", range(5))
    def test_no_direction_nearby_is_more_clusterable_and_two_means_are_less(self, seed):
        rows, rng = some_rows(seed, 120), np.random.default_rng(seed)
        v = clusterable_direction(rows, rng)[0][0]
        best = ratio_along(rows, v)
        for _ in range(20):
            other = v + 1e-4 * rng.normal(size=3)
            assert ratio_along(rows, other / np.linalg.norm(other)) <= best * (1 + 1e-6)
        assert ratio_along(rows, two_means_direction(rows, rng)[0][0]) <= best * (1 + 1e-9)

    @pytest.mark.parametrize("shift", [0.0, 1e4])
    def test_columns_beyond_the_number_of_rows_change_no_side(self, shift):
        few, rng = some_rows(0), np.random.default_rng(0)
        axes = np.linalg.qr(rng.normal(size=(200, 3)))[0].T
        wide = few @ axes + shift
        v, threshold = clusterable_direction(few, np.random.default_rng(1))
        found, at = clusterable_direction(wide, np.random.default_rng(1))
        assert np.linalg.norm(found) == pytest.approx(1)
        np.testing.assert_array_equal(wide @ found[0] > at, few @ v[0] > threshold)

    @pytest.mark.parametrize("seed", range(3))
    def test_the_pursuit_lowers_the_cut_of_the_first_component(self, seed):
        rows = np.random.default_rng(seed).normal(size=(400, 3)) * [2.0, 1, 1] + np.repeat(
            [[0, -3, 0], [0, 3, 0]], 200, axis=0
        )
        directions, thresholds = cutting_direction(rows, np.random.default_rng(0))
        assert abs(directions[0][1]) > 0.95
        assert abs(thresholds[0]) < 1

    def test_two_groups_of_equal_rows_are_divided_between_them(self):
        rows = np.repeat([[0.0, 0.0], [3.0, 4.0]], 9, axis=0)
        directions, thresholds = clusterable_direction(rows, np.random.default_rng(0))
        assert np.abs(directions[0] @ [0.6, 0.8]) == pytest.approx(1)
        assert abs(thresholds[0]) == pytest.approx(2.5)

    @pytest.mark.parametrize("name", ["two_means", "clusterability", "normalised_cut"])
    def test_equal_rows_have_no_direction_and_wide_rows_have_one(self, name):
        propose, rng = PROJECTIONS[name], np.random.default_rng(0)
        assert [len(part) for part in propose(np.ones((9, 3)), rng, 1)] == [0, 0]
        directions, thresholds = propose(rng.normal(size=(8, 40)).astype(np.float32), rng, 1)
        assert directions.shape == (1, 40)
        assert np.isfinite([*directions[0], *thresholds]).all()

    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize("n", [0, 1, 50])
    def test_equal_rows_and_no_rows_of_many_columns_have_no_direction(self, n):
        rng = np.random.default_rng(0)
        for row in rng.normal(1e3, 1, (10, 1, 300)):
            directions, thresholds = clusterable_direction(np.repeat(row, n, axis=0), rng)
            assert directions.shape == (0, 300)
            assert thresholds.shape == (0,)


@pytest.fixture(scope="module")
def mixture():
    X, y = gaussian_mixture(2000, 4, 4, sd=0.7, random_state=3)
    return X.compute(), np.asarray(y)


@pytest.mark.slow
@pytest.mark.parametrize("model", TREES, ids=["bisecting", "clusterability", "cut", "cut, untested"])
def test_trees_find_compact_clusters(model, mixture):
    assert adjusted_rand_index(mixture[1], model.set_params(sample_size=600).fit(mixture[0]).labels_) > 0.9


@pytest.mark.parametrize("cls", [ClusterabilityTree, NormalisedCutTree])
def test_single_clouds_stay_whole(cls):
    clouds = [np.random.default_rng(seed).normal(size=(600, 3)) for seed in range(8)]
    assert sum(cls().fit(rows).n_clusters_ > 1 for rows in clouds) == 0
