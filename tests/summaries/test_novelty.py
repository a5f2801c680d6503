"""Shares of rows where a model had none."""

import numpy as np
import pytest
from helpers import in_turns

from mdh_dask.summaries.drift import Drift, novelty_of
from mdh_dask.tree.structure import tree_from_nodes


def share(old, new, bandwidth):
    """Return the share of new rows that are novel at the only node of a tree."""
    node = {"left": -1, "right": -1, "plane": [1.0], "threshold": 0.0, "relative_depth": 9.0, "origin": 0.0}
    node |= {"width": 1.0, "bandwidth": bandwidth}
    trees = [tree_from_nodes([node | {"n_rows": sum(bins), "bins": bins}], n_features=1) for bins in (old, new)]
    return novelty_of(Drift(*trees)).share


@pytest.mark.parametrize(("bandwidth", "at"), in_turns([1.0, 3.0, 7.0], [0, 2, 4]))
def test_rows_within_a_bandwidth_of_old_ones_are_not_novel(at, bandwidth):
    old = [1000 * (i == at) for i in range(5)]
    for i in range(5):
        assert share(old, [50 * (i == j) for j in range(5)], bandwidth) == float(abs(i - at) > bandwidth)


def test_rows_where_at_most_a_thousandth_of_the_old_ones_lie_are_novel():
    old = np.array([500, 0, 0, 0, 1, 0, 0, 0, 500])
    new = np.full(9, 10)
    assert share([*map(int, 10 * old)], [*map(int, new)], 1.0) == pytest.approx(5 / 9)
    assert share([5000, 0, 0, 0, 11, 0, 0, 0, 5000], [*map(int, new)], 1.0) == pytest.approx(2 / 9)
