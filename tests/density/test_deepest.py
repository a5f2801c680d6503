"""The deepest valley of each histogram, as the densities of all its bins show it."""

import numpy as np
import pytest

from mdh_dask.density.bandwidth import BANDWIDTHS
from mdh_dask.density.histograms import Histograms
from mdh_dask.density.kde import deepest_valleys


def some_counts(seed: int = 0, n_bins: int = 90) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.poisson(5 * rng.random((40, n_bins)) ** 4)


def depths_of_bins(counts, bins_per_bandwidth):
    n = len(counts)
    known = {"known_bandwidth": np.full(n, 0.1 * bins_per_bandwidth)}
    return Histograms(counts, np.zeros(n), np.full(n, 0.1), BANDWIDTHS["multimodal"], **known)


@pytest.mark.parametrize("bins_per_bandwidth", [2.5, 5.0])
@pytest.mark.parametrize("min_rows", [1, 20])
def test_they_are_those_of_the_densities(bins_per_bandwidth, min_rows):
    counts = some_counts()
    histograms = depths_of_bins(counts, bins_per_bandwidth)
    depths = np.where(histograms.leaves_rows(min_rows), histograms.depth, 0.0)
    valleys = deepest_valleys(counts, bins_per_bandwidth, min_rows)
    np.testing.assert_allclose(valleys.depth, depths.max(axis=1), atol=1e-6)
    np.testing.assert_array_equal(valleys.bins, depths.argmax(axis=1))
    np.testing.assert_array_equal(valleys.n_left, histograms.n_left[np.arange(len(counts)), valleys.bins])


def test_only_allowed_bins_count():
    counts = some_counts(1)
    first, last = np.full(len(counts), 30), np.full(len(counts), 40)
    depths = depths_of_bins(counts, 2.0).depth[:, 30:41]
    valleys = deepest_valleys(counts, 2.0, 1, (first, last))
    np.testing.assert_allclose(valleys.depth, np.maximum(depths.max(axis=1), 0), atol=1e-6)
    np.testing.assert_array_equal(valleys.bins[valleys.depth > 0], 30 + depths.argmax(axis=1)[valleys.depth > 0])


def test_without_enough_rows_on_both_sides_there_is_none():
    valleys = deepest_valleys(np.array([[0, 5, 0, 0, 0, 0, 5, 0]]), 1.0, 6)
    assert valleys.depth.tolist() == [0.0]
