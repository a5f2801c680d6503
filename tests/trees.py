"""Trees for tests: random ones, and one that was grown."""

import numpy as np
from hypothesis import strategies as st

from mdh_dask.estimators import RandomProjectionTree
from mdh_dask.tree.structure import tree_from_nodes


def random_tree(seed, n_leaves, n_features):
    """A tree of any shape, its nodes given in any order, with depths and thresholds that tie now and then."""
    rng = np.random.default_rng(seed)
    nodes = [{"left": -1, "right": -1}]
    for _ in range(n_leaves - 1):
        leaf = rng.choice([i for i, node in enumerate(nodes) if node["left"] < 0])
        sides = [len(nodes), len(nodes) + 1]
        rng.shuffle(sides)
        nodes[leaf]["left"], nodes[leaf]["right"] = sides
        nodes += [{"left": -1, "right": -1}, {"left": -1, "right": -1}]
    for node in nodes:
        node |= {"n_rows": int(rng.integers(1, 100)), "plane": rng.integers(-2, 3, n_features) * rng.choice([1, 0.1])}
        if rng.random() < 0.8:
            node |= {"threshold": rng.integers(-2, 3) / 2, "relative_depth": rng.integers(0, 4) / 2}
            node |= {"origin": rng.normal(), "width": rng.random(), "bandwidth": rng.random()}
            node["bins"] = rng.integers(0, 9, rng.integers(0, 5))
            node["deviation"] = 10.0 ** np.arange(n_features)
        if node["left"] >= 0:
            node.setdefault("threshold", 0.0)
    return tree_from_nodes(nodes, n_features)


trees = st.builds(random_tree, st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 7))


def kept_by(tree, cut):
    """The node of a tree that each node of its cut was."""
    kept, pairs = {}, [(0, 0)]
    while pairs:
        old, new = pairs.pop()
        kept[new] = old
        if cut.left[new] >= 0:
            pairs += [(tree.left[old], cut.left[new]), (tree.right[old], cut.right[new])]
    return kept


def grown_tree(rows, seed=0):
    """Grow a tree of random projections."""
    return RandomProjectionTree(n_projections=30, random_state=seed, min_cluster_size=20).fit(rows).tree_


def four_groups(n_rows=2000, seed=0):
    """Rows of shape (n_rows, 3) around the corners of a square."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, 3)) + 8 * np.c_[rng.integers(0, 2, (n_rows, 2)), np.zeros(n_rows)]
