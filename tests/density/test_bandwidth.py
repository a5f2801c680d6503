"""Bandwidth rules against their formulas, and spreads of histograms against those of their rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import histograms

from mdh_dask.density.bandwidth import BANDWIDTHS, NORMAL_QUARTILES, Bandwidth, resolve_bandwidth, spread_of_counts
from mdh_dask.splits.null import uniform_depth_quantile

positive = st.floats(1e-3, 1e3)
sizes = st.integers(1, 10**9)


class TestRules:
    @pytest.mark.slow
    @given(sizes, positive, positive)
    def test_the_normal_rule_is_that_of_the_thesis(self, n, sd, quartiles):
        assert BANDWIDTHS["normal"].of(n, sd, quartiles) == pytest.approx((4 / (3 * n)) ** (1 / 5) * sd)

    @given(sizes, positive, positive)
    def test_the_multimodal_rule_is_nine_tenths_of_the_deviation(self, n, sd, quartiles):
        assert BANDWIDTHS["multimodal"].of(n, sd, quartiles) == pytest.approx(0.9 * sd / n ** (1 / 5))

    @given(sizes, positive, positive)
    def test_silvermans_rule_takes_the_smaller_spread(self, n, sd, quartiles):
        expected = 0.9 * min(sd, quartiles / 1.349) / n ** (1 / 5)
        assert BANDWIDTHS["silverman"].of(n, sd, quartiles) == pytest.approx(expected)

    def test_silvermans_rule_survives_quartiles_that_coincide(self):
        assert BANDWIDTHS["silverman"].of(32, 2.0, 0.0) == pytest.approx(0.9)

    def test_a_gaussian_has_the_same_bandwidth_by_both_spreads(self):
        plain, robust = Bandwidth(0.9), Bandwidth(0.9, robust=True)
        assert robust.of(100, 1.0, NORMAL_QUARTILES) == pytest.approx(plain.of(100, 1.0, NORMAL_QUARTILES))

    @given(sizes, positive, positive)
    def test_a_principal_rule_gives_every_direction_the_spread_it_was_fixed_to(self, n, spread, sd):
        rule = BANDWIDTHS["principal"].fixed(spread)
        expected = 0.9 * spread / n ** (1 / 5)
        np.testing.assert_allclose(rule.of(n, np.array([sd, 0.0]), np.ones(2)), [expected, expected])

    @given(sizes, positive, positive)
    def test_a_rule_that_is_free_takes_the_spread_of_each_direction(self, n, spread, sd):
        rule = BANDWIDTHS["principal"]
        assert rule.fixed(spread).free == BANDWIDTHS["multimodal"]
        assert rule.of(n, sd, sd) == BANDWIDTHS["multimodal"].of(n, sd, sd)

    def test_the_uniform_null_knows_nothing_of_a_fixed_spread(self):
        fixed = BANDWIDTHS["principal"].fixed(1e6)
        assert uniform_depth_quantile(500, fixed, 0.9) == uniform_depth_quantile(500, BANDWIDTHS["multimodal"], 0.9)

    def test_rules_take_stacks(self):
        stacked = BANDWIDTHS["silverman"].of(np.array([32, 1]), np.array([1.0, 2.0]), np.array([1.349, 0.0]))
        np.testing.assert_allclose(stacked, [0.45, 1.8])

    def test_no_rows_give_a_finite_bandwidth(self):
        assert np.isfinite(BANDWIDTHS["normal"].of(0, 1.0, 1.0))

    @pytest.mark.parametrize("rule", sorted(BANDWIDTHS))
    def test_names_numbers_and_rules_are_resolved(self, rule):
        assert resolve_bandwidth(rule) is BANDWIDTHS[rule]
        assert resolve_bandwidth(BANDWIDTHS[rule]) is BANDWIDTHS[rule]
        assert resolve_bandwidth(2) == Bandwidth(2.0)


class TestSpreadOfCounts:
    @given(histograms(min_bins=3), positive)
    def test_is_the_spread_of_the_inner_rows_at_the_centres_of_their_bins(self, counts, width):
        n, sd, _ = spread_of_counts(counts, np.array(width))
        rows = np.repeat(np.arange(len(counts) - 2), counts[1:-1]) * width
        assert n == len(rows)
        assert sd == pytest.approx(rows.std() if len(rows) else 0, abs=1e-6 * width)

    @given(histograms(min_bins=3), positive)
    def test_quartiles_are_those_of_the_empirical_distribution(self, counts, width):
        rows = np.repeat(np.arange(len(counts) - 2), counts[1:-1])
        expected = 0.0
        if len(rows):
            lower, upper = np.quantile(rows, [0.25, 0.75], method="inverted_cdf")
            expected = (upper - lower) * width
        assert spread_of_counts(counts, np.array(width))[2] == pytest.approx(expected)

    def test_agrees_with_a_large_sample(self):
        rows = np.random.default_rng(0).normal(size=200_000)
        counts = np.histogram(rows, 402, (-5.025, 5.025))[0]
        n, sd, quartiles = spread_of_counts(counts[None], np.array([0.025]))
        assert n[0] == 200_000 - counts[0] - counts[-1]
        assert sd[0] == pytest.approx(rows.std(), rel=1e-3)
        assert quartiles[0] == pytest.approx(NORMAL_QUARTILES, rel=0.02)

    def test_rows_outside_do_not_count(self):
        inside = spread_of_counts(np.array([0, 2, 5, 1, 0]), np.array(1.0))
        np.testing.assert_array_equal(spread_of_counts(np.array([99, 2, 5, 1, 7]), np.array(1.0)), inside)

    @pytest.mark.parametrize("n", [10**6, 10**12])
    def test_many_rows_do_not_overflow(self, n):
        counts = np.zeros(4098, np.int64)
        counts[[1, 4096]] = n // 2
        assert spread_of_counts(counts, np.array(1.0))[:2] == (n, 4095 / 2)
