"""Clusters as connected components inside a contour, and the assignment of points outside."""

from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial import Delaunay, QhullError, cKDTree
from scipy.spatial.distance import pdist, squareform

from .._jit.communities import root_of, unite
from .._jit.landmarks import unite_inside
from .._typing import Booleans, Floats, Integers
from ..tree.clusters import largest_first
from ..valleys.graph import groups_of
from .dual import SLACK, Sphere, points_between


class Links(NamedTuple):
    """Pairs of points that are connected if the segment between them is inside."""

    points: Floats
    """Points inside, and further points of the edges."""
    edges: Integers
    """Edges to test, shape (n_edges, 2)."""
    joined: Integers = np.empty((0, 2), dtype=np.int64)
    """Edges that are connected without a test."""


def nearest_graph(points: Floats, support: Booleans, sphere: Sphere, n_neighbors: int) -> Links:
    """Return the pairs of a point and one of its nearest, and pairs that connect the pieces of their graph.

    Without the latter, far clusters are apart at any width, even where one contour is around all of them.
    """
    pairs = neighbour_pairs(points, n_neighbors)
    while len(bridges := _bridges(points, pairs)):
        pairs = np.vstack([pairs, bridges])
    return Links(points, _distinct(pairs))


def neighbour_pairs(points: Floats, n_neighbors: int) -> Integers:
    """Return the pairs of a point and one of its nearest, each pair once, in ascending order, shape (n_pairs, 2)."""
    k = min(n_neighbors + 1, len(points))
    nearest = np.reshape(cKDTree(points).query(points, k=k)[1], (len(points), k))
    return _distinct(np.column_stack([np.repeat(np.arange(len(points)), k), nearest.ravel()]))


def _bridges(points: Floats, pairs: Integers) -> Integers:
    """Return for every piece of a graph the shortest pair of one of its points and one of another piece."""
    piece, bridges = groups_of(pairs, len(points)), []
    for k in range(piece.max() + 1 if piece.any() else 0):
        own, others = np.flatnonzero(piece == k), np.flatnonzero(piece != k)
        distances, nearest = cKDTree(points[others]).query(points[own])
        bridges.append((own[distances.argmin()], others[nearest[distances.argmin()]]))
    return np.array(bridges, dtype=np.int64).reshape(-1, 2)


def _distinct(pairs: Integers) -> Integers:
    pairs = np.sort(pairs.astype(np.int64), axis=1)
    return np.unique(pairs[pairs[:, 0] < pairs[:, 1]], axis=0)


def components(
    sphere: Sphere, level: float, counts: Floats, *, adjacency: str, n_neighbors: int, n_segment: int | None
) -> Integers:
    """Return the connected component of each point inside the contour, the largest first, and -1 for points outside.

    level: level of the totals at the contour.
    counts (n,): rows at each point.
    """
    least = level * (1 - SLACK)
    inside = np.flatnonzero(sphere.totals(sphere.points) >= least)
    points = sphere.points[inside]
    links = ADJACENCY[adjacency](points, sphere.support[inside], sphere, n_neighbors)
    parent = np.arange(len(links.points))
    for a, b in links.joined:
        unite(parent, root_of(parent, a), root_of(parent, b))
    between = points_between(links.points, links.edges, sphere.width, n_segment)
    unite_inside(links.points, links.edges, between, *sphere.kernels, least, parent)
    labels = np.full(len(sphere.points), -1)
    labels[inside] = [root_of(parent, i) for i in range(len(inside))]
    return by_size(labels, counts)


def by_size(labels: Integers, counts: Floats, least: float = 0) -> Integers:
    """Return labels 0, 1, ... in descending order of rows; sets of fewer than `least` rows, and -1, become -1."""
    known, place = np.unique(labels[labels >= 0], return_inverse=True)
    sizes = np.bincount(place, weights=counts[labels >= 0], minlength=len(known))
    rank = largest_first(sizes)
    rank[sizes < least] = -1
    result = np.full(len(labels), -1)
    result[labels >= 0] = rank[place]
    return result


def merged(sphere: Sphere, labels: Integers, counts: Floats, most: int) -> Integers:
    """Return at most `most` clusters, merging first those between which the totals fall least.

    The totals between two clusters are those on the segment of their two nearest points; if
    they are equal, for example zero, the shorter segment comes first.
    """
    n = int(labels.max(initial=-1)) + 1
    if n <= most:
        return labels
    edges = np.array([_nearest_pair(sphere.points, labels == a, labels == b) for a, b in combinations(range(n), 2)])
    lowest = sphere.lowest_along(edges)
    lengths = np.linalg.norm(sphere.points[edges[:, 0]] - sphere.points[edges[:, 1]], axis=1)
    parent = np.arange(n)
    for edge in edges[np.lexsort([lengths, -lowest])]:
        a, b = (root_of(parent, label) for label in labels[edge])
        if a != b and np.count_nonzero(parent == np.arange(n)) > most:
            unite(parent, a, b)
    roots = np.array([root_of(parent, i) for i in range(n)])
    return by_size(np.where(labels < 0, -1, roots[labels]), counts)


