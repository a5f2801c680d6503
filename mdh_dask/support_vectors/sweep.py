"""The choice of the kernel width and of the share outside the contours, which determine the clusters."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from scipy.spatial.distance import pdist

from .._random import any_rows
from .._typing import Floats, Integers
from ..valleys.merging import Merged
from .components import by_size, components
from .dual import Sphere, level_of, smallest_sphere, spacing
from .holdout import Rows, connecting_edges, densest_first

SHARES = (0.0, 0.1, 0.3, 0.6)
"""Shares outside the contours to try; large ones separate overlapping clusters."""

MOST_WIDTHS = 12

LEAST_RATIO = 2.0
"""Least ratio of a width to the previous one."""

POINTS_FOR_DISTANCE = 500

N_FINALISTS = 3
"""Number of pairs of a width and a share outside to test; each test costs all of them power."""


@dataclass(frozen=True)
class Step:
    """A pair of a width and a share outside, with its contours."""

    sphere: Sphere
    outliers: float
    n_components: int
    """Number of components of at least the least size."""
    smallest: float
    """Share of the rows inside the smallest of them."""
    labels: Integers
    """Shape (n_points,): labels of the clusters between which the rows that drew them show valleys; -1 outside."""
    evidence: float
    """Evidence of the shallowest of these valleys from the same rows, in standard deviations."""
    edges: Integers
    """Edges of a graph of the points, the densest first."""
    confirmed: Integers | None = None
    """Shape (n_points,): labels of the clusters that the other rows confirm; None if not tested."""
    failed: tuple[float, float] = (-np.inf, np.inf)
    """Evidence of the best valley that failed, in standard deviations, and what it needed: of those that the other rows
    tested, otherwise of those that the same rows did not show; minus infinity without any."""
    merged: Merged | None = None
    """The merges of the clusters by the test of the other rows."""

    @property
    def n_clusters(self) -> int:
        """Number of clusters with valleys between them."""
        return int(self.labels.max(initial=0)) + 1

    @property
    def n_confirmed(self) -> int:
        """Number of confirmed clusters; 0 if the step was not tested."""
        return 0 if self.confirmed is None else int(self.confirmed.max(initial=0)) + 1


def widths_for(points: Floats) -> Floats:
    """Return widths from one at which all points are one cluster to one at which each point is a cluster.

    The first is one over the largest squared distance (paper section 4), estimated by its 0.99 quantile; at the last,
    the kernel falls to 1/e between a point and its nearest neighbour.
    """
    squares = pdist(any_rows(points, POINTS_FOR_DISTANCE), "sqeuclidean")
    least = 1 / float(np.quantile(squares, 0.99))
    most = max(1 / spacing(points) ** 2, least * LEAST_RATIO**2)
    n = min(MOST_WIDTHS, int(np.log(most / least) / np.log(LEAST_RATIO)) + 1)
    return np.geomspace(least, most, n)


def sweep(
    points: Floats,
    counts: Floats,
    rows: Rows,
    *,
    outliers: float,
    adjacency: str,
    n_neighbors: int,
    n_segment: int | None,
    least_share: float | None,
    quantile: float,
    max_clusters: int | None,
) -> list[Step]:
    """Return the steps of all widths and shares outside for one half of the rows, with clusters confirmed by the other.

    points, counts (n, n_features) and (n,): landmarks of one half of the rows, and the rows of that half nearest to
        each.
    rows: standardised rows of that half, and of the other.
    outliers: the least share outside.
    adjacency, n_neighbors, n_segment: as for `components`.
    least_share: least share of the rows in a cluster; None for the square root of their number. Components need this
        share of the rows inside.
    quantile: one minus this bounds the probability of any false cluster, over all tests.
    max_clusters: steps with more clusters are tested only if none has fewer.
    """
    edges = connecting_edges(points, n_neighbors)
    least = sqrt(counts.sum()) if least_share is None else least_share * counts.sum()
    drawn: list[tuple[Sphere, float, Integers]] = []
    shares = sorted({outliers, *(share for share in SHARES if share > outliers)})
    for width in widths_for(points):
        for share in shares:
            sphere = smallest_sphere(points, counts, width, share)
            level = level_of(sphere.totals(points), counts, share)
            labels = components(
                sphere, level, counts, adjacency=adjacency, n_neighbors=n_neighbors, n_segment=n_segment
            )
            drawn.append((sphere, share, by_size(labels, counts, float((1 - share) * least))))
    steps, nearest = [], rows.nearest(points)
    for i, (sphere, share, labels) in enumerate(drawn):
        n = int(labels.max()) + 1
        smallest = counts[labels == n - 1].sum() / counts.sum() if n else 0.0
        if i % len(shares) == 0:
            dense = densest_first(edges, points, counts, sphere.width)
        step = Step(sphere, share, n, smallest, labels, np.inf, dense)
        if n > 1:
            shown = rows.shown(dense, labels, nearest)
            step = replace(step, labels=shown.labels, evidence=shown.evidence, failed=shown.failed)
        steps.append(step)
    tried = finalists(steps, max_clusters)
    for i in tried:
        found = rows.confirmed(steps[i].edges, steps[i].labels, nearest, (1 - quantile) / len(tried))
        steps[i] = replace(steps[i], confirmed=found.labels, failed=found.failed, merged=found.merged)
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
        return (few, persistence[i] > 0, step.n_clusters, step.evidence, -i)

    best: dict[int, int] = {}
    for i in sorted((i for i, step in enumerate(steps) if step.n_clusters > 1), key=merit, reverse=True):
        best.setdefault(steps[i].n_clusters, i)
    return [*list(best.values())[:N_FINALISTS], *([best[min(best)]] if len(best) > N_FINALISTS else [])]


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
        best = max((step.failed for step in own), default=(-np.inf, np.inf))
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
