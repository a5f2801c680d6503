"""Minimum error thresholding: the criterion J, the index of a direction, and the threshold rule that rests on both."""

import numpy as np
import pytest
import reference_minimum_error as reference
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds

from mdh_dask import DivisiveClustering
from mdh_dask._jit.histograms import bin_robustly, central_bins, closed_minima, thresholding_errors
from mdh_dask.density.histograms import Histograms
from mdh_dask.density.indices import MinimumError
from mdh_dask.density.kde import BANDWIDTHS
from mdh_dask.metrics import matching_accuracy
from mdh_dask.simulate import gaussian_mixture
from mdh_dask.splits.rules import SplitRule

RULE = SplitRule("minimum_error", threshold_rule="minimum_error")


def counts_of(x, n_bins=100):
    counts = np.zeros((1, n_bins), dtype=np.int64)
    bin_robustly(np.asarray(x, dtype=float)[None], counts)
    return counts


def index_of(x, n_bins=100):
    return MinimumError().of(counts_of(x, n_bins)).best_index(np.ones((1, n_bins), dtype=bool))[0]


def two_normals(n=600, gap=6.0, seed=0, sd=1.0, share=0.5):
    rng = np.random.default_rng(seed)
    left = int(n * share)
    return np.r_[rng.normal(0, 1, left), rng.normal(gap, sd, n - left)]


@st.composite
def some_counts(draw):
    rng = np.random.default_rng(draw(seeds))
    shape = draw(st.integers(1, 3)), draw(st.integers(3, 30))
    return rng.integers(0, 9, shape) * (rng.random(shape) < draw(st.sampled_from([0.1, 0.5, 1.0])))


class TestLoops:
    @given(some_counts(), st.booleans())
    def test_criterion_separation_and_depth_equal_their_twins(self, counts, corrected):
        found, expected = np.empty((3, *counts.shape)), np.empty((3, *counts.shape))
        for out, errors, minima in (
            (found, thresholding_errors, closed_minima),
            (expected, reference.thresholding_errors, reference.closed_minima),
        ):
            errors(counts, corrected, out[0], out[1])
            minima(np.round(found[0], 6), out[2])
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
        assert [central_bins(row) for row in counts] == [reference.central_bins(row) for row in counts]

    @given(seeds, st.integers(2, 250), st.integers(8, 40), st.sampled_from([np.float32, np.float64]))
    def test_robust_bins_equal_their_twin_and_hold_every_row(self, seed, n, n_bins, dtype):
        rng = np.random.default_rng(seed)
        rows = (rng.normal(size=(2, n)) * rng.choice([0.0, 1.0, 1e6], (2, n), p=[0.3, 0.6, 0.1])).astype(dtype)
        found, expected = np.zeros((2, 2, n_bins), dtype=np.int64)
        bin_robustly(rows, found)
        reference.bin_robustly(rows, expected)
        np.testing.assert_array_equal(found, expected)
        assert set(found.sum(axis=1)) <= {0, n}


class TestCriterion:
    def test_the_least_error_of_two_normals_lies_where_their_densities_cross(self):
        # Equal shares, sd 1 and 2, centres 0 and 9: p1 = p2 at 3.13, from the quadratic of figure 5.
        x = np.concatenate([two_normals(100_000, 9.0, seed, sd=2.0) for seed in range(2)])
        errors, counts = MinimumError().of(counts_of(x, 1000)), counts_of(x, 1000)
        share = np.cumsum(counts)[errors.criterion[0].argmin()] / counts.sum()
        assert np.quantile(x, share) == pytest.approx(3.13, abs=0.1)

    @pytest.mark.parametrize(("scale", "shift"), [(1000.0, 5.0), (-1.0, 0.0), (1e-6, 0.0)])
    def test_the_index_does_not_know_the_unit_and_the_origin(self, scale, shift):
        x = two_normals()
        assert index_of(scale * x + shift) == pytest.approx(index_of(x), rel=0.05)
        assert index_of(x) > 10

    def test_a_valley_is_closed_on_both_sides(self):
        errors = np.array([[5.0, 4.0, 2.0, 2.0, 3.0, 2.5, 9.0], [6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0]])
        depth = np.empty(errors.shape)
        closed_minima(errors, depth)
        assert depth.tolist() == [[0, 0, 1, 1, 0, 0.5, 0], [0] * 7]

    def test_the_correction_finds_the_spread_that_a_threshold_cuts_off(self):
        # Of overlapping normals the sides look narrower than the clusters are.
        x = two_normals(200_000, 2.5)
        counts = counts_of(x, 400)
        at = int((np.cumsum(counts) < len(x) / 2).sum())
        truth = 2.5**2 / 2
        plain, corrected = (MinimumError(corrected=c).of(counts).separation[0, at] for c in (False, True))
        assert plain > 1.5 * truth
        assert abs(corrected - truth) < 0.5 * (plain - truth)


def histogram_of(x, low=-5.0, high=12.0, n_bins=340):
    counts = np.histogram(np.clip(x, low, high - 1e-9), n_bins, (low, high))[0][None]
    return Histograms(counts, np.array([low]), np.array([(high - low) / n_bins]), BANDWIDTHS["normal"])


class TestThreshold:
    def test_an_empty_gap_is_split_in_its_middle(self):
        histogram = histogram_of(np.r_[np.linspace(-1, 1, 100), np.linspace(6, 8, 100)])
        assert histogram.threshold[0, RULE.locate(histogram, 5)[0]] == pytest.approx(3.5, abs=0.06)

    def test_the_least_minimum_is_taken_that_leaves_enough_rows(self):
        histogram = histogram_of(np.r_[two_normals(2000, 5.0), np.full(30, 11.0)])
        for least, expected in ((2, 2.5), (100, 2.5)):
            assert histogram.threshold[0, RULE.locate(histogram, least)[0]] == pytest.approx(expected, abs=0.5)
        assert RULE.locate(histogram, 1016)[0] == -1

    @pytest.mark.parametrize(("existing", "stays"), [(2.5, True), (0.5, False)])
    def test_an_existing_split_stays_where_j_is_hardly_larger(self, existing, stays):
        histogram = histogram_of(two_normals(4000, 5.0))
        k = int(RULE.locate(histogram, 50)[0])
        assert (RULE.at.unmoved(histogram, k, existing) is not None) == stays
        assert histogram.threshold[0, RULE.at.follow(histogram, 2.0)] == pytest.approx(2.5, abs=0.4)


@pytest.mark.parametrize("name", ["minimum_error", "minimum_error_corrected"])
def test_any_method_takes_the_criterion_and_the_threshold(name):
    X, y = (part.compute() for part in gaussian_mixture(2000, 5, 3, sd=1.0, random_state=1))
    model = DivisiveClustering(n_projections=60, criterion=name, threshold_rule=name).fit(X)
    assert model.n_clusters_ == 3
    assert matching_accuracy(y, model.labels_) > 0.99
