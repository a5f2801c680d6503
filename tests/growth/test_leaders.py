"""Rounded columns that others predict: their values are spread about what is predicted, and leave no gaps."""

import numpy as np
import pytest
from helpers import look_at
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import jitters, seeds

from mdh_dask import DensityTree, HierarchicalMDH, RandomProjectionTree
from mdh_dask._jit.hashing import hash_rows, independent_jitter, jitter_rows
from mdh_dask.growth.discrete import discrete_of
from mdh_dask.metrics import normalized_mutual_information


def answers(n, correlation, sd, seed=0):
    """Two rounded columns of correlated normal numbers, and a third column."""
    first, other, third = np.random.default_rng(seed).normal(size=(3, n))
    second = correlation * first + np.sqrt(1 - correlation**2) * other
    return np.column_stack([np.rint(sd * first), np.rint(sd * second), third])


def led(rows):
    return discrete_of(look_at(rows).sample).jitter


@pytest.mark.parametrize("estimator", [HierarchicalMDH, RandomProjectionTree, DensityTree])
def test_a_column_and_its_rounded_copy_are_one_cluster(estimator):
    numbers, others = np.random.default_rng(0).normal(size=(2, 10_000))
    rows = np.column_stack([numbers, np.rint(1.5 * numbers), others])
    assert estimator(random_state=0).fit(rows).n_clusters_ == 1


@pytest.mark.parametrize("correlation", [0.9, 0.95])
@pytest.mark.parametrize("estimator", [HierarchicalMDH, RandomProjectionTree])
def test_answers_to_nearly_the_same_question_are_one_cluster(estimator, correlation):
    assert estimator(random_state=0).fit(answers(20_000, correlation, 1.0)).n_clusters_ == 1


@pytest.mark.parametrize("estimator", [HierarchicalMDH, RandomProjectionTree])
def test_groups_of_people_who_answer_alike_are_found(estimator):
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=5000)
    means = rng.choice([1.0, 3.0, 5.0], (3, 10))
    common = rng.normal(size=(5000, 1))
    rows = np.clip(np.rint(means[labels] + 0.7 * common + 0.7 * rng.normal(size=(5000, 10))), 0, 6)
    assert normalized_mutual_information(labels, estimator(random_state=0).fit(rows).labels_) > 0.98


@pytest.mark.parametrize(("correlation", "sd"), [(0.9, 1.0), (0.95, 1.5), (-0.9, 1.2)])
def test_predictions_are_those_of_the_numbers_before_they_were_rounded(correlation, sd):
    jitter = led(answers(20_000, correlation, sd))
    assert sorted(jitter.leaders[:2]) in ([-1, 0], [-1, 1])
    assert_allclose(jitter.slopes[1], correlation, atol=0.1)
    assert_allclose(jitter.errors[1], sd * np.sqrt(1 - correlation**2), rtol=0.2)


def test_columns_that_tell_little_of_each_other_are_spread_independently():
    assert_array_equal(led(answers(20_000, 0.5, 1.0)).leaders, -1)
    assert_array_equal(led(answers(20_000, 0.9, 5.0)).leaders, -1)


def test_who_leads_does_not_depend_on_the_order_of_columns():
    rng = np.random.default_rng(0)
    common = rng.normal(size=(5000, 1))
    rows = np.hstack([np.rint(common + 0.3 * rng.normal(size=(5000, 4))), common])
    order = rng.permutation(5)
    hashes, here, there = hash_rows(0, 0, 5000), rows.copy(), rows[:, order].copy()
    jitter_rows(here, hashes, led(rows))
    jitter_rows(there, hashes, led(rows[:, order]))
    assert np.count_nonzero(led(rows).leaders >= 0) == 4
    assert_allclose(there, here[:, order], atol=1e-6)


def test_a_coarse_column_lies_where_the_fine_column_that_it_leads_says():
    jitter = independent_jitter(np.arange(2), np.array([4.0, 0.1]), np.array([2, 4], dtype=np.uint64))
    jitter.leaders[1], jitter.slopes[1], jitter.errors[1] = 0, 1.0, 0.005
    rows = np.tile([0.0, 0.7], (1000, 1))
    jitter_rows(rows, hash_rows(0, 0, 1000), jitter)
    assert np.abs(rows[:, 0] - rows[:, 1]).max() < 0.1


@given(st.data(), seeds)
def test_no_value_leaves_its_step_whatever_is_predicted(data, seed):
    rng = np.random.default_rng(seed)
    jitter = data.draw(jitters(4))
    rows = rng.normal(size=(20, 4)) * rng.choice([1.0, 1e3, 1e300], 4)
    spread = rows.copy()
    jitter_rows(spread, hash_rows(seed, 0, 20), jitter)
    steps = np.zeros(4)
    steps[jitter.columns] = jitter.steps
    assert (np.abs(spread - rows) <= steps / 2 + 1e-9 * np.abs(rows) + 1e-9).all()
