"""Bounded scales, such as ratings, whose values are drawn from what could have been rounded to them."""

import numpy as np
import pytest
from helpers import hashes
from numpy.testing import assert_array_equal

from mdh_dask import DensityTree
from mdh_dask.growth.discrete import with_drawn_scales, without_ties
from mdh_dask.growth.passes import Sample
from mdh_dask.metrics import adjusted_rand_index
from mdh_dask.valleys.merging import merge_cells


def ratings(n, n_columns, seed, own=1.0, common=1.0):
    """Answers on scales from 1 to 5 that all depend on one quantity."""
    rng = np.random.default_rng(seed)
    return np.clip(np.rint(3 + own * rng.normal(size=(n, n_columns)) + common * rng.normal(size=(n, 1))), 1, 5)


def drawn(rows, seed=0):
    return with_drawn_scales(Sample(rows, hashes(len(rows), seed), np.arange(len(rows)))).rows


def test_drawn_values_round_to_the_given_ones_and_vary_as_before_rounding():
    rows = ratings(1000, 6, 0)
    found = drawn(rows)
    assert_array_equal(np.clip(np.rint(found), 1, 5), rows)
    assert len(np.unique(found)) == found.size
    # Before rounding, variances are 2 and covariances 1.
    assert np.cov(rows.T).mean() == pytest.approx((1.56 + 5 * 0.71) / 6, abs=0.05)
    assert np.cov(found.T).mean() == pytest.approx((2 + 5 * 1) / 6, abs=0.05)


def test_drawn_values_do_not_depend_on_the_order_of_rows_and_columns():
    rows = ratings(200, 4, 1)
    expected = drawn(rows)
    down, across = np.random.default_rng(2).permutation(200), np.array([2, 0, 3, 1])
    sample = Sample(rows[down], hashes(200)[down], np.arange(200))
    np.testing.assert_allclose(with_drawn_scales(sample).rows, expected[down])
    assert_array_equal(drawn(rows[:, across]), expected[:, across])


def test_columns_of_two_modes_or_with_the_mode_at_an_end_and_a_scale_alone_are_left_as_they_are():
    rng = np.random.default_rng(0)
    two_modes = rng.choice([1, 2, 4, 5], 400) + 0.0
    names = rng.choice(4, 400, p=[0.4, 0.1, 0.1, 0.4]) + 0.0
    falling = rng.geometric(0.4, 400) + 0.0
    rows = np.column_stack([two_modes, names, falling, ratings(400, 1, 0), rng.normal(size=400)])
    assert_array_equal(drawn(rows), rows)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "n_columns"), [(500, 10), (1500, 5)])
def test_correlated_ratings_are_one_group_though_many_rows_are_near_either_end(n, n_columns):
    for seed in (0, 5):
        rows = ratings(n, n_columns, seed)
        sample = without_ties(Sample(rows, hashes(n, seed + 50), np.arange(n)))
        cell = (rows.mean(axis=1) > 3).astype(int)
        assert merge_cells(sample.rows, hashes(n, seed), cell, 2).group.tolist() == [0, 0]


@pytest.mark.slow
def test_a_density_tree_of_correlated_ratings_is_one_cluster_as_their_values_are_drawn():
    assert DensityTree(random_state=4).fit(ratings(600, 8, 4, own=0.7, common=1.5)).n_clusters_ == 1  # without: two


@pytest.mark.nightly
@pytest.mark.parametrize(("n", "n_columns"), [(2000, 8), (5000, 5)])
def test_a_density_tree_of_correlated_ratings_is_one_cluster(n, n_columns):
    found = [DensityTree(random_state=seed).fit(ratings(n, n_columns, seed)).n_clusters_ for seed in range(4)]
    assert found == [1] * 4


@pytest.mark.slow
def test_a_density_tree_finds_two_groups_of_ratings_in_few_columns():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 1000)
    noise = 0.7 * rng.normal(size=(1000, 5)) + 0.4 * rng.normal(size=(1000, 1))
    rows = np.clip(np.rint(2 + 2 * group[:, None] + noise), 1, 5)
    model = DensityTree(random_state=0).fit(rows)
    assert model.n_clusters_ == 2
    assert adjusted_rand_index(group, model.labels_) > 0.7


def test_clusters_of_ratings_stay_apart():
    rng = np.random.default_rng(2)
    centres, labels = rng.integers(2, 5, (3, 10)), rng.integers(0, 3, 600)
    rows = np.clip(np.rint(centres[labels] + 0.7 * rng.normal(size=(600, 10))), 1, 5)
    found = drawn(rows)
    assert not np.array_equal(found, rows)
    assert merge_cells(found, hashes(600, 2), labels, 3).group.tolist() == [0, 1, 2]


def test_differences_of_small_integers_do_not_wrap():
    rng, levels = np.random.default_rng(0), np.array([-100, -50, 0, 50, 100], dtype=np.int8)
    rows = rng.choice(levels, (1000, 2), p=[0.1, 0.2, 0.4, 0.2, 0.1])
    sample = Sample(rows, rng.integers(2**64, size=1000, dtype=np.uint64), np.arange(1000))
    assert_array_equal(with_drawn_scales(sample).rows, with_drawn_scales(sample._replace(rows=rows.astype(float))).rows)
