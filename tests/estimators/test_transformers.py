"""Transformers: kernel principal components, and columns with their products."""

import dask.array as da
import numpy as np
import pytest
from helpers import counted_computes, in_turns, noting_reads, rings
from sklearn.decomposition import KernelPCA

from mdh_dask import HierarchicalMDH, KernelPCAFeatures, ProjectionPursuitTree, QuadraticFeatures
from mdh_dask.kernels import KERNELS, LANDMARKS, RBF
from mdh_dask.metrics import adjusted_rand_index
from mdh_dask.simulate import gaussian_mixture

QUICK = {"n_landmarks": 60, "n_components": 4}
NAMES = [name for name in KERNELS if name != "precomputed"]


@pytest.fixture(scope="module")
def rows():
    return gaussian_mixture(1000, 5, 3, sd=1.0, random_state=1)[0].compute()


@pytest.mark.parametrize(("kernel", "method"), in_turns(NAMES, LANDMARKS))
def test_every_kernel_has_features_from_every_kind_of_landmarks(rows, kernel, method):
    model = KernelPCAFeatures(kernel=kernel, landmark_method=method, **QUICK)
    features = model.fit_transform(rows)
    assert features.shape == (1000, 4)
    assert features.dtype == np.float32
    assert np.isfinite(features).all()
    assert len(np.unique(model.landmarks_)) == len(model.landmarks_) == 60
    assert (np.diff(model.eigenvalues_) <= 0).all()
    assert 0 < model.explained_variance_ratio_.sum() <= 1


def test_with_fewer_rows_than_landmarks_it_is_kernel_pca_of_scaled_rows(rows):
    X = rows[:200]
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    model = KernelPCAFeatures(kernel=RBF(width=1.5), n_components=5).fit(X)
    expected = KernelPCA(5, kernel="rbf", gamma=1 / (2 * 1.5**2)).fit(scaled)
    np.testing.assert_array_equal(model.landmarks_, np.arange(200))
    # Scales are rounded to twelve bits.
    for some, standard in ((X, scaled), (rows[200:300], (rows[200:300] - X.mean(axis=0)) / X.std(axis=0))):
        np.testing.assert_allclose(np.abs(model.transform(some)), np.abs(expected.transform(standard)), atol=2e-3)
    np.testing.assert_allclose(model.eigenvalues_ * 200, expected.eigenvalues_, rtol=1e-3)


def test_without_scaling_the_kernel_is_that_of_the_rows_as_they_are(rows):
    X = rows[:100].astype(float) + 3
    for name in ("cosine", "polynomial", "quadratic"):
        model = KernelPCAFeatures(kernel=name, scale=False, n_components=3).fit(X)
        expected = KernelPCA(3, kernel="precomputed").fit_transform(KERNELS[name]().fit(X).gram(X))
        np.testing.assert_allclose(np.abs(model.transform(X)), np.abs(expected), rtol=1e-3, atol=1e-4)


def test_fitting_is_one_pass_and_transforming_is_lazy(rows):
    X, reads = noting_reads(da.from_array(rows, chunks=(100, 5)))
    with counted_computes() as computes:
        model = KernelPCAFeatures(**QUICK).fit(X)
        assert (len(computes), sum(reads)) == (1, 1000)
        features = model.transform(X)
        assert (len(computes), sum(reads)) == (1, 1000)
        features.compute()
    assert sum(reads) == 2000


def test_a_function_is_a_kernel(rows):
    given = KernelPCAFeatures(kernel=lambda A, B: A @ B.T + (A @ B.T) ** 2, **QUICK).fit_transform(rows)
    np.testing.assert_allclose(given, KernelPCAFeatures(kernel="quadratic", **QUICK).fit_transform(rows), atol=1e-3)


def test_quadratic_features_are_the_columns_and_each_product_once():
    X = np.random.default_rng(0).normal(3, 2, (50, 3))
    features = QuadraticFeatures(scale=False).fit_transform(X)
    a, b, c = X.T
    expected = np.column_stack([a, b, c, a * a, a * b, a * c, b * b, b * c, c * c])
    np.testing.assert_allclose(features, expected, rtol=1e-6)


def test_scaled_quadratic_features_have_unit_variance_and_squares_are_not_their_columns_again():
    X = np.random.default_rng(0).normal(1000, 2, (2000, 3)) * [1, 1e-3, 1e3]
    features = QuadraticFeatures().fit_transform(X)
    np.testing.assert_allclose(features.std(axis=0), 1, rtol=0.01)
    assert np.abs(np.corrcoef(features.T) - np.eye(9)).max() < 0.1


@pytest.mark.slow
def test_one_split_parts_a_ball_from_the_ring_around_it_that_no_line_parts():
    X, y = rings(1000, (0.5, 5.0), sd=0.2, first=500)
    X = X * [1.0, 100.0] + [50.0, -3.0]  # far from the origin
    for method in (ProjectionPursuitTree, HierarchicalMDH):
        # More splits would cut the ring, which has valleys across its arcs.
        model = method(feature_map="products").as_divisive(max_levels=1).fit(X)
        assert model.n_clusters_ == 2
        assert adjusted_rand_index(y, model.labels_) > 0.99
    assert adjusted_rand_index(y, ProjectionPursuitTree(max_clusters=2).fit(X).labels_) < 0.2


def test_more_columns_than_are_multiplied_are_refused_before_any_work():
    X = da.from_array(np.ones((100, 61))).map_blocks(lambda block: pytest.fail("rows were read"), meta=np.ones((0, 0)))
    with pytest.raises(ValueError, match=r"at most 60 columns .* got 61\..*feature_map='quadratic'"):
        QuadraticFeatures().fit(X)
