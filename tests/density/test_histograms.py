"""What is read off stacked histograms, against the rows that were counted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds

from mdh_dask._jit.histograms import bin_projections
from mdh_dask.density.histograms import Histograms
from mdh_dask.density.kde import BANDWIDTHS, kernel_density, kernel_height, relative_depth

NORMAL = BANDWIDTHS["normal"]


@st.composite
def stacks(draw, max_directions=4):
    """Histograms of the same rows along several directions; some rows fall outside."""
    rng = np.random.default_rng(draw(seeds))
    n_directions, n_bins = draw(st.integers(1, max_directions)), draw(st.integers(3, 40))
    rows = rng.normal(size=(n_directions, draw(st.integers(1, 100)))).round(1)
    origin, width = rng.normal(-2, 0.5, n_directions), rng.uniform(0.02, 0.3, n_directions)
    bins = np.clip((rows - origin[:, None]) / width[:, None], 0, n_bins - 1).astype(int)
    counts = np.array([np.bincount(b, minlength=n_bins) for b in bins])
    return bins, Histograms(counts, origin, width, NORMAL)


class TestHistograms:
    @given(stacks())
    def test_rows_left_of_a_split_are_those_in_its_bin_and_before(self, stack):
        bins, histograms = stack
        for k in range(histograms.counts.shape[1]):
            np.testing.assert_array_equal(histograms.n_left[:, k], (bins <= k).sum(axis=1))

    @given(stacks(), st.floats(0, 60))
    def test_leaves_rows_counts_both_sides(self, stack, n):
        bins, histograms = stack
        for k in range(histograms.counts.shape[1]):
            left, right = (bins <= k).sum(axis=1), (bins > k).sum(axis=1)
            np.testing.assert_array_equal(histograms.leaves_rows(n)[:, k], np.minimum(left, right) >= n)

    @given(stacks())
    def test_a_threshold_is_the_end_of_its_bin_and_found_again(self, stack):
        _, histograms = stack
        n_bins = histograms.counts.shape[1]
        np.testing.assert_allclose(histograms.threshold[:, -1], histograms.origin + n_bins * histograms.width)
        assert [histograms.bin_of(float(t)) for t in histograms.threshold[0]] == list(range(n_bins))

    @given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e3), st.integers(3, 40), st.data())
    def test_the_last_value_before_a_split_is_counted_there_and_the_next_one_is_not(self, origin, width, n_bins, data):
        k = data.draw(st.integers(0, n_bins - 2))
        layout = np.array([origin]), np.array([width])
        last = Histograms(np.ones((1, n_bins), dtype=np.int64), *layout, NORMAL).last_before(k)
        counts = np.zeros((1, n_bins), dtype=np.int64)
        bin_projections(np.array([[last, np.nextafter(last, np.inf)]]), *layout, counts)
        assert counts.nonzero()[1].tolist() == [k, k + 1]

    @given(stacks(), st.floats(-1e6, 1e6))
    def test_any_value_has_a_bin(self, stack, value):
        _, histograms = stack
        k = histograms.bin_of(value)
        distances = np.abs(histograms.threshold[0] - value)
        assert distances[k] <= distances.min() * (1 + 1e-9) + 1e-9

    @given(stacks())
    def test_the_density_is_at_least_a_bin_wide_in_its_kernel(self, stack):
        _, histograms = stack
        n, sd, quartiles = histograms.spread
        expected = np.maximum(NORMAL.of(n, sd, quartiles), histograms.width)
        np.testing.assert_array_equal(histograms.bandwidth, expected)
        density = kernel_density(histograms.counts, histograms.width, expected)
        np.testing.assert_array_equal(histograms.density, density)
        np.testing.assert_array_equal(histograms.depth, relative_depth(density, kernel_height(n, expected)))

    @given(stacks(), st.floats(0, 5))
    def test_within_measures_from_the_mean_in_deviations(self, stack, alpha):
        bins, histograms = stack
        within = histograms.within(alpha)
        for c, (origin, width) in enumerate(zip(histograms.origin, histograms.width)):
            mean = (origin + width * (bins[c] + 0.5)).mean()
            distance = np.abs(origin + width * np.arange(1, within.shape[1] + 1) - mean)
            clear = np.abs(distance - alpha * histograms.spread[1][c]) > 1e-9
            np.testing.assert_array_equal(within[c, clear], (distance <= alpha * histograms.spread[1][c])[clear])

    @given(stacks(), st.data())
    def test_selecting_directions_selects_everything_about_them(self, stack, data):
        _, histograms = stack
        n_directions = len(histograms.counts)
        which = data.draw(st.lists(st.integers(0, n_directions - 1), min_size=1))
        chosen = histograms[which]
        for name in ("counts", "origin", "width", "bandwidth", "n_left", "threshold"):
            np.testing.assert_allclose(getattr(chosen, name), getattr(histograms, name)[which], atol=1e-12)
        np.testing.assert_array_equal(histograms[0].counts, histograms.counts[:1])

    def test_what_the_rounding_of_values_calls_for_widens_the_bandwidth(self):
        counts = np.array([[0, 10, 30, 10, 0]])
        plain = Histograms(counts, np.zeros(1), np.ones(1), NORMAL)
        widened = Histograms(counts, np.zeros(1), np.ones(1), NORMAL, np.array([2.0]))
        assert widened.bandwidth[0] == pytest.approx(np.hypot(NORMAL.of(*plain.spread)[0], 2.0))
        np.testing.assert_array_equal(widened[[0, 0]].bandwidth, widened.bandwidth.repeat(2))
