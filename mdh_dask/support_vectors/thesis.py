"""Graphs of the literature besides that of nearest neighbours, for comparison: most test all pairs of points."""

from collections.abc import Callable

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial import Delaunay, QhullError, cKDTree
from scipy.spatial.distance import pdist, squareform

from .._jit.contours import ascend
from .._typing import Booleans, Floats, Integers
from .adjacency import STEP, Links, links_of, nearest_graph
from .dual import Sphere

LARGEST_COMPLETE = 3000
"""Most points for a test of all pairs."""

LARGEST_DELAUNAY = 100_000

SAME_END = 0.05
"""Ascents reach the same point if their ends are within this distance, in units of ``1 / sqrt(width)``."""


def complete_graph(points: Floats, support: Booleans, sphere: Sphere, n_neighbors: int) -> Links:
    """Return all pairs: the definition of the paper (eq. 16)."""
    _refuse_many("complete", points, LARGEST_COMPLETE)
    return links_of(points, np.column_stack(np.triu_indices(len(points), 1)))


def support_graph(points: Floats, support: Booleans, sphere: Sphere, n_neighbors: int) -> Links:
    """Return the pairs of a point and a support vector."""
    _refuse_many("support", points, LARGEST_COMPLETE)
    vectors, every = np.flatnonzero(support), np.arange(len(points))
    pairs = np.column_stack([np.repeat(vectors, len(points)), np.tile(every, len(vectors))])
    return links_of(points, pairs[pairs[:, 0] != pairs[:, 1]])


def delaunay_graph(points: Floats, support: Booleans, sphere: Sphere, n_neighbors: int) -> Links:
    """Return the edges of the Delaunay triangulation, for 2 to 4 columns, as there are too many in more."""
    if not 2 <= points.shape[1] <= 4 or len(points) > LARGEST_DELAUNAY:
        raise ValueError(
            f"expected 2 to 4 columns and at most {LARGEST_DELAUNAY} points for adjacency='delaunay'; got "
            f"{points.shape[1]} columns and {len(points)} points. Use adjacency='knn'."
        )
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
    return links_of(points, np.vstack([pairs, triangulation.coplanar[:, [0, 2]]]))


def spanning_graph(points: Floats, support: Booleans, sphere: Sphere, n_neighbors: int) -> Links:
    """Return the edges of the minimum spanning tree, which can only give too many components."""
    _refuse_many("mst", points, LARGEST_COMPLETE)
    tree = minimum_spanning_tree(squareform(pdist(points))).tocoo()
    return links_of(points, np.column_stack([tree.row, tree.col]))


def equilibrium_graph(points: Floats, support: Booleans, sphere: Sphere, n_neighbors: int) -> Links:
    """Return all pairs of the ends of ascents from the points; each point is connected with its own end.

    Source: Lee and Lee, An improved cluster labeling method for support vector clustering, 2005.
    """
    inner, unit = sphere.support, 1 / np.sqrt(sphere.width)
    ends = ascend(points, sphere.points[inner], sphere.coefficients[inner], sphere.width, STEP * unit, 1000)
    near = cKDTree(ends).query_pairs(SAME_END * unit, output_type="ndarray")
    graph = coo_array((np.ones(len(near)), (near[:, 0], near[:, 1])), shape=(len(ends),) * 2)
    place = connected_components(graph, directed=False)[1]
    _, first = np.unique(place, return_index=True)
    _refuse_many("equilibrium", first, LARGEST_COMPLETE)
    n = len(points)
    joined = np.column_stack([np.arange(n), n + place])
    i, j = np.triu_indices(len(first), 1)
    return Links(np.vstack([points, ends[first]]), np.column_stack([n + i, n + j]), joined)


def _refuse_many(name: str, points: Floats | Integers, most: int) -> None:
    if len(points) > most:
        raise ValueError(
            f"expected at most {most} points inside the contours for adjacency={name!r}; got {len(points)}. Use "
            "adjacency='knn', or fewer landmarks."
        )


COMPARED_GRAPHS: dict[str, Callable[[Floats, Booleans, Sphere, int], Links]] = {
    "complete": complete_graph,
    "support": support_graph,
    "delaunay": delaunay_graph,
    "mst": spanning_graph,
    "equilibrium": equilibrium_graph,
}
