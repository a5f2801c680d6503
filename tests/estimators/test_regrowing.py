"""One branch of a fitted tree is grown again; the others stay as they are."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from mdh_dask import DivisiveClustering, HierarchicalMDH, PCATree, load_model

CENTRES = np.array([[0, 0], [9, 0], [0, 30], [9, 30], [4.5, 38], [30, 0]])


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    return CENTRES[rng.integers(len(CENTRES), size=3000)] + rng.normal(size=(3000, 2))


@pytest.fixture(scope="module")
def coarse(rows):
    return DivisiveClustering(n_projections=60, max_levels=1).fit(rows)


def largest(model):
    return int(np.flatnonzero(model.tree_.cluster == 0)[0])


def outside(tree, other, node):
    """Return the numbers in both trees of the nodes that are not below a node."""
    n_grown = other.n_nodes - int(np.sum(~below(tree, node)))
    return np.flatnonzero(~below(tree, node)), np.r_[:node, node + n_grown : other.n_nodes]


def below(tree, node):
    found = np.arange(tree.n_nodes) == node
    for inner in np.flatnonzero(tree.left >= 0):
        if found[inner]:
            found[[tree.left[inner], tree.right[inner]]] = True
    return found


@pytest.mark.parametrize("sample_size", [10_000, 400, None])
def test_a_leaf_is_split_further_and_all_other_rows_and_nodes_stay_as_they_are(rows, coarse, sample_size):
    node = largest(coarse)
    fine = coarse.regrow(node, rows, max_levels=None, sample_size=sample_size)
    assert coarse.n_clusters_ == 2
    assert 4 <= fine.n_clusters_ <= len(CENTRES)
    others = coarse.tree_.apply(rows) != node
    pairs = np.unique(np.c_[coarse.labels_, fine.labels_][others], axis=0)
    assert len(pairs) == coarse.n_clusters_ - 1
    assert_array_equal(np.bincount(fine.labels_), fine.tree_.cluster_rows)
    before, after = outside(coarse.tree_, fine.tree_, node)
    for name in ("planes", "n_rows", "relative_depth", "bandwidth", "deviations"):
        assert_array_equal(getattr(fine.tree_, name)[after], getattr(coarse.tree_, name)[before])
    for a, b in zip(before, after):
        assert_array_equal(fine.tree_.histogram(b), coarse.tree_.histogram(a))


def test_a_split_is_forgotten_if_the_parameters_find_none(rows):
    model = DivisiveClustering(n_projections=60).fit(rows)
    assert model.regrow(0, rows, max_levels=0).n_clusters_ == 1
    node = int(model.tree_.left[0])
    assert_array_equal(model.regrow(node, rows, max_levels=1).labels_, model.tree_.prune(node).numbered().labels(rows))


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator",
    [
        PCATree(feature_map="quadratic").as_divisive(max_levels=1),
        HierarchicalMDH(starts="pca2", merge=True).as_divisive(max_levels=1),
    ],
)
def test_features_and_merged_trees_are_grown_again_and_saved(rows, estimator, tmp_path):
    rows = rows[:900]
    model = estimator.fit(rows)
    fine = model.regrow(largest(model), rows, max_levels=None)
    assert fine.n_clusters_ > model.n_clusters_
    fine.save(tmp_path / "model.zarr")
    loaded = load_model(tmp_path / "model.zarr")
    assert_array_equal(loaded.predict(rows), fine.labels_)
    assert loaded.get_params() == model.get_params()


@pytest.mark.parametrize("rule", ["gower", "gower, merged", "drop"])
def test_tables_with_levels_and_missing_values_are_grown_again(rule):
    rng, side = np.random.default_rng(1), np.arange(600) % 3
    table = pd.DataFrame(rng.normal(size=(600, 2)) + 9 * np.c_[side == 1, side == 2], columns=["x", "y"])
    table.loc[::50, "y"] = np.nan
    given = {"missing": "drop"} if rule == "drop" else {"feature_map": "gower", "merge": rule == "gower, merged"}
    if rule != "drop":
        table["colour"], table["shape"] = np.array(["red", "green", "blue"])[side], np.array(["o", "x", "o"])[side]
    model = PCATree(min_cluster_size=20, **given).as_divisive(max_levels=1).fit(table)
    fine = model.regrow(largest(model), table, max_levels=None)
    assert (model.n_clusters_, fine.n_clusters_) == (2, 3)
    assert_array_equal(fine.labels_, fine.predict(table))


@pytest.mark.parametrize(
    ("node", "X", "parameters", "message"),
    [
        (9, slice(None), {}, "expected a node of tree_ from 0 to 2; got 9: the leaves are 1, 2"),
        (1, slice(500), {}, r"expected the 3000 rows that the tree counts; got 500: count others first, by with_tree"),
        (1, slice(None), {"feature_map": "rbf"}, "expected other parameters than feature_map"),
        (1, slice(None), {"max_levels": -1}, "The 'max_levels' parameter of DivisiveClustering must be"),
        (1, slice(None), {"depth": 3}, "Invalid parameter 'depth'"),
    ],
    ids=["node", "rows", "feature map", "value", "name"],
)
def test_what_cannot_be_grown_is_refused_and_the_model_stays(rows, coarse, node, X, parameters, message):
    with pytest.raises(ValueError, match=message):
        coarse.regrow(node, rows[X], **parameters)
    assert coarse.n_clusters_ == 2


def test_rows_in_place_of_a_node_are_not_shown(rows, coarse):
    with pytest.raises(ValueError, match="expected a node of tree_ from 0 to 2; got a ndarray: the leaves are 1, 2"):
        coarse.regrow(rows, 1)


@pytest.mark.parametrize("leaf", [False, True], ids=["split", "leaf"])
def test_a_label_whose_number_is_another_node_is_told_with_the_node_of_its_cluster(rows, caplog, leaf):
    model = DivisiveClustering(n_projections=60).fit(rows)
    tree = model.tree_
    numbers = range(tree.n_clusters)
    node = next(n for n in numbers if (tree.left[n] < 0) == leaf and tree.cluster[n] != n)
    model.regrow(node, rows)
    grown = f"cluster {tree.cluster[node]}" if leaf else "a split"
    own = np.flatnonzero(tree.cluster == node)[0]
    assert f"node {node} is {grown}, which is grown again; cluster {node} is the node {own}" in caplog.text
    caplog.clear()
    model.regrow(tree.n_nodes - 1, rows)
    assert not caplog.text


def test_a_branch_whose_rows_were_not_counted_is_not_grown_again(rows, coarse):
    other = coarse.with_tree(coarse.tree_.split(1, [0.0] * (coarse.tree_.n_features - 1) + [1.0], 0.0))
    with pytest.raises(ValueError, match="node 2 has none: count them first"):
        other.regrow(2, rows)


def test_missing_values_are_not_counted_in_another_tree(rows, coarse):
    with_nan = np.concatenate([rows, np.full((1, rows.shape[1]), np.nan)])
    with pytest.raises(ValueError, match="NaN"):
        coarse.with_tree(coarse.tree_, da.from_array(with_nan))
