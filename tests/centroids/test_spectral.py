"""The spectral embedding of all rows by landmarks, and its clusters."""

import itertools

import dask.array as da
import helpers
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.cluster import SpectralClustering as InMemory
from sklearn.datasets import load_iris, load_wine
from strategies import seeds

from mdh_dask import RandomProjectionTree, SpectralClustering, SpectralFeatures
from mdh_dask._jit.rows import align_columns
from mdh_dask.io import codec
from mdh_dask.kernels import RBF, LocalScaling, nystrom_map
from mdh_dask.kernels.spectral import TURNS, AffinitySums, alignments, by_alignment, spectral_map
from mdh_dask.metrics import normalized_mutual_information


def rings(n=900):
    return helpers.rings(n, first=n // 3)[0]


def wine():
    return load_wine().data


def iris():
    return load_iris().data


def affinities(model, X):
    """The kernel matrix of rows that are all landmarks."""
    base = model.feature_map_.map_.base
    matrix = base.kernel.matrix(base.points(X), base.points(X))
    return (matrix + matrix.T) / 2


def eigenvectors(matrix, k):
    roots = np.sqrt(matrix.sum(axis=1))
    values, vectors = np.linalg.eigh(matrix / roots / roots[:, None])
    entries = vectors[:, : -k - 1 : -1]
    return values[::-1][:k], entries / np.linalg.norm(entries, axis=1, keepdims=True)


class TestAllRowsAsLandmarks:
    @pytest.mark.slow
    @pytest.mark.parametrize("kernel", [RBF(), LocalScaling()])
    @pytest.mark.parametrize(("rows", "k"), [(wine, 3), (iris, 3), (rings, 2)])
    def test_rows_are_those_of_the_eigenvectors_of_the_normalised_affinities(self, rows, k, kernel):
        X = rows()
        model = SpectralClustering(n_clusters=k, kernel=kernel, n_landmarks=len(X)).fit(X)
        values, entries = eigenvectors(affinities(model, X), k)
        np.testing.assert_allclose(model.feature_map_.eigenvalues_, values, atol=1e-4)
        features = model.feature_map_.transform(X)
        np.testing.assert_allclose(features @ features.T, entries @ entries.T, atol=0.02)
        expected = KMeans(k, n_init=10, random_state=0).fit_predict(entries)
        assert normalized_mutual_information(expected, model.labels_) >= 0.95

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("rows", "k", "kernel"), [(wine, 3, RBF()), (iris, 3, LocalScaling()), (rings, 2, LocalScaling())]
    )
    def test_clusters_are_those_of_scikit_learn(self, rows, k, kernel):
        X = rows()
        model = SpectralClustering(n_clusters=k, kernel=kernel, n_landmarks=len(X)).fit(X)
        expected = InMemory(k, affinity="precomputed", n_init=10, random_state=0).fit_predict(affinities(model, X))
        assert normalized_mutual_information(expected, model.labels_) >= 0.95


class TestAlignment:
    @given(seeds, st.integers(2, 5))
    def test_a_sweep_equals_its_twin_and_only_rotates(self, seed, k):
        rng = np.random.default_rng(seed)
        entries = rng.normal(size=(12, k)) * rng.integers(0, 2, (12, k))
        squares = np.square(entries).sum(axis=1) + 1e-300
        turned, (expected, total) = entries.copy(), naive_sweep(entries, TURNS)
        assert align_columns(turned, squares, TURNS) == pytest.approx(total)
        np.testing.assert_allclose(turned, expected, atol=1e-9)
        np.testing.assert_allclose(np.square(turned).sum(axis=1), np.square(entries).sum(axis=1), atol=1e-9)

    @given(seeds, st.integers(2, 6))
    def test_rotated_indicators_of_groups_are_aligned_and_more_columns_are_not(self, seed, k):
        rng = np.random.default_rng(seed)
        groups = np.eye(k)[np.arange(240) % k]
        entries = np.c_[groups @ np.linalg.qr(rng.normal(size=(k, k)))[0], rng.normal(size=(240, 2))]
        found = alignments(entries)
        assert found[k - 2] > 0.999
        assert (found[k - 1 :] < 0.999).all()
        assert by_alignment(entries, k + 2) == k


