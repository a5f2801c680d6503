"""Clusters of the leaves of a tree: one cluster per leaf, unless leaves were merged after growing."""

from typing import TYPE_CHECKING

import numpy as np

from .._typing import Booleans, Integers

if TYPE_CHECKING:
    from .structure import Tree


def own_clusters(left: Integers) -> Integers:
    """Return the clusters of nodes if every leaf is one: numbered from left to right, -1 at inner nodes; int32."""
    return np.where(left < 0, np.cumsum(left < 0) - 1, -1).astype(np.int32)


def renumbered(cluster: Integers) -> Integers:
    """Return clusters numbered by their first leaves.

    Examples
    --------
    >>> renumbered(np.array([-1, 2, -1, 0, 2]))
    array([-1,  0, -1,  1,  0], dtype=int32)
    """
    numbers, first, number = np.unique(cluster, return_index=True, return_inverse=True)
    first[numbers < 0] = -1
    return (np.argsort(np.argsort(first))[number] - np.count_nonzero(numbers < 0)).astype(np.int32)


def collapsed(left: Integers, right: Integers, cluster: Integers, kept: Booleans) -> Integers:
    """Return the clusters of nodes when only some splits are kept; clusters within one new leaf become one.

    Parameters
    ----------
    left, right, cluster : arrays of shape (n_nodes,), int32
        As in `mdh_dask.tree.structure.Tree`.
    kept : array of shape (n_nodes,), bool
        Mask of the inner nodes that stay; the parent of a node that stays must stay, too.

    Returns
    -------
    array of shape (n_nodes,), int32
        Clusters of the new leaves, -1 at all other nodes.
    """
    leaf_of = np.arange(len(left))
    for node in np.flatnonzero(left >= 0):
        if not kept[node]:
            leaf_of[[left[node], right[node]]] = leaf_of[node]
    old = np.flatnonzero(left < 0)
    joined = np.arange(cluster.max() + 1)
    for leaf in np.unique(leaf_of[old]):
        ours = joined[cluster[old[leaf_of[old] == leaf]]]
        joined[np.isin(joined, ours)] = ours.min()
    result = np.full_like(cluster, -1)
    result[leaf_of[old]] = joined[cluster[old]]
    return result


def parting(left: Integers, right: Integers, cluster: Integers) -> Booleans:
    """Return a mask of the nodes with leaves of several clusters below them, shape (n_nodes,), bool."""
    low, high = cluster.copy(), cluster.copy()
    for node in np.flatnonzero(left >= 0)[::-1]:
        children = [left[node], right[node]]
        low[node], high[node] = low[children].min(), high[children].max()
    return low < high


def coarser(fine: "Tree", coarse: "Tree") -> Integers:
    """Return for each cluster of a tree its cluster in the same tree with fewer splits, shape (n_clusters,), int32."""
    result = np.empty(fine.n_clusters, dtype=np.int32)
    above = np.zeros(fine.n_nodes, dtype=np.int64)  # the node of the coarse tree that holds each node
    for node in range(fine.n_nodes):
        held = above[node]
        if fine.left[node] < 0:
            result[fine.cluster[node]] = coarse.cluster[held]
            continue
        leaf = coarse.left[held] < 0
        above[fine.left[node]] = held if leaf else coarse.left[held]
        above[fine.right[node]] = held if leaf else coarse.right[held]
    return result
