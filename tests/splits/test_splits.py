"""Rules that place splits, criteria that rank directions, stop rules, and the choice among candidates."""

from dataclasses import replace

import numpy as np
import pytest
import reference_pddp
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import find_peaks
from scipy.stats import gaussian_kde, laplace, norm
from strategies import seeds

from mdh_dask._jit.histograms import bin_extremes, bin_projections
from mdh_dask.density.histograms import Histograms, no_extremes
from mdh_dask.density.kde import BANDWIDTHS, Bandwidth, relative_depth
from mdh_dask.splits import stopping
from mdh_dask.splits.choose import Counts, SplitSelector
from mdh_dask.splits.null import uniform_depth_quantile
from mdh_dask.splits.rules import CRITERIA, SplitRule
from mdh_dask.splits.stopping import STOP_RULES, FixedQuantile, HoldOut, LevelQuantile

RULE = BANDWIDTHS["normal"]
LOW, HIGH, N_BINS = -12.0, 12.0, 480


def counts_of(*samples):
    return np.array([np.histogram(np.clip(x, LOW, HIGH - 1e-9), N_BINS, (LOW, HIGH))[0] for x in samples])


def histograms_of(*samples):
    ones = np.ones(len(samples))
    return Histograms(counts_of(*samples), LOW * ones, (HIGH - LOW) / N_BINS * ones, RULE)


def unimodal(n=2000, seed=0, sd=1.0):
    return np.random.default_rng(seed).normal(0, sd, n)


def bimodal(n=2000, seed=0, gap=6.0, share=0.5, sd=1.0):
    rng = np.random.default_rng(seed)
    n_left = int(n * share)
    return rng.permutation(np.concatenate([rng.normal(-gap / 2, sd, n_left), rng.normal(gap / 2, sd, n - n_left)]))


@st.composite
def any_histograms(draw):
    rng = np.random.default_rng(draw(seeds))
    shape = draw(st.integers(1, 4)), draw(st.integers(3, 40))
    counts = rng.integers(0, 20, shape) * (rng.random(shape) < draw(st.sampled_from([0.1, 0.5, 1.0])))
    return Histograms(counts, rng.normal(size=shape[0]), rng.uniform(0.1, 1, shape[0]), RULE)


class TestPlace:
    @given(st.integers(20, 200), st.integers(10, 500))
    def test_an_empty_gap_is_split_in_its_middle(self, gap, n):
        counts = np.zeros((1, 60 + gap), dtype=int)
        counts[0, [29, 30 + gap]] = n
        three_bins = Bandwidth(3 / ((gap + 1) / 2 * (2 * n) ** -0.2))
        k = SplitRule().locate(Histograms(counts, np.zeros(1), np.ones(1), three_bins), 1)[0]
        assert abs(k - (29 + 30 + gap) / 2) <= 1

    @given(any_histograms(), st.integers(1, 60), st.none() | st.floats(0, 3))
    def test_the_place_is_admissible_and_no_admissible_bin_is_deeper(self, histograms, min_rows, alpha):
        rule = SplitRule(alpha=alpha)
        allowed = rule.admissible(histograms, min_rows)
        for c, k in enumerate(rule.locate(histograms, min_rows)):
            if k < 0:
                assert not allowed[c].any()
            else:
                assert allowed[c, k]
                assert histograms.depth[c, k] >= histograms.depth[c, allowed[c]].max() * (1 - 1e-9)

    @given(any_histograms(), st.integers(1, 60), st.floats(0, 3))
    def test_admissible_splits_leave_enough_rows_within_alpha_of_the_mean(self, histograms, min_rows, alpha):
        allowed = SplitRule(alpha=alpha).admissible(histograms, min_rows)
        n_left = histograms.n_left
        assert (n_left[allowed] >= min_rows).all()
        assert (histograms.counts.sum(axis=1, keepdims=True) - n_left >= min_rows)[allowed].all()
        assert histograms.within(alpha)[allowed].all()
        assert (histograms.depth[allowed] > 0).all()

    def test_outliers_draw_the_split_unless_too_few_or_too_far(self):
        sample = np.concatenate([bimodal(gap=4), [11.0] * 6])
        histograms = histograms_of(sample)
        far = histograms.threshold[0, SplitRule().locate(histograms, 1)[0]]
        assert far > 6
        for rule, min_rows in ((SplitRule(), 10), (SplitRule(alpha=1.0), 1)):
            near = histograms.threshold[0, rule.locate(histograms, min_rows)[0]]
            assert abs(near) < 1.5


