"""The choice of the kernel width and of the share outside the contours, which determine the clusters."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist

from .._jit.hashing import hash_again, in_first_half
from .._jit.landmarks import flood
from .._random import any_rows
from .._typing import Booleans, Floats, Integers
from ..valleys.merging import FEWEST, LEVEL, Merged, merge_cells
from ..valleys.pair_tests import Halves
from .components import by_size, components, neighbour_pairs, spanning_tree
from .dual import Sphere, level_of, smallest_sphere, spacing


@dataclass(frozen=True)
class ContourSettings:
    """The settings of contours; see `mdh_dask.SupportVectorClustering`."""

    width: float | None
    """None for a sweep."""
    outliers: float
    adjacency: str
    n_neighbors: int
    n_segment: int | None
    n_landmarks: int
    unclassified: str
    scale: bool
    least_share: float | None
    """Least share of the rows in a cluster; None for the square root of their number in a sweep, where components need
    this share of the rows inside."""
    max_clusters: int | None
    quantile: float
    seed: int
    parts_at: int | None = None
    """Index of the array with the parts of dependent rows; see `mdh_dask.growth.passes.hashes_of`."""

    @property
    def graph(self) -> dict[str, Any]:
        """The settings of `components`."""
        return {name: getattr(self, name) for name in ("adjacency", "n_neighbors", "n_segment")}


def connecting_edges(points: Floats, n_neighbors: int) -> Integers:
    """Return the pairs of neighbouring points and the edges of the minimum spanning tree, which connect all points."""
    return np.unique(np.vstack([neighbour_pairs(points, n_neighbors), spanning_tree(points)]), axis=0)


class Confirmed(NamedTuple):
    """Clusters between which rows show valleys."""

    labels: Integers
    """Shape (n_points,): 0, 1, ...; -1 outside."""
    merged: Merged | None = None
    """The merges; None if rows were too few to test."""

    @property
    def evidence(self) -> float:
        """The weakest evidence of a valley between two of them, in standard errors; infinite for one."""
        return min((found for _, found in self.merged.apart), default=np.inf) if self.merged else np.inf

    @property
    def failed(self) -> tuple[float, float]:
        """The strongest evidence of clusters that were merged, minus infinity if none were, and what it needed."""
        return (max(self.merged.evidence, default=-np.inf), self.merged.threshold) if self.merged else (-np.inf, np.inf)


@dataclass(frozen=True)
class Rows:
    """The rows that draw contours, and those that test them.

    points (n_rows, n_features) float64: standardised rows, in ascending order of their hashes.
    hashes (n_rows,) uint64.
    first (n_rows,) bool: the half that draws contours.
    in_groups: whether the last bits of the hashes are the parts of dependent rows.
    """

    points: Floats
    hashes: Integers
    first: Booleans
    in_groups: bool = False

    def nearest(self, landmarks: Floats) -> Integers:
        """Return the landmark that is nearest to each row, shape (n_rows,)."""
        return np.asarray(cKDTree(landmarks).query(self.points)[1])

    def shown(self, edges: Integers, labels: Integers, nearest: Integers) -> Confirmed:
        """Return labels with clusters merged if the first rows that drew them show no valley; see `confirmed`."""
        own = np.flatnonzero(self.first)[:1000]
        every = np.ones(len(own), dtype=np.bool_)
        return Rows(self.points[own], self.hashes[own], every, self.in_groups)._merged(
            edges, labels, nearest[own], [(every, every)], LEVEL * (int(labels.max()) + 1)
        )

    def confirmed(self, edges: Integers, labels: Integers, nearest: Integers, level: float) -> Confirmed:
        """Return labels with clusters merged if the other half shows no valley between them.

        edges (n_edges, 2): along these, labels spread to landmarks without one, in their order.
        labels (n_landmarks,): clusters of the landmarks: 0, 1, ...; -1 outside.
        nearest (n_rows,): the landmark that is nearest to each row.
        level: probability of a false cluster.
        """
        return self._merged(edges, labels, nearest, [(own, ~self.first) for own in self._choosing()], level)

    def _choosing(self) -> list[Booleans]:
        """Return the rows that choose places in turn: evidence is the mean over them."""
        # Least number of rows, of the half that drew the contours, that are halved twice to choose places. A
        # contour has stray rows in other clusters, and a line through one of them may miss the valley
        # between two clusters: each half of the rows that choose has only some of these. With fewer rows,
        # halves choose worse places than all rows do.
        if np.count_nonzero(self.first) < 1000:
            return [self.first]
        again = hash_again(self.hashes, 3)
        bits = [in_first_half(again, number) for number in range(2)]
        return [self.first & half for bit in bits for half in (bit, ~bit)]

    def _merged(
        self, edges: Integers, labels: Integers, nearest: Integers, halves: Sequence[Halves], level: float
    ) -> Confirmed:
        n_cells = int(labels.max()) + 1
        if len(self.points) < FEWEST:  # too few to test
            return Confirmed(np.minimum(labels, 0))
        merged = merge_cells(
            self.points, self.hashes, flood(edges, labels)[nearest], n_cells, smooth=False, in_groups=self.in_groups,
            level=level, halves=halves,
        )  # fmt: skip
        return Confirmed(np.where(labels < 0, -1, merged.group[labels]), merged)


MOST_WIDTHS = 12

LEAST_RATIO = 2.0
"""Least ratio of a width to the previous one."""


@dataclass(frozen=True)
class Step:
    """A pair of a width and a share outside, with its contours."""

    sphere: Sphere
    outliers: float
    n_components: int
    """Number of components of at least the least size."""
    smallest: float
    """Share of the rows inside the smallest of them."""
    edges: Integers
    """Edges of a graph of the points, the densest first."""
    shown: Confirmed
    """The clusters between which the rows that drew them show valleys."""
    confirmed: Confirmed | None = None
    """Those that the other rows confirm; None if not tested."""

    @property
    def found(self) -> Confirmed:
        """The clusters that the other rows confirm, or else those that the same rows show."""
        return self.confirmed or self.shown

    @property
    def n_clusters(self) -> int:
        """Number of clusters that the rows that drew them show."""
        return int(self.shown.labels.max(initial=0)) + 1

    @property
    def n_confirmed(self) -> int:
        """Number of confirmed clusters; 0 if the step was not tested."""
        return int(self.confirmed.labels.max(initial=0)) + 1 if self.confirmed else 0


def widths_for(points: Floats) -> Floats:
    """Return widths from one at which all points are one cluster to one at which each point is a cluster.

    The first is one over the largest squared distance (paper section 4), estimated by its 0.99 quantile; at the last,
    the kernel falls to 1/e between a point and its nearest neighbour.
    """
    squares = pdist(any_rows(points, 500), "sqeuclidean")
    least = 1 / float(np.quantile(squares, 0.99))
    most = max(1 / spacing(points) ** 2, least * LEAST_RATIO**2)
    n = min(MOST_WIDTHS, int(np.log(most / least) / np.log(LEAST_RATIO)) + 1)
    return np.geomspace(least, most, n)


def sweep(points: Floats, counts: Floats, rows: Rows, settings: ContourSettings) -> list[Step]:
    """Return the steps of all widths and shares outside for one half of the rows, with clusters confirmed by the other.

    points, counts (n, n_features) and (n,): landmarks of one half of the rows, and the rows of that half nearest to
        each.
    rows: standardised rows of that half, and of the other.
    """
    edges = connecting_edges(points, settings.n_neighbors)
    least = sqrt(counts.sum()) if settings.least_share is None else settings.least_share * counts.sum()
    steps, nearest = [], rows.nearest(points)
    # Large shares separate overlapping clusters.
    shares = sorted({settings.outliers, *(share for share in (0.0, 0.1, 0.3, 0.6) if share > settings.outliers)})
    for width in widths_for(points):
        dense = smallest_sphere(points, counts, width, 1.0).highest_first(edges)
        for share in shares:
            sphere = smallest_sphere(points, counts, width, share)
            level = level_of(sphere.totals(points), counts, share)
            labels = components(sphere, level, counts, **settings.graph)
            labels = by_size(labels, counts, float((1 - share) * least))
            n = int(labels.max()) + 1
            smallest = counts[labels == n - 1].sum() / counts.sum() if n else 0.0
            shown = rows.shown(dense, labels, nearest) if n > 1 else Confirmed(labels)
            steps.append(Step(sphere, share, n, smallest, dense, shown))
    tried = finalists(steps, settings.max_clusters)
    for i in tried:
        own, level = steps[i], (1 - settings.quantile) / len(tried)
        steps[i] = replace(own, confirmed=rows.confirmed(own.edges, own.shown.labels, nearest, level))
    return steps


def finalists(steps: Sequence[Step], max_clusters: int | None) -> list[int]:
    """Return the steps whose clusters are tested: the best of each number of clusters, and of these some.

    These are the best few, and that of the fewest clusters, which has the most rows in each. Better are those that
    persist, then those of more clusters, and those of clearer valleys to the half that drew them: the other half has
    not been asked.
    """
    persistence = persistence_of(steps)

    def merit(i: int) -> tuple[float, ...]:
        step = steps[i]
        few = max_clusters is None or step.n_clusters <= max_clusters
        return (few, persistence[i] > 0, step.n_clusters, step.shown.evidence, -i)

    best: dict[int, int] = {}
    for i in sorted((i for i, step in enumerate(steps) if step.n_clusters > 1), key=merit, reverse=True):
        best.setdefault(steps[i].n_clusters, i)
    # Each test costs all of them power.
    return [*list(best.values())[:3], *([best[min(best)]] if len(best) > 3 else [])]


def chosen_step(steps: Sequence[Step]) -> int:
    """Return the step with the most confirmed clusters, the first tried among several.

    Without two confirmed clusters, return the step of least width with the least share outside.
    """
    tested = [i for i, step in enumerate(steps) if step.confirmed is not None and step.n_confirmed > 1]
    if not tested:
        return 0
    persistence = persistence_of(steps)
    return max(tested, key=lambda i: (steps[i].n_confirmed, persistence[i]))


def best_failed(steps: Sequence[Step], chosen: int) -> Floats:
    """Return whether held-out rows tested it, the evidence of the best valley that failed, and what it needed.

    Valleys that held-out rows tested in steps of as many clusters as the chosen one come first; otherwise those that
    the rows of any step did not show. Empty if there is no such valley.
    """
    n = steps[chosen].n_confirmed if steps else 0
    tested = [step for step in steps if step.confirmed is not None and (n < 2 or step.n_confirmed == n)]
    shown = [step for step in steps if step.confirmed is None]
    for by_others, own in ((1.0, tested), (0.0, shown)):
        best = max((step.found.failed for step in own), default=(-np.inf, np.inf))
        if np.isfinite(best[0]):
            return np.array([by_others, *best])
    return np.empty(0)


def persistence_of(steps: Sequence[Step]) -> list[float]:
    """Return the doublings of the width over which each step's number of clusters stays, at its share outside.

    It is zero for a number found at a single width.
    """
    plateaus = [plateau_of(steps, i) for i in range(len(steps))]
    return [float(np.log2(steps[run[-1]].sphere.width / steps[run[0]].sphere.width)) for run in plateaus]


def plateau_of(steps: Sequence[Step], i: int) -> list[int]:
    """Return step i and the steps of neighbouring widths with the same share outside and number of clusters."""
    if not steps:
        return []
    own = [j for j, step in enumerate(steps) if step.outliers == steps[i].outliers]
    alike = [steps[j].n_clusters == steps[i].n_clusters for j in own]
    first = last = own.index(i)
    while first > 0 and alike[first - 1]:
        first -= 1
    while last + 1 < len(own) and alike[last + 1]:
        last += 1
    return own[first : last + 1]
