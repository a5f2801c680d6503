"""Trees in other forms: linkage matrices that SciPy takes, dicts that JSON takes, text."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from scipy.cluster import hierarchy
from trees import kept_by, trees

from mdh_dask.tree.structure import tree_from_nodes

SPLIT = {"left": 1, "right": 2, "n_rows": 9, "plane": [0.61, -0.4, 0, 1e-3], "threshold": 1.25, "relative_depth": 12.34}
LEAF = {"left": -1, "right": -1}
branched = trees.filter(lambda tree: tree.n_leaves > 1)


def one_split(**changes):
    return tree_from_nodes([SPLIT | changes, LEAF | {"n_rows": 5}, LEAF | {"n_rows": 4}], 4)


def partition_of_leaves(tree, n_leaves):
    """The cluster of ``tree.cut(n_leaves)`` that each leaf falls into, from the nodes that pruning keeps."""
    kept = set(tree_order(tree)[: n_leaves - 1])
    parent, cluster = tree.parent, []
    for leaf in tree.leaves:
        path = [leaf]
        while parent[path[-1]] >= 0:
            path.append(parent[path[-1]])
        cluster.append(next(node for node in reversed(path) if node not in kept))
    return np.unique(cluster, return_inverse=True)[1]


def tree_order(tree):
    """Inner nodes in the order in which growing best first splits them, found by pruning."""
    order, before = [], set()
    for k in range(2, tree.n_leaves + 1):
        pruned = tree.cut(k)
        kept = {old for new, old in kept_by(tree, pruned).items() if pruned.left[new] >= 0}
        order += kept - before
        before = kept
    return order


# --- Linkage ---


@given(branched)
def test_the_linkage_is_valid_and_its_heights_are_ranks(tree):
    linkage = tree.to_linkage()
    assert linkage.dtype == np.float64
    assert linkage.shape == (tree.n_leaves - 1, 4)
    assert hierarchy.is_valid_linkage(linkage, throw=True)
    assert hierarchy.is_monotonic(linkage)
    np.testing.assert_array_equal(linkage[:, 2], np.arange(1, tree.n_leaves))
    assert linkage[-1, 3] == tree.n_leaves


@pytest.mark.slow
@given(branched)
def test_cutting_the_dendrogram_gives_the_clusters_of_pruning(tree):
    linkage = tree.to_linkage()
    for k in range(1, tree.n_leaves + 1):
        expected = partition_of_leaves(tree, k)
        by_height = hierarchy.fcluster(linkage, tree.n_leaves - k, "distance")
        cuts = [by_height, hierarchy.cut_tree(linkage, n_clusters=k).ravel()]
        if k > 1:  # SciPy 1.14 makes two clusters of two leaves
            cuts.append(hierarchy.fcluster(linkage, k, "maxclust"))
        for cut in cuts:
            assert len(set(zip(cut, expected))) == len(set(cut)) == len(set(expected)) == k


# --- Dict ---


@given(trees)
def test_the_dict_survives_strict_json_and_rebuilds_the_tree(tree):
    found = tree.to_dict(n_top=tree.n_features)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert (found["n_features"], found["n_leaves"]) == (tree.n_features, tree.n_leaves)
    for i, node in enumerate(found["nodes"]):
        assert node["id"] == i
        assert node["rows"] == tree.n_rows[i]
        assert ("label" in node) != ("children" in node)
        assert node.get("children", [-1, -1]) == [tree.left[i], tree.right[i]]
        plane = np.zeros(tree.n_features)
        for feature in node["features"]:
            plane[int(feature["name"][1:])] = feature["weight"]
        np.testing.assert_array_equal(plane, tree.planes[i])
        for name, values in (("threshold", tree.thresholds), ("relative_depth", tree.relative_depth)):
            np.testing.assert_equal(np.nan if node[name] is None else node[name], values[i])
    labels = [node["label"] for node in found["nodes"] if "label" in node]
    assert labels == list(range(tree.n_leaves))


def test_the_features_that_move_the_rows_of_the_node_most_come_first():
    tree = one_split(deviation=[1.0, 9.0, 5.0, 1e4])
    features = tree.to_dict(n_top=9)["nodes"][0]["features"]
    assert [(feature["name"], feature["deviation"]) for feature in features] == [("x3", 1e4), ("x1", 9.0), ("x0", 1.0)]
    assert tree.to_text(n_top=2).startswith("rows=9 depth=12.3  0.001*x3 - 0.4*x1 + ... <= 1.25\n")


def test_a_very_deep_tree_is_written_as_json():
    chain = []
    for i in range(0, 6000, 2):
        split = {"left": i + 1, "right": i + 2, "n_rows": 1, "plane": [1.0], "threshold": 0.0}
        chain += [split, LEAF | {"n_rows": 1}]
    chain += [LEAF | {"n_rows": 1}]
    tree = tree_from_nodes(chain, 1)
    assert len(json.dumps(tree.to_dict())) > 0
    assert tree.to_text().count("\n") == tree.n_nodes - 1
    assert len(tree.to_linkage()) == 3000


# --- Text ---


def test_the_text_shows_every_split_and_cluster():
    nodes = [
        SPLIT,
        LEAF | {"n_rows": 5},
        {"left": 3, "right": 4, "n_rows": 4, "plane": [0, -2.0, 0, 0], "threshold": -1e-7},
        LEAF | {"n_rows": 1},
        LEAF | {"n_rows": 3},
    ]
    assert tree_from_nodes(nodes, 4).to_text(n_top=2).split("\n") == [
        "rows=9 depth=12.3  0.61*x0 - 0.4*x1 + ... <= 1.25",
        "|--- cluster 0: rows=5",
        "|--- rows=4  -2*x1 <= -1e-07",
        "|   |--- cluster 1: rows=1",
        "|   |--- cluster 2: rows=3",
    ]


def test_the_text_uses_the_names_that_the_tree_knows_unless_there_are_others():
    tree = replace(one_split(), feature_names=("age", "size", "c", "d"))
    assert tree.to_text() == one_split().to_text(tree.feature_names)
    assert tree.to_dict()["nodes"][0]["features"][0]["name"] == "age"
    assert "0.61*a - 0.4*b" in tree.to_text("abcd")
    assert tree == one_split()


# --- Refusals ---


@pytest.mark.parametrize("form", ["to_dict", "to_text"])
def test_names_that_are_not_one_per_column_are_refused(form):
    with pytest.raises(ValueError, match="expected 4 feature names, one for each column; got 2"):
        getattr(one_split(), form)(["a", "b"])
    with pytest.raises(ValueError, match="n_top as a whole number from 0; got -1"):
        getattr(one_split(), form)(n_top=-1)
    with pytest.raises(ValueError, match=r"n_top as a whole number from 0; got 1\.5"):
        getattr(one_split(), form)(n_top=1.5)
