"""Squared distances of points in blocks of fixed height, the nearest of them, and their votes on cells."""

from collections.abc import Iterator

import numpy as np

from .._jit.landmarks import nearest_columns, squares_of_products, take_block
from .._typing import Floats, Integers

BLOCK = 512
"""Number of rows per block of distances, fixed as the last bits of products depend on the height of a block."""

VOTERS = 4000
"""Number of rows among which neighbours vote on the cells of rows."""

VOTES, OWN_VOTE, ROUNDS = 15, 1.5, 5
"""Neighbours that vote on the cell of a row, the weight of its own cell, and how often they vote."""

KEPT = 0.5
"""Smallest share of its rows that a cell, or a group of cells, keeps if neighbours decide; else it keeps them all."""


def squared_distances(rows: Floats, places: Floats) -> Floats:
    """Return the squared distances, shape (n_rows, n_places), float32; rounding errors of zero become zero."""
    out = np.empty((len(rows), len(places)), dtype=np.float32)
    for _ in distances_in_blocks(rows, places, out):
        pass
    return out


def distances_in_blocks(rows: Floats, places: Floats, out: Floats | None = None) -> Iterator[tuple[int, Floats]]:
    """Yield the first row of each block, and its squared distances, which the next block overwrites without `out`.

    Blocks share their memory, as it takes time to get more.
    """
    height, squares = min(BLOCK, len(rows)), np.square(places).sum(axis=1)
    products = np.empty((height, len(places)))
    own = np.empty((height if out is None else 0, len(places)), dtype=np.float32)
    rounding = 16 * float(np.finfo(np.float64).eps)  # largest error as a share of both squares
    for i in range(0, len(rows), BLOCK):
        block = rows[i : i + BLOCK]
        product = products[: len(block)]
        found = own[: len(block)] if out is None else out[i : i + BLOCK]
        np.matmul(block, places.T, out=product)
        squares_of_products(product, np.square(block).sum(axis=1), squares, rounding, found)
        yield i, found


class Distances:
    """Squared distances between some of the rows and others.

    rows (n_rows, n_columns) float64.
    expected: about how many distances will be asked for. If they are more than all rows have, these are computed once.
    """

    def __init__(self, rows: Floats, expected: int = 0) -> None:
        self.rows, n = rows, len(rows)
        together = n <= 6000 and n * n < expected  # more would take more than 144 MB
        self.every = squared_distances(rows, rows) if together else None

    def between(self, some: Integers, others: Integers) -> Floats:
        """Return the squared distances between rows of these indices, shape (n_some, n_others), float32."""
        if self.every is None:
            return squared_distances(self.rows[some], self.rows[others])
        block = np.empty((len(some), len(others)), dtype=np.float32)
        take_block(self.every, some, others, block)
        return block


def nearest_in_blocks(rows: Floats, places: Floats, k: int, others: bool = False) -> tuple[Integers, Floats]:
    """Return the `k` nearest places of each row in their order, and their squared distances, float32.

    others: whether the places are the rows, and none is near itself.
    """
    near, found = np.empty((len(rows), k), dtype=np.int64), np.empty((len(rows), k), dtype=np.float32)
    for i, squares in distances_in_blocks(rows, places):
        block = slice(i, i + len(squares))
        if others:
            np.fill_diagonal(squares[:, i:], np.inf)
        near[block] = nearest_columns(squares, k)
        found[block] = np.take_along_axis(squares, near[block], axis=1)
    return near, found


def distinct(rows: Floats) -> Integers:
    """Return the first of all equal rows, as the nearest neighbours of a landmark could otherwise all equal it."""
    _, value, n_rows = np.unique(rows[:, 0], return_inverse=True, return_counts=True)
    first, tied = n_rows[value] == 1, np.flatnonzero(n_rows[value] > 1)
    if len(tied):  # of many rows, finding those that are equal in all columns takes long
        first[tied[np.unique(rows[tied], axis=0, return_index=True)[1]]] = True
    return np.flatnonzero(first)


def smoothed_cells(rows: Floats, cell: Integers, n_cells: int) -> Integers:
    """Return the cell of each row after repeated majority votes of its neighbours.

    Borders between leaves cross dense regions here and there, and a border is judged by its densest points. A cell that
    would lose most of its rows keeps them all: in many columns, most neighbours of rows that are far apart belong to a
    tight group beside them.
    """
    voters = rows[:VOTERS]
    n_votes = min(VOTES, len(voters) - 1)
    near, _ = nearest_in_blocks(voters, voters, n_votes, others=True)
    smoothed = cell[: len(voters)]
    for _ in range(ROUNDS):
        votes = _votes(smoothed[near], n_cells)
        votes[np.arange(len(votes)), smoothed] += OWN_VOTE
        smoothed = votes.argmax(axis=1)
    near, _ = nearest_in_blocks(rows[VOTERS:], voters, n_votes)
    rest = _votes(smoothed[near], n_cells).argmax(axis=1)
    found = np.concatenate([smoothed, rest])
    n_kept = np.bincount(cell[found == cell], minlength=n_cells)
    lost = n_kept < KEPT * np.bincount(cell, minlength=n_cells)
    return np.where(lost[cell], cell, found)


def _votes(cells: Integers, n_cells: int) -> Floats:
    n = len(cells)
    ballots = (np.arange(n)[:, None] * n_cells + cells).ravel()
    return np.bincount(ballots, minlength=n * n_cells).reshape(n, n_cells).astype(np.float64)
