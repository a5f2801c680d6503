"""Values that rows share unevenly: converted units and round numbers."""

import numpy as np
import pytest
from helpers import at_night, look_at
from numpy.testing import assert_allclose, assert_array_equal

from mdh_dask import DensityTree, HierarchicalKernelMDH, HierarchicalMDH
from mdh_dask._jit.hashing import hash_rows
from mdh_dask.growth.discrete import discrete_of, spread
from mdh_dask.growth.uneven import MOST_COLUMNS, round_numbers, uneven_in
from mdh_dask.metrics import adjusted_rand_index
from tests.benchmarks.honesty import CLOUDS


def ages(n, d=1, seed=0):
    """Years, of which three in ten are told in fives."""
    rng = np.random.default_rng(seed)
    years = rng.gamma(4, 10, (n, d))
    return np.where(rng.random((n, d)) < 0.3, np.round(years / 5) * 5, np.round(years))


def incomes(n, d=1):
    """Amounts, of which four in ten are told in hundreds, and three in thousands."""
    return CLOUDS["integers"]["amounts in hundreds"](np.random.default_rng(0), n, d)


def brackets(n, d=1):
    """Incomes in thousands, told by the middles of brackets that widen."""
    return CLOUDS["integers"]["incomes in brackets"](np.random.default_rng(0), n, d)


def uneven(rows):
    return uneven_in(look_at(rows).sample)


@pytest.mark.parametrize(
    ("rows", "steps", "shares"),
    [(ages(5000), [5], [0.3 / 0.44]), (incomes(5000), [100, 1000], [0.99, 0.3 / 0.34])],
)
def test_round_numbers_have_steps_and_shares_whatever_their_unit_and_origin(rows, steps, shares):
    for unit, origin in ((1, 0), (2.54, 1000), (-0.5, 0.3)):
        found = round_numbers(rows[:, 0] * unit + origin)
        assert_allclose([lattice.step for lattice in found], np.array(steps) * abs(unit))
        assert_allclose([lattice.share for lattice in found], shares, atol=0.06)
        places = [(lattice.place - origin) / unit / step for lattice, step in zip(found, steps)]
        assert_allclose(places, np.rint(places), atol=1e-6)


@pytest.mark.parametrize(
    "column",
    [
        np.random.default_rng(0).normal(size=5000),
        np.random.default_rng(0).poisson(50, 5000),
        np.random.default_rng(0).normal(size=5000).round(1),
        np.repeat([0.0, 1.0], 2500),
        np.zeros(5000),
        np.zeros(0),
        np.rint(np.random.default_rng(0).normal(np.repeat([0, 20, 40], 2000), 0.4)),
        np.append(np.repeat([0.0, 70, 190], 1000), np.arange(190)),
        np.append(np.clip(np.random.default_rng(0).normal(0, 1.2, 3000), -1, 1), np.zeros(300)),
    ],
    ids=["numbers", "counts", "tenths", "two values", "constant", "no rows", "tight clusters", "heavy", "clipped"],
)
def test_other_columns_have_no_round_numbers(column):
    assert round_numbers(np.asarray(column, dtype=np.float64)) == []


def test_spread_round_numbers_are_as_frequent_as_those_between_them():
    rows, found = ages(50_000), ages(50_000)
    uneven(rows).spread(rows, found, hash_rows(0, 0, len(rows)))
    for values, least, most in ((rows, 2, 9), (found, 0.9, 1.1)):
        near = [np.count_nonzero(np.abs(values - 30 - k) < 0.5) for k in range(-2, 3)]
        assert least <= near[2] / np.mean(near[:2] + near[3:]) <= most


def test_what_is_spread_depends_on_rows_and_not_on_their_blocks_or_the_order_of_columns():
    rows = np.hstack([incomes(3000), ages(3000), np.round(np.rint(ages(3000) * 0.2) * 2.54, 1)])
    hashes, known = hash_rows(0, 0, len(rows)), uneven(rows)
    assert_array_equal(known.columns, [0, 1, 2])
    found = rows.copy()
    known.spread(rows, found, hashes)
    assert np.abs(found - rows).max(axis=0).round(-2).tolist() == [500, 0, 0]
    for some in (slice(0, 700), slice(700, None)):
        part = rows[some].copy()
        known.spread(rows[some], part, hashes[some])
        assert_array_equal(part, found[some])
    again = rows[:, ::-1].copy()
    uneven(again).spread(rows[:, ::-1], again, hashes)
    assert_array_equal(again, found[:, ::-1])


@pytest.mark.parametrize(
    ("values", "spacing"),
    [
        (np.round(np.arange(50, 80) * 2.54, 1), 2.6),
        ([64, *np.arange(64.5, 73), 73], 1),  # the ends are half a step off
        ([0, 2, 4, 6, 11], 5),
        (np.arange(100) / 10, 0),
        (np.setdiff1d(np.arange(100), [7, 30, 31, 60]), 0),
        ([1, 2, 3, 8, 9, 14, 15], 0),
        ([0, 1], 0),
        ([4], 0),
    ],
)
def test_uneven_values_leave_gaps_on_their_lattice_or_have_none(values, spacing):
    rows = np.repeat(np.array(values, dtype=np.float64), 20)[:, None]
    assert_allclose(uneven(rows).spacing.steps, [spacing] if spacing else [], atol=1e-9)


