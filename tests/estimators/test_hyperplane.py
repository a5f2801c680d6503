"""A single minimum density hyperplane: what it says of itself, in whatever form the rows come."""

import numpy as np
import pytest
from scipy.stats import gaussian_kde

from mdh_dask import MinimumDensityHyperplane
from mdh_dask.projections.mdh import minimum_density_hyperplanes


def two_clouds(n=600, d=4, gap=6.0, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d)) * np.linspace(1, 3, d) + 10.0
    rows[: n // 2, 0] += gap
    return rows


@pytest.fixture(scope="module")
def rows():
    return two_clouds()


@pytest.fixture(scope="module")
def model(rows):
    return MinimumDensityHyperplane().fit(rows)


def test_density_and_depth_are_those_of_a_kernel_density_of_all_rows(model, rows):
    projections = rows @ model.direction_
    scaled = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    h = 0.9 * np.sqrt(np.linalg.eigvalsh(np.cov(scaled.T, bias=True))[-1]) * len(rows) ** -0.2
    density = gaussian_kde(projections, h / projections.std(ddof=1))
    grid = np.linspace(projections.min(), projections.max(), 2000)
    left, right = (density(grid[side]).max() for side in (grid < model.offset_, grid > model.offset_))
    here = density(model.offset_)[0]
    assert model.density_ == pytest.approx(here, rel=0.05)
    # One row's kernel is added to the denominator.
    floor = 1 / (len(rows) * h * np.sqrt(2 * np.pi))
    assert model.relative_depth_ == pytest.approx((min(left, right) - here) / (here + floor), rel=0.03)


def test_the_hyperplane_is_that_of_the_pursuit(rows):
    scaled = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    best = minimum_density_hyperplanes(scaled, np.random.default_rng(0), starts="pca2", alpha_max=0.9)[0]
    model = MinimumDensityHyperplane(starts="pca2", alpha_max=0.9).fit(rows)
    np.testing.assert_allclose(model.direction_ * rows.std(axis=0), best.direction, atol=1e-3)
    assert model.offset_ - rows.mean(axis=0) @ model.direction_ == pytest.approx(best.offset, abs=1e-3)


@pytest.mark.parametrize("max_components", [2, 50, None])
def test_the_default_valley_is_never_shallower_than_those_from_the_components(max_components):
    rows = two_clouds(n=300, d=60, gap=2.5)
    here, there = (
        MinimumDensityHyperplane(starts=starts, max_components=max_components).fit(rows).relative_depth_
        for starts in ("balanced", "pca2")
    )
    # In a span of fewer components it may be.
    assert (here >= 0.99 * there) == (max_components is None)


def test_more_rows_than_the_sample_take_two_passes_and_place_the_hyperplane_by_all():
    rows = two_clouds(n=6000)
    model = MinimumDensityHyperplane(sample_size=500).fit(rows)
    assert model.n_passes_ == 2
    assert sorted(model.tree_.n_rows) == [*sorted(np.bincount(model.labels_)), 6000]
    assert 2990 < model.labels_.sum() < 3010


@pytest.mark.parametrize("rows", [np.ones((20, 3)), np.random.default_rng(0).normal(size=(2, 3))], ids=["equal", "two"])
def test_where_there_is_nothing_to_part_there_is_one_cluster_or_a_row_on_either_side(rows):
    model = MinimumDensityHyperplane().fit(rows)
    assert model.n_clusters_ == len(np.unique(model.labels_))
    assert np.isnan(model.offset_) == (model.n_clusters_ == 1)


def test_constant_duplicate_and_collinear_columns_do_no_harm(rows):
    rows = np.column_stack([rows, rows[:, 0], np.full(len(rows), 3.0), rows[:, 0] + rows[:, 1]])
    model = MinimumDensityHyperplane().fit(rows)
    assert abs(model.labels_[:300].mean() - model.labels_[300:].mean()) > 0.98
    assert model.direction_[-2] == 0


@pytest.mark.parametrize("starts", ["pca2", "balanced"])
def test_sequential_quadratic_programming_ends_on_a_minimum_no_lower_than_a_pursuit(starts):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5)) + np.repeat([[3.0, 0, 0, 0, 0], [-3.0, 0, 0, 0, 0]], 300, axis=0)
    pursued, programmed = (
        MinimumDensityHyperplane(starts=starts, solver=solver).fit(X) for solver in ("pursuit", "sqp")
    )
    assert programmed.relative_depth_ > 1
    assert programmed.density_ >= pursued.density_ * (1 - 1e-3)
