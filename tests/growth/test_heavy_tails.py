"""Columns with heavy tails beside a column with two clusters: gaps among few sample rows hide no valley."""

import numpy as np
import pytest
from helpers import at_night, in_turns

from mdh_dask import HierarchicalMDH, RandomProjectionTree
from mdh_dask.metrics import adjusted_rand_index

TAILS = {
    "lognormal": lambda rng, shape: rng.lognormal(size=shape),
    "Student t with 2 df": lambda rng, shape: rng.standard_t(2, size=shape),
}


def beside_tails(kind, n_columns, seed, n=100_000):
    """Two normal distributions five standard deviations apart in the first column; the others are unrelated."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.16).astype(int)
    return np.column_stack([rng.normal(size=n) + 5 * labels, TAILS[kind](rng, (n, n_columns))]), labels


@pytest.mark.parametrize(
    ("kind", "n_columns", "seed"),
    at_night([(kind, d, seed) for seed in range(2) for d in (20, 2) for kind in TAILS], 3),
)
def test_unrelated_columns_with_heavy_tails_hide_no_clusters(kind, n_columns, seed):
    rows, labels = beside_tails(kind, n_columns, seed)
    model = RandomProjectionTree(random_state=seed).fit(rows)
    assert model.n_clusters_ == 2
    assert adjusted_rand_index(labels, model.labels_) > 0.95


@pytest.mark.parametrize(("method", "kind"), in_turns([RandomProjectionTree, HierarchicalMDH], TAILS))
def test_heavy_tails_alone_are_one_cluster(kind, method):
    rows = beside_tails(kind, 5, 0)[0][:, 1:]
    assert method().fit(rows).n_clusters_ == 1