def test_ratings_are_not_uneven_because_few_rows_have_one_of_them():
    assert not uneven(np.repeat([0.0, 1, 2, 3], [600, 50, 200, 150])[:, None]).spacing


def test_uneven_values_are_spread_over_half_of_the_gaps_to_frequent_neighbours():
    rows = np.repeat([3.0, 9, 16, 17, 25, 35], [300, 300, 300, 40, 300, 300])[:, None]
    found = rows.copy()
    uneven(rows).spread(rows, found, hash_rows(0, 0, len(rows)))
    for value, low, high in ((3, 0, 6), (9, 6, 12.5), (16, 12.5, 20.5), (17, 16.5, 21), (25, 20.5, 30), (35, 30, 40)):
        own = found[rows == value]
        assert_allclose([own.min(), own.max()], [low, high], atol=0.1 * (high - low))
        assert low <= own.min() < own.max() <= high


def test_values_that_rows_do_not_share_are_not_uneven():
    assert not uneven(np.random.default_rng(0).normal(size=(1000, 3)))


def test_heights_whose_ends_are_half_a_step_off_are_no_clusters():
    rows = np.clip(np.floor(np.random.default_rng(0).normal(68.5, 2, (1000, 2))) + 0.5, 64, 73)
    assert DensityTree().fit(rows).n_clusters_ == 1


@pytest.mark.parametrize("values", [np.rint(ages(3000) / 10), brackets(3000)])
def test_a_column_and_its_reverse_are_spread_in_opposite_directions(values):
    rows, hashes = np.hstack([values, 70 - 2 * values]), hash_rows(0, 0, len(values))
    found = spread(look_at(rows).sample).jittered(rows, hashes)
    assert np.abs(found[:, 0] - rows[:, 0]).max() > 0.4
    assert_allclose(found[:, 1], 70 - 2 * found[:, 0], atol=0.8)


@pytest.mark.parametrize("estimator", [HierarchicalMDH, DensityTree])
@pytest.mark.parametrize("sd", [1.5, 3])
def test_answers_and_their_reverse_are_no_clusters(estimator, sd):
    rng = np.random.default_rng(0)
    answers = np.round(rng.normal(size=10_000) * sd)
    rows = np.column_stack([answers, 7 - 2.54 * answers, rng.normal(size=10_000)])
    assert estimator(random_state=0).fit(rows).n_clusters_ == 1


@pytest.mark.parametrize("n_odd", [0, 2, 200])
def test_a_few_odd_values_leave_the_others_evenly_spaced(n_odd):
    rng = np.random.default_rng(0)
    counts = rng.poisson(3, (6000, 1)).astype(float)
    counts[:n_odd, 0] = rng.uniform(0, 10, n_odd)
    jitter = discrete_of(look_at(counts).sample).jitter
    assert_array_equal(jitter.columns, [0])
    assert_array_equal(jitter.steps, [1])


def test_densities_along_lines_are_smoothed_as_wide_as_round_numbers_need():
    assert_allclose(discrete_of(look_at(incomes(5000)).sample).bandwidth_along(np.ones((1, 1))), 600)


def test_densities_along_lines_are_smoothed_as_wide_as_most_gaps_between_uneven_values():
    assert_allclose(discrete_of(look_at(brackets(5000)).sample).bandwidth_along(np.ones((1, 1))), 0.6 * 25)


def test_uneven_values_are_not_sought_in_many_columns():
    assert uneven(ages(500, MOST_COLUMNS))
    assert not uneven(ages(500, MOST_COLUMNS + 1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "cloud"), at_night([(DensityTree, ages), (DensityTree, incomes), (HierarchicalKernelMDH, ages)])
)
def test_round_numbers_are_no_clusters(estimator, cloud):
    assert estimator().fit(cloud(5000)).n_clusters_ == 1


@pytest.mark.slow
def test_round_numbers_of_many_rows_are_no_clusters():
    assert HierarchicalMDH().fit(incomes(1_000_000)).n_clusters_ == 1


@pytest.mark.slow
@pytest.mark.parametrize("estimator", at_night([DensityTree, HierarchicalMDH, HierarchicalKernelMDH], 2))
def test_round_numbers_hide_no_clusters(estimator):
    cluster = np.arange(4000) % 2
    labels = estimator().fit_predict(ages(4000, 2) + 200 * cluster[:, None])
    assert adjusted_rand_index(cluster, np.asarray(labels)) > 0.99


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "n_columns"),
    at_night([(HierarchicalMDH, 3), (DensityTree, 1), (HierarchicalMDH, 1), (HierarchicalKernelMDH, 1)]),
)
def test_middles_of_brackets_are_no_clusters(estimator, n_columns):
    assert estimator().fit(brackets(5000, n_columns)).n_clusters_ == 1


@pytest.mark.parametrize("estimator", at_night([HierarchicalMDH, DensityTree, HierarchicalKernelMDH]))
def test_clusters_of_uneven_values_are_found(estimator):
    inches = np.rint(np.random.default_rng(0).normal(np.repeat([67, 79], 1000), 2))
    labels = estimator().fit_predict(np.round(2.54 * inches, 1)[:, None])
    assert adjusted_rand_index(np.repeat([0, 1], 1000), labels) > 0.95
