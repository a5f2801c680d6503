"""The test of a valley on groups of dependent rows holds its level, and finds valleys that show between groups."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import ttest_rel

from mdh_dask.density.histograms import Histograms
from mdh_dask.density.kde import BANDWIDTHS
from mdh_dask.splits.dependence import N_PARTS, errors_of_parts, halves_of_parts, p_value_of_parts

WIDTH = 0.25
EDGES = np.arange(-6, 6 + WIDTH, WIDTH)


def histogram_of(values):
    counts = np.histogram(values, EDGES)[0]
    return Histograms(counts[None], np.array([EDGES[0]]), np.array([WIDTH]), BANDWIDTHS["normal"])


def parts_of(groups, rng):
    """The histograms of the parts of some groups of values."""
    parts = np.zeros((16, len(EDGES) - 1), dtype=int)
    np.add.at(parts, rng.permutation(np.arange(len(groups)) % 16), [np.histogram(own, EDGES)[0] for own in groups])
    return parts


def lumps(rng, n_groups, n=200, spread=0.3):
    """Groups of values near a normal centre: all values together are normal, but for the lumps."""
    return [rng.normal(centre, spread, n) for centre in rng.normal(size=n_groups)]


def p_value(rng, draw):
    chosen = histogram_of(np.concatenate(draw()))
    k = int(np.where(chosen.leaves_rows(100)[0], chosen.depth[0], 0).argmax())
    return p_value_of_parts(chosen, parts_of(draw(), rng), k)


@pytest.mark.slow
@pytest.mark.parametrize("n_groups", [8, 20, 100])
def test_lumps_of_groups_are_no_valleys_in_more_than_five_of_a_hundred_clouds(n_groups):
    rng = np.random.default_rng(n_groups)
    p_values = [p_value(rng, lambda: lumps(rng, n_groups)) for _ in range(200)]
    assert np.mean(np.array(p_values) <= 0.05) <= 0.08  # 0.05 and two standard errors


@pytest.mark.parametrize("n_groups", [16, 50])
def test_a_valley_that_all_groups_show_is_found(n_groups):
    rng = np.random.default_rng(0)
    two = lambda: [np.concatenate([rng.normal(-2, 0.8, 100), rng.normal(2, 0.8, 100)]) for _ in range(n_groups)]  # noqa: E731
    assert max(p_value(rng, two) for _ in range(20)) < 0.001


def test_few_parts_with_rows_confirm_nothing():
    rng = np.random.default_rng(0)
    chosen = histogram_of(np.concatenate([rng.normal(-2, 0.5, 500), rng.normal(2, 0.5, 500)]))
    parts = np.tile(chosen.counts, (3, 1))
    assert p_value_of_parts(chosen, parts, 23) == 1
    assert p_value_of_parts(chosen, np.concatenate([parts, np.zeros((13, len(EDGES) - 1), int)]), 23) == 1
    assert p_value_of_parts(chosen, np.tile(chosen.counts, (4, 1)), 23) == 0.5**4  # as of a sign test


def test_a_mode_of_a_single_part_is_no_evidence_however_clear_the_other_is():
    rng = np.random.default_rng(0)
    chosen = histogram_of(np.concatenate([rng.normal(-2, 0.5, 500), rng.normal(2, 0.5, 500)]))
    parts = np.tile(chosen.counts, (16, 1))
    assert p_value_of_parts(chosen, parts, 23) == 0.5**16
    parts[1:, 24:] = 0
    assert p_value_of_parts(chosen, parts, 23) > 0.1


def test_rows_within_a_bandwidth_of_the_weaker_mode_and_of_the_valley_are_compared():
    rng = np.random.default_rng(0)
    chosen = histogram_of(np.concatenate([rng.normal(-2, 0.8, 300), rng.normal(2, 0.8, 200)]))
    parts = rng.poisson(chosen.counts[0] / 8, (16, len(EDGES) - 1))
    reach, modes = (
        round(chosen.bandwidth[0] / WIDTH),
        [chosen.density[0, :24].argmax(), 23 + chosen.density[0, 23:].argmax()],
    )
    around = lambda k: np.array([sum(part[i] for i in range(len(part)) if abs(i - k) <= reach) for part in parts])  # noqa: E731
    expected = max(ttest_rel(around(mode), around(23), alternative="greater").pvalue for mode in modes)
    assert reach > 1
    assert p_value_of_parts(chosen, parts, 23) == pytest.approx(expected)


def test_a_place_without_rows_in_any_part_is_no_evidence_for_or_against_a_valley():
    differences = np.array([[0, -1, 3], [0, -2, 4], [0, -1, 5], [0, -3, 4]])
    assert errors_of_parts(differences, np.full(3, 9.0)).round(1).tolist() == [0, -2.1, 3.1]


def test_parts_show_no_more_than_independent_rows_would():
    alike = np.ones((16, 1))  # a core of sixteen rows, one in each part, and a cut without any
    assert errors_of_parts(alike, np.array([3.4])).tolist() == [3.4]


def test_divisions_of_parts_are_even_and_cut_each_others_halves_in_two():
    halves = [halves_of_parts(number) for number in range(2 * N_PARTS)]
    for (a, first), (b, second) in product(enumerate(halves), repeat=2):
        same = a % (N_PARTS - 1) == b % (N_PARTS - 1)
        assert (first & second).sum() == (N_PARTS // 2 if same else N_PARTS // 4)
