"""Columns of a few evenly spaced values: no split between neighbouring ones, and the same clusters as before else."""

import numpy as np
import pytest
from helpers import at_night, in_turns, look_at
from numpy.testing import assert_array_equal

from mdh_dask import (
    DensityTree,
    DivisiveClustering,
    HierarchicalKernelMDH,
    HierarchicalMDH,
    RandomProjectionTree,
    drift,
)
from mdh_dask.growth import refine
from mdh_dask.growth.scaling import standardiser
from mdh_dask.growth.sweeps import ValleyPass
from mdh_dask.growth.trees import tree_pass
from mdh_dask.metrics import adjusted_rand_index

CLOUDS = {
    "Poisson(2)": lambda rng, shape: rng.poisson(2, shape),
    "ratings from 1 to 5": lambda rng, shape: np.clip(np.rint(rng.normal(3, 1, shape)), 1, 5),
    "rounded normal": lambda rng, shape: np.rint(rng.normal(size=shape)).astype(np.float32),
    "tenths": lambda rng, shape: rng.integers(0, 5, shape) * 0.1,
    "geometric": lambda rng, shape: rng.geometric(0.4, shape).astype(np.uint8),
}

METHODS = {"random": RandomProjectionTree(n_projections=100), "mdh": HierarchicalMDH(starts="pca2")}


def fitted_jitter(rows):
    look = look_at(rows)
    return standardiser(look.columns, look.sample, True, discrete=True).discrete.jitter


def two_groups(n, seed=0):
    """Integers in three columns, each with one mode, and two clusters that the difference of two of them shows."""
    rng = np.random.default_rng(seed)
    labels, first = rng.integers(0, 2, n), rng.integers(0, 9, n)
    second = first + 7 * labels + rng.integers(-1, 2, n)
    return np.column_stack([first, second, rng.poisson(2, n)]), labels


def assert_law(model):
    tree = model.tree_
    assert_array_equal(tree.cluster_rows, np.bincount(np.asarray(model.labels_), minlength=tree.n_leaves))


@pytest.mark.parametrize(("method", "cloud"), in_turns(METHODS, CLOUDS))
def test_a_cloud_of_integers_is_not_cut_between_neighbouring_values(cloud, method):
    for seed in range(2):
        rows = CLOUDS[cloud](np.random.default_rng(seed), (2000, 2))
        assert METHODS[method].fit(rows).n_clusters_ == 1, seed


@pytest.mark.slow
@pytest.mark.parametrize("method", at_night([HierarchicalMDH, DensityTree, HierarchicalKernelMDH], 2))
def test_counts_of_many_columns_with_a_common_rate_are_one_cluster(method):
    rng = np.random.default_rng(1)
    counts = rng.poisson(rng.gamma(3, 1 / 3, (1500, 1)) * rng.gamma(1, 2, 16))
    assert method().fit(counts).n_clusters_ == 1
    counts[:5] += 5000
    assert method().fit(counts).n_clusters_ == 1


@pytest.mark.slow
def test_clusters_of_integers_are_found_and_counted_as_they_are_labelled():
    rows, labels = two_groups(6000)
    for sample_size in (1000, 10_000):
        model = RandomProjectionTree(n_projections=100, sample_size=sample_size, random_state=1).fit(rows)
        assert adjusted_rand_index(labels, model.labels_) > 0.98
        assert_law(model)


@pytest.mark.parametrize(("method", "n_columns"), in_turns(METHODS, [3, 6]))
def test_two_opposite_groups_of_ratings_are_two_clusters_though_every_column_has_two_modes(n_columns, method):
    rng = np.random.default_rng(n_columns)
    labels = rng.integers(0, 2, 1000)
    means = 3 + 1.5 * np.where(np.arange(n_columns) % 2, 1, -1) * np.where(labels, 1, -1)[:, None]
    model = METHODS[method].fit(np.clip(np.rint(rng.normal(means, 0.8)), 1, 5))
    assert model.n_clusters_ == 2
    assert adjusted_rand_index(labels, model.labels_) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_the_same_integers_of_any_dtype_make_the_same_tree(method):
    rng = np.random.default_rng(0)
    rows = np.rint(rng.normal(100 + 40 * np.eye(8)[rng.integers(0, 4, 800)], 6)).astype(np.uint8)
    tree = METHODS[method].fit(rows).tree_
    assert tree.n_leaves == 4
    for dtype in (np.int64, np.float32, np.float64):
        assert METHODS[method].fit(rows.astype(dtype)).tree_ == tree, dtype


