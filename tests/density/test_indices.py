"""The dip is the distance to the nearest unimodal distribution; kurtosis is that of the centres of the bins."""

from functools import partial

import numpy as np
import pytest
import reference_dip
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from mdh_dask._jit.dip import dip_of_knots
from mdh_dask.density.indices import dip_of_counts, kurtosis_of_counts

FACULTY = [
    30, 33, 35, 36, 37, 37, 39, 39, 39, 39, 39, 40, 40, 40, 40, 41, 42, 43, 43, 43, 44, 44, 45, 45, 46, 46, 47, 47,
    48, 48, 48, 49, 50, 50, 51, 52, 52, 53, 53, 53, 53, 53, 54, 54, 57, 57, 59, 60, 60, 60, 61, 61, 61, 61, 62, 62,
    62, 62, 63, 66, 70, 72, 72,
]  # fmt: skip
"""Faculty quality in statistics departments, the example of Hartigan and Hartigan (1985)."""

dip_of_sample = partial(reference_dip.dip_of_sample, of_knots=dip_of_knots)
"""The dip of a distribution function that jumps, by the loop for histograms, whose functions only bend."""

small_samples = st.lists(st.integers(-8, 8), min_size=1, max_size=9)
spread_samples = st.lists(st.floats(-100, 100).map(lambda v: round(v, 2)), min_size=1, max_size=8)
histograms = st.lists(st.integers(0, 20), min_size=1, max_size=8).filter(any)


def dip_of(counts):
    return dip_of_counts([counts])[0]


def made_data(seed, n, shape):
    u = np.random.default_rng(seed).random((3, n))
    return {
        "uniform": u[0],
        "peaked": u[0] + u[1] - u[2],
        "two modes": u[0] + u[1] + 3 * (u[2] < 0.4),
        "ties": np.floor(9 * u[0] * u[1]),
    }[shape]


@pytest.mark.slow
@settings(deadline=None, max_examples=30)
@given(st.one_of(small_samples, spread_samples))
def test_dip_is_the_distance_to_the_nearest_unimodal_distribution(x):
    assert dip_of_sample(x) == pytest.approx(reference_dip.dip_of_sample(x), abs=1e-8)


@settings(deadline=None, max_examples=30)
@given(histograms)
def test_dip_of_counts_is_the_distance_of_the_histogram_to_the_nearest_unimodal_distribution(counts):
    assert dip_of(counts) == pytest.approx(reference_dip.dip_of_counts(counts), abs=1e-8)


@pytest.mark.parametrize(
    ("seed", "n", "shape", "dip"),
    [
        (1, 50, "uniform", 0.043134178902965274),
        (2, 500, "uniform", 0.01740379430562061),
        (3, 80, "peaked", 0.03905678823867892),
        (4, 2000, "peaked", 0.005263479661742057),
        (5, 60, "two modes", 0.09148586795915949),
        (6, 1000, "two modes", 0.09433739141847526),
        (7, 40, "ties", 0.1375),
        (8, 300, "ties", 0.115),
    ],
)
def test_dip_equals_that_of_the_diptest_package(seed, n, shape, dip):
    # diptest 0.12.0 from PyPI, which wraps the loop of the R package.
    assert dip_of_sample(made_data(seed, n, shape)) == pytest.approx(dip, rel=1e-12)


def test_faculty_example_has_its_published_dip():
    assert dip_of_sample(FACULTY) == pytest.approx(0.05952381, abs=5e-9)


@settings(deadline=None)
@given(st.lists(st.floats(0, 0.999), min_size=1, max_size=60), st.integers(1, 40))
def test_binning_lowers_the_dip_by_at_most_the_largest_bin(x, n_bins):
    counts = np.histogram(x, bins=n_bins, range=(0.0, 1.0))[0]
    lost = dip_of_sample(x) - dip_of(counts)
    assert -1e-12 <= lost <= counts.max() / len(x) + 1e-12


@settings(deadline=None)
@given(histograms, st.integers(0, 5), st.integers(0, 5), st.floats(1e-3, 1e3))
def test_dip_of_counts_ignores_empty_ends_and_the_unit_of_the_counts(counts, before, after, unit):
    padded = unit * np.pad(np.asarray(counts, dtype=float), (before, after))
    assert dip_of(padded) == pytest.approx(dip_of(counts), abs=1e-12)


@settings(deadline=None)
@given(st.lists(st.integers(0, 1000), min_size=1, max_size=60), st.lists(st.integers(0, 1000), max_size=60))
def test_a_histogram_with_one_mode_has_no_dip(up, down):
    assert dip_of(sorted(up) + sorted(down, reverse=True)) == pytest.approx(0.0, abs=1e-12)


def test_a_stack_of_histograms_is_scored_row_by_row():
    stack = np.random.default_rng(0).poisson(4.0, size=(12, 33))
    stack[6] = 0
    dips = dip_of_counts(stack)
    assert dips[6] == 0.0
    assert [dip_of(counts) for counts in stack] == dips.tolist()
    np.testing.assert_array_equal(dip_of_counts(np.asfortranarray(stack, dtype=np.float32)), dips)


@given(st.lists(st.lists(st.integers(0, 9), min_size=6, max_size=6), min_size=1, max_size=3))
def test_kurtosis_of_counts_is_that_of_the_centres_of_the_bins(counts):
    for found, row in zip(kurtosis_of_counts(counts), counts):
        values = np.repeat(np.arange(6.0), row)
        if len({*values}) < 2:
            assert np.isnan(found)
        else:
            assert found == pytest.approx(scipy.stats.kurtosis(values, fisher=False), rel=1e-12)
