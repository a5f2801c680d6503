"""Density trees of thousands of rows, and of more rows than their sample."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from mdh_dask import DensityTree


def unequal(n, kind, seed):
    """A sixth of the rows beside all others in one column, five standard deviations apart, and unrelated columns."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.16).astype(int)
    return np.column_stack([rng.normal(size=n) + 5 * labels, getattr(rng, kind)(size=(n, 5))]), labels


@pytest.mark.slow
@pytest.mark.parametrize(("n_rows", "kind"), [(10_000, "normal"), (20_000, "uniform"), (100_000, "normal")])
def test_more_rows_lose_no_clusters_that_fewer_show(n_rows, kind):
    rows, labels = unequal(n_rows, kind, seed=2)
    assert adjusted_rand_score(DensityTree(random_state=1).fit_predict(rows), labels) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_levels_of_counts_are_no_clusters_of_the_rows_that_are_not_in_the_sample(seed):
    rng = np.random.default_rng(seed)
    labels = rng.random(50_000) < 0.16
    rows = np.column_stack([rng.normal(size=50_000) + 5 * labels, rng.poisson(4, (50_000, 2))])
    assert adjusted_rand_score(DensityTree(random_state=seed).fit_predict(rows), labels) > 0.9


@pytest.mark.slow
def test_a_community_across_a_valley_hides_no_clusters():
    labels = np.repeat([0, 1], [3360, 640])
    rows = np.random.default_rng(2).normal(size=(4000, 4)) + 5 * np.column_stack([labels, np.zeros((4000, 3))])
    assert adjusted_rand_score(DensityTree(random_state=0).fit_predict(rows), labels) > 0.9
