"""The test of a valley between clusters on rows that were not used to draw their contours.

Balls of one radius are placed at the densest points of two clusters, and where the density between them is highest,
using one half of the rows. The rows of the other half in these balls are counted. As the balls were placed without
them, these rows show a fall of the density between the clusters if there is one; if there is none, they show it by
chance as often as in a sign test. The balls between clusters are of two kinds: on paths along neighbouring points,
which follow the shape of a cluster, and on straight paths. In a cloud whose sets of high density are convex, the
density on the straight path between two points is never lower than at both.

The test of `mdh_dask.valleys` compares cells that touch, on links between neighbouring rows of both. Clusters of
contours are apart, so the paths between them lead through rows outside; and as a sweep tries many contours, the
straight paths must bound the error for any number of trials, which links between neighbours cannot.
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

ON_EDGE, ON_STRAIGHT_WAY = 8, 16
"""Numbers of points to try on a way between neighbouring points, and on a straight way; the emptiest is taken."""

MOST_EDGES = 40
"""Number of ways along neighbouring points to try; the fullest are taken."""


@dataclass(frozen=True)
class Relief:
    """The density of one half of the rows, at points and along the edges between neighbouring points."""

    points: Floats
    """Shape (n, n_features), float64."""
    shares: Floats
    """Shape (n,): shares of the rows at the points."""
    width: float
    """Width of the kernel."""
    density: Floats
    """Shape (n,): sums of kernels at the points."""
    edges: Integers
    """Shape (n_edges, 2), int64: they connect all points. The edges with the highest of the lowest densities between
    their ends come first."""


def connecting_edges(points: Floats, n_neighbors: int) -> Integers:
    """Return the pairs of neighbouring points and the edges of the minimum spanning tree, which connect all points."""
    tree = minimum_spanning_tree(squareform(pdist(points))).tocoo()
    pairs = np.vstack([neighbour_pairs(points, n_neighbors), np.sort(np.column_stack([tree.row, tree.col]), axis=1)])
    return np.unique(pairs, axis=0)


def relief_of(points: Floats, counts: Floats, width: float, edges: Integers) -> Relief:
    """Return the density at points and along edges."""
    shares = counts / counts.sum()
    between = points_between(points, edges, width, None)
    lowest, _ = lowest_along(points, edges, between, points, shares, width)
    density = kernel_totals(points, points, shares, width)
    lowest = np.minimum(lowest, density[edges].min(axis=1))
    order = np.argsort(-lowest, kind="stable")
    return Relief(points, shares, width, density, edges[order])


class Confirmed(NamedTuple):
    """Clusters between which rows show valleys."""

    labels: Integers
    evidence: float
    """The weakest evidence of a valley between two of them; infinite for one."""
    failed: float
    """The strongest evidence of a valley between clusters that were merged; minus infinity if none were."""


def confirmed(
    relief: Relief, labels: Integers, own: Floats, held_out: Floats | None, deviations: float, depth: float
) -> Confirmed:
    """Return labels with clusters merged if rows show no valley between them.

    Neighbouring clusters are compared in descending order of the density between them, until all are separate.

    labels (n,): clusters of the relief's points: 0, 1, ...; -1 outside.
    own, held_out (n_rows, n_features) float64: standardised rows of the half of the relief, and of the other half.
        Without rows of the other half, the valleys need to show only in the first.
    deviations: standard deviations by which the counts in the clusters must exceed those between them.
    depth: least share by which they must exceed the latter.
    """
    ends = flood(relief.edges, labels)[relief.edges]
    crossing = np.flatnonzero(ends[:, 0] != ends[:, 1])
    group = np.arange(labels.max() + 1)
    apart: dict[tuple[bytes, bytes], float] = {}
    failed = -np.inf
    while True:
        pairs = np.sort(group[ends[crossing]], axis=1)
        pairs, ways = pairs[pairs[:, 0] < pairs[:, 1]], crossing[pairs[:, 0] < pairs[:, 1]]
        _, first = np.unique(pairs, axis=0, return_index=True)
        for p, q in pairs[np.sort(first)]:
            members = (group == p).tobytes(), (group == q).tobytes()
            if members in apart:
                continue
            cluster = np.where(labels < 0, -1, group[labels])
            between = ways[(pairs == (p, q)).all(axis=1)][:MOST_EDGES]
            balls = _balls(relief, cluster == p, cluster == q, between, own, depth)
            seen = (
                balls.evidence
                if held_out is None
                else _least(cdist(balls.centres, held_out, "sqeuclidean") <= balls.squared_radius, depth)
            )
            if seen < deviations:
                failed = max(failed, seen)
                group[group == q] = p
                break
            apart[members] = seen
        else:
            known = [apart[(group == p).tobytes(), (group == q).tobytes()] for p, q in pairs[first]]
            kept = np.where(labels < 0, -1, np.unique(group, return_inverse=True)[1][labels])
            return Confirmed(kept, min(known, default=np.inf), failed)


class _Balls(NamedTuple):
    centres: Floats
    """In the first cluster, in the second, along neighbouring points and on straight paths; as many of each."""
    squared_radius: float
    evidence: float
    """Evidence from the rows that placed the balls, largest at the chosen radius."""


def _balls(relief: Relief, p: Booleans, q: Booleans, between: Integers, own: Floats, depth: float) -> _Balls:
    """Return balls around the densest points of two clusters, and where the fewest rows are on the paths between them.

    Of the paths along neighbouring points, those are taken on which there are the most rows where they are fewest.
    """
    cores = [_densest(relief, side) for side in (p, q)]
    n = min(map(len, cores))
    places = [relief.points[core[:n]] for core in cores]
    edges = relief.points[relief.edges[between]]
    ways = [_inner_points(edges[:, 0], edges[:, 1], ON_EDGE), _inner_points(places[0], places[1], ON_STRAIGHT_WAY)]
    squares = [cdist(way.reshape(-1, own.shape[1]), own, "sqeuclidean") for way in ways]
    of_cores = cdist(np.vstack(places), own, "sqeuclidean")
    sparser = min((0, 1), key=lambda side: (np.median(relief.density[cores[side][:n]]), side))
    most = min(float(relief.shares[p].sum()), float(relief.shares[q].sum())) * len(own)
    tried = []
    for wanted in (*(rows for rows in ROWS_IN_BALL if rows <= most), min(most, ROWS_IN_BALL[0])):
        squared_radius = _squared_radius(relief, places[sparser], wanted / len(own))
        emptiest = [_emptiest(square <= squared_radius, len(way)) for square, way in zip(squares, ways)]
        # Where there are fewer paths than balls in a cluster, their balls count several times.
        chosen = [places_on[np.arange(n) % len(places_on)] for places_on in emptiest]
        within = [of_cores <= squared_radius, *(square[i] <= squared_radius for square, i in zip(squares, chosen))]
        cuts = [way.reshape(-1, own.shape[1])[i] for way, i in zip(ways, chosen)]
        tried.append(_Balls(np.vstack([*places, *cuts]), squared_radius, _least(np.vstack(within), depth)))
    return max(tried, key=lambda balls: balls.evidence)


def _inner_points(starts: Floats, ends: Floats, n_points: int) -> Floats:
    """Return points inside segments, evenly spaced, shape (n_segments, n_points, n_features)."""
    t = (np.arange(n_points) + 1.0) / (n_points + 1)
    return starts[:, None] + t[:, None] * (ends - starts)[:, None]


def _emptiest(within: Booleans, n_ways: int) -> Integers:
    """Return for every way its point with the fewest rows around it, the way whose point has the most rows first."""
    counts = within.sum(axis=1).reshape(n_ways, -1)
    least = counts.argmin(axis=1)
    order = np.argsort(-counts.min(axis=1), kind="stable")
    return (np.arange(n_ways) * counts.shape[1] + least)[order]


def _least(within: Booleans, depth: float) -> float:
    """Return by how many standard deviations there are more rows in the balls of both clusters than in those between.

    It is the least over both clusters and both kinds of ways; `within` says which rows are in which ball.
    """
    inside = within.reshape(4, len(within) // 4, -1).sum(axis=1)
    return min(_deviations(inside[i], inside[j], depth) for i in (0, 1) for j in (2, 3))


def _densest(relief: Relief, cluster: Booleans) -> Integers:
    members = np.flatnonzero(cluster)
    return members[np.argsort(-relief.density[members], kind="stable")[:N_BALLS]]


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
