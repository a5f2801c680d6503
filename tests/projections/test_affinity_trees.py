"""Trees that divide the affinities of each branch by their second eigenvector, beside brute force."""

import dask.array as da
import helpers
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris, load_wine
from strategies import seeds

from mdh_dask import (
    AffinityFeatures,
    DivisiveClustering,
    HierarchicalSpectral,
    KernelPCAFeatures,
    SpectralClustering,
)
from mdh_dask.kernels import RBF
from mdh_dask.metrics import adjusted_rand_index, normalized_mutual_information
from mdh_dask.projections import spectral_direction
from mdh_dask.projections.bipartition import second_eigenvalue
from mdh_dask.simulate import gaussian_mixture


def rings(n=600):
    return helpers.rings(n, first=n // 3)[0]


def features_of_groups(seed, n=60, k=3):
    """Positive features, so that all affinities are positive, of groups that have a few in common."""
    rng = np.random.default_rng(seed)
    return rng.uniform(0.1, 2, (n, 1)) * (np.eye(k)[np.arange(n) % k] + rng.uniform(0, 0.3, (n, k)))


def second_of(matrix):
    """The second eigenvalue of the normalised Laplacian, and the rows' entries for the random walk."""
    roots = np.sqrt(matrix.sum(axis=1))
    values, vectors = np.linalg.eigh(np.eye(len(matrix)) - matrix / roots / roots[:, None])
    return values[1], vectors[:, 1] / roots


def cut_of(matrix, upper):
    between = matrix[upper][:, ~upper].sum()
    return between / matrix[upper].sum() + between / matrix[~upper].sum()


def divided(matrix, least_rows):
    """The side of each row by the least cut of all thresholds on the entries, by brute force."""
    entries = second_of(matrix)[1]
    ordered = np.sort(entries)
    masks = [entries > t for t in (ordered[1:] + ordered[:-1]) / 2]
    return min((m for m in masks if min(m.sum(), (~m).sum()) >= least_rows), key=lambda m: cut_of(matrix, m))


def clusters_of(matrix, k, least_rows):
    """Labels by always dividing the cluster of the least second eigenvalue."""
    clusters = [np.arange(len(matrix))]
    while len(clusters) < k:
        worst = min(range(len(clusters)), key=lambda i: second_of(matrix[np.ix_(clusters[i], clusters[i])])[0])
        own = clusters.pop(worst)
        upper = divided(matrix[np.ix_(own, own)], least_rows)
        clusters += [own[upper], own[~upper]]
    labels = np.empty(len(matrix), int)
    for i, own in enumerate(clusters):
        labels[own] = i
    return labels


class TestDirection:
    @pytest.mark.slow
    @given(seeds, st.integers(2, 5), st.integers(1, 8))
    def test_it_divides_rows_as_brute_force_does(self, seed, k, least_rows):
        rows = features_of_groups(seed, k=k)
        directions, thresholds = spectral_direction(rows, np.random.default_rng(0), min_rows=least_rows)
        upper, expected = rows @ directions[0] > thresholds[0], divided(rows @ rows.T, least_rows)
        assert cut_of(rows @ rows.T, upper) == pytest.approx(cut_of(rows @ rows.T, expected), rel=1e-6)
        assert thresholds.tolist() == [0.0]

    @pytest.mark.slow
    @given(seeds, st.integers(2, 5))
    def test_the_second_eigenvalue_is_that_of_the_laplacian(self, seed, k):
        rows = features_of_groups(seed, k=k)
        assert second_eigenvalue(rows) == pytest.approx(second_of(rows @ rows.T)[0], abs=1e-9)

    def test_separate_groups_are_not_cut_though_several_eigenvalues_are_one(self):
        rows = np.repeat(np.eye(3), [20, 30, 50], axis=0) * np.random.default_rng(0).uniform(1, 2, (100, 1))
        upper = rows @ spectral_direction(rows, np.random.default_rng(0))[0][0] > 0
        assert all(len({*upper[own].tolist()}) == 1 for own in np.split(np.arange(100), [20, 50]))
        assert 0 < upper.sum() < 100

    @pytest.mark.parametrize("rows", [np.ones((9, 3)), np.ones((1, 3)), np.ones((9, 1)), np.zeros((9, 3))])
    def test_equal_rows_have_no_direction(self, rows):
        assert len(spectral_direction(rows, np.random.default_rng(0))[0]) == 0


class TestTree:
    @pytest.mark.slow
    @pytest.mark.parametrize("kernel", ["rbf", "local_scaling"])
    @pytest.mark.parametrize(("rows", "k"), [(load_wine, 3), (load_iris, 4), (rings, 5)])
    def test_with_all_rows_as_landmarks_clusters_are_those_of_brute_force(self, rows, k, kernel):
        X = rows(240) if rows is rings else rows().data
        features = AffinityFeatures(kernel=kernel, n_landmarks=len(X), n_components=len(X))
        model = HierarchicalSpectral(max_clusters=k, feature_map=features).fit(X)
        mapped = np.asarray(model.feature_map_.transform(X), float)
        expected = clusters_of(mapped @ mapped.T, k, np.sqrt(len(X)))
        assert adjusted_rand_index(expected, model.labels_) == 1
        if kernel == "rbf":  # local scaling has negative eigenvalues, which features leave out
            base = model.feature_map_.map_
            np.testing.assert_allclose(mapped @ mapped.T, base.kernel.matrix(*[base.points(X)] * 2), atol=1e-3)

    def test_rings_are_clusters_for_any_number_of_components(self):
        for n_components in (3, 30):
            model = HierarchicalSpectral(max_clusters=2, feature_map=AffinityFeatures(n_components=n_components))
            assert np.bincount(model.fit_predict(rings())).tolist() in ([200, 400], [400, 200])

    @pytest.mark.slow
    def test_the_number_of_clusters_is_found_as_by_spectral_clustering(self):
        X, y = (part.compute() for part in gaussian_mixture(1500, 5, 6, sd=0.5, random_state=3))
        features = AffinityFeatures(n_landmarks=300)
        model = HierarchicalSpectral(feature_map=features).fit(X)
        assert model.n_clusters_ == SpectralClustering(n_landmarks=300).fit(X).n_clusters_ == 6
        assert normalized_mutual_information(y, model.labels_) > 0.99
        assert HierarchicalSpectral(feature_map=features, n_clusters=4).fit(X).n_clusters_ == 4

    def test_beyond_the_sample_passes_are_as_stated(self):
        X = np.concatenate([rings(3000), rings(1500) * 0.2 + [12, 0]])
        features = AffinityFeatures(kernel=RBF(width=0.5), n_landmarks=100, n_components=30)
        model = HierarchicalSpectral(max_clusters=4, feature_map=features, sample_size=500)
        assert model.fit(da.from_array(X, chunks=(701, 2))).n_passes_ == 3
        assert model.n_clusters_ == 4

    def test_directions_for_a_picture_separate_the_groups(self):
        X = np.random.default_rng(0).normal(size=(600, 3)) + np.repeat(9 * np.eye(3), 200, axis=0)
        model = HierarchicalSpectral(max_clusters=3, feature_map=AffinityFeatures(kernel="rbf")).fit(X)
        plane = model.feature_map_.transform(X) @ model.directions(X, 2).T
        rays = plane / np.linalg.norm(plane, axis=1, keepdims=True)  # eigenvectors of three equal groups may be turned
        nearest = (rays @ rays.reshape(3, 200, 2).mean(axis=1).T).argmax(axis=1)
        np.testing.assert_array_equal(nearest, np.repeat(np.arange(3), 200))

    def test_an_update_divides_new_rows_by_hyperplanes_through_the_origin_too(self):
        old, new = (
            np.random.default_rng(seed).normal(0, 0.5, (300, 2)) + np.repeat([[0, 0], [6, 0], [0, 6]], 100, axis=0)
            for seed in (0, 1)
        )
        model = HierarchicalSpectral(max_clusters=2, feature_map="rbf").fit(old)
        model.set_params(max_clusters=3).partial_fit(new)
        assert adjusted_rand_index(model.predict(new), np.repeat([0, 1, 2], 100)) == 1
        np.testing.assert_allclose(model.tree_.thresholds[model.tree_.left >= 0], 0, atol=1e-12)


class TestRefused:
    def test_other_features_than_affinities(self):
        for feature_map in (None, "polynomial", KernelPCAFeatures()):
            with pytest.raises(ValueError, match="The 'feature_map' parameter of HierarchicalSpectral"):
                HierarchicalSpectral(feature_map=feature_map).fit(rings())

    def test_the_order_of_affinities_without_their_directions(self):
        with pytest.raises(ValueError, match="expected projection='spectral' for order='eigenvalue'"):
            DivisiveClustering(order="eigenvalue", max_clusters=3).fit(rings())

    def test_a_kernel_with_negative_values(self):
        with pytest.raises(ValueError, match="expected a kernel without negative values"):
            HierarchicalSpectral(feature_map=AffinityFeatures(kernel="cosine")).fit(rings())
