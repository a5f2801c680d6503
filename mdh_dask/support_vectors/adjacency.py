"""The pairs of points that are tested for a connection inside a contour."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from .._typing import Booleans, Floats, Integers
from .dual import Sphere

SPACING = 0.25
"""Largest distance of points on a segment, in units of ``1 / sqrt(width)``: with a larger one, exits are missed."""

MOST_POINTS = 64

STEP = 1e-4
"""An ascent ends with a step of this length, in units of ``1 / sqrt(width)``."""


class Links(NamedTuple):
    """Pairs of points that are connected if the segment between them is inside."""

    points: Floats
    """Points inside, and further points of the edges."""
    edges: Integers
    """Edges to test, shape (n_edges, 2)."""
    joined: Integers
    """Edges that are connected without a test."""


def nearest_graph(points: Floats, support: Booleans, sphere: Sphere, n_neighbors: int) -> Links:
    """Return the pairs of a point and one of its nearest, and pairs that connect the pieces of their graph.

    Without the latter, far clusters are apart at any width, even where one contour is around all of them.
    """
    pairs = neighbour_pairs(points, n_neighbors)
    while len(bridges := _bridges(points, pairs)):
        pairs = np.vstack([pairs, bridges])
    return links_of(points, pairs)


def neighbour_pairs(points: Floats, n_neighbors: int) -> Integers:
    """Return the pairs of a point and one of its nearest, each pair once, in ascending order, shape (n_pairs, 2)."""
    k = min(n_neighbors + 1, len(points))
    nearest = np.reshape(cKDTree(points).query(points, k=k)[1], (len(points), k))
    return _distinct(np.column_stack([np.repeat(np.arange(len(points)), k), nearest.ravel()]))


def points_between(points: Floats, edges: Integers, width: float, n_segment: int | None) -> Integers:
    """Return the number of points to test on each segment: `n_segment`, or the number for `SPACING`."""
    if n_segment is not None:
        return np.full(len(edges), n_segment)
    lengths = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    return np.clip(np.ceil(lengths * np.sqrt(width) / SPACING), 1, MOST_POINTS).astype(np.int64)


def _bridges(points: Floats, pairs: Integers) -> Integers:
    """Return for every piece of a graph the shortest pair of one of its points and one of another piece."""
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(points),) * 2)
    n_pieces, piece = connected_components(graph, directed=False)
    bridges = []
    for k in range(n_pieces if n_pieces > 1 else 0):
        own, others = np.flatnonzero(piece == k), np.flatnonzero(piece != k)
        distances, nearest = cKDTree(points[others]).query(points[own])
        bridges.append((own[distances.argmin()], others[nearest[distances.argmin()]]))
    return np.array(bridges, dtype=np.int64).reshape(-1, 2)


def links_of(points: Floats, pairs: Integers) -> Links:
    """Return distinct pairs as edges to test."""
    return Links(points, _distinct(pairs), np.empty((0, 2), dtype=np.int64))


def _distinct(pairs: Integers) -> Integers:
    pairs = np.sort(pairs.astype(np.int64), axis=1)
    return np.unique(pairs[pairs[:, 0] < pairs[:, 1]], axis=0)
