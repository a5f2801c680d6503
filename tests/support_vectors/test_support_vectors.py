"""Support vector clustering in memory: the dual, the contours, and what they connect."""

import os
from pathlib import Path

import numpy as np
import pytest
import reference_contours
from helpers import rings
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree
from sklearn.datasets import load_iris
from strategies import seeds

from mdh_dask._jit.landmarks import ascend, flood, kernel_totals, lowest_along, unite_inside
from mdh_dask.support_vectors.components import ADJACENCY, UNCLASSIFIED, components, merged
from mdh_dask.support_vectors.dual import SLACK, level_of, smallest_sphere


def cloud(seed, n=40, d=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 4 * rng.integers(0, 2, (n, 1)), rng.integers(1, 5, n).astype(float)


def principal_components(n):
    """The flowers along their first principal components: centred, not scaled; distinct rows, counts, the place of
    each flower among them, and its species."""
    folder = os.environ.get("MDH_DASK_DATA")
    if folder is not None:
        with np.load(Path(folder) / "iris.npz") as arrays:
            rows, species = arrays["X"], arrays["y"]
    else:
        rows, species = load_iris(return_X_y=True)
    rows = rows - rows.mean(axis=0)
    rows = rows @ np.linalg.svd(rows, full_matrices=False)[2][:n].T
    points, place, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    return points, counts.astype(float), np.ravel(place), species


def components_of(points, counts, width, outliers, adjacency="complete", n_segment=None):
    """The smallest sphere, its level, and the component of each point."""
    sphere = smallest_sphere(points, counts, width, outliers)
    level = level_of(sphere.totals(points), counts, outliers)
    return sphere, level, components(sphere, level, counts, adjacency=adjacency, n_neighbors=16, n_segment=n_segment)


def wrong_rows(n, width, outliers, adjacency):
    """Clusters, and flowers that are not of the commonest species of their cluster; those outside go to the nearest."""
    points, counts, place, species = principal_components(n)
    _, _, labels = components_of(points, counts, width, outliers, adjacency, n_segment=20)
    inside = np.flatnonzero(labels >= 0)
    labels = labels[inside[cKDTree(points[inside]).query(points)[1]]][place]
    right = sum(np.bincount(species[labels == k]).max() for k in range(labels.max() + 1))
    return labels.max() + 1, len(labels) - right


class TestLoops:
    @settings(max_examples=30)
    @given(seeds, st.integers(1, 3), st.floats(0.01, 10))
    def test_totals_and_lowest_totals_equal_their_twins(self, seed, d, width):
        points, weights = cloud(seed, 12, d)
        np.testing.assert_allclose(
            kernel_totals(points, points, weights, width),
            reference_contours.totals(points, points, weights, width), rtol=1e-9, atol=1e-15,
        )  # fmt: skip
        edges = np.array([[0, 1], [2, 3], [4, 5]])
        lowest, place = lowest_along(points, edges, np.array([1, 5, 20]), points, weights, width)
        for edge, n, value, at in zip(edges, (1, 5, 20), lowest, place):
            expected, _ = reference_contours.lowest_between(points[edge], n, points, weights, width)
            there = points[edge[0]] + at * (points[edge[1]] - points[edge[0]])
            at_place = reference_contours.kernel_total(there, points, weights, width)
            np.testing.assert_allclose([value, at_place], expected, rtol=1e-9, atol=1e-15)

    @settings(max_examples=30)
    @given(seeds, st.floats(0.1, 3))
    def test_segments_inside_connect_what_their_twin_connects(self, seed, level):
        points, weights = cloud(seed, 12)
        edges = np.random.default_rng(seed).integers(0, 12, (20, 2))
        parent = np.arange(12)
        unite_inside(points, edges, np.full(20, 7), points, weights, 1.0, level, parent)
        while (parent[parent] != parent).any():
            parent = parent[parent]
        found = {frozenset(np.flatnonzero(parent == root).tolist()) for root in set(parent.tolist())}
        assert found == reference_contours.components(points, edges.tolist(), 7, points, weights, 1.0, level)

    @given(seeds, st.integers(1, 15), st.integers(0, 30))
    def test_flooding_equals_its_twin(self, seed, n, n_edges):
        rng = np.random.default_rng(seed)
        edges, labels = rng.integers(0, n, (n_edges, 2)), rng.integers(-1, 3, n)
        assert flood(edges, labels).tolist() == reference_contours.flood(edges.tolist(), labels.tolist())

    @settings(max_examples=20)
    @given(seeds)
    def test_ascents_equal_their_twin(self, seed):
        points, weights = cloud(seed, 10)
        ends = ascend(points, points, weights, 0.3, 1e-3, 50)
        expected = [reference_contours.ascent(x, points, weights, 0.3, 1e-3, 50) for x in points]
        np.testing.assert_allclose(ends, expected, atol=1e-9)


class TestDual:
    @settings(max_examples=8)
    @given(seeds, st.floats(0.05, 3), st.sampled_from([0.0, 0.05, 0.3, 0.7]))
    def test_equals_another_solver(self, seed, width, outliers):
        points, counts = cloud(seed, 15)
        sphere = smallest_sphere(points, counts, width, outliers)
        expected = reference_contours.dual(points, counts, width, outliers)
        other = reference_contours.totals(points, points, expected, width)
        np.testing.assert_allclose(sphere.totals(points), other, atol=1e-4 * other.max())

    @pytest.mark.parametrize("outliers", [0.0, 0.1, 0.5])
    def test_totals_are_equal_at_all_free_support_vectors_and_the_level(self, outliers):
        points, counts = cloud(3, 200)
        sphere = smallest_sphere(points, counts, 1.0, outliers)
        free = sphere.support & ~sphere.bounded
        totals = sphere.totals(points)
        assert free.sum() > 2
        np.testing.assert_allclose(totals[free], level_of(totals, counts, outliers), rtol=SLACK)
        assert (totals[sphere.bounded] <= totals[free].min() * (1 + SLACK)).all()

    @pytest.mark.parametrize("outliers", [0.1, 0.4, 0.8])
    def test_outliers_bound_the_share_of_rows_outside(self, outliers):
        points, counts = cloud(5, 300)
        sphere = smallest_sphere(points, counts, 2.0, outliers)
        outside = counts[sphere.totals(points) < level_of(sphere.totals(points), counts, outliers) * (1 - SLACK)].sum()
        inner = counts[sphere.support].sum()
        assert outside <= outliers * counts.sum() <= inner

    def test_counts_are_worth_that_many_equal_rows(self):
        points, counts = cloud(1, 30)
        jittered = np.repeat(points, counts.astype(int), axis=0)
        jittered += 1e-9 * np.random.default_rng(0).normal(size=jittered.shape)
        alike = smallest_sphere(jittered, np.ones(len(jittered)), 0.5, 0.3)
        np.testing.assert_allclose(
            smallest_sphere(points, counts, 0.5, 0.3).totals(points), alike.totals(points), rtol=1e-4
        )

    def test_without_a_sphere_the_weights_are_those_of_the_density(self):
        points, counts = cloud(2, 30)
        np.testing.assert_allclose(smallest_sphere(points, counts, 1.0, 1.0).coefficients, counts / counts.sum())


class TestIris:
    """Ben-Hur et al., section 6: flowers that are wrong, once those outside are given to the nearest cluster."""

    @pytest.mark.parametrize("adjacency", ["complete", "support", "knn"])
    @pytest.mark.parametrize(
        ("n", "width", "outliers", "clusters", "wrong"),
        [(2, 6.0, 0.6, 4, 3), (3, 7.0, 0.7, 3, 4), (4, 9.0, 0.75, 3, 14)],
    )
    def test_has_the_published_clusters(self, n, width, outliers, clusters, wrong, adjacency):
        found, mistakes = wrong_rows(n, width, outliers, adjacency)
        assert (found, mistakes) == (clusters, wrong)

    @pytest.mark.parametrize("adjacency", ["delaunay", "mst", "equilibrium"])
    def test_cheaper_graphs_have_at_least_as_many_clusters_and_no_more_mistakes(self, adjacency):
        found, mistakes = wrong_rows(3, 7.0, 0.7, adjacency)
        assert found >= 3
        assert mistakes <= 4


class TestComponents:
    @pytest.mark.parametrize("adjacency", ADJACENCY)
    def test_two_rings_are_two_components_in_every_graph(self, adjacency):
        points = rings(400, (1.0, 3.0), first=200)[0]
        _, _, labels = components_of(points, np.ones(400), 0.7, 0.0, adjacency)
        assert sorted([*{*labels[:200]}, *{*labels[200:]}]) == [0, 1]

    def test_a_narrow_kernel_makes_every_row_a_cluster_and_a_wide_one_all_rows_one(self):
        points, counts = cloud(0, 50)
        for width, n in ((1e6, 50), (1e-6, 1)):
            assert components_of(points, counts, width, 0.0)[2].max() + 1 == n

    def test_those_merged_first_are_those_with_the_highest_saddle(self):
        rng = np.random.default_rng(0)
        points = rng.normal(0, 0.3, (150, 2)) + np.repeat([[0, 0], [2.5, 0], [9, 0]], 50, axis=0)
        counts = np.ones(150)
        sphere, _, labels = components_of(points, counts, 4.0, 0.2)
        two = merged(sphere, labels, counts, 2)
        assert labels.max() > 1
        assert [{*two[part]} - {-1} for part in (slice(0, 100), slice(100, 150))] == [{0}, {1}]
        assert merged(sphere, labels, counts, 1).max() == 0

    def test_a_point_outside_climbs_to_the_cluster_whose_slope_it_is_on(self):
        points = np.concatenate([np.random.default_rng(0).normal(0, 0.3, (200, 2)), [[0.0, 1.3], [0.0, 1.5]]])
        sphere, level, labels = components_of(points, np.ones(len(points)), 1.0, 0.3)
        assert labels[-1] == -1
        assert UNCLASSIFIED["ascend"](sphere, labels, level)[-1] == 0
        assert UNCLASSIFIED["leave"](sphere, labels, level)[-1] == -1
