"""The clusters of a tree of merges at any strength of evidence."""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from .._typing import Floats, Integers
from .clusters import largest_first


def clusters_of(
    links: Integers, evidence: Floats, rows: Integers, threshold: float, least: float = 0, most: int | None = None
) -> Integers:
    """Return the cluster of each cell, the largest first.

    links (n_cells - 1, 2) int.
    evidence (n_cells - 1,).
    rows (n_cells,) int: rows in each cell.
    threshold: links with less evidence join their cells.
    least: clusters of fewer rows are joined to others along the link of least evidence.
    most: if there are more clusters, the links of least evidence join some of them.
    """
    separate = evidence >= threshold
    while True:
        group = groups_of(links[~separate], len(rows))
        sizes = np.bincount(group, weights=rows)
        ends = group[links]
        small = separate & (sizes[ends] < least).any(axis=1)
        if not small.any() and most is not None and len(sizes) > most:
            small = separate
        if not small.any():
            break
        candidates = np.flatnonzero(small)
        separate[candidates[evidence[candidates].argmin()]] = False
    return largest_first(sizes)[group]


def groups_of(joined: Integers, n_cells: int) -> Integers:
    """Return the connected components of cells, numbered by their first cells."""
    graph = coo_array((np.ones(len(joined)), tuple(joined.T)), shape=(n_cells, n_cells))
    group = connected_components(graph, directed=False)[1]
    first = np.unique(group, return_index=True)[1]
    return np.argsort(np.argsort(first))[group]
