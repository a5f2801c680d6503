"""The choice of the width of the kernel and of the share outside the contours, and with them of the clusters."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from scipy.spatial.distance import pdist
from scipy.stats import norm

from .._typing import Floats, Integers
from .components import by_size, components
from .dual import Sphere, level_of, smallest_sphere
from .holdout import Relief, confirmed, connecting_edges, relief_of
from .landmarks import spacing

SHARES = (0.0, 0.1, 0.3, 0.6)
"""Shares outside the contours that are tried: many, where clusters overlap."""

MOST_WIDTHS = 12

LEAST_RATIO = 2.0
"""Of one width to the next, at least."""

POINTS_FOR_DISTANCE = 500

SHOWS = 2.5
"""Standard deviations at which a valley shows to the rows that chose it; those that do not are not tested."""

ROWS_TO_SHOW = 1000
"""Rows of the half that drew the contours to which valleys have to show."""

N_FINALISTS = 3
"""Pairs of a width and a share outside that are tested: each test costs all of them power."""


@dataclass(frozen=True)
class Step:
    """One pair of a width and a share outside, and the contours it makes.

    Parameters
    ----------
    sphere : Sphere
    outliers : float
    n_components : int
        Components of at least the least size.
    smallest : float
        Share of the rows inside the smallest of them.
    labels : array of shape (n_points,)
        Of the clusters between which the rows that drew them show valleys; -1 outside.
    evidence : float
        Standard deviations at which the shallowest of these valleys shows to them.
    relief : Relief
        Of the density of these rows.
    confirmed : array of shape (n_points,) or None
        Labels of the clusters that the other rows confirm; None if they were not asked.
    """

    sphere: Sphere
    outliers: float
    n_components: int
    smallest: float
    labels: Integers
    evidence: float
    relief: Relief
    confirmed: Integers | None = None

    @property
    def n_clusters(self) -> int:
        """Number of the clusters that show."""
        return int(self.labels.max(initial=0)) + 1

    @property
    def n_confirmed(self) -> int:
        """Number of the clusters that are confirmed; 0 if the step was not tested."""
        return 0 if self.confirmed is None else int(self.confirmed.max(initial=0)) + 1


def widths_for(points: Floats) -> Floats:
    """Return widths from that at which all points are one cluster to that at which each is one.

    The first is one over the largest squared distance (paper section 4), of which the 0.99 quantile stands for the
    largest; at the last the kernel falls to 1/e on the way from a point to its nearest.
    """
    squares = pdist(points[:: max(1, len(points) // POINTS_FOR_DISTANCE)], "sqeuclidean")
    least = 1 / float(np.quantile(squares, 0.99))
    most = max(1 / spacing(points) ** 2, least * LEAST_RATIO**2)
    n = min(MOST_WIDTHS, int(np.log(most / least) / np.log(LEAST_RATIO)) + 1)
    return np.geomspace(least, most, n)


def sweep(
    points: Floats,
    counts: Floats,
    own: Floats,
    held_out: Floats,
    *,
    outliers: float,
    adjacency: str,
    n_neighbors: int,
    n_segment: int | None,
    least_share: float | None,
    quantile: float,
    depth: float,
    max_clusters: int | None,
) -> list[Step]:
    """Return what every width and share outside makes of one half of the rows, and the other half confirms.

    Parameters
    ----------
    points, counts : arrays of shape (n, n_features) and (n,)
        Landmarks of one half of the rows, and the rows of that half nearest to each.
    own, held_out : arrays of shape (n_rows, n_features)
        Standardised rows of that half, and of the other.
    outliers : float
        The least share outside.
    adjacency, n_neighbors, n_segment
        As for `components`.
    least_share : float or None
        Of the rows in a cluster at least; None for the square root of their number. As many as are inside of so many
        rows are a component.
    quantile, depth : float
        One minus the first bounds the probability that any cluster is false: all tests share it. See `confirmed`.
    max_clusters : int or None
        More are tested only if there are never fewer.
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
            drawn.append((sphere, share, by_size(labels, counts, (1 - share) * least)))
    steps = []
    for i, (sphere, share, labels) in enumerate(drawn):
        n = int(labels.max()) + 1
        smallest = counts[labels == n - 1].sum() / counts.sum() if n else 0.0
        if i % len(shares) == 0:
            relief = relief_of(points, counts, sphere.width, edges)
        evidence = np.inf
        if n > 1:
            labels, evidence = confirmed(relief, labels, own[:ROWS_TO_SHOW], None, SHOWS, depth)
        steps.append(Step(sphere, share, n, smallest, labels, evidence, relief))
    tried = finalists(steps, max_clusters)
    n_tests = sum(steps[i].n_clusters - 1 for i in tried)
    deviations = float(norm.isf((1 - quantile) / max(n_tests, 1)))
    for i in tried:
        labels, _ = confirmed(steps[i].relief, steps[i].labels, own, held_out, deviations, depth)
        steps[i] = replace(steps[i], confirmed=labels)
    return steps


def finalists(steps: Sequence[Step], max_clusters: int | None) -> list[int]:
    """Return the steps whose clusters are tested: the best of each number of clusters, and of these the best few.

    Better are those that persist, then those of more clusters, of fewer components that are no clusters, and of clearer
    valleys to the half that drew them: the other half has not been asked.
    """
    persistence = persistence_of(steps)

    def merit(i: int) -> tuple[float, ...]:
        step = steps[i]
        few = max_clusters is None or step.n_clusters <= max_clusters
        return (
            few,
            persistence[i] > 0,
            step.n_clusters,
            step.n_clusters / max(step.n_components, 1),
            step.evidence,
            -i,
        )

    best: dict[int, int] = {}
    for i in sorted(range(len(steps)), key=merit, reverse=True):
        best.setdefault(steps[i].n_clusters, i)
    return list(best.values())[:N_FINALISTS]


def chosen_step(steps: Sequence[Step]) -> int:
    """Return the step to take: of most clusters that the other half confirmed, and of these the first that was tried.

    If it confirmed no two clusters, the step of least width at which nothing but the least share is outside.
    """
    tested = [i for i, step in enumerate(steps) if step.confirmed is not None and step.n_confirmed > 1]
    if not tested:
        return 0
    persistence = persistence_of(steps)
    return max(tested, key=lambda i: (steps[i].n_confirmed, persistence[i]))


def persistence_of(steps: Sequence[Step]) -> list[float]:
    """Return for every step over how many doublings of the width its number of clusters stays, at its share outside.

    A number found at one width only stays for none.
    """
    plateaus = [plateau_of(steps, i) for i in range(len(steps))]
    return [float(np.log2(steps[run[-1]].sphere.width / steps[run[0]].sphere.width)) for run in plateaus]


def plateau_of(steps: Sequence[Step], i: int) -> list[int]:
    """Return the steps of other widths around step i that have as many clusters, at its share outside, and step i."""
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