@pytest.mark.parametrize("threshold_rule", ["relative_depth", "minimum_density", "mean", "gap"])
def test_splits_across_a_lattice_count_the_rows_that_they_route(threshold_rule):
    # With coarse steps along slanted directions, many rows are counted beyond the threshold that they stay before.
    rows = np.random.default_rng(0).integers(0, 4, (3000, 3))
    options = {"stop_rule": "none", "threshold_rule": threshold_rule, "max_levels": 3, "min_relative_depth": 0.0}
    for sample_size in (300, None):
        assert_law(DivisiveClustering(n_projections=20, sample_size=sample_size, **options).fit(rows))


def test_spread_columns_have_unit_variance_though_nearly_all_their_values_are_the_same():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.poisson(2, 5000), rng.binomial(1, 0.02, 5000) * rng.geometric(0.7, 5000)])
    look = look_at(rows)
    standardise = standardiser(look.columns, look.sample, True, discrete=True)
    assert_array_equal(standardise.discrete.jitter.columns, [0, 1])
    np.testing.assert_allclose(standardise.jittered(rows, look.sample.hashes).std(axis=0), 1, rtol=0.02)


def test_pairs_measurements_and_values_off_the_steps_are_no_coarse_lattices():
    rng = np.random.default_rng(0)
    n = 2000
    rows = np.column_stack(
        [
            rng.choice([0, 1, 2, 5], n, p=[0.3, 0.2, 0.2, 0.3]),
            rng.integers(0, 2, n),
            rng.normal(100, 20, n).round(),
            rng.normal(size=n),
            rng.integers(0, 5, n) + 0.01 * rng.integers(0, 2, n),
            np.full(n, 3.0),
            rng.poisson(2, n),
        ]
    )
    assert_array_equal(fitted_jitter(rows).columns, [0, 6])


def test_a_model_of_integers_keeps_their_steps_and_sees_no_drift_in_rows_like_its_own():
    rows, labels = two_groups(3000)
    model = RandomProjectionTree(n_projections=100).fit(rows)
    assert_array_equal(model.tree_.steps, [1, 1, 1])
    assert not drift(model, two_groups(3000, seed=1)[0]).found
    for seed in (2, 3):
        model.partial_fit(two_groups(1000, seed)[0])
    assert model.n_clusters_ == 2
    assert_array_equal(model.tree_.steps, [1, 1, 1])
    assert adjusted_rand_index(labels, model.predict(rows)) > 0.98


def test_a_finished_tree_jitters_as_its_fit_did_in_any_order_of_the_columns():
    rows, _ = two_groups(3000)
    order = [2, 0, 1]
    model, other = (
        RandomProjectionTree(n_projections=100, random_state=0).fit(columns) for columns in (rows, rows[:, order])
    )
    assert len(set(model.tree_.keys.tolist())) == 3
    for _ in range(2):
        assert_array_equal(model.tree_.keys[order], other.tree_.keys)
        assert_array_equal(tree_pass(model.tree_).jitter.keys, model.tree_.jitter.keys)
        model.partial_fit(rows[:500])
        other.partial_fit(rows[:500, order])


def test_all_passes_of_a_refinement_jitter_alike(monkeypatch):
    keys = []

    def along(axes, tree, splits, standardise):
        keys.append(standardise.discrete.jitter.keys)
        return original_along(axes, tree, splits, standardise)

    def recount(tree):
        keys.append(tree.jitter.keys)
        return original_recount(tree)

    original_along, original_recount = ValleyPass.along, refine.recount
    monkeypatch.setattr(ValleyPass, "along", along)
    monkeypatch.setattr(refine, "recount", recount)
    DivisiveClustering(n_projections=30, refine=True, random_state=0).fit(two_groups(3000)[0])
    assert len(keys) > 2
    for other in keys[1:]:
        assert_array_equal(other, keys[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("far", "method"), in_turns([False, True], [RandomProjectionTree(n_projections=100), HierarchicalMDH()])
)
def test_permuted_shifted_multiplied_and_constant_columns_change_no_cluster(method, far):
    rows, _ = two_groups(1500)
    if far:
        rows = np.concatenate([rows, np.full((1, 3), 1e6), [[0, 5000, 0]] * 3])
    before = method.fit(rows).labels_
    assert set(np.bincount(before) > 100) == {True}
    for other in (
        rows[:, [2, 0, 1]],
        rows + np.array([1000, 0, -7]),
        rows * np.array([0.5, 8, 1]),
        np.insert(rows, 1, 5.0, axis=1),
    ):
        assert adjusted_rand_index(before, method.fit(other).labels_) > 0.99
