"""Trees of projection pursuit, and the stop rules of their source."""

import gc
from dataclasses import replace
from weakref import ref

import numpy as np
import pytest

from mdh_dask import DivisiveClustering, PCATree, ProjectionPursuitTree
from mdh_dask.density.histograms import Histograms
from mdh_dask.density.kde import BANDWIDTHS
from mdh_dask.estimators.proposing import searching
from mdh_dask.metrics import matching_accuracy
from mdh_dask.projections import DirectionSearch
from mdh_dask.projections.search import GeneticSearch
from mdh_dask.simulate import bolton_mixture, gaussian_mixture
from mdh_dask.splits import null
from mdh_dask.splits.null import Search, best_score_quantile, shared_search, single_score_quantile
from mdh_dask.splits.rules import SplitRule
from mdh_dask.splits.stopping import STOP_RULES

RULE = SplitRule("minimum_error", threshold_rule="minimum_error")
NORMAL = BANDWIDTHS["normal"]


def quick(**settings):
    return ProjectionPursuitTree(n_projections=100).as_divisive(population=6, **settings)


def histogram_of(x, low=-8.0, high=8.0, n_bins=320):
    counts = np.histogram(np.clip(x, low, high - 1e-9), n_bins, (low, high))[0][None]
    return Histograms(counts, np.array([low]), np.array([(high - low) / n_bins]), NORMAL)


def accepts(name, x, **settings):
    histogram = histogram_of(x)
    k = int(RULE.locate(histogram, np.sqrt(len(x)))[0])
    rule = STOP_RULES[name]()
    if settings:
        rule = replace(rule, rule=replace(RULE, **settings))
    return k >= 0 and rule.accepts(histogram, k, len(x), 1, np.random.default_rng(0))


