"""Mixed probabilistic principal components, against rows one by one and the closed form for continuous columns."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import reference_kernel as reference
from scipy.linalg import subspace_angles
from stored import stored_and_read

from mdh_dask import MixedPCA
from mdh_dask.kernels.levels import EIGHTHS, levels_by_change
from mdh_dask.kernels.mixed_pca import MixedPCAMap
from mdh_dask.kernels.nystrom import HEIGHT

TYPES = {"continuous": [0, 1, 2], "categorical": [3, 4]}


def planted(n=400, missing=0.0, seed=0):
    """Three continuous columns and two of two and three levels that follow from two latent variables."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(n, 2)) + 4 * rng.integers(0, 2, (n, 1))
    continuous = latent @ [[2, 0, 1], [0, 1, 1]] + 0.1 * rng.normal(size=(n, 3))
    two, three = latent[:, 0] > rng.logistic(size=n), np.digitize(latent[:, 1], [0.0, 3.0])
    rows = np.column_stack([continuous, two, three]).astype(float)
    rows[rng.random(rows.shape) < missing] = np.nan
    return rows, latent


def some_map(q=2, seed=0):
    rng = np.random.default_rng(seed)
    return MixedPCAMap(
        rng.normal(size=(6, q)), rng.normal(size=6), 0.3, np.array([0, 0, 0, 2, 3]), np.array([0.0, 1, 0, 1, 2]),
        np.array([1.0, 0, 2, 0, 0]), np.array([0.5, 1, 1, 0, 0]), np.ones(q),
    )  # fmt: skip


def test_posteriors_equal_their_twin_with_missing_values():
    rows, _ = planted(HEIGHT, 0.3)
    model = some_map()
    found = model.posterior(*model.observed(rows))
    standard = np.where(np.arange(5) < 3, np.clip((rows - model.centre) * model.scale, -8, 8), rows)
    for i in range(20):
        own = reference.mixed_posterior(standard[i], model.loadings, model.intercepts, model.noise, model.counts)
        for ours, theirs in zip((found.means[i], found.covariances[i], found.bounds[i]), own):
            np.testing.assert_allclose(ours, theirs, atol=1e-4)


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_the_bound_never_falls(missing):
    made = MixedPCA(column_types=TYPES, n_components=2, tol=0, max_iter=20).fit(planted(300, missing)[0])
    assert len(made.bounds_) > 5
    assert np.diff(made.bounds_).min() > -1e-6 * abs(made.bounds_[-1])


def test_it_recovers_a_planted_subspace():
    rows, latent = planted(500, 0.1)
    features = MixedPCA(column_types=TYPES, n_components=2, max_iter=20).fit_transform(rows).astype(float)
    centred = (x - x.mean(axis=0) for x in (features, latent))
    assert np.degrees(subspace_angles(*centred)).max() < 15


def test_continuous_columns_alone_give_the_closed_form():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 3)) @ rng.normal(size=(3, 6)) + 0.5 * rng.normal(size=(500, 6))
    made = MixedPCA(n_components=2, tol=1e-12, max_iter=2000, n_init=1).fit(rows)
    standard = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    values, vectors = np.linalg.eigh(np.cov(standard.T, bias=True))
    noise = values[:4].mean()
    covariance = (vectors[:, 4:] * (values[4:] - noise)) @ vectors[:, 4:].T
    assert made.noise_variance_ == pytest.approx(noise, rel=1e-3)
    np.testing.assert_allclose(made.map_.loadings @ made.map_.loadings.T, covariance, atol=5e-3)


def test_missing_values_are_filled_in_better_than_by_means():
    rows, _ = planted(400)
    holes = rows.copy()
    holes[::4, 0] = holes[1::4, 3] = np.nan
    filled = MixedPCA(column_types=TYPES, n_components=2, max_iter=20).fit(holes).reconstruct(holes)
    np.testing.assert_array_equal(filled[2::4], rows[2::4])
    assert np.square(filled[::4, 0] - rows[::4, 0]).mean() < 0.1 * rows[:, 0].var()
    assert np.mean(filled[1::4, 3] == rows[1::4, 3]) > 0.8


def test_levels_are_the_mean_features_of_rows_that_are_changed_to_them():
    rows = planted(20, 0.1)[0]
    made = MixedPCA(column_types=TYPES, n_components=2, max_iter=5).fit(rows)
    changed = [np.where(np.arange(5) == 4, value, rows) for value in (0.0, 1.0, 2.0)]
    own = made.map_.levels.positions[made.map_.levels.starts[-1] :]
    np.testing.assert_allclose(own[:3], [made.transform(X).mean(axis=0) for X in changed], atol=1e-4)


def test_eighths_of_the_values_of_a_column_weigh_together_as_much_as_any_other_change_of_it():
    made = MixedPCA(column_types=TYPES, n_components=2, max_iter=2).fit(planted(50, 0.1)[0])
    assert made.n_iter_ == 2
    levels = made.map_.levels
    weighed = levels_by_change(made.map_, planted(50, 0.1)[0], np.arange(5) > 2, np.ones(5, dtype=bool), 2)
    assert levels.shares.tolist() == weighed.shares.tolist()
    assert levels.shares.tolist().count(1 / EIGHTHS) == 3 * EIGHTHS
    np.testing.assert_array_equal(stored_and_read(made.map_).levels.shares, levels.shares)


@pytest.mark.parametrize("starts", [[1, 3], [0, 3, 3], [0, 1000], [[0], [1]], [0.0, 2.0]])
def test_groups_of_levels_that_no_fit_makes_are_an_error(starts):
    made = MixedPCA(column_types=TYPES, max_iter=2).fit(planted(50)[0]).map_
    with pytest.raises(ValueError, match="array starts"):
        replace(made, starts=np.array(starts)).check()


def test_too_many_levels_are_named():
    rows = np.column_stack([np.arange(1500.0), np.arange(1500.0)])
    with pytest.raises(ValueError, match="at most 1000"):
        MixedPCA(column_types={"categorical": [1]}).fit(rows)


def test_bounds_of_thousands_of_columns_rise(monkeypatch):
    monkeypatch.setattr("mdh_dask.estimators.mixed_pca.with_levels", lambda model, rows: model)  # takes a minute
    rows = np.random.default_rng(0).normal(size=(100, 4000))
    assert np.ptp(MixedPCA(n_components=2, n_init=1, max_iter=2).fit(rows).bounds_) > 0


def test_a_block_takes_memory_in_proportion_to_the_columns():
    d = 4000
    rng, some = np.random.default_rng(0), np.zeros(d)
    model = MixedPCAMap(
        rng.normal(0, 0.01, (d, 1)), some, 1.0, np.full(d, 2), np.tile([0.0, 1.0], d), some, some, np.ones(1)
    )
    rows = rng.integers(0, 2, (HEIGHT, d)).astype(np.float64)
    tracemalloc.start()
    model.posterior(*model.observed(rows))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * rows.nbytes < 8 * d**2
