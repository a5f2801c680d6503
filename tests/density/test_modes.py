"""Relative depths and unimodal fits against brute force."""

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize
from strategies import histograms

from mdh_dask.density.kde import relative_depth, unimodal_fit

densities = arrays(float, st.integers(1, 30), elements=st.floats(0, 10) | st.sampled_from([0.0, 1.0, 2.0]))


class TestRelativeDepth:
    @given(densities, st.floats(1e-6, 1))
    def test_is_its_definition(self, density, floor):
        expected = reference.relative_depth(density.tolist(), floor)
        np.testing.assert_allclose(relative_depth(density, np.array(floor)), expected, rtol=1e-12)

    @given(densities)
    def test_is_zero_everywhere_just_where_there_is_one_mode(self, density):
        assert (relative_depth(density).max() > 0) == (len(reference.modes(density.tolist())) > 1)

    @given(arrays(float, (3, 7), elements=st.floats(0, 5)), arrays(float, 3, elements=st.floats(0.01, 1)))
    def test_stacks_are_taken_one_by_one(self, density, floor):
        expected = [relative_depth(*one) for one in zip(density, floor)]
        np.testing.assert_array_equal(relative_depth(density, floor), expected)

    def test_an_empty_gap_has_a_finite_depth(self):
        depth = relative_depth(np.array([1.0, 0.0, 1.0]))
        assert np.isfinite(depth).all()
        assert relative_depth(np.array([1.0, 0.0, 2.0]), np.array(0.1))[1] == pytest.approx(10)


def best_unimodal(counts, mode):
    """The least-squares fit by quadratic programming."""
    n = len(counts)
    rises = [{"type": "ineq", "fun": lambda f, i=i: f[i + 1] - f[i]} for i in range(mode)]
    falls = [{"type": "ineq", "fun": lambda f, i=i: f[i] - f[i + 1]} for i in range(mode, n - 1)]
    start = np.full(n, counts.mean())
    return minimize(lambda f: ((f - counts) ** 2).sum(), start, jac=lambda f: 2 * (f - counts),
                    constraints=rises + falls, method="SLSQP", options={"ftol": 1e-14, "maxiter": 500}).x  # fmt: skip


fits = histograms(max_bins=7).filter(np.any).flatmap(lambda c: st.tuples(st.just(c), st.integers(0, len(c) - 1)))


class TestUnimodalFit:
    @given(fits)
    def test_rises_to_the_mode_falls_after_it_and_sums_to_one(self, case):
        counts, mode = case
        fit = unimodal_fit(counts, mode)
        assert (np.diff(fit[: mode + 1]) >= -1e-15).all()
        assert (np.diff(fit[mode:]) <= 1e-15).all()
        assert (fit >= 0).all()
        assert fit.sum() == pytest.approx(1)

    @settings(max_examples=60)
    @given(fits)
    def test_is_the_least_squares_fit(self, case):
        counts, mode = case
        fit = unimodal_fit(counts, mode) * counts.sum()
        np.testing.assert_allclose(fit, best_unimodal(counts.astype(float), mode), atol=1e-3)
