"""Independent components: known sources come back, projections are white, cumulants are those of the definition."""

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds

from mdh_dask import ICATree, PCATree
from mdh_dask.projections import leading_components
from mdh_dask.projections.pca import cumulant_matrices, independent_components, joint_diagonaliser


def made_sources(seed, n):
    """Two uniform and two Laplace sources of variance one."""
    rng = np.random.default_rng(seed)
    flat = rng.uniform(-np.sqrt(3), np.sqrt(3), (n, 2))
    return np.column_stack([flat, rng.laplace(scale=np.sqrt(0.5), size=(n, 2))])


@pytest.mark.parametrize("seed", range(4))
def test_mixed_sources_come_back_up_to_sign_and_order(seed):
    sources = made_sources(seed, 20000)
    mixing = np.random.default_rng(seed + 100).normal(size=(4, 6))
    rows = sources @ mixing + 5
    found = np.abs(independent_components(rows, 4) @ mixing.T)
    assert sorted(found.argmax(axis=1)) == [0, 1, 2, 3]
    np.testing.assert_allclose(np.sort(found, axis=1)[:, -1], 1, atol=0.05)
    assert np.sort(found, axis=1)[:, :-1].max() < 0.1
    # The Laplace sources have the larger kurtosis: 3 against -1.2.
    assert set(found.argmax(axis=1)[:2]) == {2, 3}


@given(seeds, st.integers(5, 200), st.integers(1, 6), st.integers(1, 8))
def test_projections_are_white_and_kurtosis_falls(seed, n, d, k):
    rng = np.random.default_rng(seed)
    rows = rng.exponential(size=(n, d)) @ rng.normal(size=(d, d)) + 50
    V = independent_components(rows, k)
    projections = (rows - rows.mean(axis=0)) @ V.T
    assert 1 <= len(V) <= min(k, d, n - 1)
    np.testing.assert_allclose(projections.T @ projections / n, np.eye(len(V)), atol=1e-5)
    excess = np.abs((projections**4).mean(axis=0) - 3)
    assert np.all(np.diff(excess) <= 1e-6 * (1 + excess[0]))


def test_a_pair_of_clusters_of_equal_size_comes_first():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2000, 5))
    rows[:1000, 2] += 8
    V = independent_components(rows, 5)
    assert abs(V[0, 2]) > 5 * np.abs(np.delete(V[0], 2)).max() / 2


@given(seeds, st.integers(3, 30), st.integers(1, 4))
def test_cumulants_are_those_of_the_definition(seed, n, k):
    white = np.random.default_rng(seed).normal(size=(n, k))
    matrices = iter(cumulant_matrices(white))
    eye = np.eye(k)
    for p in range(k):
        for q in range(p, k):
            M = next(matrices)
            for i in range(k):
                for j in range(k):
                    fourth = np.mean(white[:, p] * white[:, q] * white[:, i] * white[:, j])
                    pairs = eye[p, q] * eye[i, j] + eye[p, i] * eye[q, j] + eye[p, j] * eye[q, i]
                    assert M[i, j] == pytest.approx((fourth - pairs) * (1 if p == q else 2**0.5), abs=1e-9)
    assert next(matrices, None) is None


@given(seeds, st.integers(1, 6))
def test_matrices_that_share_axes_become_diagonal(seed, k):
    rng = np.random.default_rng(seed)
    axes, _ = np.linalg.qr(rng.normal(size=(k, k)))
    matrices = np.einsum("ij,mj,kj->mik", axes, rng.normal(size=(5, k)), axes)
    R = joint_diagonaliser(matrices)
    np.testing.assert_allclose(R.T @ R, np.eye(k), atol=1e-10)
    rotated = R.T @ matrices @ R
    np.testing.assert_allclose(rotated - rotated * np.eye(k), 0, atol=1e-7)


@given(seeds, st.integers(1, 6), st.integers(1, 8), st.sampled_from([1e-8, 0.1]))
def test_the_rotation_equals_that_of_its_twin(seed, k, n_matrices, angle):
    matrices = np.random.default_rng(seed).normal(size=(n_matrices, k, k))
    matrices = matrices + matrices.swapaxes(1, 2)
    expected = reference.joint_diagonaliser(matrices, angle, 4)
    np.testing.assert_allclose(joint_diagonaliser(matrices, angle, 4), expected, atol=1e-6)


def test_few_directions_are_those_of_the_largest_kurtosis_among_more_that_were_unmixed():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2000, 5)) * [9.0, 5.0, 1.0, 1.0, 1.0]
    rows[:1000, 2] += 4  # the only valley, along a principal component of less variance than the first
    np.testing.assert_array_equal(leading_components(rows, 1), independent_components(rows, 5)[:1])
    np.testing.assert_array_equal(leading_components(rows, 2, 3), independent_components(rows, 3)[:2])
    np.testing.assert_array_equal(leading_components(rows, 3, 1), independent_components(rows, 3))
    one = {"n_projections": 1, "scale": False}
    assert PCATree(**one).fit(rows).n_clusters_ == ICATree(**one).as_divisive(n_unmixed=1).fit(rows).n_clusters_ == 1
    assert ICATree(**one).fit(rows).n_clusters_ == 2
