"""Laws of the tree: labels from left to right, routing as in plain Python, pruning that only merges."""

from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest
from helpers import in_turns
from hypothesis import given
from hypothesis import strategies as st
from reference import project
from trees import four_groups, grown_tree, random_tree, trees

from mdh_dask.tree.clusters import siblings_of
from mdh_dask.tree.structure import tree_from_nodes

seeds = st.integers(0, 2**32)


def random_rows(tree, seed, n=150, dtype="float64", spread=1.0):
    """Rows on a grid, so that some lie exactly on a plane, or anywhere."""
    rng = np.random.default_rng(seed)
    values = rng.normal(scale=spread, size=(n, tree.n_features))
    return (np.rint(values) if seed % 2 else values).astype(dtype)


def naive_leaves(tree, rows):
    leaves = []
    for row in rows:
        node = 0
        while tree.left[node] >= 0:
            goes_left = project(row, tree.planes[node]) <= tree.thresholds[node]
            node = tree.left[node] if goes_left else tree.right[node]
        leaves.append(node)
    return np.array(leaves, dtype=np.int32)


def naive_order(tree, node=0):
    """Leaves from left to right."""
    if tree.left[node] < 0:
        return [node]
    return naive_order(tree, tree.left[node]) + naive_order(tree, tree.right[node])


# --- Routing and labels ---


@given(trees, seeds)
def test_rows_arrive_where_plain_python_sends_them_and_labels_count_the_leaves_from_left_to_right(tree, seed):
    order = naive_order(tree)
    np.testing.assert_array_equal(tree.leaves, order)
    assert tree.n_leaves == len(order)
    rows = random_rows(tree, seed)
    leaves, labels = tree.apply(rows), tree.labels(rows)
    assert leaves.dtype == labels.dtype == np.int32
    np.testing.assert_array_equal(leaves, naive_leaves(tree, rows))
    np.testing.assert_array_equal(labels, [order.index(leaf) for leaf in leaves])


@pytest.mark.parametrize(
    ("dtype", "layout"),
    in_turns(["bool", "uint8", "int8", "int64", "float16", "float32", "float64"], ["C", "F", "strided"]),
)
def test_any_dtype_and_layout_is_routed_by_its_values(dtype, layout):
    tree = random_tree(3, 9, 5)
    rows = np.abs(random_rows(tree, seed=7 if dtype == "bool" else 6, spread=2)).astype(dtype)
    layouts = {"C": rows.copy(), "F": np.asfortranarray(rows), "strided": np.repeat(rows, 2, axis=1)[:, ::2]}
    given = layouts[layout]
    before = given.copy()
    expected = naive_leaves(tree, rows.astype(np.float64))
    assert len(set(expected)) > 2
    np.testing.assert_array_equal(tree.apply(given), expected)
    np.testing.assert_array_equal(given, before)


@pytest.mark.parametrize("shape", [(5, 3), (5, 1), (2,), (5, 2, 1)])
def test_rows_of_another_shape_are_refused(shape):
    with pytest.raises(ValueError, match=r"expected rows of shape \(n_rows, 2\).*got shape \(" + str(shape[0])):
        random_tree(0, 4, 2).labels(np.zeros(shape))


# --- Shape ---


@given(trees)
def test_every_left_subtree_follows_its_parent_and_the_right_one_follows_it(tree):
    def size(node):
        return 1 if tree.left[node] < 0 else 1 + size(tree.left[node]) + size(tree.right[node])

    assert size(0) == tree.n_nodes == 2 * tree.n_leaves - 1
    for node in np.flatnonzero(tree.left >= 0):
        assert tree.left[node] == node + 1
        assert tree.right[node] == node + 1 + size(node + 1)


@given(trees)
def test_parents_and_levels_agree_with_the_children(tree):
    assert tree.parent[0] == -1
    assert tree.level[0] == 0
    for node in np.flatnonzero(tree.left >= 0):
        for child in (tree.left[node], tree.right[node]):
            assert tree.parent[child] == node
            assert tree.level[child] == tree.level[node] + 1
    assert list(tree.walk()) == list(enumerate(tree.level))


