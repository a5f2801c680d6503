"""The whitened view of rows that are thin in some direction, its independent components, and what they show."""

import numpy as np
import pytest
from helpers import at_night, in_turns

from mdh_dask import HierarchicalMDH, RandomProjectionTree
from mdh_dask.metrics import adjusted_rand_index
from mdh_dask.projections import PROJECTIONS
from mdh_dask.projections.pca import ROWS_FOR_A_COMPONENT, THIN, non_normal_directions, whitening_of


def thin_rows(n=600, d=6, n_clusters=1, seed=0):
    """Correlated columns, with clusters five deviations apart along the thinnest direction but one."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_clusters, n)
    rows = rng.normal(size=(n, d))
    rows[:, -2] += 5 * labels
    turned = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return rows * np.sqrt(np.geomspace(1, 1e-4, d)) @ turned, labels


def test_whitened_rows_have_unit_covariance_and_directions_among_them_are_directions_of_the_rows():
    rows = thin_rows()[0]
    whitening = whitening_of(rows)
    whitened = (rows - rows.mean(axis=0)) @ whitening.T
    np.testing.assert_allclose(np.cov(whitened.T, bias=True), np.eye(6), atol=1e-8)
    w = np.arange(1.0, 7.0)
    np.testing.assert_allclose(whitened @ w, (rows - rows.mean(axis=0)) @ (w @ whitening))


def test_round_rows_few_rows_and_equal_rows_have_no_whitened_view():
    rng = np.random.default_rng(0)
    assert whitening_of(rng.normal(size=(500, 10))) is None
    assert whitening_of(thin_rows(n=2 * ROWS_FOR_A_COMPONENT - 1)[0]) is None
    assert whitening_of(np.ones((500, 3))) is None


@pytest.mark.parametrize(
    ("thinnest", "dtype"), in_turns([0.05, 0.099, 0.101, 0.13, 0.15, 0.5], [np.float32, np.float64])
)
def test_rows_are_whitened_if_their_thinnest_direction_is_below_the_share(thinnest, dtype):
    rng = np.random.default_rng(0)
    whole = np.linalg.qr(rng.normal(size=(2000, 5)))[0]
    whole = np.linalg.qr(whole - whole.mean(axis=0))[0] * [1, 1, 1, 1, thinnest]
    rows = (whole @ np.linalg.qr(rng.normal(size=(5, 5)))[0] * 50 + 1000).astype(dtype)
    assert (whitening_of(rows) is not None) == (thinnest < THIN)


@pytest.mark.parametrize("name", ["row_combinations", "mdh"])
def test_what_is_proposed_of_rows_that_are_not_thin_is_as_without_it(name, monkeypatch):
    rows = np.random.default_rng(0).normal(size=(300, 4))
    proposed = np.vstack(PROJECTIONS[name](rows, np.random.default_rng(1), 50))
    monkeypatch.setattr("mdh_dask.projections.pca.THIN", 0.0)
    np.testing.assert_array_equal(proposed, np.vstack(PROJECTIONS[name](rows, np.random.default_rng(1), 50)))


@pytest.mark.slow
@pytest.mark.parametrize(("n_clusters", "n"), at_night([(2, 600), (3, 600), (4, 1500)], 1))
def test_pursuits_find_clusters_across_a_thin_direction(n_clusters, n):
    rows, labels = thin_rows(n, n_clusters=n_clusters, seed=1)
    found = HierarchicalMDH().fit_predict(rows)
    assert len(np.unique(found)) == n_clusters
    assert adjusted_rand_index(found, labels) > 0.8


@pytest.mark.slow
def test_random_directions_find_clusters_across_a_thin_direction_more_often_among_whitened_rows(monkeypatch):
    def found():
        clouds = (thin_rows(n_clusters=2, seed=seed)[0] for seed in range(12))
        return sum(RandomProjectionTree(random_state=0).fit(rows).n_clusters_ == 2 for rows in clouds)

    whitened = found()
    monkeypatch.setattr("mdh_dask.projections.pca.THIN", 0.0)
    assert whitened >= found() + 3


@pytest.mark.parametrize("method", [HierarchicalMDH, RandomProjectionTree])
def test_thin_rows_without_clusters_are_not_split(method):
    assert [method(random_state=seed).fit(thin_rows(seed=seed)[0]).n_clusters_ for seed in range(3)] == [1, 1, 1]


def sheets(seed, n=2000, d=10, n_clusters=4):
    """Parallel sheets twenty times as long in all directions but one as thick, five thicknesses apart."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_clusters, n)
    rows = 20 * rng.normal(size=(n, d))
    rows[:, 0] = rng.normal(size=n) + 5 * labels
    return rows @ np.linalg.qr(rng.normal(size=(d, d)))[0], labels


@pytest.mark.parametrize("share", [0.5, (1 - 3**-0.5) / 2, 0.05], ids=["negative", "zero", "positive"])
def test_two_groups_are_found_across_any_affine_map_whatever_their_kurtosis(share):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4000, 6))
    rows[:, 2] += 6 * (np.arange(4000) < share * 4000)
    there = rows @ rng.normal(size=(6, 6))
    whitening = whitening_of(there, only_thin=False)
    directions = non_normal_directions((there - there.mean(axis=0)) @ whitening.T)
    np.testing.assert_allclose(directions @ directions.T, np.eye(6), atol=1e-12)
    projections = (there - there.mean(axis=0)) @ (directions @ whitening).T
    assert np.abs(np.corrcoef(projections.T, rows[:, 2])[-1, :-1]).max() > 0.98


@pytest.mark.parametrize("seed", range(2))
def test_sheets_beside_each_other_are_found_among_many_longer_directions(seed):
    rows, labels = sheets(seed)
    assert whitening_of(rows) is None  # not thin as a whole
    found = HierarchicalMDH(random_state=seed).fit_predict(rows)
    assert len(np.unique(found)) == 4
    assert adjusted_rand_index(found, labels) > 0.9
    assert HierarchicalMDH(random_state=seed).fit(sheets(seed, n_clusters=1)[0]).n_clusters_ == 1
