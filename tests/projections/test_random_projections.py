"""Random directions: moments of their entries, and what none of them may be; directions to near rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdh_dask import RandomProjectionTree
from mdh_dask._random import generator
from mdh_dask.metrics import normalized_mutual_information
from mdh_dask.projections import RANDOM_PROJECTIONS
from mdh_dask.projections.directions import achlioptas, columns_without_ties, row_combinations, uniform_sphere
from mdh_dask.projections.starts import near_means

FAMILIES = pytest.mark.parametrize("family", RANDOM_PROJECTIONS.values(), ids=RANDOM_PROJECTIONS)


def rng(*key):
    return generator(0, *key)


@FAMILIES
def test_the_same_key_gives_the_same_directions_and_another_key_others(family):
    np.testing.assert_array_equal(family(rng(5, 1), 4, 30), family(rng(5, 1), 4, 30))
    assert not np.array_equal(family(rng(5, 1), 4, 30), family(rng(5, 2), 4, 30))


@pytest.mark.parametrize("name", ["normal", "bernoulli", "achlioptas"])
def test_entries_have_mean_zero_and_variance_one(name):
    V = RANDOM_PROJECTIONS[name](rng(2), 2000, 100)
    n = V.size
    assert abs(V.mean()) < 4.5 / np.sqrt(n)
    spread = max((V**2).std(), 1e-9) / np.sqrt(n)
    assert abs((V**2).mean() - 1) < 4.5 * spread
    correlation = V.T @ V / len(V)
    assert np.abs(correlation[~np.eye(100, dtype=bool)]).max() < 6 / np.sqrt(len(V))


def test_the_sphere_has_unit_norm_and_no_preferred_direction():
    V = uniform_sphere(rng(3), 20_000, 5)
    np.testing.assert_allclose(np.linalg.norm(V, axis=1), 1)
    assert np.abs(V.mean(axis=0)).max() < 4.5 / np.sqrt(5 * 20_000)
    np.testing.assert_allclose(V.T @ V / len(V), np.eye(5) / 5, atol=0.01)


def test_the_entries_of_bernoulli_and_achlioptas_take_their_values_in_proportion():
    assert set(np.unique(RANDOM_PROJECTIONS["bernoulli"](rng(4), 100, 20))) == {-1, 1}
    V = achlioptas(rng(4), 3000, 30)
    values, counts = np.unique(V, return_counts=True)
    np.testing.assert_allclose(values, [-np.sqrt(3), 0, np.sqrt(3)])
    np.testing.assert_allclose(counts / V.size, [1 / 6, 2 / 3, 1 / 6], atol=0.01)


class TestGenerator:
    def test_streams_are_told_apart_by_every_part_of_the_key(self):
        keys = [(), (0,), (0, 0), (1,), (0, 1), (1, 0), (2**70,), (2**70, 1)]
        first = [generator(seed, *key).random() for seed in (0, 1) for key in keys]
        assert len(set(first)) == len(first)


@given(st.integers(2, 60), st.integers(0, 2**32 - 1), st.sampled_from([np.float32, np.float64]))
def test_columns_without_ties_have_half_of_their_values_distinct(n, seed, dtype):
    rng = np.random.default_rng(seed)
    levels = [1, 2, n // 2, n // 2 + 1, 2 * n, 10**6]
    signs = rng.choice([-1.0, 1.0], (n, len(levels)))  # zero has two
    rows = (np.column_stack([rng.integers(-level, level, n) / 7 for level in levels]) * signs).astype(dtype)
    expected = [j for j in range(len(levels)) if len(np.unique(rows[:, j])) > n / 2]
    assert columns_without_ties(rows).tolist() == expected
    assert columns_without_ties(rows, np.array([5])).tolist() == [j for j in expected if j != 5]


def test_distinct_values_are_not_sorted(monkeypatch):
    sort, shapes = np.sort, []
    monkeypatch.setattr(np, "sort", lambda rows, axis: shapes.append(rows.shape) or sort(rows, axis))
    rows = np.random.default_rng(0).normal(size=(5000, 3)).astype(np.float32)
    rows[:, 1] = np.rint(rows[:, 1])
    assert columns_without_ties(rows).tolist() == [0, 2]
    assert shapes == [(5000, 1)]


@pytest.mark.parametrize(("n", "d"), [(300, 2), (300, 9), (30, 40)])
def test_combinations_of_rows_are_the_same_in_any_order_of_the_columns(n, d):
    rows = np.random.default_rng(d).exponential(size=(n, d)) @ np.random.default_rng(n).normal(size=(d, d))
    rows /= rows.std(axis=0)
    order = np.random.default_rng(1).permutation(d)[::-1]
    expected = row_combinations(rng(1), 50, rows)[:, order]
    np.testing.assert_allclose(row_combinations(rng(1), 50, rows[:, order]), expected, rtol=1e-6, atol=1e-8)


def embeddings(signal, n, d, k, seed=0):
    """Rows of unit length whose spectrum decays, in k clusters, the largest with k times the rows of the smallest."""
    rng = np.random.default_rng(seed)
    sd, shares = np.arange(1, d + 1) ** -0.5, 1 / np.arange(1, k + 1)
    labels = rng.choice(k, n, p=shares / shares.sum())
    turned = np.linalg.qr(rng.normal(size=(d, d)))[0]
    rows = ((signal * rng.normal(size=(k, d)) * sd)[labels] + rng.normal(size=(n, d)) * sd) @ turned
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32), labels


@pytest.mark.slow
def test_random_projections_find_clusters_of_embeddings_that_lie_across_their_long_directions():
    rows, labels = embeddings(0.7, 6000, 384, 20)
    model = RandomProjectionTree().fit(rows)
    assert abs(model.n_clusters_ - 20) <= 1
    assert normalized_mutual_information(labels, model.labels_) > 0.95


@pytest.mark.parametrize(("d", "n_seeds", "whitened"), [(10, 32, True), (200, 32, True), (300, 32, False)])
def test_directions_are_in_units_of_near_rows_if_these_are_twice_as_many_as_columns(d, n_seeds, whitened):
    rows = np.random.default_rng(0).normal(size=(500, d))
    assert len(near_means(rows, np.random.default_rng(1), n_seeds)) == 2 * n_seeds * (1 + whitened)
