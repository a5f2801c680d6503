"""Clusters as connected components inside a contour, and the assignment of points outside."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
from scipy.spatial import cKDTree

from .._jit.components import root_of, unite
from .._jit.contours import ascend, lowest_along, unite_inside
from .._typing import Booleans, Floats, Integers
from ..tree.clusters import largest_first
from .adjacency import STEP, Links, nearest_graph, points_between
from .dual import SLACK, Sphere
from .thesis import COMPARED_GRAPHS

ADJACENCY: dict[str, Callable[[Floats, Booleans, Sphere, int], Links]] = {"knn": nearest_graph, **COMPARED_GRAPHS}
"""Functions of the points inside a contour, a mask of support vectors, the sphere and `n_neighbors`."""


def components(
    sphere: Sphere, level: float, counts: Floats, *, adjacency: str, n_neighbors: int, n_segment: int | None
) -> Integers:
    """Return the connected component of each point inside the contour, the largest first, and -1 for points outside.

    level: level of the totals at the contour.
    counts (n,): rows at each point.
    adjacency: a name in `ADJACENCY`.
    n_neighbors: number of neighbours for ``"knn"``.
    n_segment: number of points to test on a segment; None to derive it from the width.
    """
    least = level * (1 - SLACK)
    inside = np.flatnonzero(sphere.totals(sphere.points) >= least)
    points = sphere.points[inside]
    links = ADJACENCY[adjacency](points, sphere.support[inside], sphere, n_neighbors)
    parent = np.arange(len(links.points))
    for a, b in links.joined:
        unite(parent, root_of(parent, a), root_of(parent, b))
    inner = sphere.support
    unite_inside(
        links.points, links.edges, points_between(links.points, links.edges, sphere.width, n_segment),
        sphere.points[inner], sphere.coefficients[inner], sphere.width, least, parent,
    )  # fmt: skip
    labels = np.full(len(sphere.points), -1)
    labels[inside] = [root_of(parent, i) for i in range(len(inside))]
    return by_size(labels, counts)


def by_size(labels: Integers, counts: Floats, least: float = 0) -> Integers:
    """Return labels 0, 1, ... in descending order of rows; sets of fewer than `least` rows, and -1, become -1.

    Examples
    --------
    >>> by_size(np.array([7, 3, 3, -1, 9]), np.ones(5))
    array([ 1,  0,  0, -1,  2])
    """
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
    inner = sphere.support
    between = points_between(sphere.points, edges, sphere.width, None)
    lowest, _ = lowest_along(
        sphere.points, edges, between, sphere.points[inner], sphere.coefficients[inner], sphere.width
    )
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
    outside, inner = np.flatnonzero(labels < 0), sphere.support
    ends = ascend(
        sphere.points[outside], sphere.points[inner], sphere.coefficients[inner], sphere.width,
        STEP / np.sqrt(sphere.width), 1000,
    )  # fmt: skip
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
