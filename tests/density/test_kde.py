"""Binned kernel densities against direct summation of Gaussians and against scipy."""

import numpy as np
import pytest
import reference
from helpers import histogram_of
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import gaussian_kde, norm
from strategies import seeds

from mdh_dask.density.kde import BINS_PER_BANDWIDTH, kernel_density, kernel_height

SHAPES = {
    "Gaussian": lambda rng, n: rng.normal(size=n),
    "two modes": lambda rng, n: np.concatenate([rng.normal(-3, 1, n // 2), rng.normal(3, 0.3, n - n // 2)]),
    "heavy tails": lambda rng, n: rng.standard_t(2, n),
    "edge": lambda rng, n: rng.exponential(size=n),
}


def density_of(sample, bandwidth, bins_per_bandwidth):
    counts, origin, width = histogram_of(sample, bandwidth, bins_per_bandwidth)
    centres = origin + width * (np.arange(len(counts)) + 0.5)
    return centres, kernel_density(counts, np.array(width), np.array(bandwidth)), width


def worst_error(bins_per_bandwidth, make, seed, n=300):
    """Largest error of the density beside its peak."""
    sample = make(np.random.default_rng(seed), n)
    bandwidth = 1.06 * min(sample.std(), 3.0) * n**-0.2
    centres, density, _ = density_of(sample, bandwidth, bins_per_bandwidth)
    exact = gaussian_kde(sample, bandwidth / sample.std(ddof=1))(centres)
    return np.abs(density - exact).max() / exact.max()


class TestAccuracy:
    @pytest.mark.slow
    @pytest.mark.parametrize("make", SHAPES.values(), ids=SHAPES)
    @pytest.mark.parametrize(("n", "n_bins"), [(1000, 4), (300, BINS_PER_BANDWIDTH)])
    def test_four_bins_per_bandwidth_and_more_for_few_rows_are_within_a_per_cent_of_the_exact_estimate(
        self, make, n, n_bins
    ):
        # Measured: 0.0071 and 0.0084 at worst; with four bins for few rows it would be 0.0125.
        assert max(worst_error(n_bins, make, seed, n=n) for seed in range(20)) < 0.01

    @given(st.lists(st.integers(0, 3), min_size=3, max_size=40), st.floats(2.5, 6))
    def test_rows_at_bin_centres_are_summed_exactly(self, inner, bandwidth):
        counts = np.array([0, *inner, 0])
        sample = np.repeat(np.arange(len(counts)), counts).tolist()
        density = kernel_density(counts, np.array(1.0), np.array(bandwidth))
        expected = reference.gaussian_density(sample, bandwidth, range(len(counts))) if sample else 0 * counts
        np.testing.assert_allclose(density, expected, atol=1e-7)

    @given(st.integers(1, 4), st.integers(3, 50), seeds)
    def test_stacked_histograms_are_estimated_one_by_one(self, n_directions, n_bins, seed):
        rng = np.random.default_rng(seed)
        counts, width = rng.integers(0, 5, (n_directions, n_bins)), rng.uniform(0.1, 2, n_directions)
        bandwidth = width * rng.uniform(2.5, 8, n_directions)
        stacked = kernel_density(counts, width, bandwidth)
        for line, *one in zip(stacked, counts, width, bandwidth):
            np.testing.assert_allclose(line, kernel_density(*map(np.array, one)), atol=1e-10)

    def test_stacked_densities_are_contiguous_so_that_loops_are_compiled_for_one_layout(self):
        assert kernel_density(np.ones((3, 50)), np.ones(3), np.full(3, 4.0)).flags.c_contiguous


class TestMass:
    @pytest.mark.parametrize("make", SHAPES.values(), ids=SHAPES)
    def test_integrates_to_one(self, make):
        sample = make(np.random.default_rng(0), 500)
        _, density, width = density_of(sample, 0.3, 5)
        assert density.sum() * width == pytest.approx(1, abs=1e-8)

    @pytest.mark.parametrize("bandwidth", [2.0, 5.0, 20.0, 60.0])
    def test_mass_at_one_end_does_not_leak_to_the_other(self, bandwidth):
        counts = np.zeros(50)
        counts[1] = 1000
        density = kernel_density(counts, np.array(1.0), np.array(bandwidth))
        np.testing.assert_allclose(density, norm.pdf(np.arange(50), 1, bandwidth), atol=1e-8)
        mirrored = kernel_density(counts[::-1], np.array(1.0), np.array(bandwidth))
        np.testing.assert_allclose(mirrored, density[::-1], atol=1e-15)

    def test_what_fell_outside_is_left_out(self):
        counts = np.array([50, 0, 0, 3, 0, 0, 80])
        inner = np.array([0, 0, 0, 3, 0, 0, 0])
        args = np.array(1.0), np.array(1.2)
        np.testing.assert_array_equal(kernel_density(counts, *args), kernel_density(inner, *args))

    @given(st.lists(st.integers(0, 10**12), min_size=3, max_size=60), st.floats(1, 10))
    def test_is_never_negative(self, counts, bandwidth):
        assert (kernel_density(np.array(counts), np.array(0.1), np.array(bandwidth / 10)) >= 0).all()


def test_kernel_height_is_the_peak_of_a_row_that_lies_alone():
    sample = np.zeros(40)
    sample[0] = 100
    centres, density, _ = density_of(sample, 0.5, 9)
    alone = density[np.abs(centres - 100) < 0.3].max()
    assert alone == pytest.approx(kernel_height(40, 0.5), rel=0.02)
    assert kernel_height(0, 0.5) == kernel_height(1, 0.5)