def naive_sweep(entries, turns):
    """Rotate pairs of columns, each by the angle of least cost, the first of several."""
    entries = [list(map(float, row)) for row in entries]
    k, total = len(entries[0]), 0.0
    for p, q in itertools.combinations(range(k), 2):
        best, total = entries, np.inf
        for cosine, sine in turns:
            turned = [list(row) for row in entries]
            for row, (a, b) in zip(turned, [(row[p], row[q]) for row in entries]):
                row[p], row[q] = cosine * a + sine * b, cosine * b - sine * a
            cost = sum(
                (sum(x * x for x in row) + 1e-300) / max(1e-300, max(x * x for x in turn))
                for row, turn in zip(entries, turned)
            )
            if cost < total * (1 - 1e-9):
                best, total = turned, cost
        entries = best
    return np.array(entries), total / len(entries)


class TestManyRows:
    def test_sums_of_affinities_that_leave_64_bits_are_refused(self):
        X = np.ones((4, 2))
        base = nystrom_map(X[:2], RBF(width=0.5), np.zeros(2), np.ones(2), variance=1.0, centred=False)
        sums = AffinitySums(base)
        most = np.full(2, 2**62)
        with pytest.raises(
            ValueError, match=r"add up to at most .* for each landmark; got more: divide all similarities"
        ):
            sums.combine(most, most)

    def test_degrees_are_sums_over_all_rows(self):
        X, kernel = rings(2000), RBF(width=0.5)
        base = nystrom_map(X[:200], kernel, np.zeros(2), np.ones(2), variance=1.0, centred=False)
        sums = AffinitySums(base)
        parts = [sums.chunk(0, X[:713]), sums.chunk(713, X[713:])]
        found = sums.finalise(sums.combine(*parts))
        np.testing.assert_allclose(found, base.kernel.matrix(X, X[:200]).sum(axis=0), rtol=1e-5)
        np.testing.assert_array_equal(found, sums.finalise(sums.chunk(0, X)))
        of_all = spectral_map(base, X, None, 2, 9)
        of_sample = spectral_map(base, X[:1000], found, 2, 9)
        alike = np.abs((of_all(X) * of_sample(X)).sum(axis=1))
        assert np.quantile(alike, 0.05) > 0.9

    def test_passes_are_as_stated(self):
        X = da.from_array(rings(4000), chunks=(999, 2))
        assert SpectralClustering(n_clusters=2, n_landmarks=200).fit(X).n_passes_ == 3

    def test_a_journal_tells_the_sums_of_one_map_from_those_of_another(self):
        bases = [nystrom_map(rings(90), RBF(width=w), np.zeros(2), np.ones(2), centred=False) for w in (1.0, 1.0, 2.0)]
        keys = [codec.digest(AffinitySums(base)) for base in bases]
        assert keys[0] == keys[1] != keys[2]


class TestFaces:
    def test_the_number_of_separated_clusters_is_found(self):
        X = np.random.default_rng(0).normal(size=(600, 3)) + np.repeat(9 * np.eye(3), 200, axis=0)
        model = SpectralClustering(kernel="rbf").fit(X)
        assert model.n_clusters_ == model.feature_map_.n_components_ == 3
        assert SpectralClustering(kernel="rbf", max_clusters=2).fit(X).n_clusters_ <= 2
        equal = np.repeat(9 * np.eye(3), 20, axis=0)  # as many eigenvalues other than zero as clusters
        assert SpectralClustering().fit(equal).n_clusters_ == 3

    def test_trees_split_the_embedding(self):
        assert (
            RandomProjectionTree(feature_map=SpectralFeatures(n_components=2), max_clusters=2).fit(rings()).n_clusters_
            == 2
        )

    def test_a_kernel_with_negative_values_is_refused(self):
        with pytest.raises(ValueError, match="expected a kernel without negative values"):
            SpectralFeatures(kernel="cosine").fit(rings())