class TestMinimumDensity:
    @given(any_histograms(), st.integers(1, 60), st.floats(0, 1))
    def test_no_admissible_bin_with_a_higher_mode_on_both_sides_is_less_dense(self, histograms, min_rows, least):
        rule = SplitRule(threshold_rule="minimum_density", min_relative_depth=least)
        deep = histograms.leaves_rows(min_rows) & (histograms.depth > max(least, 1e-9))
        for density, allowed, k in zip(histograms.density, deep, rule.locate(histograms, min_rows)):
            if allowed.any():
                assert allowed[k]
                assert density[k] <= density[allowed].min() + 1e-9 * density.max()
            else:
                assert k == -1

    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(10))
    def test_is_the_minimiser_of_scipys_density_of_the_rows_between_the_outermost_modes(self, seed):
        rng = np.random.default_rng(seed)
        sample = np.concatenate([rng.normal(centre, 1, 300 * weight) for centre, weight in ((-6, 1), (-2, 3), (4, 2))])
        histogram = histograms_of(sample)
        k = SplitRule(threshold_rule="minimum_density").locate(histogram, 1)[0]
        grid = np.linspace(LOW, HIGH, 4801)
        density = gaussian_kde(sample, histogram.bandwidth[0] / sample.std(ddof=1))(grid)
        peaks = find_peaks(density)[0]
        lowest = peaks[0] + density[peaks[0] : peaks[-1]].argmin()
        # Of two valleys that are equally low, either is right.
        assert np.interp(histogram.threshold[0, k], grid, density) - density[lowest] < 0.01 * density.max()

    @pytest.mark.parametrize(("at", "near"), [(-4.0, -3.5), (-2.5, -3.5), (2.0, 2.5), (4.0, 2.5)])
    def test_a_suggestion_is_followed_to_the_nearest_valley_be_it_shallower(self, at, near):
        rng = np.random.default_rng(0)
        rows = np.concatenate([rng.normal(place, 1, 5000) for place in (-6, -1, 6)])
        plain = histograms_of(rows)
        rule = SplitRule(threshold_rule="minimum_density")
        assert plain.threshold[0, rule.locate(plain, 1)[0]] == pytest.approx(2.5, abs=0.5)
        k = rule.locate(replace(plain, suggested=np.array([at])), 1)[0]
        assert plain.threshold[0, k] == pytest.approx(near, abs=0.5)
        assert plain.density[0, k] == plain.density[0, k - 5 : k + 6].min()

    def test_a_standing_split_near_a_suggestion_moves_to_the_minimum_of_all_rows_however_close(self):
        plain, rule = histograms_of(bimodal()), SplitRule(threshold_rule="minimum_density")
        k = int(rule.locate(plain, 1)[0])
        existing = float(plain.threshold[0, k + 1])
        assert rule.at.unmoved(plain, k, existing) == (k + 1, existing)
        assert rule.at.unmoved(replace(plain, suggested=np.zeros(1)), k, existing) is None


