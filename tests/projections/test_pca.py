"""Principal components against the singular value decomposition, and where rows span fewer dimensions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds

from mdh_dask.projections import pca, principal_components
from mdh_dask.projections.pca import independent_components


def by_svd(rows, k):
    _, _, V = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    V = V[:k]
    return V * np.sign(V[np.arange(len(V)), np.abs(V).argmax(axis=1)])[:, None]


def made_rows(seed, n, d):
    return np.random.default_rng(seed).normal(size=(n, d)) * np.geomspace(5, 0.5, d) + 100


@given(seeds, st.integers(8, 60), st.integers(1, 6), st.integers(1, 8))
def test_components_are_the_leading_right_singular_vectors(seed, n, d, k):
    rows = made_rows(seed, n, d)
    V = principal_components(rows, k)
    assert V.shape == (min(k, d), d)
    np.testing.assert_allclose(V @ V.T, np.eye(len(V)), atol=1e-10)
    variances = np.var(rows @ V.T, axis=0)
    assert np.all(np.diff(variances) <= 1e-9 * variances[0])
    values = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False) ** 2 / n
    np.testing.assert_allclose(variances, values[: len(V)], rtol=1e-8)


@pytest.mark.parametrize("shape", [(60, 30), (30, 60), (70, 50)])
def test_all_ways_of_computing_them_agree(shape, monkeypatch):
    rows = made_rows(3, *shape)
    expected = by_svd(rows, 4)
    for limit in (1000, 40, 5):
        monkeypatch.setattr(pca, "LARGEST_EXACT", limit)
        np.testing.assert_allclose(principal_components(rows, 4), expected, atol=1e-7)


@pytest.mark.slow
def test_thousands_of_features_are_the_same_every_time():
    rows = np.random.default_rng(0).normal(size=(1100, 1200)).astype(np.float32)
    rows[:500, :20] += 2
    V = principal_components(rows, 2)
    np.testing.assert_array_equal(V, principal_components(rows, 2))
    np.testing.assert_allclose(np.abs(V[0, :20]), np.sqrt(1 / 20), atol=0.05)


@pytest.mark.parametrize("components", [principal_components, independent_components])
def test_no_more_directions_than_dimensions_that_the_rows_span(components):
    rows = made_rows(0, 50, 2)
    wide = np.column_stack([rows, rows @ [1.0, 2.0], np.full(50, 7.0), rows[:, 0]])
    V = components(wide, 5)
    assert V.shape == (2, 5)
    np.testing.assert_allclose(V[:, 3], 0, atol=1e-12)


@pytest.mark.parametrize("components", [principal_components, independent_components])
@pytest.mark.parametrize("rows", [np.zeros((1, 3)), np.full((9, 3), 0.1), np.full((9, 3), 3e7, np.float32)])
def test_equal_rows_give_one_direction_of_length_one(rows, components):
    V = components(rows, 2)
    assert V.shape == (1, 3)
    assert np.linalg.norm(V) == 1


@pytest.mark.parametrize(
    ("rows", "k", "message"),
    [
        (np.zeros(3), 1, "shape"),
        (np.zeros((0, 3)), 1, "at least one of both"),
        (np.zeros((3, 0)), 1, "at least one of both"),
        (np.array([[0.0, np.nan]]), 1, "finite"),
    ],
)
def test_bad_input_is_refused(rows, k, message):
    with pytest.raises(ValueError, match=message):
        principal_components(rows, k)
