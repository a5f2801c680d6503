"""Bandwidth rules against their formulas, and spreads of histograms against those of their rows."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import histograms

from mdh_dask.density.kde import BANDWIDTHS, NORMAL_QUARTILES, Bandwidth, resolve_bandwidth, spread_of_counts
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

    def test_a_gaussian_has_the_same_bandwidth_by_both_spreads(self):
        plain, robust = Bandwidth(0.9), Bandwidth(0.9, robust=True)
        assert robust.of(100, 1.0, NORMAL_QUARTILES) == pytest.approx(plain.of(100, 1.0, NORMAL_QUARTILES))

    @given(sizes, positive, positive)
    def test_a_principal_rule_gives_every_direction_the_spread_it_was_fixed_to(self, n, spread, sd):
        rule = replace(BANDWIDTHS["principal"], spread=spread)
        expected = 0.9 * spread / n ** (1 / 5)
        np.testing.assert_allclose(rule.of(n, np.array([sd, 0.0]), np.ones(2)), [expected, expected])

    @given(sizes, positive, positive)
    def test_a_rule_that_is_free_takes_the_spread_of_each_direction(self, n, spread, sd):
        rule = BANDWIDTHS["principal"]
        assert replace(rule, spread=spread).free == BANDWIDTHS["multimodal"]
        assert rule.of(n, sd, sd) == BANDWIDTHS["multimodal"].of(n, sd, sd)

    def test_the_uniform_null_knows_nothing_of_a_fixed_spread(self):
        fixed = replace(BANDWIDTHS["principal"], spread=1e6)
        assert uniform_depth_quantile(500, fixed, 0.9) == uniform_depth_quantile(500, BANDWIDTHS["multimodal"], 0.9)

    @pytest.mark.parametrize("rule", sorted(BANDWIDTHS))
    def test_names_and_numbers_are_resolved(self, rule):
        assert resolve_bandwidth(rule) is BANDWIDTHS[rule]
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

    @pytest.mark.parametrize("n", [10**6, 10**12])
    def test_many_rows_do_not_overflow(self, n):
        counts = np.zeros(4098, np.int64)
        counts[[1, 4096]] = n // 2
        assert spread_of_counts(counts, np.array(1.0))[:2] == (n, 4095 / 2)
