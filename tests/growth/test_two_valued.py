"""Columns of two values: levels of one column are not clusters, but columns that change together are."""

import numpy as np
import pytest
from helpers import at_night, look_at
from numpy.testing import assert_array_equal

from mdh_dask import DensityTree, HierarchicalKernelMDH, HierarchicalMDH, MinimumDensityHyperplane, RandomProjectionTree
from mdh_dask._levels import two_valued
from mdh_dask.metrics import adjusted_rand_index, normalized_mutual_information, success_ratio

METHODS = [RandomProjectionTree, HierarchicalMDH]


def answers(n, seed=0, levels=(2, 2, 3, 5, 8)):
    """Return indicators of independent categories, some of whose levels are rare."""
    rng = np.random.default_rng(seed)
    drawn = [rng.choice(k, n, p=rng.dirichlet(np.full(k, 2.0))) for k in levels]
    return np.concatenate([np.eye(k)[own] for k, own in zip(levels, drawn)], axis=1)


def found_in(rows):
    sample = look_at(rows).sample
    return two_valued(sample.rows, sample.hashes)


@pytest.mark.slow
@pytest.mark.parametrize("method", [*METHODS, MinimumDensityHyperplane, DensityTree])
@pytest.mark.parametrize("seed", at_night(range(2)))
def test_independent_categories_are_one_cluster(method, seed):
    assert method(random_state=seed).fit(answers(600, seed)).n_clusters_ == 1


@pytest.mark.slow
@pytest.mark.parametrize("method", at_night([*METHODS, DensityTree, HierarchicalKernelMDH], 3))
def test_answers_that_one_trait_explains_are_one_cluster(method):
    rng = np.random.default_rng(0)
    trait, difficulty = rng.normal(size=(1500, 1)), 0.8 * rng.normal(size=16)
    rows = rng.random((1500, 16)) < 1 / (1 + np.exp(-1.3 * trait - difficulty))
    assert method().fit(rows.astype(float)).n_clusters_ == 1


@pytest.mark.slow
@pytest.mark.parametrize("method", [*METHODS, DensityTree])
def test_answers_that_change_together_are_two_clusters(method):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 600)
    rows = rng.uniform(size=(600, 12)) < np.where(labels, 0.9, 0.1)[:, None]
    model = method().fit(rows.astype(float))
    assert model.n_clusters_ == 2
    assert adjusted_rand_index(labels, model.labels_) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_clusters_of_measurements_are_found_among_independent_categories(method):
    rng = np.random.default_rng(1)
    measured = rng.normal(size=(600, 3))
    measured[300:] += 3.0
    model = method().fit(np.concatenate([answers(600), measured], axis=1))
    assert model.n_clusters_ == 2
    assert adjusted_rand_index(np.arange(600) >= 300, model.labels_) > 0.9


def test_the_hyperplane_of_the_paper_is_that_of_the_other_columns_where_a_few_rows_have_a_second_value():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 300)
    measured = rng.normal(size=(600, 4)) + np.outer(labels, [3.0, 3.0, 0.0, 0.0])
    rare = np.zeros((600, 3))
    for column in rare.T:
        column[rng.choice(600, 4, replace=False)] = 1.0
    model = MinimumDensityHyperplane(starts="pca2", alpha_max=0.9).fit(np.concatenate([measured, rare], axis=1))
    assert adjusted_rand_index(labels, model.labels_) > 0.9


def test_columns_with_a_second_value_in_a_few_rows_hide_no_hyperplane_of_the_others():
    rng = np.random.default_rng(4)
    labels = rng.integers(0, 3, 2000)
    centres = 5 * rng.normal(size=(3, 16))
    rounded = np.rint(centres[labels] + 4 * rng.normal(size=(2000, 16)))
    rare = np.zeros((2000, 20))
    for column in rare.T:
        column[rng.choice(2000, 2, replace=False)] = 1.0
    model = MinimumDensityHyperplane(random_state=0).fit(np.concatenate([rounded, rare], axis=1))
    assert model.n_clusters_ == 2  # 1, as the widest of these columns smoothed out the valley
    assert success_ratio(labels, model.labels_) > 0.95


def test_columns_that_exclude_or_include_each_other_change_together():
    rng = np.random.default_rng(0)
    a, b = rng.uniform(size=(2, 500)) < 0.5
    rows = np.column_stack([a, ~a, a & b, b, rng.normal(size=500)]).astype(float)
    found = found_in(rows)
    assert_array_equal(found.columns, range(4))
    pairs = {(first, second, sign) for (first, second), sign in zip(found.pairs.tolist(), found.signs.tolist())}
    assert pairs == {(0, 1, 1.0), (1, 2, 1.0), (0, 2, -1.0), (2, 3, -1.0)}
    # A change of the first two moves their difference by two.
    directions = np.eye(5)[:1] - np.eye(5)[1:2]
    assert_array_equal(found.widths_along(np.concatenate([directions, np.eye(5)[4:], np.eye(5)[3:4]])), [2.0, 0.0, 1.0])


@pytest.mark.slow
@pytest.mark.parametrize("method", at_night([DensityTree, HierarchicalKernelMDH]))
def test_indicators_beside_normal_columns_are_one_cluster_if_one_is_left_out(method):
    rng = np.random.default_rng(3)
    rows = np.column_stack([np.eye(5)[rng.integers(0, 5, 600), 1:], rng.normal(size=(600, 8))])
    assert method(random_state=0).fit(rows).n_clusters_ == 1  # 3, where categories needed all their indicators


@pytest.mark.slow
@pytest.mark.parametrize("method", at_night([DensityTree, HierarchicalKernelMDH]))
def test_clusters_beside_the_indicators_of_a_category_are_found(method):
    rng = np.random.default_rng(1)
    kind = rng.integers(0, 2, 600)
    rows = np.column_stack([rng.normal(size=(600, 10)) + 2 * kind[:, None], np.eye(4)[rng.integers(0, 4, 600)]])
    assert normalized_mutual_information(kind, method(random_state=0).fit_predict(rows)) > 0.9
