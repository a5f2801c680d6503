"""Rules for the number of leading eigenvectors of affinities, and so of clusters."""

from collections.abc import Callable

import numpy as np

from .._jit.vectors import align_columns
from .._random import any_rows
from .._typing import Floats

MOST_ROWS = 1000
"""Most rows whose entries are aligned, as all pairs of eigenvectors are turned for every number."""

MOST_SWEEPS = 30

LESS = 1e-4
"""The rotations end when a sweep lowers the mean cost by less."""

ALIKE = 0.001
"""Qualities of alignments that differ by less are alike (Zelnik-Manor and Perona)."""

_ANGLES = np.concatenate([[0.0], *(s * np.pi / 4 * 2.0 ** -np.arange(8) for s in (1, -1))])
TURNS = np.column_stack([np.cos(_ANGLES), np.sin(_ANGLES)])


def by_gap(values: Floats, entries: Floats, most: int) -> int:
    """Return the number of leading eigenvalues before the largest gap; those that are not given are zero.

    Examples
    --------
    >>> by_gap(np.array([1.0, 0.98, 0.95, 0.5, 0.45]), np.empty((0, 5)), 4)
    3
    """
    leading = np.zeros(most + 1)
    leading[: len(values)] = values[: most + 1]
    return int(np.argmax(leading[:-1] - leading[1:])) + 1


def by_alignment(values: Floats, entries: Floats, most: int) -> int:
    """Return the largest number of eigenvectors that rotate to one large entry for every row, at least two.

    Parameters
    ----------
    values : array of shape (k,)
        Eigenvalues.
    entries : array of shape (n, k)
        Eigenvectors as columns; at most `MOST_ROWS` rows are used.
    most : int
        Largest number.

    Notes
    -----
    L. Zelnik-Manor and P. Perona, Self-tuning spectral clustering, 2004, section 3. The rotation of one more
    eigenvector begins at that of the ones before.

    Examples
    --------
    >>> of_groups = np.repeat(np.eye(3), 9, axis=0)
    >>> more = np.random.default_rng(0).normal(size=(27, 2))
    >>> by_alignment(np.ones(5), np.hstack([of_groups @ np.linalg.qr(np.ones((3, 3)) + np.eye(3))[0], more]), 5)
    3
    """
    some = any_rows(entries, MOST_ROWS)
    qualities = alignments(np.ascontiguousarray(some[:, :most]))
    return int(np.flatnonzero(qualities >= qualities.max() - ALIKE)[-1]) + 2 if len(qualities) else 1


def alignments(entries: Floats) -> Floats:
    """Return the quality of the best rotation of the first 2, 3, ... columns: one for a single entry in each row."""
    turned, qualities = entries[:, :1].copy(), []
    for k in range(2, entries.shape[1] + 1):
        turned = np.column_stack([turned, entries[:, k - 1]])
        squares = np.square(turned).sum(axis=1) + 1e-300  # the cost of a row of zeros is one, too
        last = np.inf
        for _ in range(MOST_SWEEPS):
            cost = align_columns(turned, squares, TURNS)
            if cost > last - LESS:
                break
            last = cost
        qualities.append(1 - (cost - 1) / k)
    return np.array(qualities)


NUMBER_RULES: dict[str, Callable[[Floats, Floats, int], int]] = {"gap": by_gap, "alignment": by_alignment}
"""Functions of the eigenvalues in descending order, the rows' entries in the eigenvectors, and the largest number."""
