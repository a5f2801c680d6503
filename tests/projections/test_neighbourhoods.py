"""Directions to near rows, which show clusters in hundreds of columns."""

import numpy as np
import pytest

from mdh_dask import RandomProjectionTree
from mdh_dask.metrics import normalized_mutual_information
from mdh_dask.projections.starts import near_means


def embeddings(signal, n, d, k, seed=0):
    """Rows of unit length whose spectrum decays, in k clusters, the largest with k times the rows of the smallest."""
    rng = np.random.default_rng(seed)
    sd, shares = np.arange(1, d + 1) ** -0.5, 1 / np.arange(1, k + 1)
    labels = rng.choice(k, n, p=shares / shares.sum())
    turned = np.linalg.qr(rng.normal(size=(d, d)))[0]
    rows = ((signal * rng.normal(size=(k, d)) * sd)[labels] + rng.normal(size=(n, d)) * sd) @ turned
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32), labels


@pytest.mark.slow
def test_random_projections_find_clusters_of_embeddings_that_lie_across_their_long_directions():
    rows, labels = embeddings(0.7, 6000, 384, 20)
    model = RandomProjectionTree().fit(rows)
    assert abs(model.n_clusters_ - 20) <= 1
    assert normalized_mutual_information(labels, model.labels_) > 0.95


@pytest.mark.parametrize(("d", "n_seeds", "whitened"), [(10, 32, True), (200, 32, True), (300, 32, False)])
def test_directions_are_in_units_of_near_rows_if_these_are_twice_as_many_as_columns(d, n_seeds, whitened):
    rows = np.random.default_rng(0).normal(size=(500, d))
    assert len(near_means(rows, np.random.default_rng(1), n_seeds)) == 2 * n_seeds * (1 + whitened)
