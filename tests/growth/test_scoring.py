"""Screening directions on a sample, and laying out the histograms for all rows."""

import numpy as np
import pytest
from helpers import in_turns
from hypothesis import given
from hypothesis import strategies as st
from strategies import row_sets, seeds

from mdh_dask.density.histograms import Histograms
from mdh_dask.density.kde import BANDWIDTHS, BINS_PER_BANDWIDTH
from mdh_dask.growth.discrete import Discrete
from mdh_dask.growth.scaling import Standardiser
from mdh_dask.growth.scoring import DIRECTIONS_AT_ONCE, MAX_BINS, Scorer, candidates_for
from mdh_dask.projections.directions import Proposal, StandardDirections
from mdh_dask.splits.rules import CRITERIA, SplitRule

RULE = BANDWIDTHS["normal"]


def unscaled(d):
    return Standardiser(np.zeros(d), np.ones(d))


def clustered(n=600, d=4, seed=0):
    """Two clusters that differ in the first column only."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d))
    rows[:, 0] += 8 * (np.arange(n) % 2)
    return rows


def random_directions(r, d=4, seed=1):
    return np.random.default_rng(seed).normal(size=(r, d))


def proposed(directions, thresholds=None):
    return Proposal(StandardDirections(directions), thresholds)


def bins_of(rows, directions, standardise, bandwidth, n_rows, thresholds=None):
    scorer = Scorer(rows, SplitRule(), bandwidth, 20, standardise)
    return candidates_for(rows, proposed(directions, thresholds), scorer, n_rows)


def kept(rows, directions, n_kept, rule=None, min_rows=20):
    rule = rule or SplitRule()
    scorer = Scorer(rows, rule, RULE, min_rows, unscaled(rows.shape[1]))
    return scorer.best(proposed(directions), n_kept).directions.vectors


def place_of(direction, directions):
    return int(np.flatnonzero((directions == direction).all(axis=1))[0])


class TestScreen:
    @pytest.mark.parametrize("rule", [SplitRule(min_relative_depth=60.0), SplitRule("dip", min_relative_depth=60.0)])
    def test_rough_bins_of_few_rows_lose_no_valley_that_is_deep_enough(self, rule):
        rows = clustered(9000)
        directions = np.concatenate([random_directions(300) * [0.02, 1, 1, 1], np.eye(4)])
        np.testing.assert_array_equal(kept(rows, directions, 1, rule)[0], np.eye(4)[0])

    @pytest.mark.parametrize("criterion", ["relative_depth", "dip", "kurtosis"])
    def test_the_direction_of_the_clusters_comes_first(self, criterion):
        directions = np.concatenate([random_directions(40)[:, [1, 2, 3, 0]] * [0.1, 1, 1, 1], np.eye(4)])
        directions[:40, 0] *= 0.1
        best = kept(clustered(), directions, 3, SplitRule(criterion))
        np.testing.assert_array_equal(best[0], np.eye(4)[0])

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("criterion", "r"), in_turns(CRITERIA, [1, DIRECTIONS_AT_ONCE, DIRECTIONS_AT_ONCE + 1, 300])
    )
    def test_the_kept_are_the_best_when_scored_one_by_one(self, criterion, r):
        rows, directions, rule = clustered(300), random_directions(r), SplitRule(criterion)
        alone = [len(kept(rows, v[None], 1, rule)) for v in directions]
        best = kept(rows, directions, r, rule)
        places = [place_of(v, directions) for v in best]
        assert all(alone[place] for place in places)
        few = kept(rows, directions, 5, rule)
        np.testing.assert_array_equal(few, best[:5])

    def test_only_a_valley_that_is_deep_enough_ends_the_search(self):
        rows, shallow, deep = clustered(1900) * [4.0, 1.0, 1.0, 1.0], [1.0, 2.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]
        directions = np.array([shallow] * DIRECTIONS_AT_ONCE + [deep])
        assert kept(rows, directions, 1).tolist() == [shallow]  # beyond doubt
        assert kept(rows, directions, 1, SplitRule(min_relative_depth=25.0)).tolist() == [deep]

    def test_near_duplicates_and_mirror_images_are_dropped(self):
        v = np.array([1.0, 0.2, 0.0, 0.1])
        directions = np.array([v, 3 * v, -v, [1.0, 0.2, 0.02, 0.1], [0.2, 1.0, 0, 0], [1.0, -0.2, 0, 0]])
        best = kept(clustered(), directions, 6, min_rows=1)
        unit = best / np.linalg.norm(best, axis=1, keepdims=True)
        cosines = np.abs(unit @ unit.T)[~np.eye(len(best), dtype=bool)]
        assert cosines.max(initial=0) < np.cos(np.radians(1.9))
        assert sum(place_of(w, directions) < 4 for w in best) == 1

    def test_directions_without_admissible_split_are_left_out(self):
        assert kept(clustered(), random_directions(50), 10, min_rows=301).shape == (0, 4)
        assert kept(np.zeros((5, 4)), random_directions(50), 10, min_rows=1).shape == (0, 4)

    @pytest.mark.parametrize(
        ("apart", "criterion", "ends"), [(20, "relative_depth", True), (4, "relative_depth", False), (20, "dip", False)]
    )
    def test_no_direction_is_scored_after_a_batch_with_a_valley_beyond_doubt(self, apart, criterion, ends):
        rows = clustered()
        rows[1::2, 0] += apart - 8
        directions = random_directions(DIRECTIONS_AT_ONCE + 1)
        directions[:, 0] = 0
        directions[5], directions[-1] = [1, 0.4, 0.4, 0.4], [1, 0, 0, 0]
        best = kept(rows, directions, 3, SplitRule(criterion))
        np.testing.assert_array_equal(best[0], directions[5 if ends else -1])

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_the_precision_of_the_sample_does_not_change_the_best(self, dtype):
        directions = random_directions(30)
        best = kept(clustered().astype(dtype), directions, 1)
        np.testing.assert_array_equal(best, kept(clustered(), directions, 1))


def test_directions_whose_values_are_rounded_by_more_than_the_bandwidth_are_not_resolved():
    rows = np.random.default_rng(0).normal(size=(400, 3))
    rounded = Discrete(steps=np.array([0.0, 0.2, 2.0]))
    scorer = Scorer(rows, SplitRule(), RULE, 20, Standardiser(np.zeros(3), np.ones(3), discrete=rounded))
    directions = np.array([[1.0, 0, 0], [0, 0, 1], [0, 1, 0], [0.8, 0, 0.6]])
    assert scorer.resolved(proposed(directions), 400).directions.vectors.tolist() == directions[[0, 2]].tolist()
    assert len(scorer.resolved(proposed(directions), 1e9)) == 1
    assert len(scorer.resolved(proposed(directions[:0]), 400)) == 0


class TestCandidates:
    @given(row_sets([np.float32, np.float64], max_rows=100), seeds, st.sampled_from(sorted(BANDWIDTHS)), st.data())
    def test_bins_resolve_the_bandwidth_and_hold_the_sample(self, rows, seed, rule, data):
        d = rows.shape[1]
        bandwidth, n_rows = BANDWIDTHS[rule], data.draw(st.integers(len(rows), 10**9))
        directions = np.random.default_rng(seed).normal(size=(3, d))
        bins = bins_of(rows, directions, unscaled(d), bandwidth, n_rows)
        n_bins = bins.counts.shape[1]
        projections = directions @ rows.T.astype(float)
        h = bandwidth.of(n_rows, projections.std(axis=1), np.subtract(*np.quantile(projections, [0.75, 0.25], axis=1)))
        assert n_bins <= MAX_BINS
        clear = h > 1e-14 * np.abs(projections).max(axis=1)
        assert (bins.width[clear] <= h[clear] / BINS_PER_BANDWIDTH * (1 + 1e-9)).all()
        if n_bins < MAX_BINS:
            assert (projections.min(axis=1) >= bins.origin + bins.width).all()
            assert (projections.max(axis=1) < bins.origin + bins.width * (n_bins - 1)).all()

    def test_the_kernels_of_the_outermost_rows_fit_in(self):
        rows = clustered()
        bins = bins_of(rows, np.eye(4), unscaled(4), RULE, len(rows))
        for x, origin, width in zip(rows.T, bins.origin, bins.width):
            counts = np.bincount(((x - origin) / width).astype(int), minlength=bins.counts.shape[1])
            density = Histograms(counts[None], np.array([origin]), np.array([width]), RULE).density
            assert density.sum() * width == pytest.approx(1, abs=1e-4)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_rounding_errors_of_equal_rows_are_not_spread_over_bins(self, dtype):
        rows = np.repeat(np.array([[0.1, 0.7, 1.3, 3.3]], dtype=dtype), 301, axis=0)
        bins = bins_of(rows, random_directions(20), unscaled(4), RULE, 10**6)
        assert (bins.width > 0.1).all()
        assert kept(rows, random_directions(200), 10, min_rows=1).shape == (0, 4)

    def test_raw_directions_project_raw_rows_on_the_bins_of_standardised_ones(self):
        raw = clustered() * [1, 10, 100, 0] + [5, -3, 1000, 7]
        standardise = Standardiser(raw.mean(axis=0), np.array([0.25, 0.1, 0.01, 0]))
        rows, directions = standardise(raw), random_directions(5)
        there = bins_of(rows, directions, standardise, RULE, 600)
        here = bins_of(rows, directions, unscaled(4), RULE, 600)
        np.testing.assert_array_equal(there.counts, here.counts)
        np.testing.assert_allclose(
            raw @ there.directions.T - there.origin, rows @ directions.T - here.origin, atol=1e-9
        )
        assert not there.directions[:, 3].any()

    @given(seeds, st.sampled_from([1.0, 0.3, 200.0]))
    def test_a_bin_ends_at_a_proposed_threshold_of_raw_rows(self, seed, scale):
        rng = np.random.default_rng(seed)
        raw, directions = clustered() + 50, rng.normal(size=(3, 4))
        standardise = Standardiser(raw.mean(axis=0), np.full(4, scale))
        rows = standardise(raw)
        at = int(rng.integers(len(rows)))
        candidates = bins_of(rows, directions, standardise, RULE, 600, directions @ rows[at])
        np.testing.assert_allclose(candidates.suggested, candidates.directions @ raw[at])
        bins = (candidates.suggested - candidates.origin) / candidates.width
        np.testing.assert_allclose(bins, np.round(bins), atol=1e-6)
