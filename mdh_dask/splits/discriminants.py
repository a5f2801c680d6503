"""The test whether rows are fewer between two groups than in either, in coordinates that tell the cells apart.

In many columns, rows of one group differ by chance in most of them, so few rows are near any line. In the few
combinations of columns in which cells differ most, in comparison with how their rows differ, nearly all rows of two
groups are near the line through their means, and most rows of other groups are not.
"""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dtrtri

from .._typing import Floats, Integers
from .cuts import ELSEWHERE, has_many_columns
from .slabs import FEWEST, Levels, in_others, line_between

NEGLIGIBLE = 1e-10
"""Combinations in which cells differ by a smaller share of their largest difference are rounding errors."""

LEAST_SHRINKAGE = 1e-6
"""With less, the covariance of rows of which some column is constant could not be inverted."""


class Discriminants(NamedTuple):
    """Coordinates of the rows of one half, which choose lines, and of the other half, which are counted, with cells."""

    choosing: Floats
    counted: Floats
    cells: tuple[Integers, Integers]
    combinations: Floats
    """The coordinates of unit vectors, shape (n_columns, n_coordinates)."""

    def evidence(
        self,
        group: Integers,
        pair: tuple[int, int],
        left_out: Collection[int] = (),
        levels: Levels | None = None,
    ) -> Floats:
        """Return by how many standard errors the slab through each group holds more rows than that between them.

        The slabs are those of `Slabs.evidence`, but all rows of both groups choose the line, among coordinates in which
        both are round. These tell apart better the rows that chose them than others, so the slabs are placed by those
        that are counted. Parameters are those of `Slabs.evidence`.

        Returns
        -------
        array of shape (2,)
            For each group. Zeros if a group has too few rows.
        """
        # Rows that are in none of the groups are counted like others.
        ours, counted = (np.where(cell == ELSEWHERE, ELSEWHERE, group[cell]) for cell in self.cells)
        chosen, placing = ([np.flatnonzero(own == side) for side in pair] for own in (ours, counted))
        if min(map(len, chosen + placing)) < FEWEST:
            return np.zeros(2)
        rows = [self.choosing.take(side, axis=0) for side in chosen]
        means = [own.sum(axis=0) / len(own) for own in rows]
        rounding = _rounding(np.concatenate([own - mean for own, mean in zip(rows, means)]))
        direction = (means[1] - means[0]) @ rounding
        if not direction.any():
            return np.zeros(2)
        direction /= np.linalg.norm(direction)
        middle = (means[0] + means[1]) / 2
        centred = (self.counted - middle) @ rounding
        along = centred @ direction
        across = np.einsum("ij,ij->i", centred, centred) - np.square(along)
        line = line_between(direction, middle @ rounding, [along[at] for at in placing], [across[at] for at in placing])
        if line is None:
            return np.zeros(2)
        if levels is not None:
            along += levels.displacements(self.combinations @ rounding @ direction)
        return line.evidence(along[(across <= line.radius) & in_others(counted, left_out)])


def discriminants(rows: Floats, choosing: Integers, counted: Integers, cell: Integers) -> Discriminants | None:
    """Return the coordinates of both halves of rows; None with few columns, constant ones aside, or one cell.

    Parameters
    ----------
    rows : array of shape (n_rows, n_columns), float64
    choosing, counted : arrays of int
        Indices of the rows of both halves, of which the first choose the coordinates.
    cell : array of shape (n_rows,), int
        Cells, `ELSEWHERE` for none.
    """
    if not has_many_columns(rows):
        return None
    ours = choosing[cell[choosing] != ELSEWHERE]
    combinations = combinations_apart(rows[ours], cell[ours])
    if combinations is None:
        return None
    first, second = rows[choosing] @ combinations, rows[counted] @ combinations
    return Discriminants(first, second, (cell[choosing], cell[counted]), combinations)


def combinations_apart(rows: Floats, cell: Integers) -> Floats | None:
    """Return the combinations of columns in which cells differ most, shape (n_columns, at most n_cells - 1).

    Distances between them are Mahalanobis distances by the covariance within cells, in the span of the means of cells.
    The covariance is drawn to a multiple of the identity, as it is known from few rows. None if cells do not differ.

    Notes
    -----
    Source: Fisher's linear discriminants; Ledoit and Wolf, A well-conditioned estimator for large-dimensional
    covariance matrices (2004), for the share of the identity.
    """
    cells, own, n_rows = np.unique(cell, return_inverse=True, return_counts=True)
    unit = 2.0 ** np.frexp(np.abs(rows).max())[1]  # without which fourth powers of far values overflow
    rows = rows / unit
    means = np.eye(len(cells))[own].T @ rows / n_rows[:, None]
    apart = (means - means.mean(axis=0)).T
    solved = _solved(rows - means[own], apart)
    values, vectors = np.linalg.eigh(apart.T @ solved)
    kept = values > NEGLIGIBLE * values[-1]
    return solved @ (vectors[:, kept] / values[kept] ** 0.5) / unit if kept.any() else None


def _rounding(within: Floats) -> Floats:
    """Return the matrix that gives centred rows a covariance near the identity."""
    products = within.T @ within
    mean, shrinkage = _shrinkage(within, products)
    covariance = (1 - shrinkage) / len(within) * products
    np.fill_diagonal(covariance, covariance.diagonal() + shrinkage * (mean or 1))
    inverse, _ = dtrtri(np.linalg.cholesky(covariance), lower=1)
    return np.asarray(inverse).T


def _solved(within: Floats, right: Floats) -> Floats:
    """Return the right sides divided by the covariance of centred rows."""
    n, d = within.shape
    products = within @ within.T if n < d else within.T @ within
    mean, shrinkage = _shrinkage(within, products)
    own, others = shrinkage * (mean or 1), (1 - shrinkage) / n
    if n >= d:
        return np.asarray(np.linalg.solve(others * products + own * np.eye(d), right))
    # The identity of Woodbury: fewer rows than columns make a smaller system.
    small = others * products + own * np.eye(n)
    return np.asarray((right - others * (within.T @ np.linalg.solve(small, within @ right))) / own)


def _shrinkage(within: Floats, products: Floats) -> tuple[float, float]:
    """Return the mean variance of columns, and the share of the identity in the covariance, by Ledoit and Wolf.

    `products` are those of the columns, or those of the rows.
    """
    n, d = within.shape
    mean, squares = float(np.trace(products)) / n / d, float(np.square(products).sum()) / n**2
    fourth = np.square(np.einsum("ij,ij->i", within, within)).sum()
    chance = (float(fourth) / n - squares) / n
    spread = squares - d * mean**2
    return mean, min(max(chance / spread, LEAST_SHRINKAGE), 1.0) if spread > 0 else 1.0
