"""Principal direction divisive partitioning of rows in memory, as the papers state it."""

import numpy as np


def first_component(rows):
    """The right singular vector of the largest singular value of the centred rows."""
    return np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[2][0]


def scatter(rows):
    """The sum of squared distances from the centroid."""
    return ((rows - rows.mean(axis=0)) ** 2).sum()


def mean_of(projections):
    """Where PDDP splits (Boley 1998)."""
    return projections.mean()


def middle_of_widest_gap(projections, min_rows=1):
    """Where iPDDP splits (Tasoulis et al. 2010), and the width of the gap; None if no side may be that small."""
    x = np.sort(projections)
    gaps = [(x[i] - x[i - 1], (x[i] + x[i - 1]) / 2) for i in range(min_rows, len(x) - min_rows + 1)]
    return max(gaps, key=lambda gap: gap[0], default=None)


def pddp(rows, threshold_of, max_clusters=None):
    """Labels and the clusters' scatter when each was split; always the cluster of largest scatter is split.

    Without `max_clusters`, until the scatter of the centroids exceeds that of every cluster.
    """
    clusters, split = [np.arange(len(rows))], []
    while max_clusters is None or len(clusters) < max_clusters:
        largest = max(range(len(clusters)), key=lambda i: scatter(rows[clusters[i]]))
        own = clusters[largest]
        if max_clusters is None and scatter(np.array([rows[c].mean(axis=0) for c in clusters])) > scatter(rows[own]):
            break
        projections = rows[own] @ first_component(rows[own])
        is_left = projections <= threshold_of(projections)
        split.append(scatter(rows[own]))
        clusters[largest : largest + 1] = [own[is_left], own[~is_left]]
    labels = np.empty(len(rows), dtype=int)
    for label, own in enumerate(clusters):
        labels[own] = label
    return labels, split
