"""The points nearest to rows, found in bundles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdh_dask.growth.nearest import bundles_of, near_points
from tests import reference_density_tree as reference

seeds = st.integers(0, 10_000)


def points_and_rows(seed, kind):
    """Points in several clusters, far from each other or not, and rows nearby, of whose distances many may be equal."""
    rng = np.random.default_rng(seed)
    n_points, n_rows, d = rng.integers(1, 200), rng.integers(1, 300), rng.integers(1, 12)
    middles = rng.integers(-4, 4, size=(5, d)) * rng.integers(0, 30)
    points, rows = (middles[rng.integers(5, size=n)] + rng.normal(size=(n, d)) for n in (n_points, n_rows))
    if kind == "tied":
        points, rows = points.round(), rows.round()
    if kind == "far":
        points, rows = (1e6 * middles[:1] + 1e-3 * values for values in (points, rows))
    if kind == "tiny":
        points, rows = 1e-25 * points, 1e-25 * rows
    return points, rows.astype(np.float32) if kind == "float32" else rows, rng.integers(4, size=n_points)


@given(seeds, st.sampled_from(["normal", "tied", "float32", "far", "tiny"]), st.integers(1, 12))
def test_nearest_points_in_bundles_are_those_of_all_distances(seed, kind, k):
    points, rows, cell = points_and_rows(seed, kind)
    centre, scale = np.full(points.shape[1], 0.5 * np.abs(points).max()), np.full(points.shape[1], 2.0)
    near = near_points(rows, centre, scale, points, cell, k=k)
    expected = reference.near_points((rows - centre) * scale, points, cell, k)
    assert near.nearest.tolist() == [nearest for nearest, _, _ in expected]
    assert near.own.tolist() == [own for _, own, _ in expected]
    np.testing.assert_allclose(near.reach, [reach for _, _, reach in expected], rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("distance", [1e-3, 1.0, 1e6])
def test_distances_that_single_precision_does_not_tell_apart_are_in_their_order(distance):
    rng = np.random.default_rng(0)
    away = rng.normal(size=(2000, 5))
    points = away / np.linalg.norm(away, axis=1, keepdims=True) * distance * (1 + 1e-8 * rng.random((2000, 1)))
    near = near_points(np.zeros((1000, 5)), np.zeros(5), np.ones(5), points, np.zeros(2000, dtype=np.int64))
    squares = np.square(points).sum(axis=1)
    assert (near.nearest == squares.argmin()).all()
    np.testing.assert_allclose(near.reach, np.sort(squares)[9], rtol=1e-14)


@given(seeds, st.sampled_from(["normal", "tied"]))
def test_shares_count_the_voters_in_the_cluster_of_the_elected_point(seed, kind):
    points, rows, cell = points_and_rows(seed, kind)
    cluster = np.array([0, 1, 1, 0])[cell]
    near = near_points(rows, np.zeros(points.shape[1]), np.ones(points.shape[1]), points, cell, cluster)
    np.testing.assert_array_equal(near.agreeing, reference.agreeing_shares(rows, points, cell, cluster))


@pytest.mark.parametrize("n_rows", [1, 50, 10_000])
def test_every_point_is_in_one_bundle_within_its_radius(n_rows):
    points, _, _ = points_and_rows(3, "tied")
    bundles = bundles_of(points, n_rows)
    assert sorted(bundles.point) == [*range(len(points))]
    own = np.repeat(np.arange(len(bundles.radius)), np.diff(bundles.start))
    away = np.linalg.norm(points[bundles.point] - bundles.middles.T[own], axis=1)
    assert (away <= bundles.radius[own] * (1 + 1e-12)).all()
    assert len(bundles.radius) <= max(n_rows**0.5, 1)


def test_the_first_point_is_nearest_to_rows_whose_squared_distances_overflow_or_are_all_equal():
    points = np.random.default_rng(0).normal(size=(100, 3))
    rows = np.array([[1e200, 0, 0], [-1e150, 1e150, 0], [1e8, 1e8, 1e8]])
    near = near_points(rows, np.zeros(3), np.ones(3), points, np.zeros(100, dtype=np.int64))
    assert near.nearest.tolist() == near.own.tolist() == [0, 0, points.sum(axis=1).argmax()]
