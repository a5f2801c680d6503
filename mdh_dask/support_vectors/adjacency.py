"""Which pairs of points are tested for being connected inside a contour."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial import Delaunay, QhullError, cKDTree
from scipy.spatial.distance import pdist, squareform

from .._jit.contours import ascend
from .._typing import Booleans, Floats, Integers
from .dual import Sphere

SPACING = 0.25
"""Points of a segment are at most this far apart, in units of ``1 / sqrt(width)``: with fewer, exits are skipped."""

MOST_POINTS = 64

LARGEST_COMPLETE = 3000
"""Points of which all pairs are tested, or held, at most."""

LARGEST_DELAUNAY = 100_000

STEP = 1e-4
"""An ascent ends with a step of this length, in units of ``1 / sqrt(width)``."""

SAME_END = 0.05
"""Ascents end at the same place if they end this near to each other, in the same units."""


class Links(NamedTuple):
    """Pairs of points that are connected if the segment between them is inside."""

    points: Floats
    """Those inside, and whatever else the edges need."""
    edges: Integers
    """To be tested; shape (n_edges, 2)."""
    joined: Integers
    """Connected without a test."""


def complete_graph(points: Floats, support: Booleans, sphere: Sphere, n_neighbors: int) -> Links:
    """Return all pairs: the definition of the paper (eq. 16)."""
    _refuse_many("complete", points, LARGEST_COMPLETE)
    return _links(points, np.column_stack(np.triu_indices(len(points), 1)))


def support_graph(points: Floats, support: Booleans, sphere: Sphere, n_neighbors: int) -> Links:
    """Return the pairs of a point and a support vector."""
    _refuse_many("support", points, LARGEST_COMPLETE)
    vectors, every = np.flatnonzero(support), np.arange(len(points))
    pairs = np.column_stack([np.repeat(vectors, len(points)), np.tile(every, len(vectors))])
    return _links(points, pairs[pairs[:, 0] != pairs[:, 1]])


def delaunay_graph(points: Floats, support: Booleans, sphere: Sphere, n_neighbors: int) -> Links:
    """Return the edges of the Delaunay triangulation: in 2 to 4 columns, others have too many."""
    if not 2 <= points.shape[1] <= 4 or len(points) > LARGEST_DELAUNAY:
        raise ValueError(
            f"expected 2 to 4 columns and at most {LARGEST_DELAUNAY} points for adjacency='delaunay'; got "
            f"{points.shape[1]} columns and {len(points)} points. Use adjacency='knn'."
        )
    if len(points) < points.shape[1] + 2:
        return complete_graph(points, support, sphere, n_neighbors)
    try:
        triangulation = Delaunay(points)
    except QhullError:  # all points on a line, or nearly
        return nearest_graph(points, support, sphere, n_neighbors)
    corners = triangulation.simplices
    i, j = np.triu_indices(corners.shape[1], 1)
    pairs = np.column_stack([corners[:, i].ravel(), corners[:, j].ravel()])
    # Points that rounding puts on a side of a simplex are no corners: they come with the corner nearest to them.
    return _links(points, np.vstack([pairs, triangulation.coplanar[:, [0, 2]]]))


def nearest_graph(points: Floats, support: Booleans, sphere: Sphere, n_neighbors: int) -> Links:
    """Return the pairs of a point and one of its nearest."""
    return _links(points, neighbour_pairs(points, n_neighbors))


def spanning_graph(points: Floats, support: Booleans, sphere: Sphere, n_neighbors: int) -> Links:
    """Return the edges of the minimum spanning tree: components can only be too many."""
    _refuse_many("mst", points, LARGEST_COMPLETE)
    tree = minimum_spanning_tree(squareform(pdist(points))).tocoo()
    return _links(points, np.column_stack([tree.row, tree.col]))


def equilibrium_graph(points: Floats, support: Booleans, sphere: Sphere, n_neighbors: int) -> Links:
    """Return all pairs of the places where ascents from the points end; a point is connected with its own.

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


ADJACENCY: dict[str, Callable[[Floats, Booleans, Sphere, int], Links]] = {
    "knn": nearest_graph,
    "complete": complete_graph,
    "support": support_graph,
    "delaunay": delaunay_graph,
    "mst": spanning_graph,
    "equilibrium": equilibrium_graph,
}
"""From the points inside a contour, which of them are support vectors, the sphere and `n_neighbors` to links."""


def neighbour_pairs(points: Floats, n_neighbors: int) -> Integers:
    """Return the pairs of a point and one of its nearest, each pair once, in rising order; shape (n_pairs, 2)."""
    k = min(n_neighbors + 1, len(points))
    nearest = np.reshape(cKDTree(points).query(points, k=k)[1], (len(points), k))
    return _distinct(np.column_stack([np.repeat(np.arange(len(points)), k), nearest.ravel()]))


def points_between(points: Floats, edges: Integers, width: float, n_segment: int | None) -> Integers:
    """Return how many points are tested on each segment: `n_segment`, or as many as `SPACING` asks for."""
    if n_segment is not None:
        return np.full(len(edges), n_segment)
    lengths = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    return np.clip(np.ceil(lengths * np.sqrt(width) / SPACING), 1, MOST_POINTS).astype(np.int64)


def _links(points: Floats, pairs: Integers) -> Links:
    return Links(points, _distinct(pairs), np.empty((0, 2), dtype=np.int64))


def _distinct(pairs: Integers) -> Integers:
    pairs = np.sort(pairs.astype(np.int64), axis=1)
    return np.unique(pairs[pairs[:, 0] < pairs[:, 1]], axis=0)


def _refuse_many(name: str, points: Floats | Integers, most: int) -> None:
    if len(points) > most:
        raise ValueError(
            f"expected at most {most} points inside the contours for adjacency={name!r}; got {len(points)}. Use "
            "adjacency='knn', or fewer landmarks."
        )
