"""Moments merge, keep their digits beside a large mean, and agree with scipy."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mdh_dask.density import moments as module
from mdh_dask.density.moments import kurtosis, merge_moments, moments_of, moments_of_counts, variance

blocks = hnp.arrays(np.float64, st.tuples(st.integers(0, 12), st.just(2)), elements=st.integers(-50, 50).map(float))


def exact_moments(column):
    """Return mean, m2, m3 and m4 of one column in rational arithmetic, rounded at the end."""
    values = [Fraction(float(value)) for value in column]
    mean = sum(values) / len(values)
    return [float(mean)] + [float(sum((value - mean) ** p for value in values)) for p in (2, 3, 4)]


def assert_same_moments(actual, expected, **tolerance):
    for field, a, b in zip(actual._fields, actual, expected):
        np.testing.assert_allclose(a, b, err_msg=field, **tolerance)


@given(blocks, blocks)
def test_merged_moments_are_those_of_all_rows(a, b):
    merged = merge_moments(moments_of(a), moments_of(b))
    assert_same_moments(merged, moments_of(np.concatenate([a, b])), rtol=1e-12, atol=1e-6)


@given(blocks, blocks, blocks)
def test_merging_is_associative(a, b, c):
    a, b, c = moments_of(a), moments_of(b), moments_of(c)
    left, right = merge_moments(merge_moments(a, b), c), merge_moments(a, merge_moments(b, c))
    assert_same_moments(left, right, rtol=1e-12, atol=1e-6)


@given(blocks)
def test_merging_with_no_rows_changes_nothing(block):
    moments, nothing = moments_of(block), moments_of(block[:0])
    assert_same_moments(merge_moments(moments, nothing), moments, rtol=0)
    assert_same_moments(merge_moments(nothing, moments), moments, rtol=0)


def test_columns_without_rows_merge_beside_columns_with_rows():
    left = moments_of_counts([[0, 0], [3, 1]], origin=1e300, width=1.0)
    right = moments_of_counts([[1, 4], [0, 0]], origin=0.0, width=1.0)
    merged = merge_moments(left, right)
    np.testing.assert_array_equal(merged.mean, [right.mean[0], left.mean[1]])
    np.testing.assert_array_equal(merged.m4, [right.m4[0], left.m4[1]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
def test_moments_agree_with_scipy(dtype):
    X = (100 * np.random.default_rng(0).gamma(2.0, size=(5000, 3))).astype(dtype)
    moments = moments_of(X)
    expected = scipy.stats.describe(X.astype(np.float64), ddof=1)
    np.testing.assert_array_equal(moments.n, 5000)
    np.testing.assert_allclose(moments.mean, expected.mean, rtol=1e-12)
    np.testing.assert_allclose(variance(moments, ddof=1), expected.variance, rtol=1e-12)
    np.testing.assert_allclose(np.sqrt(5000) * moments.m3 / moments.m2**1.5, expected.skewness, rtol=1e-12)
    np.testing.assert_allclose(kurtosis(moments), expected.kurtosis + 3.0, rtol=1e-12)


def test_a_large_mean_costs_no_digits():
    X = 1e8 + np.random.default_rng(0).exponential(size=(300, 2))
    moments = moments_of(X)
    exact = np.array([exact_moments(column) for column in X.T]).T
    for actual, expected in zip(moments[1:], exact):
        np.testing.assert_allclose(actual, expected, rtol=1e-13)


def test_merging_blocks_with_a_large_mean_keeps_what_the_rounded_means_allow():
    X = 1e8 + np.random.default_rng(0).exponential(size=(300, 1))
    merged = merge_moments(moments_of(X[:100]), moments_of(X[100:]))
    np.testing.assert_allclose(np.ravel(merged[1:]), exact_moments(X[:, 0]), rtol=1e-7)


def test_slabs_of_any_size_give_the_same_moments(monkeypatch):
    X = np.random.default_rng(0).standard_normal((101, 3))
    whole = moments_of(X)
    monkeypatch.setattr(module, "SLAB_VALUES", 21)
    assert_same_moments(moments_of(X), whole, rtol=1e-11, atol=1e-12)


def test_a_constant_column_has_exactly_no_spread():
    moments = moments_of(np.full((1000, 1), 0.1))
    assert moments.mean == 0.1
    assert moments.m2 == moments.m3 == moments.m4 == 0.0
    assert variance(moments) == 0.0
    assert np.isnan(kurtosis(moments)).all()


def test_one_row_is_its_own_mean():
    moments = moments_of(np.array([[2.5, -1e9]]))
    np.testing.assert_array_equal(moments.mean, [2.5, -1e9])
    np.testing.assert_array_equal(variance(moments), 0.0)
    assert np.isnan(variance(moments, ddof=1)).all()


def test_no_rows_have_no_variance():
    moments = moments_of(np.empty((0, 2)))
    assert moments.n.tolist() == [0, 0]
    assert np.isnan(variance(moments)).all()
    assert np.isnan(kurtosis(moments)).all()


def test_kurtosis_of_known_distributions():
    X = np.random.default_rng(0).standard_normal((200_000, 1))
    assert kurtosis(moments_of(X))[0] == pytest.approx(3.0, abs=0.05)
    assert kurtosis(moments_of_counts(np.ones((1, 2000)), 0.0, 1.0))[0] == pytest.approx(1.8, abs=1e-5)


@given(
    hnp.arrays(np.int64, (2, 6), elements=st.integers(0, 9)),
    st.tuples(st.integers(-9, 9), st.integers(-9, 9)),
    st.tuples(st.integers(1, 9), st.integers(1, 9)),
)
def test_moments_of_counts_are_those_of_the_bin_centres(counts, origin, width):
    origin, width = np.array(origin, dtype=float), np.array(width) / 2
    moments = moments_of_counts(counts, origin, width)
    assert moments.n.dtype == np.int64
    for row in range(2):
        centres = origin[row] + width[row] * (np.arange(6) + 0.5)
        expected = moments_of(np.repeat(centres, counts[row])[:, None])
        for actual, value in zip(moments, expected):
            assert actual[row] == pytest.approx(value[0], rel=1e-12, abs=1e-8)


@pytest.mark.parametrize("shape", [(3,), (2, 2, 2)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ValueError, match=r"X must have shape \(n_rows, n_columns\), got .*; reshape"):
        moments_of(np.zeros(shape))
    with pytest.raises(ValueError, match=r"counts must have shape \(n_directions, n_bins\), got"):
        moments_of_counts(np.zeros(shape), 0.0, 1.0)
