"""Cells of rows whose borders follow the majority of their neighbours."""

import numpy as np

from .._typing import Floats, Integers
from .distances import BLOCK, nearest, squared_distances

VOTERS = 4000
"""Number of rows among which neighbours vote on the cells of rows."""

VOTES = 15

OWN_VOTE = 1.5

ROUNDS = 5


KEPT = 0.5
"""Smallest share of its rows that a cell keeps in the votes of neighbours; else they do not count for the cell."""


def smoothed_cells(rows: Floats, cell: Integers, n_cells: int) -> Integers:
    """Return the cell of each row after repeated majority votes of its neighbours.

    Borders between leaves cross dense regions here and there, and a border is judged by its densest points. A cell that
    would lose most of its rows keeps them all: in many columns, most neighbours of rows that are far apart belong to a
    tight group beside them.
    """
    voters = rows[:VOTERS]
    n_votes = min(VOTES, len(voters) - 1)
    near = _nearest(voters, voters, n_votes, others=True)
    smoothed = cell[: len(voters)]
    for _ in range(ROUNDS):
        votes = _votes(smoothed[near], n_cells)
        votes[np.arange(len(votes)), smoothed] += OWN_VOTE
        smoothed = votes.argmax(axis=1)
    rest = _votes(smoothed[_nearest(rows[VOTERS:], voters, n_votes)], n_cells).argmax(axis=1)
    found = np.concatenate([smoothed, rest])
    n_kept = np.bincount(cell[found == cell], minlength=n_cells)
    lost = n_kept < KEPT * np.bincount(cell, minlength=n_cells)
    return np.where(lost[cell], cell, found)


def _nearest(rows: Floats, places: Floats, k: int, others: bool = False) -> Integers:
    near = np.empty((len(rows), k), dtype=np.int64)
    for i in range(0, len(rows), BLOCK):
        distances = squared_distances(rows[i : i + BLOCK], places)
        if others:
            distances[np.arange(len(distances)), np.arange(i, i + len(distances))] = np.inf
        near[i : i + BLOCK] = nearest(distances, k)
    return near


def _votes(cells: Integers, n_cells: int) -> Floats:
    n = len(cells)
    ballots = (np.arange(n)[:, None] * n_cells + cells).ravel()
    return np.bincount(ballots, minlength=n * n_cells).reshape(n, n_cells).astype(np.float64)
