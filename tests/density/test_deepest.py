"""The deepest valley of each histogram, as the densities of all its bins show it."""

from dataclasses import replace

import numpy as np
import pytest
import reference

from mdh_dask.density.histograms import Histograms
from mdh_dask.density.kde import BANDWIDTHS, deepest_valleys, lower_ratio, relative_depth


def some_counts(seed: int = 0, n_bins: int = 90) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.poisson(5 * rng.random((40, n_bins)) ** 4)


def depths_of_bins(counts, bins_per_bandwidth):
    n = len(counts)
    known = {"known_bandwidth": np.full(n, 0.1 * bins_per_bandwidth)}
    return Histograms(counts, np.zeros(n), np.full(n, 0.1), BANDWIDTHS["multimodal"], **known)


@pytest.mark.parametrize("bins_per_bandwidth", [2.5, 5.0])
@pytest.mark.parametrize("min_rows", [1, 20])
@pytest.mark.parametrize("share", [0.1, 1.0])
def test_they_are_those_of_the_densities(bins_per_bandwidth, min_rows, share):
    counts = some_counts()
    histograms = replace(depths_of_bins(counts, bins_per_bandwidth), share=share)
    possible = histograms.leaves_rows(min_rows) & (histograms.depth > 0)
    ratios, each = np.where(possible, histograms.lower_ratio, 0.0), np.arange(len(counts))
    valleys = deepest_valleys(counts, bins_per_bandwidth, min_rows, share=share)
    np.testing.assert_array_equal(valleys.bins, ratios.argmax(axis=1))
    np.testing.assert_allclose(valleys.lower, ratios.max(axis=1) - 1, atol=1e-6)
    np.testing.assert_allclose(valleys.depth, histograms.depth[each, valleys.bins], atol=1e-6)
    np.testing.assert_array_equal(valleys.n_left, histograms.n_left[each, valleys.bins])


@pytest.mark.parametrize("doubt", [0.0, 0.3, 0.84])
def test_lower_ratios_are_those_of_the_definition(doubt):
    density, floor = np.random.default_rng(0).random((5, 30)), np.linspace(0.01, 1, 5)
    expected = [reference.lower_ratios(*one, doubt) for one in zip(density.tolist(), floor.tolist())]
    np.testing.assert_allclose(lower_ratio(density, floor, doubt), expected, rtol=1e-9)


def test_without_doubt_they_are_one_more_than_the_relative_depths():
    density, floor = np.random.default_rng(0).random((5, 30)), np.linspace(0.01, 1, 5)
    np.testing.assert_allclose(lower_ratio(density, floor, 0.0), 1 + relative_depth(density, floor))


@pytest.mark.parametrize(("share", "deepest"), [(1.0, "gap"), (0.1, "valley")])
def test_in_a_sample_a_valley_before_many_rows_is_deeper_than_a_gap_before_few(share, deepest):
    counts = np.zeros((1, 60), dtype=int)
    counts[0, 5:14], counts[0, 14:17], counts[0, 17:26] = 200, 40, 200
    counts[0, 50] = 6
    place = deepest_valleys(counts, 1.0, 1, share=share).bins[0]
    assert {True: "valley", False: "gap"}[bool(place < 26)] == deepest


def test_only_allowed_bins_count():
    counts = some_counts(1)
    allowed = np.tile([[30], [40]], len(counts))
    depths = depths_of_bins(counts, 2.0).depth[:, 30:41]
    valleys = deepest_valleys(counts, 2.0, 1, allowed)
    np.testing.assert_allclose(valleys.depth, np.maximum(depths.max(axis=1), 0), atol=1e-6)
    np.testing.assert_array_equal(valleys.bins[valleys.depth > 0], 30 + depths.argmax(axis=1)[valleys.depth > 0])


def test_without_enough_rows_on_both_sides_there_is_none():
    valleys = deepest_valleys(np.array([[0, 5, 0, 0, 0, 0, 5, 0]]), 1.0, 6)
    assert valleys.depth.tolist() == [0.0]