@given(trees, st.booleans())
def test_siblings_of_a_cluster_are_on_the_other_side_of_the_split_above_its_first_leaf(tree, merge):
    if merge:
        tree = tree.merged(np.arange(tree.n_leaves) // 2)
    for cluster, found in enumerate(siblings_of(tree)):
        leaf = next(leaf for leaf in tree.leaves if tree.cluster[leaf] == cluster)
        above = tree.parent[leaf]
        below = {} if above < 0 else {*tree.cluster[naive_order(tree, above)].tolist()} - {cluster}
        assert sorted(set(found.tolist())) == sorted(below)


# --- Pruning ---


@given(trees, seeds)
def test_pruning_merges_clusters_of_the_next_larger_tree(tree, seed):
    rows = random_rows(tree, seed)
    for k in range(1, tree.n_leaves):
        coarse, fine = tree.cut(k), tree.cut(k + 1)
        assert coarse.n_leaves == k
        pairs = set(zip(fine.labels(rows).tolist(), coarse.labels(rows).tolist()))
        assert len(pairs) == len({f for f, _ in pairs})
        assert [c for _, c in sorted(pairs)] == sorted(c for _, c in pairs)


@given(trees, st.integers(1, 12))
def test_pruning_keeps_the_splits_of_growing_best_first(tree, n_leaves):
    frontier, splits = {0}, set()
    while len(splits) + 1 < n_leaves:
        inner = [node for node in sorted(frontier) if tree.left[node] >= 0]
        if not inner:
            break
        best = max(inner, key=lambda node: np.nan_to_num(tree.relative_depth[node], nan=-1))
        splits.add(best)
        frontier = frontier - {best} | {tree.left[best], tree.right[best]}
    pruned = tree.cut(n_leaves)
    kept = sorted(frontier | splits)
    np.testing.assert_array_equal(pruned.planes, tree.planes[kept])
    np.testing.assert_array_equal(pruned.n_rows, tree.n_rows[kept])
    for new, old in enumerate(kept):
        np.testing.assert_array_equal(pruned.histogram(new), tree.histogram(old))


def test_cutting_to_no_cluster_is_refused():
    with pytest.raises(ValueError, match="n_clusters as a whole number from 1; got 0"):
        random_tree(0, 3, 2).cut(0)


# --- Equality ---


@given(trees)
def test_trees_are_equal_to_their_copies_only(tree):
    assert tree == replace(tree, **{f.name: getattr(tree, f.name).copy() for f in fields(tree) if f.compare})
    for name in ("planes", "n_rows"):
        changed = getattr(tree, name).copy()
        changed.flat[-1] = np.nextafter(changed.flat[-1], 9) if name == "planes" else changed.flat[-1] + 1
        assert tree != replace(tree, **{name: changed})
    assert tree != "tree"
    assert tree.n_leaves == 1 or tree != tree.cut(1)


# --- Grown trees ---


@pytest.fixture(scope="module")
def grown():
    rows = four_groups()
    return rows, grown_tree(rows)


def test_the_density_of_a_split_has_its_valley_at_the_threshold(grown):
    _, tree = grown
    position, density, threshold = tree.density(0)
    assert threshold == tree.thresholds[0]
    assert np.trapezoid(density, position) == pytest.approx(1, abs=0.02)
    here = np.searchsorted(position, threshold)
    assert density[here] < min(density[:here].max(), density[here:].max()) / 2


def test_a_node_without_a_histogram_has_no_density():
    tree = tree_from_nodes([{"left": -1, "right": -1, "n_rows": 3}], 2)
    assert tree.density(0) is None
    assert len(tree.histogram(0)) == 0


def test_a_tree_is_never_changed():
    tree = random_tree(0, 3, 2)
    with pytest.raises(FrozenInstanceError):
        tree.thresholds = tree.thresholds + 1