def _nearest_pair(points: Floats, a: Booleans, b: Booleans) -> tuple[int, int]:
    some, others = np.flatnonzero(a), np.flatnonzero(b)
    distances, nearest = cKDTree(points[some]).query(points[others])
    return some[nearest[distances.argmin()]], others[distances.argmin()]


def _leave(sphere: Sphere, labels: Integers, least: float) -> Integers:
    return labels


def _ascend(sphere: Sphere, labels: Integers, least: float) -> Integers:
    """Return for points outside the label of the point inside that is nearest to the end of their ascent."""
    outside = np.flatnonzero(labels < 0)
    ends = sphere.summits(sphere.points[outside])
    # If the peak itself is outside, the nearest point inside counts.
    ends = np.where((sphere.totals(ends) >= least)[:, None], ends, sphere.points[outside])
    inside = np.flatnonzero(labels >= 0)
    result = labels.copy()
    if len(outside):
        result[outside] = labels[inside[cKDTree(sphere.points[inside]).query(ends)[1]]]
    return result


UNCLASSIFIED: dict[str, Callable[[Sphere, Integers, float], Integers]] = {
    "nearest": _leave,
    "ascend": _ascend,
    "leave": _leave,
}
"""Labels of points outside, before rows take the label of the nearest labelled point.

With ``"leave"`` rows outside are labelled -1.
"""


LARGEST_COMPLETE = 3000
"""Most points for a test of all pairs."""


def complete_graph(points: Floats, support: Booleans, sphere: Sphere, n_neighbors: int) -> Links:
    """Return all pairs: the definition of the paper (eq. 16)."""
    return Links(points, np.column_stack(np.triu_indices(len(points), 1)))


def support_graph(points: Floats, support: Booleans, sphere: Sphere, n_neighbors: int) -> Links:
    """Return the pairs of a point and a support vector."""
    vectors, every = np.flatnonzero(support), np.arange(len(points))
    return Links(points, _distinct(np.column_stack([np.repeat(vectors, len(points)), np.tile(every, len(vectors))])))


def delaunay_graph(points: Floats, support: Booleans, sphere: Sphere, n_neighbors: int) -> Links:
    """Return the edges of the Delaunay triangulation, for 2 to 4 columns, as there are too many in more."""
    if len(points) < points.shape[1] + 2:
        return complete_graph(points, support, sphere, n_neighbors)
    try:
        triangulation = Delaunay(points)
    except QhullError:  # all points are nearly on a line
        return nearest_graph(points, support, sphere, n_neighbors)
    corners = triangulation.simplices
    i, j = np.triu_indices(corners.shape[1], 1)
    pairs = np.column_stack([corners[:, i].ravel(), corners[:, j].ravel()])
    # Points that rounding puts on a side of a simplex are not corners, and are linked to the nearest corner.
    return Links(points, _distinct(np.vstack([pairs, triangulation.coplanar[:, [0, 2]]])))


def spanning_tree(points: Floats) -> Integers:
    """Return the pairs of points that the minimum spanning tree connects, each in ascending order."""
    tree = minimum_spanning_tree(squareform(pdist(points))).tocoo()
    return _distinct(np.column_stack([tree.row, tree.col]))


def spanning_graph(points: Floats, support: Booleans, sphere: Sphere, n_neighbors: int) -> Links:
    """Return the edges of the minimum spanning tree, which can only give too many components."""
    return Links(points, spanning_tree(points))


def equilibrium_graph(points: Floats, support: Booleans, sphere: Sphere, n_neighbors: int) -> Links:
    """Return all pairs of the ends of ascents from the points; each point is connected with its own end.

    Source: Lee and Lee, An improved cluster labeling method for support vector clustering, 2005.
    """
    ends = sphere.summits(points)
    near = cKDTree(ends).query_pairs(0.05 * (1 / np.sqrt(sphere.width)), output_type="ndarray")
    place = groups_of(near, len(ends))
    _, first = np.unique(place, return_index=True)
    if len(first) > LARGEST_COMPLETE:
        raise ValueError(
            f"expected at most {LARGEST_COMPLETE} points inside the contours for adjacency='equilibrium'; got "
            f"{len(first)}. Use adjacency='knn', or fewer landmarks."
        )
    n = len(points)
    joined = np.column_stack([np.arange(n), n + place])
    i, j = np.triu_indices(len(first), 1)
    return Links(np.vstack([points, ends[first]]), np.column_stack([n + i, n + j]), joined)


ADJACENCY: dict[str, Callable[[Floats, Booleans, Sphere, int], Links]] = {
    "knn": nearest_graph,
    "complete": complete_graph,
    "support": support_graph,
    "delaunay": delaunay_graph,
    "mst": spanning_graph,
    "equilibrium": equilibrium_graph,
}
"""Functions of the points inside a contour, a mask of support vectors, the sphere and `n_neighbors`."""
