"""Columns scaled by how far near rows are apart in them."""

import numpy as np
import pytest
from helpers import look_at
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_limits

from mdh_dask import DensityTree
from mdh_dask.growth.scaling import ROUNDS, near_standardiser, robust_standardiser
from mdh_dask.metrics import adjusted_rand_index


def scaled(rows, scale=True):
    return near_standardiser(look_at(rows).sample, scale).scale


def factors(rows):
    usual = robust_standardiser(rows, scale=True).scale
    return scaled(rows) / np.where(usual > 0, usual, 1)


def two(n=400, apart=10, others=5, seed=0):
    """Two clusters along the first of several columns."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 1 + others)) + np.outer(np.arange(n) % 2, [apart] + [0] * others)


def test_factors_are_those_of_differences_of_near_rows():
    rows = two(60)
    frame = robust_standardiser(rows, scale=True)
    points = frame.exactly(rows)  # of so few rows, none is clipped but the ends
    ordered = np.sort(points, axis=0)
    points, expected = points.clip(ordered[1], ordered[-2]), np.ones(6)
    for _ in range(ROUNDS):
        scaled = points * expected
        apart = np.linalg.norm(scaled[:, None] - scaled, axis=2)
        near = [sorted(set(range(60)) - {i}, key=lambda j, i=i: apart[i, j])[:10] for i in range(60)]
        squares = [(scaled[i] - scaled[j]) ** 2 for i in range(60) for j in near[i]]
        differ = np.sqrt(np.mean(squares, axis=0))
        expected /= differ / np.median(differ)
    assert_allclose(factors(rows), expected, rtol=1e-3)


def test_a_column_that_tells_clusters_apart_counts_for_more():
    found = factors(two())
    assert found[0] > 2
    assert_allclose(found[1:], 1, atol=0.1)


def test_columns_of_one_cluster_keep_their_scale():
    assert_allclose(factors(two(apart=0)), 1, atol=0.1)


def test_factors_do_not_depend_on_units_and_follow_the_order_of_columns():
    rows = two()
    assert_array_equal(factors(rows[:, ::-1])[::-1], factors(rows))
    assert_allclose(factors(rows * [1, 10, 1e3, 1e-3, 1, 1] + 5), factors(rows), rtol=1e-2)


def test_levels_and_constant_columns_are_left_as_they_are():
    rows = np.column_stack([two(), np.random.default_rng(1).integers(2, size=400), np.full(400, 3.0)])
    found = factors(rows)
    assert found[6] == 1
    assert found[7] == 0
    assert found[0] > 2


def test_a_far_row_changes_hardly_anything():
    rows = two()
    far = np.concatenate([rows, np.full((1, 6), 1e6)])
    assert_allclose(factors(far), factors(rows), rtol=0.05)


@pytest.mark.parametrize("rows", [two(10), np.ones((50, 3)), two(others=0), np.repeat(two(20), 30, axis=0)])
def test_few_rows_one_column_and_copies_of_rows_are_scaled_as_usual(rows):
    assert_array_equal(scaled(rows), robust_standardiser(rows, True).scale)


def test_columns_that_are_not_scaled_are_left_as_they_are():
    assert_array_equal(scaled(two(), False), 1)


def test_the_number_of_threads_changes_no_bit():
    rows = two(2000, others=30)  # compared in products of all pairs
    with threadpool_limits(2):
        several = factors(rows)
    with threadpool_limits(1):
        assert_array_equal(factors(rows), several)


@pytest.mark.slow
def test_density_trees_find_a_sixth_of_the_rows_along_one_of_ten_columns():
    for seed in (2, 3):
        y = np.arange(2000) % 6 == 0
        rows = np.random.default_rng(seed).normal(size=(2000, 10)) + np.outer(y, [5] + [0] * 9)
        labels = DensityTree(random_state=seed).fit(rows).labels_
        assert adjusted_rand_index(y, labels) > 0.9  # by standard deviations, none was found
