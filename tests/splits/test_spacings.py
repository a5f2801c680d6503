"""The gap rule of Peña and Prieto, and the exact distribution of the widest spacing."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from scipy.stats import norm
from strategies import seeds

from mdh_dask import DivisiveClustering
from mdh_dask.density.histograms import Histograms
from mdh_dask.density.kde import BANDWIDTHS
from mdh_dask.growth.scoring import histograms_along
from mdh_dask.metrics import adjusted_rand_index
from mdh_dask.splits.papers import TAIL, SpacingTest, spacings, widest_exceeds


def histogram(projections) -> Histograms:
    return histograms_along(np.array([projections]), BANDWIDTHS["normal"], np.zeros(1), 5, with_extremes=True)


def test_probabilities_are_those_of_simulated_spacings():
    rng = np.random.default_rng(0)
    for n in (1, 3, 20, 200):
        rows = np.sort(rng.uniform(size=(20_000, n)), axis=1)
        widest = np.diff(rows, prepend=0.0, append=1.0, axis=1).max(axis=1)
        for x in np.quantile(widest, [0.1, 0.5, 0.9, 0.99]):
            assert widest_exceeds(x, n) == pytest.approx((widest > x).mean(), abs=0.015)


@given(seeds)
def test_spacings_are_those_of_sorted_rows_between_bins(seed):
    p = np.random.default_rng(seed).normal(size=60)
    counted = histogram(p)
    u = np.sort(norm.cdf((p - counted.mean[0]) / counted.spread[1][0]))
    gaps = {round(b - a, 9) for a, b in pairwise(u)}
    found = spacings(counted)[0]
    assert {round(gap, 9) for gap in found if gap > 0} <= gaps
    wide = [b - a for a, b in pairwise(u) if a > TAIL and b < 1 - TAIL]
    assert found.max() == pytest.approx(max(wide))


def test_normal_rows_are_seldom_divided_and_distant_groups_always():
    rng, rule = np.random.default_rng(1), SpacingTest(0.95)

    def divided(rows):
        counted = histogram(rows)
        k = int(spacings(counted)[0].argmax())
        return rule.accepts(counted[0], k, len(rows), 1, rng)

    for n in (30, 300):
        assert np.mean([divided(rng.normal(size=n)) for _ in range(200)]) <= 0.05
    assert all(divided(rng.normal(size=300) + np.repeat([0, 9], 150)) for _ in range(20))


TREE = DivisiveClustering(
    projection="kurtosis", n_projections=8, criterion="kurtosis", threshold_rule="spacing", stop_rule="spacing"
)


def test_trees_of_gaps_find_distant_groups():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 3)) + np.repeat(12 * np.eye(3), 200, axis=0)
    model = TREE.fit(rows)
    assert adjusted_rand_index(np.repeat(range(3), 200), model.labels_) == 1
    assert TREE.fit(rng.normal(size=(400, 3))).n_clusters_ == 1


def test_the_test_of_gaps_needs_thresholds_in_gaps():
    with pytest.raises(ValueError, match="expected threshold_rule='spacing' or 'gap'"):
        DivisiveClustering(stop_rule="spacing").fit(np.random.default_rng(0).normal(size=(50, 2)))
