"""Columns of few values that other columns tell: they are left out, and no others are."""

import numpy as np
import pytest
from helpers import look_at
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from mdh_dask import DensityTree, HierarchicalMDH, RandomProjectionTree, SupportVectorClustering
from mdh_dask.growth.redundant import redundant_columns
from mdh_dask.growth.scaling import standardiser
from mdh_dask.metrics import normalized_mutual_information


def told(rows):
    return redundant_columns(look_at(rows).sample).tolist()


def tables(n=3000, seed=0):
    """Return tables of one cloud, and the columns that others tell."""
    rng = np.random.default_rng(seed)
    age, number = np.rint(rng.normal(50, 12, n)), 5 * rng.normal(size=n)
    answers = np.clip(np.rint(rng.normal(3, 0.6, (n, 1)) + rng.normal(0, 0.8, (n, 3))), 1, 5)
    count, places = rng.poisson(12, n), rng.normal([50, 8], 2, (n, 2))
    income = rng.lognormal(10, 0.6, n)
    return {
        "decade of an age": (np.column_stack([age, age // 10]), [1]),
        "class of an income": (np.column_stack([income, np.digitize(income, [1e4, 2e4, 3e4, 4.5e4, 7e4])]), [1]),
        "total of answers": (np.column_stack([answers, answers.sum(axis=1)]), [3]),
        "mean of answers": (np.column_stack([answers, answers.mean(axis=1)]), [3]),
        "mean in halves": (np.column_stack([answers, np.rint(answers.mean(axis=1) * 2) / 2]), [3]),
        "logarithm of a count": (np.column_stack([count, np.log1p(count)]), [1]),
        "rounded logarithm": (np.column_stack([np.rint(2 * np.log1p(count)), count]), [0]),
        "integer part": (np.column_stack([np.floor(number), number]), [0]),
        "rounded places": (np.column_stack([places, np.rint(places)]), [2, 3]),
        "flag of an age": (np.column_stack([age >= 40, age]), [0]),
    }


@pytest.mark.parametrize("name", tables(20))
def test_a_column_that_others_tell_is_found(name):
    rows, expected = tables()[name]
    assert told(rows) == expected


@pytest.mark.parametrize("estimator", [HierarchicalMDH, RandomProjectionTree, DensityTree])
@pytest.mark.parametrize("name", ["decade of an age", "total of answers", "logarithm of a count", "rounded places"])
def test_one_cloud_with_a_column_that_others_tell_is_one_cluster(estimator, name):
    rows, _ = tables(5000, seed=1)[name]
    assert estimator(random_state=0).fit(rows).n_clusters_ == 1


@pytest.mark.slow
def test_contours_leave_out_columns_that_others_tell():
    rows, _ = tables(800)["integer part"]
    assert SupportVectorClustering(random_state=0).fit(rows).n_clusters_ == 1


@pytest.mark.parametrize("seed", range(5))
def test_columns_that_are_not_told_are_kept(seed):
    rng = np.random.default_rng(seed)
    n = 2000
    factor = rng.normal(size=(n, 1))
    assert told(np.rint(2 * rng.normal(size=(n, 6)))) == []
    assert told(np.rint(1.5 * (0.95 * factor + 0.05**0.5 * rng.normal(size=(n, 3))))) == []  # nearly the same question
    assert told(np.column_stack([factor, np.rint(1.5 * factor + rng.normal(size=(n, 1)))])) == []
    assert told(np.eye(4)[rng.integers(4, size=n)]) == []  # indicators of one category
    assert told(rng.normal(size=(n, 5))) == []
    assert told(np.column_stack([factor, np.exp(factor)])) == []  # neither makes rows look apart


def test_functions_that_rise_and_fall_are_kept():
    month = np.random.default_rng(0).integers(24, size=3000)
    temperature = np.array([2, 3, 7, 12, 16, 19, 22, 21, 17, 12, 6, 3] * 2)[month]
    season = np.array([4, 4, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4])[month % 12]
    assert told(np.column_stack([month, temperature, season])) == []  # equal values at different times say more


def test_a_column_is_told_although_one_in_forty_of_its_values_is_wrong():
    rng = np.random.default_rng(0)
    number = rng.normal(size=3000)
    groups = np.digitize(number, [-1, -0.3, 0.3, 1]).astype(float)
    assert told(np.column_stack([groups, number])) == [0]
    groups[:75] = rng.integers(5, size=75)
    assert told(np.column_stack([groups, number])) == [0]
    groups[:600] = rng.integers(5, size=600)
    assert told(np.column_stack([groups, number])) == []


def test_of_a_column_in_two_units_the_even_one_is_kept():
    answers = np.random.default_rng(0).integers(5, size=1000)
    assert told(np.column_stack([answers, np.array([1, 10, 100, 1000, 10_000])[answers]])) == [1]


def test_levels_that_stand_for_clusters_are_kept():
    centres = np.random.default_rng(0).integers(9, size=(8, 5)).astype(float)
    assert told(np.repeat(centres, 100, axis=0)) == []  # any column of so few different rows is a function of others


def test_few_rows_tell_nothing():
    rng = np.random.default_rng(0)
    for n in (0, 1, 2, 10, 40):
        number = rng.normal(size=n)
        assert told(np.column_stack([number, np.floor(number)])) == []


def test_a_value_that_few_rows_have_is_kept():
    rows = np.zeros((2000, 2))
    rows[:30, 0], rows[:30, 1] = np.arange(30), 1
    assert told(rows) == []


@given(st.permutations(range(4)), st.sampled_from([-3.0, 0.5, 64.0]), st.integers(-1000, 1000))
@settings(max_examples=20)
def test_what_is_told_does_not_depend_on_the_order_of_columns_and_rows_or_on_units(order, scale, shift):
    rows, _ = tables(2000)["total of answers"]
    assert [order[j] for j in told(rows[:, order])] == [3]
    assert told(rows * scale + shift) == [3]
    sample = look_at(rows).sample
    assert redundant_columns(sample.take(np.argsort(rows[:, 0]))).tolist() == [3]


def test_of_two_equal_columns_one_is_left_out_and_the_clusters_are_the_same_in_either_order():
    ages = np.rint(np.random.default_rng(0).normal(50, 12, 2000))
    rows = np.column_stack([ages, 2020 - ages, np.random.default_rng(1).normal(size=2000)])
    assert len(told(rows)) == 1
    scales = [
        standardiser(look.columns, look.sample, True, discrete=True).scale
        for look in map(look_at, (rows, rows[:, ::-1]))
    ]
    assert_array_equal(scales[0], scales[1][::-1])


@pytest.mark.parametrize("estimator", [HierarchicalMDH, RandomProjectionTree, DensityTree])
def test_clusters_are_found_beside_a_column_that_others_tell_which_changes_no_label(estimator):
    rng = np.random.default_rng(0)
    y = np.arange(3000) % 3
    ages = np.rint(rng.normal(np.array([20, 50, 80])[y], 4))
    rows = np.column_stack([ages, rng.normal(size=3000), ages // 10])
    model = estimator(random_state=0).fit(rows)
    assert normalized_mutual_information(y, model.labels_) > 0.95
    rows[:, 2] = rng.integers(10, size=3000)
    assert_array_equal(model.predict(rows), model.labels_)
