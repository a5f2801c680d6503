"""The order in which cells of a neighbour graph are merged."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from .._typing import Floats, Integers


class Merges(NamedTuple):
    """Merges of cells in turn; a group is named by its smallest cell."""

    kept: Integers
    gone: Integers
    """Groups that are merged, ``kept < gone``, shape (n_cells - 1,)."""
    contact: Floats
    """Weight of the edges between two cells, shape (n_cells, n_cells)."""


def linkage(graph: csr_array, cell: Integers) -> Merges:
    """Return the merges of cells, those with the strongest contact first, until one group is left.

    The contact of two groups is the weight of their edges relative to the geometric mean of two others. One is the
    weight of all edges of the rows at the border, of that side where it is less: so the pieces of a long curve meet
    strongly at their ends. The other is the weight of all edges of the groups, that of the lesser three times for once
    that of the greater: so small groups merge early, but the greatest does not take up the cells of all others in turn.

    graph (n, n): symmetric and connected.
    cell (n,) int: cells, numbered from 0.

    >>> weights = csr_array(([3.0, 3.0, 1.0, 1.0], ([0, 1, 1, 2], [1, 0, 2, 1])), shape=(3, 3))
    >>> merges = linkage(weights, np.arange(3))
    >>> merges.kept, merges.gone
    (array([0, 0]), array([1, 2]))
    """
    n_cells = int(cell.max()) + 1
    edges = graph.tocoo()
    strength = np.asarray(graph.sum(axis=1)).ravel()
    volume = np.bincount(cell, weights=strength, minlength=n_cells)
    between, border = np.zeros((n_cells, n_cells)), np.zeros((n_cells, n_cells))
    np.add.at(between, (cell[edges.row], cell[edges.col]), edges.data)
    np.fill_diagonal(between, 0)
    touched = np.unique(edges.row.astype(np.int64) * n_cells + cell[edges.col])
    np.add.at(border, (cell[touched // n_cells], touched % n_cells), strength[touched // n_cells])
    contact, least = between.copy(), strength.mean()

    def scores(i: Integers | slice) -> Floats:
        borders = np.minimum(border[i], border[:, i].T) + least
        less, more = np.minimum(volume[i, None], volume), np.maximum(volume[i, None], volume)
        return between[i] / np.sqrt(borders * less**0.75 * more**0.25)

    score = scores(slice(None))
    kept, gone = np.empty((2, n_cells - 1), dtype=np.int64)
    for step in range(n_cells - 1):
        a, b = sorted(np.unravel_index(score.argmax(), score.shape))
        kept[step], gone[step] = a, b
        for matrix in (between, border):
            matrix[a] += matrix[b]
            matrix[:, a] += matrix[:, b]
            matrix[b], matrix[:, b] = 0, 0
        between[a, a] = 0
        volume[a] += volume[b]
        score[a] = scores(np.array([a]))[0]
        score[:, a] = score[a]
        score[b], score[:, b] = -1, -1
    return Merges(kept, gone, contact)


def closest(contact: Floats, one: Integers, other: Integers) -> tuple[int, int]:
    """Return the two cells in closest contact, one of each group."""
    i, j = np.unravel_index(contact[np.ix_(one, other)].argmax(), (len(one), len(other)))
    return int(one[i]), int(other[j])
