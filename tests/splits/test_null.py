"""Null distributions against direct simulation, and the level and power of the test against the unimodal fit."""

from functools import lru_cache

import numpy as np
import pytest
from helpers import at_night, histogram_of
from scipy.stats import binom, gaussian_kde

from mdh_dask.density.histograms import Histograms
from mdh_dask.density.kde import BANDWIDTHS, valley_evidence
from mdh_dask.splits import null
from mdh_dask.splits.null import (
    Search,
    best_score_quantile,
    chance_of_mode,
    single_score_quantile,
    uniform_depth_quantile,
    unimodal_p_value,
)
from mdh_dask.splits.papers import Null, SearchNull
from mdh_dask.splits.rules import SplitRule

NORMAL = BANDWIDTHS["normal"]
QUANTILE = 0.975


def histogram(sample):
    bandwidth = float(NORMAL.of(len(sample), sample.std(), 0))
    counts, origin, width = histogram_of(sample, bandwidth)
    return Histograms(counts[None], np.array([origin]), np.array([width]), NORMAL)


@lru_cache
def simulated_depths(n, repeats=600):
    """Largest relative depths of uniform rows by scipy's kernel density estimate, with the floor of one kernel."""
    depths = []
    for seed in range(repeats):
        sample = np.random.default_rng([n, seed]).uniform(size=n)
        h = (4 / (3 * n)) ** 0.2 * sample.std()
        p = gaussian_kde(sample, h / sample.std(ddof=1))(np.arange(-3 * h, 1 + 3 * h, h / 5))
        lower_mode = np.minimum(np.maximum.accumulate(p), np.maximum.accumulate(p[::-1])[::-1])
        depths.append(((lower_mode - p) / (p + 1 / (n * h * np.sqrt(2 * np.pi)))).max())
    return np.array(depths)


class TestUniformDepthQuantile:
    @pytest.mark.slow
    @pytest.mark.parametrize("quantile", at_night([QUANTILE, 0.9, 0.5], 1))
    def test_agrees_with_direct_simulation(self, quantile):
        # 182 rows are not rounded: just above a power of the square root of two.
        depths = simulated_depths(182)
        below = (depths <= uniform_depth_quantile(182, NORMAL, quantile)).mean()
        error = np.sqrt(quantile * (1 - quantile) * (1 / len(depths) + 1 / null.NULL_SAMPLES))
        assert abs(below - quantile) < 3.5 * error

    @pytest.mark.slow
    def test_rounding_the_number_of_rows_is_conservative(self):
        depths = simulated_depths(200)
        assert (depths > uniform_depth_quantile(200, NORMAL, QUANTILE)).mean() < 0.025 + 3 * np.sqrt(
            0.025 / len(depths)
        )

    def test_more_rows_need_less_depth_and_less_than_four_are_taken_for_four(self):
        needed = [uniform_depth_quantile(n, NORMAL, QUANTILE) for n in (200, 1000, 10**4, 10**5)]
        assert needed == sorted(needed, reverse=True)
        assert needed[0] > 4 * needed[-1]
        assert len({uniform_depth_quantile(n, NORMAL, QUANTILE) for n in (0, 3, 4)}) == 1


