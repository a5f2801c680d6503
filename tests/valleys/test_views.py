"""Views of two groups in four to eight columns."""

import numpy as np
import pytest
from helpers import at_night, hashes
from numpy.testing import assert_allclose
from scipy.linalg import eigh

from mdh_dask import DensityTree
from mdh_dask.valleys.landmarks import ELSEWHERE, Half
from mdh_dask.valleys.neighbours import Distances
from mdh_dask.valleys.pair_tests import PairTests
from mdh_dask.valleys.views import BOTH, NOBODY, Views, near_rows, plane_through


@pytest.mark.parametrize(("n_columns", "needed"), [(1, False), (3, False), (4, True), (8, True), (9, False)])
def test_rows_of_four_to_eight_columns_need_views_constant_ones_aside(n_columns, needed):
    rows = np.random.default_rng(0).normal(size=(20, n_columns))
    tests = PairTests(np.column_stack([rows, np.ones(20)]), hashes(20), np.arange(20) % 2, views=True)
    assert tests.views == needed


def test_a_plane_is_fishers_direction_and_the_longest_one_beside_it():
    rng = np.random.default_rng(0)
    one, other = (
        rng.normal(size=(n, 5)) * [1, 4, 1, 2, 1] + middle for n, middle in ((300, 0), (100, [3, 2, 0, 0, 0]))
    )
    first, second = plane_through(one, other).T
    within = (np.cov(one.T, bias=True) + np.cov(other.T, bias=True)) / 2 + np.eye(5)
    apart = other.mean(axis=0) - one.mean(axis=0)
    expected = eigh(np.outer(apart, apart), within)[1][:, -1]
    assert_allclose(np.abs(first @ expected), np.linalg.norm(expected))
    assert_allclose([first @ first, second @ second, first @ second], [1, 1, 0], atol=1e-12)
    centred = [rows - (one.mean(axis=0) + other.mean(axis=0)) / 2 for rows in (one, other)]
    across = rng.normal(size=(50, 5))
    across -= np.outer(across @ first, first)
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    spread = [sum(np.square(rows @ axis).mean() for rows in centred) for axis in (second, *across)]
    assert np.argmax(spread) == 0


def test_one_column_has_one_direction_and_equal_groups_none_of_length():
    rows = np.array([[0.0], [1.0]])
    assert plane_through(rows, rows + 5).tolist() == [[1.0]]
    assert plane_through(rows, rows).tolist() == [[0.0]]


def test_rows_far_beside_a_view_are_not_near():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(100, 4))
    rows[7, 3], rows[8, 0] = 50, 50
    chosen = np.arange(20, 100)
    near = near_rows(rows, rows[:, :2], chosen)
    assert not near[[7, 8]].any()
    assert 0.85 < near[chosen].mean() <= 0.91


def test_a_view_of_two_groups_shows_the_valley_that_a_third_one_hides_when_it_is_left_out():
    rng, cell = np.random.default_rng(0), np.arange(900) % 3
    rows = rng.normal(size=(900, 5)) + np.eye(5)[0] * np.array([0, 3.5, 7])[cell][:, None]
    half = Half(rows, np.arange(0, 900, 2), np.arange(1, 900, 2), cell)
    views = Views(half, Distances(rows), rng.normal(size=900))
    errors = [
        views.found(np.arange(3), np.array([[0, 2]]), np.array([[False, out, False]])).errors[0].min(axis=-1).max()
        for out in (False, True)
    ]
    assert errors[0] < 2
    assert errors[1] > 5


def test_a_pair_without_a_contact_is_not_known_and_one_without_a_view_shows_nothing():
    rng, cell = np.random.default_rng(0), np.repeat([0, 1, ELSEWHERE], [60, 60, 80])
    rows = rng.normal(size=(200, 5))
    choosing = np.flatnonzero(cell == 0)
    views = Views(Half(rows, choosing, np.flatnonzero(cell != 0), cell), Distances(rows), rng.normal(size=200))
    assert np.isnan(views.found(BOTH[0], BOTH, NOBODY).errors).all()  # no row of the other group chooses
    rows = np.repeat([[0.0, 1, 2, 3], [1, 2, 3, 4]], 50, axis=0)
    same = Half(rows, np.arange(0, 100, 2), np.arange(1, 100, 2), np.arange(100) // 2 % 2)
    assert not Views(same, Distances(rows), rng.normal(size=100)).found(BOTH[0], BOTH, NOBODY).errors.any()


@pytest.mark.slow
@pytest.mark.parametrize("seed", at_night([1, 3]))  # in all columns, neither shows the one cluster
def test_a_curve_beside_columns_of_noise_is_one_cluster_and_two_are_two(seed):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 5, 600)
    curve = np.column_stack([np.cos(angle), np.sin(angle), np.zeros((600, 3))])
    rows = curve + rng.normal(0, 0.05, (600, 5))
    assert DensityTree(random_state=seed).fit(rows).n_clusters_ == 1
    rows[angle > 2.5, 2] += 1
    assert DensityTree(random_state=seed).fit(rows).n_clusters_ == 2
