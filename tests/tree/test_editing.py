"""Cuts of trees, single splits added or removed, and levels."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from stored import stored_and_read
from trees import kept_by, random_tree, trees

from mdh_dask.tree.clusters import best_splits, coarser, stability
from mdh_dask.tree.editing import graft
from mdh_dask.tree.structure import tree_from_nodes

seeds = st.integers(0, 2**32)


def rows_for(tree, seed=0):
    return np.random.default_rng(seed).normal(size=(300, tree.n_features))


@given(trees, seeds, st.integers(1, 5))
def test_cuts_of_merged_trees_have_every_number_of_clusters_each_a_union(tree, seed, n_groups):
    merged = tree.merged(np.random.default_rng(seed).integers(n_groups, size=tree.n_leaves))
    for k in range(1, merged.n_clusters + 1):
        cut = merged.cut(k)
        assert cut.n_clusters == k
        assert_array_equal(cut.labels(rows_for(tree)), coarser(merged, cut)[merged.labels(rows_for(tree))])


@given(trees, seeds)
def test_pruning_a_node_joins_its_clusters_and_leaves_the_rows_of_others_alone(tree, seed):
    rows, node = rows_for(tree), seed % tree.n_nodes
    pruned = tree.prune(node)
    below = node <= tree.apply(rows)
    end = node + 1
    while end < tree.n_nodes and tree.level[end] > tree.level[node]:
        end += 1
    below &= tree.apply(rows) < end
    assert pruned.n_leaves == tree.n_leaves - (end - node) // 2
    assert len(np.unique(pruned.labels(rows)[below])) <= 1
    pairs = np.unique(np.c_[tree.labels(rows), pruned.labels(rows)][~below], axis=0)
    assert len(pairs) == len(np.unique(pairs[:, 1]))


@given(trees, seeds)
def test_splitting_a_node_changes_only_its_rows_and_the_tree_can_be_saved(tree, seed):
    rng, rows = np.random.default_rng(seed), rows_for(tree)
    node, direction = int(rng.choice(tree.leaves)), rng.normal(size=tree.n_features)
    halves = tree.split(node, direction, 0.1)
    inside = tree.apply(rows) == node
    assert_array_equal(
        halves.labels(rows)[~inside], (tree.labels(rows) + (tree.labels(rows) > tree.cluster[node]))[~inside]
    )
    assert_array_equal(halves.labels(rows)[inside], tree.cluster[node] + (rows @ direction > 0.1)[inside])
    assert stored_and_read(halves) == halves
    unsplit = halves.prune(node)
    assert_array_equal(unsplit.labels(rows), tree.labels(rows))


def test_a_threshold_that_was_moved_by_hand_has_no_evidence_of_another_place():
    node = {"plane": [1.0], "threshold": 0.5, "relative_depth": 2.0, "p_value": 0.01, "n_tested": 9.0}
    halves = tree_from_nodes(
        [{"left": 1, "right": 2, "n_rows": 9, **node}, *({"left": -1, "right": -1, "n_rows": n} for n in (5, 4))], 1
    )
    moved = halves.split(0, threshold=1.0)
    assert np.isnan([moved.relative_depth[0], moved.p_value[0], moved.n_tested[0]]).all()


def test_a_node_that_is_not_there_has_no_histogram_no_density_and_no_evidence():
    tree = random_tree(3, 1, 2)
    for of_node in (tree.histogram, tree.density, tree.evidence):
        for node in (-1, 9):
            with pytest.raises(ValueError, match=f"a node of tree_ from 0 to 0; got {node}"):
                of_node(node)


def test_impossible_edits_are_refused():
    tree = random_tree(3, 1, 2)
    bare = replace(tree, planes=np.zeros((1, 2)), thresholds=np.array([np.nan]))
    for wrong, message in [
        (lambda: tree.prune(7), "a node of tree_ from 0 to 0; got 7: the leaves are 0"),
        (lambda: tree.split(-1), "a node of tree_ from 0 to 0; got -1"),
        (lambda: tree.split(0, [1.0], 0.0), "a direction of 2 finite numbers"),
        (lambda: tree.split(0, [np.nan, 1.0], 0.0), "a direction of 2 finite numbers"),
        (lambda: bare.split(0), "node 0 may have none"),
        (lambda: bare.split(0, [1.0, 0.0]), "a finite threshold, got nan"),
        (lambda: tree.split(7, [1.0, 0.0], 0.0), "a node of tree_ from 0 to 0; got 7"),
        (lambda: tree.split(0.0, [1.0, 0.0], 0.0), r"a node of tree_ from 0 to 0; got 0\.0"),
        (lambda: tree.merged([0, 1]), r"the groups of 1 leaves, .* as whole numbers from 0; got \[0, 1\]"),
        (lambda: tree.merged([-1]), r"as whole numbers from 0; got \[-1\]"),
        (lambda: tree.merged(["a"]), r"as whole numbers from 0; got \['a'\]"),
        (lambda: tree.cut(2.0), r"n_clusters as a whole number from 1; got 2\.0"),
        (lambda: tree.cut("2"), "n_clusters as a whole number from 1; got '2'"),
    ]:
        with pytest.raises(ValueError, match=message):
            wrong()


@given(trees)
def test_levels_are_nested_and_keep_all_splits_of_their_depth(tree):
    levels = tree.levels()
    assert levels[0].n_clusters == 1
    assert levels[-1].n_clusters == tree.n_clusters
    depths = [level.relative_depth for level in levels]
    assert depths == sorted(depths, reverse=True)
    for level in levels[1:]:
        cut = tree.cut(level.n_clusters)
        assert cut.n_clusters == level.n_clusters
        inner, known = cut.left >= 0, np.nan_to_num(cut.relative_depth)
        assert (known[inner] >= level.relative_depth).all()
        # Every split that the cut leaves out is shallower.
        leaves = ~inner
        deeper = leaves & (known >= level.relative_depth)
        kept = kept_by(tree, cut)
        assert not any(tree.left[kept[leaf]] >= 0 for leaf in np.flatnonzero(deeper))


def antichains(tree, node=0):
    """Every choice of nodes that hold all rows below a node once."""
    yield [node]
    if tree.left[node] >= 0:
        for left, right in product(*(list(antichains(tree, int(child[node]))) for child in (tree.left, tree.right))):
            yield left + right


@given(st.builds(random_tree, seeds, st.integers(1, 7), st.integers(1, 3)), seeds)
def test_extracted_clusters_have_the_largest_sum_of_qualities(tree, seed):
    qualities = np.random.default_rng(seed).integers(0, 9, tree.n_nodes)
    for quality, values in ((lambda _: qualities, qualities), ("stability", stability(tree))):
        found = tree.extract(quality)
        above = np.append(np.flatnonzero(best_splits(tree, quality)), -1)
        chosen = [node for node in range(tree.n_nodes) if node not in above and tree.parent[node] in above]
        assert sum(values[chosen]) == pytest.approx(max(sum(values[nodes]) for nodes in antichains(tree)))
        assert found.n_leaves == len(chosen)
        assert_array_equal(found.labels(rows_for(tree)), coarser(tree, found)[tree.labels(rows_for(tree))])


@given(trees)
def test_a_node_is_stable_for_as_long_as_cuts_by_depth_have_it_as_a_cluster(tree):
    depth = np.where(tree.left >= 0, np.nan_to_num(tree.relative_depth), 0.0)
    steps = np.arange(0, 2.01, 0.5)  # depths of these trees
    lasting = np.zeros(tree.n_nodes)
    for low, high in pairwise(steps):
        for node, parent in enumerate(tree.parent):
            above = []
            while parent >= 0:
                above.append(depth[parent])
                parent = tree.parent[parent]
            if above and min(above) >= high and depth[node] <= low:
                lasting[node] += np.log1p(high) - np.log1p(low)
    np.testing.assert_allclose(stability(tree), tree.n_rows * lasting, atol=1e-9)


def test_qualities_that_are_none_are_refused():
    tree = random_tree(0, 3, 2)
    for quality, message in [
        (
            "Stable",
            r"expected a quality of stability, or a function of the tree; got 'Stable' \(did you mean 'stability'",
        ),
        (2, "expected a quality of stability, or a function of the tree; got 2"),
        (lambda tree: [1.0], r"for each of 5 nodes; got an array of shape \(1,\)"),
        (lambda tree: tree.n_rows * np.nan, "with NaN or infinity"),
    ]:
        with pytest.raises(ValueError, match=message):
            tree.extract(quality)


def test_a_branch_grown_again_leaves_clusters_elsewhere_apart():
    root = {"left": 1, "right": 2, "n_rows": 12, "plane": [1.0, 0.0], "threshold": 0.0}
    half = {"n_rows": 6, "plane": [0.0, 1.0], "threshold": 0.0}
    halves = [{"left": 3, "right": 4, **half}, {"left": 5, "right": 6, **half}]
    tree = tree_from_nodes([root, *halves, *[{"left": -1, "right": -1, "n_rows": 3}] * 4], 2).merged([0, 1, 0, 1])
    twig = tree_from_nodes([root, *[{"left": -1, "right": -1, "n_rows": 6}] * 2], 2)
    corners = np.array([[-1.0, -1], [-1, 1], [1, -1], [1, 1]])
    assert tree.labels(corners).tolist() == [0, 1, 0, 1]
    labels = graft(tree, int(tree.left[0]), twig).labels(corners)
    assert labels[2] != labels[3]
    assert not {labels[0], labels[1]} & {labels[2], labels[3]}


def test_trees_of_other_columns_are_not_grafted():
    tree, wider = random_tree(0, 3, 2), random_tree(0, 3, 3)
    named, other = (replace(tree, feature_names=names) for names in (("a", "b"), ("b", "a")))
    assert named.graft(1, tree) == tree.graft(1, named)
    for node in (0, 1):
        with pytest.raises(ValueError, match="expected a tree for 2 columns; got one for 3 columns: take one that"):
            tree.graft(node, wider)
        with pytest.raises(ValueError, match=r"a tree for 2 columns \(a, b\); got one for 2 columns \(b, a\): take"):
            named.graft(node, other)
    with pytest.raises(TypeError, match="expected a tree, as tree_ of a model; got str"):
        tree.graft(0, "tree")
