"""The test of a valley between clusters on rows that were not used to draw their contours.

Balls of one radius are placed at the densest points of two clusters, and where the density between them is highest,
using one half of the rows. The rows of the other half in these balls are counted. As the balls were placed without
them, these rows show a fall of the density between the clusters if there is one; if there is none, they show it by
chance as often as in a sign test. The balls between clusters are of two kinds: on paths along neighbouring points,
which follow the shape of a cluster, and on straight paths. In a cloud whose sets of high density are convex, the
density on the straight path between two points is never lower than at both.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist, pdist, squareform

from .._jit.contours import flood, kernel_totals, lowest_along
from .._typing import Booleans, Floats, Integers
from .adjacency import neighbour_pairs, points_between

N_BALLS = 10
"""Number of balls in each cluster, and on each kind of path between two."""

ROWS_IN_BALL = (4, 8, 24, 72)
"""Numbers of rows of a half for a ball in the sparser cluster, among which the half that places the balls chooses."""

STEPS_TO_RIDGE = 8
"""Most iterations of a mean shift, which mostly ends earlier."""

ON_STRAIGHT_WAY = 32
"""Points on a straight path, the one of least density of which is used."""


@dataclass(frozen=True)
class Relief:
    """The density of one half of the rows, at points and along the edges between neighbouring points.

    Parameters
    ----------
    points : array of shape (n, n_features), float64
    shares : array of shape (n,)
        Shares of the rows at the points.
    width : float
        Width of the kernel.
    density : array of shape (n,)
        Sums of kernels at the points.
    edges : array of shape (n_edges, 2), int64
        Edges that connect all points, in descending order of the lowest density along them.
    saddles : array of shape (n_edges, n_features)
        Points of lowest density along the edges.
    """

    points: Floats
    shares: Floats
    width: float
    density: Floats
    edges: Integers
    saddles: Floats


def connecting_edges(points: Floats, n_neighbors: int) -> Integers:
    """Return the pairs of neighbouring points and the edges of the minimum spanning tree, which connect all points."""
    tree = minimum_spanning_tree(squareform(pdist(points))).tocoo()
    pairs = np.vstack([neighbour_pairs(points, n_neighbors), np.sort(np.column_stack([tree.row, tree.col]), axis=1)])
    return np.unique(pairs, axis=0)


def relief_of(points: Floats, counts: Floats, width: float, edges: Integers) -> Relief:
    """Return the density at points and along edges."""
    shares = counts / counts.sum()
    between = points_between(points, edges, width, None)
    lowest, place = lowest_along(points, edges, between, points, shares, width)
    density = kernel_totals(points, points, shares, width)
    lowest = np.minimum(lowest, density[edges].min(axis=1))
    order = np.argsort(-lowest, kind="stable")
    start, end = (points[edges[order, side]] for side in (0, 1))
    saddles = start + place[order, None] * (end - start)
    return Relief(points, shares, width, density, edges[order], saddles)


def confirmed(
    relief: Relief, labels: Integers, own: Floats, held_out: Floats | None, deviations: float, depth: float
) -> tuple[Integers, float]:
    """Return labels with clusters merged if rows show no valley between them, and the weakest evidence of the others.

    Neighbouring clusters are compared in descending order of the density between them, until all are separate.

    Parameters
    ----------
    relief : Relief
    labels : array of shape (n,)
        Clusters of the relief's points: 0, 1, ...; -1 outside.
    own, held_out : arrays of shape (n_rows, n_features), float64
        Standardised rows of the half of the relief, and of the other half. Without rows of the other half, the valleys
        need to show only in the first.
    deviations : float
        Standard deviations by which the counts in the clusters must exceed those between them.
    depth : float
        Least share by which they must exceed the latter.
    """
    ends = flood(relief.edges, labels)[relief.edges]
    crossing = np.flatnonzero(ends[:, 0] != ends[:, 1])
    group = np.arange(labels.max() + 1)
    apart: dict[tuple[bytes, bytes], float] = {}
    while True:
        pairs = np.sort(group[ends[crossing]], axis=1)
        pairs, ways = pairs[pairs[:, 0] < pairs[:, 1]], crossing[pairs[:, 0] < pairs[:, 1]]
        _, first = np.unique(pairs, axis=0, return_index=True)
        for p, q in pairs[np.sort(first)]:
            members = (group == p).tobytes(), (group == q).tobytes()
            if members in apart:
                continue
            cluster = np.where(labels < 0, -1, group[labels])
            between = ways[(pairs == (p, q)).all(axis=1)][:N_BALLS]
            balls = _balls(relief, cluster == p, cluster == q, between, own, depth)
            seen = balls.evidence if held_out is None else _evidence(balls, held_out, depth)
            if seen < deviations:
                group[group == q] = p
                break
            apart[members] = seen
        else:
            known = [apart[(group == p).tobytes(), (group == q).tobytes()] for p, q in pairs[first]]
            return np.where(labels < 0, -1, np.unique(group, return_inverse=True)[1][labels]), min(
                known, default=np.inf
            )


class _Balls(NamedTuple):
    centres: Floats
    """Balls in the first and the second cluster, along neighbouring points and on straight paths; as many of each."""
    along: Floats
    """Unit directions of the paths along neighbouring points."""
    squared_radius: float
    evidence: float
    """Evidence from the rows that placed the balls, largest at the chosen radius."""


def _balls(relief: Relief, p: Booleans, q: Booleans, between: Integers, own: Floats, depth: float) -> _Balls:
    """Return balls around the densest points of two clusters and where the density between them is highest."""
    cores = [_densest(relief, side) for side in (p, q)]
    n = min(map(len, cores))
    cores = [core[:n] for core in cores]
    places = [relief.points[core] for core in cores]
    # If there are fewer paths than balls in a cluster, the balls on them count several times.
    ways = between[np.arange(n) % len(between)]
    centres = np.vstack([*places, relief.saddles[ways], _straight(relief, *places)])
    along = np.diff(relief.points[relief.edges[ways]], axis=1)[:, 0]
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    sparser = min((0, 1), key=lambda side: (np.median(relief.density[cores[side]]), side))
    most = min(relief.shares[p].sum(), relief.shares[q].sum()) * len(own)
    squares = cdist(centres, own, "sqeuclidean")
    tried = []
    for wanted in (*(rows for rows in ROWS_IN_BALL if rows <= most), min(most, ROWS_IN_BALL[0])):
        squared_radius = _squared_radius(relief, places[sparser], wanted / len(own))
        tried.append(_Balls(centres, along, squared_radius, _least(squares <= squared_radius, depth)))
    return max(tried, key=lambda balls: balls.evidence)


def _evidence(balls: _Balls, rows: Floats, depth: float) -> float:
    """Return the excess of rows in the balls of both clusters over those between, in standard deviations.

    It is the smallest over both clusters and both kinds of paths.
    """
    n = len(balls.along)
    centres = balls.centres.copy()
    centres[2 * n : 3 * n] = _across(centres[2 * n : 3 * n], balls.along, rows, balls.squared_radius)
    return _least(cdist(centres, rows, "sqeuclidean") <= balls.squared_radius, depth)


def _least(within: Booleans, depth: float) -> float:
    inside = within.reshape(4, len(within) // 4, -1).sum(axis=1)
    return min(_deviations(inside[i], inside[j], depth) for i in (0, 1) for j in (2, 3))


def _across(places: Floats, along: Floats, rows: Floats, squared_radius: float) -> Floats:
    """Return points on paths, moved across the paths to where the counted rows are denser.

    Points are seldom in the middle of a thin cluster, so a path between them runs beside it, with fewer rows around it
    than around the densest points. Moving it can only merge clusters.
    """
    for _ in range(STEPS_TO_RIDGE):
        within = cdist(places, rows, "sqeuclidean") <= squared_radius
        n = within.sum(axis=1, keepdims=True)
        step = np.where(n > 0, within @ rows / np.maximum(n, 1) - places, 0.0)
        places = places + step - (step * along).sum(axis=1, keepdims=True) * along
    return places


def _densest(relief: Relief, cluster: Booleans) -> Integers:
    members = np.flatnonzero(cluster)
    return members[np.argsort(-relief.density[members], kind="stable")[:N_BALLS]]


def _straight(relief: Relief, starts: Floats, ends: Floats) -> Floats:
    """Return the points of lowest density on the straight paths between two lists of points."""
    n = len(starts)
    edges = np.column_stack([np.arange(n), n + np.arange(n)])
    _, place = lowest_along(
        np.vstack([starts, ends]), edges, np.full(n, ON_STRAIGHT_WAY), relief.points, relief.shares, relief.width
    )
    return starts + place[:, None] * (ends - starts)


def _squared_radius(relief: Relief, centres: Floats, share: float) -> float:
    """Return the median of the squared radii of balls around centres that hold a share of the rows."""
    squares = cdist(centres, relief.points, "sqeuclidean")
    order = np.argsort(squares, axis=1, kind="stable")
    held = np.cumsum(relief.shares[order], axis=1)
    last = (held < share).sum(axis=1).clip(max=len(relief.points) - 1)
    return float(np.median(np.take_along_axis(squares, order, axis=1)[np.arange(len(centres)), last]))


def _deviations(core: Integers, cut: Integers, depth: float) -> float:
    """Return the excess of rows in balls of one kind over those of the other, in standard deviations.

    A row in several balls is one observation.
    """
    excess = core - (1 + depth) * cut
    return float(excess.sum() / max(np.sqrt(np.square(excess).sum()), 1e-300))
