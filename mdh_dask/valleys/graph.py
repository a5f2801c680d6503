"""The graph of shared neighbours of rows, its communities or basins, and the order in which these are merged."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array, eye_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from .._jit.communities import move_nodes
from .._typing import Floats, Integers
from .neighbours import KEPT, distances_in_blocks, nearest_in_blocks

NEIGHBOURS = 10
"""Number of neighbours of a row."""

RESOLUTION = 8.0
"""Resolution of the communities: with 4, cells of sparse clusters were larger than the clusters."""

ROUNDS = 50

SMOOTH = 20
"""The density whose modes have basins is that of so many neighbours."""


class Neighbourhood(NamedTuple):
    """A graph of rows."""

    shared: csr_array
    """Number of shared neighbours of two neighbours."""
    dense: csr_array
    """The same divided by the distances of both to their last neighbours."""
    reach: Floats
    """Distance of each row to its last neighbour, with a median of one."""


class Merges(NamedTuple):
    """Merges of cells in turn; a group is named by its smallest cell."""

    kept: Integers
    gone: Integers
    """Groups that are merged, ``kept < gone``, shape (n_cells - 1,)."""
    contact: Floats
    """Weight of the edges between two cells, shape (n_cells, n_cells)."""


def neighbourhood(points: Floats) -> Neighbourhood:
    """Return the graph of shared neighbours of at least three points."""
    n, (shared, distances) = len(points), shared_neighbours(points)
    typical = np.median(distances[distances > 0]) if (distances > 0).any() else 1.0
    reach = np.maximum(distances / typical, 0.05)  # that of copies of a row would be zero
    edges = shared.tocoo()
    weights = edges.data / (reach[edges.row] * reach[edges.col])
    dense = csr_array((weights, (edges.row, edges.col)), shape=(n, n))
    return Neighbourhood(shared, dense.sorted_indices(), reach)


def shared_neighbours(points: Floats) -> tuple[csr_array, Floats]:
    """Return how many neighbours two neighbours share, and the distance of each point to its last neighbour."""
    n = len(points)
    near, distances = nearest_others(points, min(NEIGHBOURS, n - 1))
    known = coo_array((np.ones(near.size), (np.repeat(np.arange(n), near.shape[1]), near.ravel())), shape=(n, n))
    linked = csr_array(known)
    close = linked + eye_array(n, format="csr")
    shared = csr_array((linked + linked.T) * (close @ close.T))
    return _bridged(shared, points).sorted_indices(), distances


def nearest_others(points: Floats, k: int) -> tuple[Integers, Floats]:
    """Return the k nearest other points of each point, the nearest first, and the distance to the last of them."""
    n, d = points.shape
    if d <= 10:  # in more columns, comparing all pairs of rows is faster than a search tree
        distances, found = cKDTree(points).query(points, k=k + 1)
        # Among more than k + 1 equal points, a point may not be the nearest of itself.
        own = found == np.arange(n)[:, None]
        own[~own.any(axis=1), -1] = True
        return found[~own].reshape(n, k), distances[:, -1]
    near, squares = nearest_in_blocks(points, points, k, others=True)
    return near, np.sqrt(squares[:, -1]).astype(np.float64)


def communities(graph: csr_array, resolution: float = RESOLUTION) -> Integers:
    """Return the communities of a graph, numbered from 0, by the method of Louvain.

    Source: V. Blondel, J.-L. Guillaume, R. Lambiotte and E. Lefebvre, Fast unfolding of communities in large networks,
    2008.
    """
    member = np.arange(graph.shape[0])
    while True:
        community = np.arange(graph.shape[0])
        start, other = graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
        if not move_nodes(start, other, graph.data, resolution, community, ROUNDS):
            return member
        _, community = np.unique(community, return_inverse=True)
        member = community[member]
        n = int(community.max()) + 1
        belongs = csr_array(
            (np.ones(len(community)), (np.arange(len(community)), community)), shape=(len(community), n)
        )
        graph = csr_array(belongs.T @ graph @ belongs).sorted_indices()


def with_most_edges(graph: csr_array, cell: Integers, group: Integers) -> Integers:
    """Return the cell of each row after rows have moved to groups of cells to which they have more edges.

    A row is in the community to which it has most edges, but it may have more to another group of communities in all.
    A group that would lose most of its rows keeps them all: in many columns, most neighbours of sparse rows belong to a
    dense group beside them. Cells may lose all rows.

    cell (n_rows,) int: numbered from 0.
    group (n_cells,) int: numbered from 0.

    >>> one, other = [0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5]
    >>> half = csr_array((np.ones(7), (one, other)), shape=(6, 6))
    >>> with_most_edges(csr_array(half + half.T), np.array([0, 0, 0, 0, 1, 2]), np.array([0, 1, 1]))
    array([0, 0, 0, 1, 1, 2])
    """
    own = group[cell]
    to = own.astype(np.int64)  # as that of `communities`, so that the loop compiles once
    move_nodes(graph.indptr.astype(np.int64), graph.indices.astype(np.int64), graph.data, 0.0, to, ROUNDS)
    rows = np.bincount(own)
    lost = np.bincount(own[to == own], minlength=len(rows)) < KEPT * rows
    moved = np.flatnonzero((to != own) & ~lost[own])
    edges = csr_array(graph[moved]).tocoo()
    there = own[edges.col] == to[moved][edges.row]
    ends = edges.row[there], cell[edges.col][there]
    towards = csr_array((edges.data[there], ends), shape=(len(moved), len(group)))
    arrives = np.diff(towards.indptr) > 0
    found = cell.copy()
    found[moved[arrives]] = towards[arrives].argmax(axis=1)
    return found


def smooth_neighbours(points: Floats) -> tuple[Integers, Floats]:
    """Return the nearest other points of each point, and the distance to a further one, as `basins_of` takes them."""
    near, reach = nearest_others(points, min(SMOOTH, len(points) - 1))
    return near[:, :NEIGHBOURS], reach


def basins_of(near: Integers, reach: Floats) -> Integers:
    """Return the basin of each row, numbered from 0: that of its densest neighbour, if this is denser.

    near (n_rows, n_neighbours) int: neighbours of each row.
    reach (n_rows,): distances to a further neighbour, small where rows are dense; of equal ones, the first row is the
        denser.
    """
    rank = np.empty(len(reach), dtype=np.int64)
    rank[np.argsort(reach, kind="stable")] = np.arange(len(reach))
    densest = near[np.arange(len(near)), rank[near].argmin(axis=1)]
    up = np.where(rank[densest] < rank, densest, np.arange(len(near)))
    while (up[up] != up).any():
        up = up[up]
    return np.unique(up, return_inverse=True)[1]


def linkage(graph: csr_array, cell: Integers) -> Merges:
    """Return the merges of cells, those with the strongest contact first, until one group is left.

    The contact of two groups is the weight of their edges relative to the geometric mean of two others. One is the
    weight of all edges of the rows at the border, of that side where it is less: so the pieces of a long curve meet
    strongly at their ends. The other is the weight of all edges of the groups, that of the lesser three times for once
    that of the greater: so small groups merge early, but the greatest does not take up the cells of all others in turn.

    graph (n, n): symmetric and connected.
    cell (n,) int: cells, numbered from 0.

    >>> weights = csr_array(([3.0, 3.0, 1.0, 1.0], ([0, 1, 1, 2], [1, 0, 2, 1])), shape=(3, 3))
    >>> merges = linkage(weights, np.arange(3))
    >>> merges.kept, merges.gone
    (array([0, 0]), array([1, 2]))
    """
    n_cells = int(cell.max()) + 1
    edges = graph.tocoo()
    strength = np.asarray(graph.sum(axis=1)).ravel()
    volume = np.bincount(cell, weights=strength, minlength=n_cells)
    between, border = np.zeros((n_cells, n_cells)), np.zeros((n_cells, n_cells))
    np.add.at(between, (cell[edges.row], cell[edges.col]), edges.data)
    np.fill_diagonal(between, 0)
    touched = np.unique(edges.row.astype(np.int64) * n_cells + cell[edges.col])
    np.add.at(border, (cell[touched // n_cells], touched % n_cells), strength[touched // n_cells])
    contact, least = between.copy(), strength.mean()

    def scores(i: Integers | slice) -> Floats:
        borders = np.minimum(border[i], border[:, i].T) + least
        less, more = np.minimum(volume[i, None], volume), np.maximum(volume[i, None], volume)
        return between[i] / np.sqrt(borders * less**0.75 * more**0.25)

    score = scores(slice(None))
    kept, gone = np.empty((2, n_cells - 1), dtype=np.int64)
    for step in range(n_cells - 1):
        a, b = sorted(np.unravel_index(score.argmax(), score.shape))
        kept[step], gone[step] = a, b
        for matrix in (between, border):
            matrix[a] += matrix[b]
            matrix[:, a] += matrix[:, b]
            matrix[b], matrix[:, b] = 0, 0
        between[a, a] = 0
        volume[a] += volume[b]
        score[a] = scores(np.array([a]))[0]
        score[:, a] = score[a]
        score[b], score[:, b] = -1, -1
    return Merges(kept, gone, contact)


def closest(contact: Floats, one: Integers, other: Integers) -> tuple[int, int]:
    """Return the two cells in closest contact, one of each group."""
    i, j = np.unravel_index(contact[np.ix_(one, other)].argmax(), (len(one), len(other)))
    return int(one[i]), int(other[j])


def groups_of(joined: Integers, n_cells: int) -> Integers:
    """Return the connected components of cells by the pairs that are joined, numbered by their first cells.

    >>> groups_of(np.array([[3, 1], [2, 4]]), 5).tolist()
    [0, 1, 2, 1, 2]
    """
    graph = coo_array((np.ones(len(joined)), (joined[:, 0], joined[:, 1])), shape=(n_cells, n_cells))
    return connected_components(graph, directed=False)[1]


def _bridged(graph: csr_array, points: Floats) -> csr_array:
    """Return the graph with edges between its components, from each component to the nearest point outside."""
    least = 1e-6 * float(graph.data.min()) if graph.nnz else 1.0  # weaker than any other edge
    while (found := connected_components(graph, directed=False))[0] > 1:
        component = found[1]
        largest = np.bincount(component).argmax()
        ends = [_way_out(points, component == c) for c in range(found[0]) if c != largest]
        pairs = np.array(ends)
        bridges = coo_array((np.full(len(pairs), least), (pairs[:, 0], pairs[:, 1])), shape=graph.shape)
        graph = csr_array(graph + csr_array(bridges).maximum(csr_array(bridges).T))
    return graph


def _way_out(points: Floats, inside: Integers) -> tuple[int, int]:
    """Return a point inside and the nearest point outside."""
    ours, others = np.flatnonzero(inside), np.flatnonzero(~inside)
    best = (np.inf, 0, 0)
    for i, squares in distances_in_blocks(points[ours], points[others]):
        a, b = np.unravel_index(squares.argmin(), squares.shape)
        best = min(best, (float(squares[a, b]), int(ours[i + a]), int(others[b])))
    return best[1], best[2]
