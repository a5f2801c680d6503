"""Kernels of paths: their lengths among landmarks and from other rows, and the shapes that they separate."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds

from mdh_dask import HierarchicalKernelMDH, KernelKMeans, KernelPCAFeatures
from mdh_dask.kernels import Connectivity, Isomap
from mdh_dask.kernels.graphs import MOST_LANDMARKS
from mdh_dask.metrics import adjusted_rand_index


def distances(rows):
    return np.sqrt(((rows[:, None] - rows) ** 2).sum(axis=2))


def naive_lengths(steps, joined):
    """Lengths of the best paths by relaxing every pair over every third (Floyd and Warshall)."""
    best = steps.copy()
    for k, i, j in itertools.product(range(len(steps)), repeat=3):
        best[i, j] = min(best[i, j], joined(best[i, k], best[k, j]))
    return best


def lengths_of(matrix):
    return np.sqrt(-2 * matrix)


class TestLandmarks:
    @given(seeds, st.integers(2, 12), st.integers(1, 4))
    def test_connectivity_is_the_least_longest_step(self, seed, n, k):
        rows = np.random.default_rng(seed).normal(size=(n, 2))
        apart = distances(rows)
        core = np.sort(apart, axis=1)[:, min(k, n - 1)]
        steps = np.maximum(apart, np.maximum(core, core[:, None])) * (1 - np.eye(n))
        kernel = Connectivity(n_neighbors=k).fit(rows)
        np.testing.assert_allclose(lengths_of(kernel.gram(rows)), naive_lengths(steps, max), atol=1e-6)
        gram = kernel.gram(rows)
        centring = np.eye(n) - 1 / n
        assert np.linalg.eigvalsh(centring @ gram @ centring).min() > -1e-9

    @given(seeds, st.integers(3, 12), st.integers(1, 4))
    def test_isomap_is_the_shortest_path_over_neighbours(self, seed, n, k):
        rows = np.random.default_rng(seed).normal(size=(n, 2))
        apart = distances(rows)
        linked = apart <= np.sort(apart, axis=1)[:, [min(k, n - 1)]]
        linked |= linked.T
        found = lengths_of(Isomap(n_neighbors=k).fit(rows).gram(rows))
        best = naive_lengths(np.where(linked, apart, np.inf), lambda a, b: a + b)
        known = np.isfinite(best)
        assert (found <= best + 1e-6).all()
        assert np.isfinite(found).all()
        if known.all():
            np.testing.assert_allclose(found, best, atol=1e-6)

    @pytest.mark.parametrize("kernel", [Isomap, Connectivity])
    def test_more_landmarks_than_pairs_can_be_kept_of_are_refused(self, kernel):
        with pytest.raises(ValueError, match=f"expected at most {MOST_LANDMARKS} landmarks"):
            kernel().fit(np.zeros((MOST_LANDMARKS + 1, 1)))


class TestOtherRows:
    @given(seeds)
    def test_paths_from_a_row_go_over_one_of_its_nearest_landmarks(self, seed):
        rng = np.random.default_rng(seed)
        landmarks, rows = rng.normal(size=(20, 2)), rng.normal(size=(5, 2))
        for kernel, joined in ((Isomap(3), np.add), (Connectivity(3), np.maximum)):
            fitted = kernel.fit(landmarks)
            found = lengths_of(fitted.matrix(rows, landmarks))
            for i, row in enumerate(rows):
                steps = np.sqrt(((row - landmarks) ** 2).sum(axis=1))
                near = np.argsort(steps)[:4]
                if joined is np.maximum:
                    steps = np.maximum(steps, np.maximum(fitted.core, steps[near].max()))
                expected = joined(steps[near][:, None], fitted.lengths[near]).min(axis=0)
                np.testing.assert_allclose(found[i], expected, atol=1e-6)


def test_connectivity_separates_rings_and_moons_of_any_distance_across():
    rng = np.random.default_rng(0)
    angle, radius = rng.uniform(0, 2 * np.pi, 1200), np.repeat([1.0, 4.0], 600)
    rows = np.c_[radius * np.cos(angle), radius * np.sin(angle)] + rng.normal(0, 0.1, (1200, 2))
    truth = np.repeat([0, 1], 600)
    features = KernelPCAFeatures(kernel="connectivity", n_landmarks=400)
    labels = KernelKMeans(n_clusters=2, feature_map=features).fit_predict(rows)
    assert adjusted_rand_index(truth, labels) == 1
    tree = HierarchicalKernelMDH(feature_map=features, max_clusters=2, merge=False).fit(rows)
    assert adjusted_rand_index(truth, tree.labels_) > 0.98