UNIMODAL = {
    "Gaussian": lambda rng, n: rng.normal(size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "Student t": lambda rng, n: rng.standard_t(3, n),
}
THRESHOLD_RULES = [-1.5, 0.5, 1.5, 2.5]


class TestUnimodalPValueAtALevel:
    @pytest.mark.parametrize("make", UNIMODAL.values(), ids=UNIMODAL)
    @pytest.mark.parametrize("level", [0.05, 0.2])
    def test_keeps_its_level_at_places_chosen_beforehand(self, make, level):
        rejected, repeats = 0, 400
        for seed in range(repeats):
            rng = np.random.default_rng([seed, 7])
            h = histogram(make(rng, 400))
            rejected += unimodal_p_value(h, h.bin_of(THRESHOLD_RULES[seed % len(THRESHOLD_RULES)]), rng, level) <= level
        assert rejected <= binom.isf(1e-3, repeats, level)

    @pytest.mark.slow
    @pytest.mark.parametrize("make", UNIMODAL.values(), ids=UNIMODAL)
    def test_keeps_its_level_at_the_deepest_place_of_other_rows(self, make):
        # Measured with level 0.05: 0 for the Gaussian, 0.005 for the exponential, 0.036 for Student's t (2000 samples).
        rejected, repeats = 0, 400
        for seed in range(repeats):
            rng = np.random.default_rng([seed, 9])
            choosing, h = histogram(make(rng, 400)), histogram(make(rng, 400))
            place = float(choosing.threshold[0, choosing.depth[0].argmax()])
            rejected += unimodal_p_value(h, h.bin_of(place), rng, 0.05) <= 0.05
        assert rejected <= binom.isf(1e-3, repeats, 0.05)

    @pytest.mark.parametrize(("n", "gap"), [(60, 8.0), (400, 4.5), (20_000, 3.0)])
    def test_finds_the_valley_between_two_clear_clusters(self, n, gap):
        found = 0
        for seed in range(40):
            rng = np.random.default_rng([seed, n])
            h = histogram(rng.normal(size=n) + gap * (np.arange(n) % 2))
            found += unimodal_p_value(h, h.bin_of(gap / 2), rng, 0.025) <= 0.025
        assert found >= 36

    def test_finds_more_at_a_higher_level(self):
        found = []
        for level in (0.01, 0.3):
            hits = 0
            for seed in range(60):
                rng = np.random.default_rng(seed)
                h = histogram(rng.normal(size=200) + 3.2 * (np.arange(200) % 2))
                hits += unimodal_p_value(h, h.bin_of(1.6), rng, level) <= level
            found.append(hits)
        assert found[0] < found[1]

    def test_rows_beyond_the_ends_are_left_out(self):
        h = histogram(np.random.default_rng(5).normal(size=400) + 5 * (np.arange(400) % 2))
        counts = h.counts.copy()
        counts[0, [0, -1]] = 500
        tails = Histograms(counts, h.origin, h.width, NORMAL)
        k = h.bin_of(2.5)
        assert unimodal_p_value(tails, k, np.random.default_rng(1), 0.025) <= 0.025


class TestUnimodalPValue:
    @pytest.mark.slow
    @pytest.mark.parametrize("make", UNIMODAL.values(), ids=UNIMODAL)
    def test_is_under_a_level_as_seldom_as_that_at_the_deepest_place_of_other_rows(self, make):
        p_values = []
        for seed in range(300):
            rng = np.random.default_rng([seed, 9])
            choosing, h = histogram(make(rng, 200)), histogram(make(rng, 200))
            place = float(choosing.threshold[0, choosing.depth[0].argmax()])
            p_values.append(unimodal_p_value(h, h.bin_of(place), rng))
        for level in (0.05, 0.2, 0.5):
            assert (np.array(p_values) <= level).sum() <= binom.isf(1e-3, 300, level)

    def test_is_least_in_a_gap_and_one_where_there_is_no_valley(self):
        h = histogram(np.random.default_rng(5).normal(size=400) + 12 * (np.arange(400) % 2))
        flat = int(np.flatnonzero(h.depth[0] == 0)[0])
        assert unimodal_p_value(h, h.bin_of(6), np.random.default_rng(0)) < 1e-20
        assert unimodal_p_value(h, flat, np.random.default_rng(0)) == 1

    def test_a_mode_as_high_by_chance_is_rarer_than_its_bound(self):
        repeats, exceeding, bounds = 400, {1.5: 0, 2.0: 0, 3.0: 0}, {}
        for seed in range(repeats):
            h = histogram(np.random.default_rng([seed, 3]).uniform(size=2000))
            k = h.bin_of(0.5)
            errors = valley_evidence(h.density[0], k, 2000, float(h.bandwidth[0]))
            for least in exceeding:
                exceeding[least] += errors >= least
                bounds[least] = chance_of_mode(h, k, least)
        assert 0.01 * repeats < exceeding[1.5]
        assert all(n <= binom.isf(1e-3, repeats, bounds[least]) for least, n in exceeding.items())
        assert bounds[3.0] < 0.05

    @pytest.mark.parametrize("n", [200, 2000])
    def test_is_the_same_where_its_bound_spares_the_simulation(self, n, monkeypatch):
        spared = 0
        for seed in range(30):
            rng = np.random.default_rng([seed, 4])
            gap = rng.uniform(3, 8)
            h = histogram(rng.normal(size=n) + gap * (np.arange(n) % 5 == 0))
            k = h.bin_of(gap / 2)
            with monkeypatch.context() as simulating:
                simulating.setattr(null, "FAR_BELOW", np.inf)
                expected = unimodal_p_value(h, k, np.random.default_rng(0), 0.01)
            with monkeypatch.context() as refusing:
                refusing.setattr(null, "CERTAINLY_DEEP", np.inf)
                refusing.setattr(null, "_simulated", lambda *_: iter([np.ones(20, dtype=bool)]))
                found = unimodal_p_value(h, k, np.random.default_rng(0), 0.01)
            spared += found == expected < 1
            assert found in (1.0, expected)
        assert spared > 3


def test_the_best_scores_of_more_rows_than_are_simulated_go_on_as_a_power_of_their_number():
    class Known(Search):
        def null_scores(self, n):
            return 3 / n**0.5 * np.exp(np.random.default_rng(0).normal(size=50))

    search = Known(lambda rows, rng: None, 2, None, NORMAL)
    simulated, beyond = (best_score_quantile(n, search, 0.9) for n in (1024, 1024 * 100))
    assert simulated / beyond == pytest.approx(10)


def test_searches_that_hardly_ever_find_a_valley_have_no_least_score():
    class Nothing(Search):
        def null_scores(self, n):
            return np.array([0.0] * 49 + [1.0])

    assert best_score_quantile(500, Nothing(lambda rows, rng: None, 2, None, NORMAL), 0.9) == 0


def test_a_search_null_accepts_scores_above_the_quantile_for_as_many_rows():
    rule = SplitRule()
    h = histogram(np.random.default_rng(0).normal(size=256) + 6 * (np.arange(256) % 2))
    score = rule.score(h, 16)[0]

    class Known(Search):
        def null_scores(self, n):
            return np.full(50, self.n_features / 100 * score * 256 / n)

    def accepted(percent):
        stop = SearchNull().knowing(Known(lambda rows, rng: None, percent, rule, NORMAL))
        return stop.accepts(h, 0, 10**6, 1, np.random.default_rng(0))

    assert [accepted(percent) for percent in (99, 101)] == [True, False]


def test_scores_compared_with_a_null_are_of_splits_that_leave_the_square_root_of_the_rows_on_both_sides():
    def accepted(aside):
        h = histogram(np.random.default_rng(0).normal(size=100) + 12 * (np.arange(100) < aside))
        return Null(rule=SplitRule()).accepts(h, 0, 10**6, 1, np.random.default_rng(0))

    assert [accepted(aside) for aside in (9, 10)] == [False, True]


def test_where_no_rows_of_a_cloud_show_a_split_any_split_is_beyond_the_null():
    unseen = SplitRule(min_relative_depth=1e9)
    assert single_score_quantile(100, unseen, NORMAL, 0.99) == 0


def test_a_search_that_proposes_no_direction_scores_zero():
    nothing = Search(lambda rows, rng: np.empty((0, 2)), 2, SplitRule(), NORMAL)
    assert nothing.best(np.random.default_rng(0).normal(size=(16, 2)), np.random.default_rng(0)) == 0
