"""Several criteria at once: directions by their mean rank."""

import numpy as np
import pytest

from mdh_dask import DivisiveClustering
from mdh_dask.density.kde import BANDWIDTHS
from mdh_dask.growth.scoring import histograms_along
from mdh_dask.metrics import adjusted_rand_index
from mdh_dask.simulate import gaussian_mixture
from mdh_dask.splits.rules import SplitRule


def test_directions_are_scored_by_their_mean_rank_in_all_of_them():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 6)) + 5 * rng.integers(0, 2, (300, 1)) * np.linspace(0, 1, 6)
    counted = histograms_along(np.ascontiguousarray(rows.T), BANDWIDTHS["normal"], np.zeros(6), 5)
    names = ("relative_depth", "dip", "kurtosis")
    single = np.array([SplitRule(name, criterion_first=True).score(counted, 5) for name in names])
    ranks = [(row < row[:, None]).sum(axis=1) + ((row == row[:, None]).sum(axis=1) + 1) / 2 for row in single]
    np.testing.assert_allclose(SplitRule(names, criterion_first=True).score(counted, 5), np.mean(ranks, axis=0))
    several = SplitRule(names).score(counted, 5)
    assert (np.isinf(several) == np.isinf(SplitRule("dip").score(counted, 5))).all()


def test_trees_take_several_criteria_and_rank_all_directions_together():
    X, y = gaussian_mixture(2000, 5, 4, sd=1.0, random_state=0)
    model = DivisiveClustering(n_projections=300, criterion=["relative_depth", "dip"]).fit(X)
    assert adjusted_rand_index(y, model.labels_.compute()) > 0.95
    assert DivisiveClustering(n_projections=300, criterion=("relative_depth", "dip")).fit(X).tree_ == model.tree_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"criterion": ["dip", "dip"]}, "expected different names of criteria"),
        ({"criterion": []}, "expected different names of criteria"),
        ({"criterion": ["depth"]}, "expected different names of criteria for criterion, from relative_depth"),
        ({"criterion": ["Dip"]}, r"\(did you mean 'dip'\?\)"),
        ({"criterion": ["dip", "kurtosis"], "order": "criterion"}, "expected one criterion with order='criterion'"),
        ({"criterion": ["dip", "kurtosis"], "stop_rule": "null"}, "expected one criterion"),
    ],
)
def test_what_cannot_be_ranked_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        DivisiveClustering(**options).fit(np.random.default_rng(0).normal(size=(50, 2)))