def two_modes(gap, n=1000, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(np.repeat([-gap / 2, gap / 2], n // 2), 1.0)


class TestStopRules:
    @pytest.mark.parametrize("name", ["unimodal-density", "criterion", "height-ratio", "integral-ratio", "null"])
    def test_two_clear_modes_are_split_and_one_smooth_mode_is_not(self, name):
        smooth = np.quantile(np.random.default_rng(0).normal(size=100_000), (np.arange(1000) + 0.5) / 1000)
        assert accepts(name, two_modes(6.0))
        assert not accepts(name, smooth)

    @pytest.mark.parametrize("name", ["height-ratio", "integral-ratio"])
    def test_the_ratio_that_is_asked_for_decides(self, name):
        x = two_modes(3.4, 20_000)
        assert accepts(name, x, min_relative_depth=0.1)
        assert not accepts(name, x, min_relative_depth=3.0)

    def test_the_density_alone_takes_a_few_rows_for_a_mode_and_ratios_do_not(self):
        x = np.r_[two_modes(3.0, 2000)]
        assert accepts("unimodal-density", x)
        assert not accepts("height-ratio", x, min_relative_depth=1.0)

    def test_the_printed_null_is_above_what_one_direction_shows_by_chance(self):
        rng = np.random.default_rng(0)
        for n in (200, 1000):
            scores = [RULE.score(histogram_of(rng.normal(size=n)), np.sqrt(n))[0] for _ in range(300)]
            share = np.mean(np.array(scores) > single_score_quantile(n, RULE, NORMAL, 0.9))
            assert 0.04 < share < 0.16

    @pytest.mark.slow
    def test_the_best_of_a_search_exceeds_the_printed_null_and_not_the_null_of_the_search(self):
        model = quick(min_cluster_size=10, max_levels=1)
        clouds = [np.random.default_rng(seed).normal(size=(300, 6)) for seed in range(12)]
        split = {
            stop: [model.set_params(stop_rule=stop).fit(X).n_clusters_ > 1 for X in clouds]
            for stop in ("null", "search-null")
        }
        assert sum(split["null"]) > 8
        assert sum(split["search-null"]) <= 2

    def test_the_null_of_a_search_is_linear_in_the_logarithms_and_made_once_for_equal_searches(self, monkeypatch):
        monkeypatch.setattr(null, "SEARCHES", 12)
        made = []
        best = Search.best
        monkeypatch.setattr(Search, "best", lambda *args: made.append(1) or best(*args))

        def search():
            propose = searching(RULE, NORMAL, 21, search="random", population=4)
            return shared_search(propose, 3, RULE, NORMAL)

        a, b, c = (best_score_quantile(n, search(), 0.9) for n in (64, 128, 256))
        assert len(made) == 36  # 16, 64 and 256 rows
        assert b == pytest.approx(np.sqrt(a * c))
        assert a > b > c
        assert best_score_quantile(64, search(), 0.99) > a
        assert len(made) == 36

    @pytest.mark.slow
    def test_the_null_is_that_of_the_parameters_at_each_fit_and_keeps_no_model_alive(self):
        model = DivisiveClustering(
            projection="normal", n_projections=200, criterion="minimum_error", threshold_rule="minimum_error",
            stop_rule="search-null",
        )  # fmt: skip
        rows = np.random.default_rng(0).normal(size=(300, 4))
        wide = best_score_quantile(300, model.fit(rows)._stop().search, 0.9)
        few = best_score_quantile(300, model.set_params(n_projections=1).fit(rows)._stop().search, 0.9)
        assert few < wide
        alive = ref(model)
        del model
        gc.collect()
        assert alive() is None

    @pytest.mark.parametrize(
        ("stop", "message"),
        [("known-number", "expected a value of max_clusters"), ("known-levels", "expected a value of max_levels")],
    )
    def test_a_known_number_must_be_given(self, stop, message):
        with pytest.raises(ValueError, match=message):
            DivisiveClustering(stop_rule=stop).fit(np.eye(4))

    def test_known_numbers_of_clusters_and_levels_are_reached(self):
        X, y = (part.compute() for part in bolton_mixture(2, random_state=0))
        known = quick(max_clusters=2, stop_rule="known-number").fit(X)
        assert matching_accuracy(y, known.labels_) > 0.98
        levels = quick(stop_rule="known-levels", max_levels=1).fit(X)
        assert levels.n_clusters_ == 2

    def test_a_null_needs_a_rule_that_histograms_suffice_for(self):
        with pytest.raises(ValueError, match="got threshold_rule='gap'"):
            DivisiveClustering(stop_rule="null", threshold_rule="gap").fit(np.eye(4))

    @pytest.mark.parametrize("stop", ["search-null", "null"])
    def test_other_methods_and_criteria_can_be_held_to_these_nulls(self, stop):
        X = gaussian_mixture(900, 4, 3, sd=1.0, random_state=0)[0].compute()
        assert PCATree().as_divisive(stop_rule=stop).fit(X).n_clusters_ >= 3


class TestTree:
    @pytest.mark.slow
    @pytest.mark.parametrize("n_clusters", [2, 4, 8])
    def test_the_mixtures_of_the_source_are_found_better_than_it_reports(self, n_clusters):
        X, y = (part.compute() for part in bolton_mixture(n_clusters, random_state=3))
        model = ProjectionPursuitTree().fit(X)
        assert model.n_clusters_ == n_clusters
        assert matching_accuracy(y, model.labels_) > 0.98

    @pytest.mark.slow
    @pytest.mark.parametrize("draw", ["standard_normal", "random", "standard_exponential", "standard_t"])
    def test_clouds_without_clusters_are_not_split(self, draw):
        for seed in range(6):
            rng = np.random.default_rng(seed)
            cloud = rng.standard_t(3, (300, 8)) if draw == "standard_t" else getattr(rng, draw)((300, 8))
            assert quick(random_state=seed).fit(cloud).n_clusters_ == 1

    def test_splits_on_a_sample_are_confirmed_or_pruned_by_all_rows(self):
        X = bolton_mixture(4, 6000, random_state=2)[0].compute()
        model = quick(sample_size=800).fit(X)
        assert model.n_clusters_ == 4
        assert model.n_passes_ >= 2

    def test_brute_force_of_many_columns_is_refused_with_what_to_do(self):
        X = np.random.default_rng(0).normal(size=(200, 8))
        remedy = "use search='combined' of ProjectionPursuitTree, or projection='pursuit' of DivisiveClustering"
        for model in (ProjectionPursuitTree(search="brute"), DivisiveClustering(projection="brute_force")):
            with pytest.raises(ValueError, match=rf"got 32\^7 for 8 dimensions and a step of 0.1: {remedy}"):
                model.fit(X)
        assert ProjectionPursuitTree(search="combined", n_projections=50).fit(X).n_clusters_ == 1
        assert DivisiveClustering(projection="pursuit", n_projections=50).fit(X).n_clusters_ == 1

    def test_the_settings_reach_the_search(self):
        model = ProjectionPursuitTree(search="genetic", n_projections=7).as_divisive(
            population=9, crossover=0.3, mutation=0.2, step=0.4, n_bins=50, whiten=False
        )
        model.n_features_in_, model.feature_map_ = 3, None
        search = model._search().propose
        expected = DirectionSearch("genetic", 7, GeneticSearch(9, 0.3, 0.2), 0.4, False)
        assert replace(search.search, score=expected.score) == expected
        assert search.search.score.n_bins == 50
