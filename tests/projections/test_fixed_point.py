"""Independent components by the fixed-point iteration, and clusters that only they show."""

import numpy as np
import pytest

from mdh_dask import HierarchicalMDH
from mdh_dask.metrics import adjusted_rand_index
from mdh_dask.projections.pca import non_normal_directions, whitening_of


def sheets(seed, n=2000, d=10, n_clusters=4):
    """Parallel sheets twenty times as long in all directions but one as thick, five thicknesses apart."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_clusters, n)
    rows = 20 * rng.normal(size=(n, d))
    rows[:, 0] = rng.normal(size=n) + 5 * labels
    return rows @ np.linalg.qr(rng.normal(size=(d, d)))[0], labels


@pytest.mark.parametrize("share", [0.5, (1 - 3**-0.5) / 2, 0.05], ids=["negative", "zero", "positive"])
def test_two_groups_are_found_across_any_affine_map_whatever_their_kurtosis(share):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4000, 6))
    rows[:, 2] += 6 * (np.arange(4000) < share * 4000)
    there = rows @ rng.normal(size=(6, 6))
    whitening = whitening_of(there, only_thin=False)
    directions = non_normal_directions((there - there.mean(axis=0)) @ whitening.T)
    np.testing.assert_allclose(directions @ directions.T, np.eye(6), atol=1e-12)
    projections = (there - there.mean(axis=0)) @ (directions @ whitening).T
    assert np.abs(np.corrcoef(projections.T, rows[:, 2])[-1, :-1]).max() > 0.98


@pytest.mark.parametrize("seed", range(2))
def test_sheets_beside_each_other_are_found_among_many_longer_directions(seed):
    rows, labels = sheets(seed)
    assert whitening_of(rows) is None  # not thin as a whole
    found = HierarchicalMDH(random_state=seed).fit_predict(rows)
    assert len(np.unique(found)) == 4
    assert adjusted_rand_index(found, labels) > 0.9
    assert HierarchicalMDH(random_state=seed).fit(sheets(seed, n_clusters=1)[0]).n_clusters_ == 1