class TestMean:
    @given(seeds, st.integers(2, 300), st.integers(1, 3))
    def test_the_nearest_end_of_a_bin_is_taken_whatever_the_depth(self, seed, n, power):
        sample = np.random.default_rng(seed).normal(size=n) ** power
        histogram = histograms_of(sample)
        k = SplitRule(threshold_rule="mean", min_relative_depth=9.0).locate(histogram, 1)[0]
        allowed = histogram.threshold[0, histogram.leaves_rows(1)[0]]
        if len(allowed):
            nearest = np.abs(allowed - histogram.mean[0]).min()
            assert abs(histogram.threshold[0, k] - histogram.mean[0]) == pytest.approx(nearest, abs=1e-12)
            assert abs(histogram.mean[0] - np.clip(sample, LOW, HIGH).mean()) <= histogram.width[0] / 2 * (1 + 1e-9)
        else:
            assert k == -1


class TestGap:
    @given(seeds, st.integers(2, 200), st.integers(1, 20), st.sampled_from([np.float32, np.float64]))
    def test_is_the_middle_of_the_widest_gap_between_consecutive_projections(self, seed, n, min_rows, dtype):
        rng = np.random.default_rng(seed)
        sample = (rng.normal(size=n) * 3 + rng.choice([-5, 0, 5], n)).astype(dtype).astype(float)
        sample = sample[(sample > LOW) & (sample < HIGH)]
        found = reference_pddp.middle_of_widest_gap(sample, min_rows)
        histogram = with_extremes(sample)
        rule = SplitRule(threshold_rule="gap")
        k = rule.locate(histogram, min_rows)[0]
        if found is None or found[0] < histogram.width[0]:
            assert k == -1
        else:
            assert rule.at.threshold(histogram, k) == pytest.approx(found[1], abs=1e-12)
            assert histogram.n_left[0, k] == (sample <= found[1]).sum()

    def test_a_gap_narrower_than_a_bin_is_no_separation(self):
        width = (HIGH - LOW) / N_BINS
        for gap, expected in ((0.9, -1), (1.1, N_BINS // 2 - 1)):
            sample = np.concatenate([np.linspace(-9, -gap / 2, 200), np.linspace(gap / 2, 9, 200)]) * width
            assert SplitRule(threshold_rule="gap").locate(with_extremes(sample), 1)[0] == expected

    def test_the_choosing_half_finds_the_gap_and_all_rows_its_middle(self):
        sample = np.random.default_rng(0).uniform(2, 5, 1000) * np.tile([-1, -1, 1, 1], 250)
        sample[1], sample[3] = -0.5, 1.5
        decision = choose([sample], threshold_rule="gap")
        assert decision.accepted
        assert decision.threshold == 0.5

    @pytest.mark.parametrize(("existing", "moved"), [(0.4, False), (-1.4, False), (-2.5, True), (7.0, True)])
    def test_a_standing_split_takes_the_middle_of_its_gap_and_moves_from_another(self, existing, moved):
        sample = np.random.default_rng(0).uniform(2, 5, 1000) * np.tile([-1, -1, 1, 1], 250)
        sample[:4] = -1.5, -1.5, 2.0, 2.0
        decision = choose([sample], threshold_rule="gap", existing=existing)
        assert (decision.threshold, decision.moved) == (0.25, moved)


def with_extremes(sample):
    histogram = histograms_of(sample)
    extremes = no_extremes(1, N_BINS)
    bin_extremes(sample[None], histogram.origin, histogram.width, extremes)
    counts = np.zeros((1, N_BINS), np.int64)
    bin_projections(sample[None], histogram.origin, histogram.width, counts)
    return replace(histogram, counts=counts, extremes=extremes)


class TestCriteria:
    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_a_direction_without_admissible_split_comes_last(self, criterion):
        histograms = histograms_of(bimodal(100), bimodal(100, seed=1), np.zeros(100))
        scores = SplitRule(criterion).score(histograms, 30)
        assert (scores > -np.inf).tolist() == [True, True, False]
        assert (SplitRule(criterion).score(histograms, 51) == -np.inf).all()


class TestStopRules:
    def test_fixed_and_level_take_the_null_of_all_rows_and_of_the_branch(self):
        histogram = histograms_of(bimodal(400, gap=3.4))
        k = int(SplitRule().locate(histogram, 1)[0])
        depth = histogram.depth[0, k]
        for quantile in (0.5, 0.9, 0.99):
            rng = np.random.default_rng(0)
            for n_root in (400, 10**6):
                expected = depth > uniform_depth_quantile(n_root, RULE, quantile)
                assert FixedQuantile(quantile).accepts(histogram, k, n_root, 1, rng) == expected
            expected = depth > uniform_depth_quantile(400, RULE, quantile)
            assert LevelQuantile(quantile).accepts(histogram, k, 10**6, 1, rng) == expected

    @pytest.mark.parametrize("name", ["hold-out", "hold-out-uniform", "level", "fixed"])
    def test_clear_clusters_are_split_and_one_cluster_is_not(self, name):
        rule, rng = STOP_RULES[name](), np.random.default_rng(0)
        for sample, expected in ((bimodal(), True), (np.random.default_rng(1).uniform(-3, 3, 2000), False)):
            histogram = histograms_of(sample)
            k = int(SplitRule().locate(histogram, 100)[0])
            assert rule.accepts(histogram, max(k, 0), 2000, 1, rng) == expected


def selector(stop="hold-out", n_tests=1, min_rows=50, **rule):
    return SplitSelector(SplitRule(**rule), STOP_RULES[stop](), n_tests, 4000, min_rows)


def choose(samples, existing=None, share=1.0, settle=False, **options):
    """Choose among directions along which the rows have these projections; every second row is held out."""
    counts = np.stack([counts_of(*(x[half::2] for x in samples)) for half in (0, 1)], axis=1)
    n = len(samples)
    extremes = no_extremes(n, 2, N_BINS)
    for half in (0, 1):
        own = np.array([x[half::2] for x in samples])
        bin_extremes(own, np.full(n, LOW), np.full(n, (HIGH - LOW) / N_BINS), extremes[:, half])
    counts = Counts(counts, extremes)
    width = np.full(n, (HIGH - LOW) / N_BINS)
    candidates = Histograms(np.zeros((n, N_BINS)), np.full(n, LOW), width, RULE, directions=np.eye(n))
    rng = np.random.default_rng(0)
    return selector(**options).choose(counts, candidates, rng, share=share, existing=existing, settle=settle)


class TestSplitSelector:
    def test_the_direction_with_clusters_is_accepted_with_the_counts_of_all_rows(self):
        samples = [unimodal(4000), bimodal(4000), unimodal(4000, seed=2)]
        decision = choose(samples)
        assert (decision.accepted, decision.candidate) == (True, 1)
        assert decision.n_left == (samples[1] < decision.threshold).sum()
        assert decision.n_left + decision.n_right == 4000
        np.testing.assert_array_equal(decision.histogram.counts, counts_of(samples[1]))
        k = decision.histogram.bin_of(decision.threshold)
        assert decision.depth == relative_depth_at(decision.histogram, k)

    @pytest.mark.parametrize("stop", sorted(set(STOP_RULES) - {"search-null", "spacing"}))
    def test_only_hold_out_rules_choose_on_one_half_and_test_on_the_other(self, stop):
        # Clusters that only the half which chooses shows: the split is made unless the other half is asked.
        sample = np.empty(4000)
        sample[::2], sample[1::2] = bimodal(2000, gap=8), unimodal(2000)
        assert choose([sample], stop=stop).accepted != stop.startswith("hold-out")

    def test_the_valley_is_tested_not_the_slope_of_a_much_larger_group_where_the_error_is_least(self):
        # Two equal halves, so that the test sees what the choice saw.
        larger, smaller = (np.repeat((np.arange(n) + 0.5) / n, 2) for n in (8000, 300))
        rows = np.r_[laplace.ppf(larger), norm.ppf(smaller, 6)]
        rule = {"criterion": "minimum_error", "threshold_rule": "minimum_error"}
        half, at_random = histograms_of(rows[::2]), np.random.default_rng(0)
        assert not HoldOut().accepts(half, int(SplitRule(**rule).locate(half, 50)[0]), 8300, 1, at_random)
        assert choose([rows], **rule).accepted

    def test_several_tests_of_a_branch_share_the_level(self, monkeypatch):
        monkeypatch.setattr(stopping, "unimodal_p_value", lambda *_: 0.03)
        assert [HoldOut(0.95).accepts(None, 0, 0, n, None) for n in (1, 2)] == [True, False]
        assert HoldOut(0.95).level(5) == pytest.approx(0.01)

    def test_tests_on_held_out_rows_share_the_level_and_those_as_published_do_not(self, monkeypatch):
        asked = []
        monkeypatch.setattr(stopping, "uniform_depth_quantile", lambda n, rule, quantile: asked.append(quantile) or 0)
        for name in ("hold-out-uniform", "level", "fixed"):
            STOP_RULES[name](0.9).accepts(histograms_of(bimodal()), 0, 2000, 2, np.random.default_rng(0))
        assert asked == pytest.approx([0.95, 0.9, 0.9])

    def test_a_second_candidate_is_tested_only_where_allowed(self):
        # Ranked by variance, the first direction has a bump of chance and the second has clusters.
        wide = np.random.default_rng(3).uniform(-11, 11, 4000)
        first, second = (choose([wide, bimodal(4000)], criterion="variance", n_tests=n) for n in (1, 2))
        assert (first.accepted, first.candidate) == (False, 0)
        assert (second.accepted, second.candidate) == (True, 1)

    def test_a_standing_split_stays_while_the_valley_is_there(self):
        sample = bimodal(4000, gap=8)
        anew = choose([sample]).threshold
        existing = anew + 0.21
        decision = choose([sample], existing=existing)
        assert (decision.accepted, decision.threshold) == (True, existing)
        assert decision.n_left == pytest.approx((sample <= existing).sum(), abs=5)

    def test_a_split_that_settles_stays_where_it_is_admissible_but_not_elsewhere(self):
        sample = bimodal(4000)
        lowest = choose([sample]).threshold
        for away, stays in ((0.0, True), (1.5, True), (4.0, False)):
            decision = choose([sample], existing=lowest + away, settle=True, min_relative_depth=0.01)
            assert (decision.accepted, decision.moved) == (True, not stays)
            assert decision.threshold == (lowest + away if stays else lowest)
        assert choose([sample], existing=lowest + 1.5, min_relative_depth=0.01).moved

    def test_a_standing_split_stays_near_the_mean(self):
        sample = np.random.default_rng(0).uniform(-5, 5, 4000)
        sd, options = sample.std(), {"threshold_rule": "mean", "stop": "none"}
        anew = choose([sample], **options).threshold
        for away, stays in ((-0.04, True), (0.04, True), (0.06, False)):
            existing = round((sample.mean() + away * sd - LOW) / 0.05) * 0.05 + LOW
            decision = choose([sample], existing=existing, **options)
            assert decision.moved != stays
            assert decision.threshold == (existing if stays else anew)

    @pytest.mark.parametrize("existing", [-3.0, 2.5, 11.5, -50.0])
    def test_a_standing_split_moves_when_the_valley_is_elsewhere(self, existing):
        sample = bimodal(4000, gap=8)
        assert choose([sample], existing=existing).threshold == choose([sample]).threshold

    def test_a_deeper_valley_of_another_candidate_replaces_a_standing_split(self):
        assert choose([bimodal(4000, gap=6), bimodal(4000, gap=9)], existing=0.0).candidate == 1

    def test_a_share_of_the_rows_needs_that_share_of_the_least_number(self):
        sample = bimodal(400, share=0.1)
        assert choose([sample], min_rows=300) is None
        assert choose([sample], min_rows=300, share=0.1) is not None


def relative_depth_at(histogram, k):
    n, h = len(histogram.counts), histogram.bandwidth
    n = histogram.counts.sum()
    return relative_depth(histogram.density, 1 / (n * h * np.sqrt(2 * np.pi)))[0, k]
