"""Coordinates that tell cells apart, and the rows that are counted along lines in them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.covariance import ledoit_wolf

from mdh_dask.splits.cuts import ELSEWHERE
from mdh_dask.splits.discriminants import combinations_apart, discriminants
from mdh_dask.splits.merging import merge_cells
from mdh_dask.splits.pair_tests import pair_tests


def hashes(n, seed=0):
    return np.sort(np.random.default_rng(seed).integers(2**64, size=n, dtype=np.uint64))


def with_factors(labels, apart, n_columns, seed):
    """Normal groups `apart` standard deviations from each other, in columns with six large common factors."""
    rng = np.random.default_rng(seed)
    n, factors = len(labels), np.linalg.qr(rng.normal(size=(n_columns, 7)))[0].T
    rows = rng.normal(size=(n, n_columns)) + 12 * rng.normal(size=(n, 6)) @ factors[1:]
    return rows + apart * np.outer(labels, factors[0])


@pytest.mark.parametrize("n_columns", [12, 90])
def test_distances_of_means_are_those_by_the_covariance_of_ledoit_and_wolf_within_cells(n_columns):
    rng = np.random.default_rng(0)
    cell = rng.permutation(np.arange(80) % 4)
    rows = rng.normal(size=(80, n_columns)) * np.geomspace(1, 5, n_columns) + np.eye(4, n_columns)[cell]
    means = np.array([rows[cell == k].mean(axis=0) for k in range(4)])
    combinations = combinations_apart(rows, cell)
    assert combinations.shape == (n_columns, 3)
    precision = np.linalg.inv(ledoit_wolf(rows - means[cell], assume_centered=True)[0])
    for one in means:
        for other in means:
            by_covariance = (one - other) @ precision @ (one - other)
            assert_allclose(np.square((one - other) @ combinations).sum(), by_covariance, rtol=1e-8, atol=1e-12)


def test_cells_with_equal_means_have_no_combination_and_constant_rows_no_evidence():
    rows = np.tile(np.concatenate([np.eye(9), -np.eye(9)]), (2, 1))
    cell = np.arange(36) // 18
    assert combinations_apart(rows, cell) is None
    assert combinations_apart(rows, np.zeros(36, dtype=int)) is None
    constant = np.repeat(np.eye(2, 9), 18, axis=0)
    halves = np.arange(0, 36, 2), np.arange(1, 36, 2)
    assert discriminants(constant, *halves, cell) is None  # two columns vary
    found = discriminants(np.repeat(np.arange(2.0), 18)[:, None] * np.ones(9), *halves, cell)
    assert found.evidence(np.arange(2), (0, 1)).tolist() == [3.0, 3.0]


def test_slabs_are_placed_by_the_rows_that_are_counted():
    labels = np.random.default_rng(1).permutation(np.arange(200) % 2)
    rows = with_factors(labels, 7, 15, seed=1)
    choosing, counted = np.arange(0, 200, 2), np.arange(1, 200, 2)
    found = discriminants(rows, choosing, counted, labels).evidence(np.arange(2), (0, 1))
    along = (rows @ combinations_apart(rows[choosing], labels[choosing]))[counted, 0]
    low, high = (np.median(along[labels[counted] == side]) for side in (0, 1))
    at = (along - low) / (high - low)
    n = [int(np.sum(np.abs(at - point) <= 0.25)) for point in (0, 0.5, 1)]
    assert found == pytest.approx([(n[i] - n[1]) / np.sqrt(n[i] + n[1]) for i in (0, 2)])
    assert found.min() > 3


@pytest.mark.parametrize(("sizes", "left_out"), [((20, 30, 90), []), ((200, 12, 60), [2]), ((9, 8, 20), [])])
def test_evidence_is_that_of_its_twin(sizes, left_out):
    labels = np.random.default_rng(4).permutation(np.repeat(np.arange(5), [*sizes, 40, 40]))
    rows = with_factors(labels, 4, 15, seed=4)
    choosing, counted = np.arange(0, len(rows), 2), np.arange(1, len(rows), 2)
    halves = discriminants(rows, choosing, counted, labels)
    found = halves.evidence(np.arange(5), (0, 1), left_out)
    assert found == pytest.approx(twin(halves, (0, 1), left_out))
    assert found.any()


def twin(halves, pair, left_out):
    """By how many standard errors each of three slabs holds more rows than that between, in coordinates made round."""
    chosen, placing = ([rows[cell == side] for side in pair] for rows, cell in zip(halves[:2], halves.cells))
    means = [rows.mean(axis=0) for rows in chosen]
    within = np.concatenate([rows - mean for rows, mean in zip(chosen, means)])
    root = np.linalg.cholesky(np.linalg.inv(ledoit_wolf(within, assume_centered=True)[0]))
    line = (means[1] - means[0]) @ root
    direction, middle = line / np.linalg.norm(line), (means[0] + means[1]) / 2 @ root

    def seen(rows):
        along = (rows @ root - middle) @ direction
        return along, ((rows @ root - middle - np.outer(along, direction)) ** 2).sum(axis=1)

    low, high = (np.median(seen(rows)[0]) for rows in placing)
    radius = np.quantile(seen(np.concatenate(placing))[1], 0.9)
    along, across = seen(halves.counted)
    at = (along[(across <= radius * (1 + 1e-9)) & ~np.isin(halves.cells[1], left_out)] - low) / (high - low)
    left, between, right = (np.sum(np.abs(at - point) <= 0.25) for point in (0, 0.5, 1))
    return [(side - between) / max(side + between, 1) ** 0.5 for side in (left, right)]


@pytest.mark.parametrize("seed", range(3))
def test_groups_of_few_rows_stay_apart_though_common_factors_hide_them(seed):
    labels = np.random.default_rng(seed).permutation(np.arange(200) % 2)
    rows = with_factors(labels, 7, 15, seed)
    assert_array_equal(merge_cells(rows, hashes(200, seed), labels, 2).group, [0, 1])
    # Halves of one group along the factor are no two.
    one = with_factors(np.zeros(200), 0, 15, seed)
    halves = (one @ np.linalg.svd(one)[2][0] > 0).astype(int)
    assert_array_equal(merge_cells(one, hashes(200, seed), halves, 2).group, [0, 0])


def test_a_third_group_between_two_is_not_counted_between_them():
    labels = np.random.default_rng(2).permutation(np.arange(600) % 3)
    rows = with_factors(labels, 7, 15, seed=2)
    tests = pair_tests(rows, hashes(600), labels, labels, 3)
    of_two = [half.discriminants for half in tests.splits[0]]
    for half in of_two:
        assert half.evidence(np.arange(3), (0, 2)).max() < 1  # as many rows between as in either
        assert half.evidence(np.arange(3), (0, 2), [1]).min() > 3
    assert_array_equal(merge_cells(rows, hashes(600), labels, 3).group, [0, 1, 2])


@pytest.mark.parametrize("far", [1e80, 1e140])
def test_far_values_overflow_nothing(far):
    labels = np.arange(200) % 2
    rows = np.random.default_rng(0).normal(size=(200, 12)) + 12 * labels[:, None]
    rows[3, 2] = far
    assert np.isfinite(combinations_apart(rows, labels)).all()
    assert_array_equal(combinations_apart(rows * 2.0**-9, labels), combinations_apart(rows, labels) * 2.0**9)


def test_rows_elsewhere_choose_nothing_and_are_counted():
    labels = np.random.default_rng(3).permutation(np.arange(300) % 3)
    rows = with_factors(labels, 7, 15, seed=3)
    cell = np.where(labels == 1, ELSEWHERE, labels // 2)
    found = discriminants(rows, np.arange(0, 300, 2), np.arange(1, 300, 2), cell)
    assert found.choosing.shape[1] == 1
    assert found.evidence(np.arange(2), (0, 1)).max() < 1  # as many rows between as in either
