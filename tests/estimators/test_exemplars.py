"""Rows that stand for clusters."""

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mdh_dask import PCATree, RandomProjectionTree
from mdh_dask.growth.exemplars import Exemplars, medoids


@pytest.fixture(scope="module")
def groups():
    rng = np.random.default_rng(0)
    centres = np.repeat([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0]], [900, 500, 200], axis=0)
    return (centres + rng.normal(size=(1600, 2)))[rng.permutation(1600)].astype(np.float32)


def test_medoids_have_the_least_sum_of_distances():
    rng = np.random.default_rng(1)
    points, cluster = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    found = medoids(points, rng.integers(2**63, size=60, dtype=np.uint64), cluster, 4)
    sums = np.linalg.norm(points[:, None] - points, axis=2) @ (cluster[:, None] == np.arange(4))
    assert found[3] == -1
    for label in range(3):
        own = np.flatnonzero(cluster == label)
        assert found[label] == own[sums[own, label].argmin()]


def test_a_union_of_clusters_keeps_the_exemplar_of_the_largest(groups):
    model = RandomProjectionTree(n_projections=50).fit(groups)
    cut = model.cut(1)
    assert cut.exemplar_indices_.tolist() == [model.exemplar_indices_[model.tree_.cluster_rows.argmax()]]
    some = Exemplars(None, np.array([-1, 7, 9])).united(np.array([0, 0, 1]), np.array([90, 5, 1]))
    assert some.numbers.tolist() == [7, 9]


def test_changed_clusters_and_lazy_rows_with_a_map_have_no_exemplars_in_memory(groups):
    model = RandomProjectionTree(n_projections=50).fit(groups)
    assert not hasattr(model.with_tree(model.tree_), "exemplars_")
    assert not hasattr(model.partial_fit(groups), "exemplars_")
    lazy = PCATree(feature_map="quadratic").fit(da.from_array(groups, chunks=(400, 2)))
    assert not hasattr(lazy, "exemplars_")
    assert_array_equal(lazy.predict(groups[lazy.exemplar_indices_]), np.arange(3))
