"""Jitter of levels: to density trees, levels of one column are no clusters, but those that change together."""

import numpy as np
import pytest
from helpers import at_night, look_at
from numpy.testing import assert_allclose, assert_array_equal

from mdh_dask import DensityTree, GowerFeatures
from mdh_dask._jit.hashing import hash_rows
from mdh_dask._levels import level_features, two_valued
from mdh_dask.growth.discrete import Discrete
from mdh_dask.metrics import adjusted_rand_index


def two_valued_in(rows):
    sample = look_at(rows).sample
    return Discrete(levels=two_valued(sample.rows, sample.hashes))


def covariance(discrete, n_columns):
    """Return the covariance of the jitter of equal rows."""
    return np.cov(discrete.jittered_levels(np.zeros((50_000, n_columns)), hash_rows(0, 0, 50_000)).T)


def covariance_of_levels(groups, shares=None):
    n = groups[0].shape[1]
    return covariance(Discrete(levels=level_features(groups, n, shares)), n)


@pytest.mark.parametrize("n_levels", [2, 3, 5])
def test_rows_between_two_levels_are_jittered_by_half_their_distance(n_levels):
    found = covariance_of_levels([np.eye(n_levels)])
    assert np.count_nonzero(np.linalg.eigvalsh(found) > 1e-9) == n_levels - 1
    edge = np.array([1, -1, *np.zeros(n_levels - 2)]) / np.sqrt(2)
    assert 0.5 * np.sqrt(2) * 0.8 <= np.sqrt(edge @ found @ edge) <= 0.5 * np.sqrt(2) * 1.02


def test_the_jitter_of_several_columns_adds_up_and_parts_of_one_share_a_variance():
    one, other = np.array([[0.0, 0, 0], [2, 0, 0]]), np.array([[0.0, 0, 0], [0, 4, 0]])
    assert_allclose(covariance_of_levels([one, other]), np.diag([1, 4, 0]), atol=0.05)
    assert_allclose(covariance_of_levels([one, one], [0.5, 0.5]), np.diag([1, 0, 0]), atol=0.02)


def test_jittered_rows_are_normal_around_themselves_the_same_in_parts_and_for_permuted_columns():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=20_000), 3.0 * rng.integers(0, 2, 20_000), rng.random(20_000) < 0.2])
    discrete, hashes = two_valued_in(rows), hash_rows(5, 0, len(rows))
    found = discrete.jittered_levels(rows, hashes)
    assert_allclose((found - rows).std(axis=0), [0, 1.5, 0.5], rtol=0.02)
    assert abs(np.corrcoef((found - rows)[:, 1:].T)[0, 1]) < 0.03
    parts = [
        discrete.jittered_levels(rows[i : i + 777], hash_rows(5, i, len(rows[i : i + 777])))
        for i in range(0, 20_000, 777)
    ]
    assert_array_equal(np.concatenate(parts), found)
    order = [2, 0, 1]
    again = two_valued_in(rows[:, order]).jittered_levels(rows[:, order], hashes)
    assert_array_equal(again, found[:, order])


def test_indicators_of_one_category_are_jittered_further_as_a_change_of_level_changes_two():
    level = np.random.default_rng(0).integers(0, 3, 600)
    discrete = two_valued_in(np.column_stack([np.eye(3)[level], np.arange(600) % 2]))
    assert_allclose(covariance(discrete, 4), np.diag([0.5] * 3 + [0.25]), atol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("n_answers", at_night([3, 1, 6]))
def test_answers_that_are_independent_of_measurements_and_each_other_split_nothing(n_answers):
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=(1000, 2)), rng.integers(0, 2, (1000, n_answers))])
    assert DensityTree().fit(rows).n_clusters_ == 1


@pytest.mark.slow
def test_moons_are_found_among_answers_of_all_rows():
    rng = np.random.default_rng(0)
    angle, label = np.pi * rng.random(10_000), rng.integers(0, 2, 10_000)
    sign = 1 - 2 * label
    moons = np.column_stack([sign * np.cos(angle) + label, sign * np.sin(angle) + 0.5 * label])
    rows = np.column_stack([moons + rng.normal(0, 0.07, moons.shape), rng.integers(0, 2, (10_000, 2))])
    model = DensityTree(sample_size=2000).fit(rows)
    assert model.n_clusters_ == 2
    assert adjusted_rand_index(label, model.labels_) > 0.99


@pytest.mark.slow
def test_tables_of_independent_columns_are_one_cluster_and_classes_of_answers_are_found():
    rng = np.random.default_rng(0)
    kinds = {"continuous": [0, 1, 2, 3], "categorical": [4, 5, 6, 7, 8, 9]}
    label = rng.integers(0, 3, 600)
    shares = np.where(np.eye(3, dtype=bool), 0.87, 0.065)[label].cumsum(axis=1)
    classes = (shares[:, None] < rng.random((600, 6, 1))).sum(axis=2)
    for categories, n_clusters in ((rng.integers(0, 3, (600, 6)), 1), (classes, 3)):
        rows = np.column_stack([rng.normal(size=(600, 4)), categories])
        model = DensityTree(feature_map="gower", column_types=kinds).fit(rows)
        assert model.n_clusters_ == n_clusters
    assert adjusted_rand_index(label, model.labels_) > 0.8


@pytest.mark.slow
def test_rows_that_lack_a_value_are_no_cluster_of_their_own():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 5))
    rows[rng.random(rows.shape) < 0.2] = np.nan
    assert DensityTree(feature_map="gower").fit(rows).n_clusters_ == 1


@pytest.mark.slow
def test_features_of_a_map_that_knows_no_levels_are_tested_as_columns():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 12)) + np.repeat([[0.0], [4.0]], 100, axis=0) * (np.arange(12) < 6)
    mapped = GowerFeatures(method="explicit", single_levels=True)
    expected = DensityTree(scale=False).fit(mapped.fit_transform(rows))
    assert_array_equal(DensityTree(feature_map=mapped).fit(rows).merges_, expected.merges_)
