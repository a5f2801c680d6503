"""A known number of clusters, cuts of fitted models, and models of edited trees."""

import dask.array as da
import numpy as np
import pytest
from helpers import in_turns
from numpy.testing import assert_array_equal

from mdh_dask import (
    PDDP,
    DensityTree,
    DePDDP,
    DivisiveClustering,
    HierarchicalKernelMDH,
    HierarchicalMDH,
    HyperplaneEnsemble,
    KernelKMeans,
    PCATree,
    ProjectionPursuitTree,
    RandomProjectionTree,
    SpectralClustering,
    load_model,
)
from mdh_dask.metrics import adjusted_rand_index


@pytest.fixture(scope="module")
def groups():
    """Three groups far apart, of which one is two that nearly touch."""
    rng = np.random.default_rng(0)
    centres = np.repeat([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0], [3.0, 20.0]], 400, axis=0)
    return (centres + rng.normal(size=(1600, 2))).astype(np.float32), np.repeat([0, 1, 2, 3], 400)


TREES = [
    RandomProjectionTree(n_projections=100),
    HierarchicalMDH(starts="pca2"),
    PCATree(),
    DePDDP(),
    PDDP(),
    ProjectionPursuitTree(search="random"),
    DivisiveClustering(stop_rule="known-number"),
]


@pytest.mark.parametrize(("estimator", "n_clusters"), in_turns(TREES, [2, 4]), ids=lambda value: type(value).__name__)
def test_trees_find_as_many_clusters_as_asked_for(groups, estimator, n_clusters):
    model = estimator.set_params(n_clusters=n_clusters).fit(groups[0])
    assert model.n_clusters_ == n_clusters
    assert len(np.unique(model.labels_)) == n_clusters


def test_a_number_that_is_found_anyway_changes_no_label(groups):
    found = RandomProjectionTree(n_projections=100).fit(groups[0])
    assert found.n_clusters_ == 3
    assert RandomProjectionTree(n_projections=100, n_clusters=3).fit(groups[0]).tree_ == found.tree_


def test_the_next_cluster_is_the_valley_that_failed_the_test(groups):
    X, y = groups
    four = RandomProjectionTree(n_projections=100, n_clusters=4).fit(X)
    assert adjusted_rand_index(y, four.labels_) > 0.75 > adjusted_rand_index(y, four.cut(3).labels_)


@pytest.mark.parametrize("cls", [RandomProjectionTree, KernelKMeans, HyperplaneEnsemble, SpectralClustering])
def test_a_boolean_is_no_number_of_clusters(cls, groups):
    with pytest.raises(ValueError, match=rf"'n_clusters' parameter of {cls.__name__} must be .* Got True"):
        cls(n_clusters=True).fit(groups[0])


@pytest.mark.parametrize("cls", [RandomProjectionTree, DensityTree])
def test_two_limits_are_refused(cls, groups):
    with pytest.raises(ValueError, match="expected n_clusters or max_clusters, got 3 and 4"):
        cls(n_clusters=3, max_clusters=4).fit(groups[0])


@pytest.mark.parametrize("lazy", [False, True])
def test_cut_models_predict_save_and_name_clusters_like_their_labels(groups, tmp_path, lazy):
    X = da.from_array(groups[0], chunks=(300, 2)) if lazy else groups[0]
    model = RandomProjectionTree(n_projections=100).fit(X)
    cut = model.cut(2)
    assert cut.n_clusters_ == 2
    assert model.n_clusters_ == 3
    assert isinstance(cut.labels_, da.Array) == lazy
    assert_array_equal(cut.labels_, cut.predict(groups[0]))
    cut.save(tmp_path / "cut")
    loaded = load_model(tmp_path / "cut")
    assert_array_equal(loaded.predict(groups[0]), cut.labels_)
    assert loaded.levels_ == model.levels_[:2]
    with pytest.raises(ValueError, match="from 1 to 2, as many as there are; got 3"):
        loaded.cut(3)
    with pytest.raises(ValueError, match="from 1 to 2, as many as there are; got '2'"):
        loaded.cut("2")


def test_models_with_other_clusters_forget_words_and_counts_of_the_former_ones(groups, tmp_path):
    X, truth = (part[::4] for part in groups)
    dense = DensityTree().fit(X)
    dense.name_clusters(X, np.take(["rain", "goals", "bread", "snow"], truth))
    tree = RandomProjectionTree(n_projections=100, max_clusters=2).fit(X, np.where(np.arange(len(X)) % 100, -1, truth))
    deepest = int(tree.tree_.leaves[tree.tree_.n_rows[tree.tree_.leaves].argmax()])
    for i, model in enumerate((dense.cut(2), tree.regrow(deepest, X))):
        model.save(tmp_path / str(i))
        assert load_model(tmp_path / str(i)).why() == model.why()
    assert tree.regrow(deepest, X).n_clusters_ > tree.n_clusters_


@pytest.mark.slow
def test_merged_leaves_of_kernel_trees_reach_a_number_and_can_be_cut(groups):
    model = HierarchicalKernelMDH(n_clusters=4).fit(groups[0])
    assert adjusted_rand_index(groups[1], model.labels_) > 0.85
    assert model.cut(2).n_clusters_ == 2
    assert_array_equal(model.cut(2).labels_, model.cut(2).predict(groups[0]))
    best = model.extract()
    assert_array_equal(best.labels_, best.predict(groups[0]))
    assert adjusted_rand_index(groups[1], best.labels_) > 0.5


def test_extracted_models_predict_save_and_name_clusters_like_their_labels(groups, tmp_path):
    model = RandomProjectionTree(n_projections=100).fit(groups[0])
    found = model.extract(lambda tree: np.where(tree.level == 1, 2.0, 0.0))
    assert found.n_clusters_ == 2
    assert_array_equal(found.labels_, found.predict(groups[0]))
    found.save(tmp_path / "found")
    assert_array_equal(load_model(tmp_path / "found").predict(groups[0]), found.labels_)
    assert adjusted_rand_index(model.extract().labels_, model.labels_) == 1


def test_rows_are_counted_in_a_tree_that_was_edited_by_hand(groups):
    X = groups[0]
    model = RandomProjectionTree(n_projections=100).fit(X)
    edited = model.with_tree(model.tree_.split(int(model.tree_.leaves[-1]), [1.0, 0.0], 1.3), X)
    assert edited.n_clusters_ == 4
    assert_array_equal(edited.tree_.cluster_rows, np.bincount(edited.labels_))
    assert_array_equal(edited.predict(X), edited.labels_)
    assert not hasattr(model.with_tree(model.tree_.prune(0)), "labels_")
    with pytest.raises(ValueError, match="a tree for 2 columns; got one for 3"):
        model.with_tree(RandomProjectionTree(n_projections=10).fit(np.c_[X, X[:, 0]]).tree_)
    with pytest.raises(TypeError, match="a tree, as tree_ of a model; got RandomProjectionTree"):
        model.with_tree(model)


@pytest.mark.parametrize("model", [RandomProjectionTree(merge=True, n_clusters=2), HierarchicalKernelMDH(n_clusters=2)])
def test_a_union_of_groups_that_do_not_touch_is_saved(model, tmp_path):
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(centre, 1, (60, 2)) for centre in ((0, 0), (60, 0), (0, 60))])
    model.fit(rows).save(tmp_path / "m.zarr")
    loaded = load_model(tmp_path / "m.zarr")
    assert loaded.n_clusters_ == 2
    assert np.isfinite(loaded.merges_["evidence"]).all()
    assert_array_equal(loaded.predict(rows), model.labels_)
