"""Counting what several clusterings say of the same rows."""

from .._numba import jit


@jit
def count_pairs(places, tables):
    """Add every pair of places that a row has to `tables` (places x places), its upper triangle and its diagonal.

    `places` is rows x clusterings, ascending in every row; a negative one stands for no label.
    """
    m = places.shape[1]
    for row in range(places.shape[0]):
        for i in range(m):
            a = places[row, i]
            if a >= 0:
                for j in range(i, m):
                    b = places[row, j]
                    if b >= 0:
                        tables[a, b] += 1


@jit
def count_votes(clusters, votes):
    """Add to `votes` (rows x clusters) how many clusterings put a row into a cluster; a negative one is no vote."""
    for row in range(clusters.shape[0]):
        for j in range(clusters.shape[1]):
            if clusters[row, j] >= 0:
                votes[row, clusters[row, j]] += 1
