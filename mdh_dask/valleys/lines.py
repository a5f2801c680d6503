"""Lines between two groups, and slabs on them: between groups of a unimodal density, rows are not fewer than in both.

Balls count few of the rows along a cut. Slabs count all rows around it, which shows valleys between groups of fewer
than a hundred rows, and in many columns, where balls hold too few rows. Lines go through the rows of either group that
are nearest to the contact of both. In many columns they are drawn in the few combinations in which cells differ most,
in comparison with how their rows differ: nearly all rows of two groups are near the line through their means there, and
most rows of other groups are not.
"""

from collections.abc import Callable

import numpy as np

from .._jit.lines import LADDER, WIDTHS, Lines, count_on_lines, draw_lines, place_by_counted
from .._jit.pairs import Listed
from .._typing import Booleans, Floats, Integers
from ..splits.dependence import errors_of_parts
from .landmarks import ELSEWHERE, Half, Landmarks, members_of

Bandwidth = Callable[[Floats], float]

N_KINDS = len(LADDER) * len(WIDTHS)
"""Slabs of a pair: one for each line and width."""

FEW_COLUMNS = 8
"""In more columns, lines are drawn in the combinations of columns that tell cells apart. Lines through two curved
groups in the plane leave them, and the limits against this know too little of many columns."""

BLOCK = 2**22
"""Number of values of one kind that are held at once, such as directions of lines."""


class Slabs:
    """Rows of one half, which choose lines, and of the other half, which are counted in slabs along them.

    landmarks: of this half.
    normal (n_rows,): a random number of each row, normal with variance one.
    axes (n_all_columns, n_columns): the columns of the rows as combinations of others, for which bandwidths are.
    """

    def __init__(self, half: Half, landmarks: Landmarks, normal: Floats, axes: Floats | None = None) -> None:
        rows, choosing, counted, cell, parts = half
        ours = choosing[cell[choosing] != ELSEWHERE]
        self.choosing, self.own, self.counted = rows[ours], cell[ours], rows[counted]
        self.cell, self.normal, self.landmarks = cell[counted], normal[counted], landmarks
        of_one = np.zeros(len(counted), dtype=np.int64)
        self.part = of_one if parts is None else np.unique(parts[counted], return_inverse=True)[1]
        self.few_columns = n_varying(rows) <= FEW_COLUMNS
        self.combinations = None if self.few_columns else combinations_apart(self.choosing, self.own)
        self.axes = axes if self.combinations is None else self.combinations
        if self.combinations is not None:
            self.choosing, self.counted = self.choosing @ self.combinations, self.counted @ self.combinations
        self.counted = np.asfortranarray(self.counted)  # all of them are placed on a line, column by column

    def errors(
        self, group: Integers, pairs: Integers, cuts: Listed, left_out: Booleans, bandwidth: Bandwidth | None = None
    ) -> tuple[Floats, Floats]:
        """Return by how many standard errors slabs through groups hold more rows than those between, and the rows.

        group (n_cells,) int.
        pairs (n_pairs, 2) int.
        cuts: links of `landmarks`.
        left_out (n_pairs, n_cells) bool: groups whose rows are not counted.
        bandwidth: returns how far rows are displaced at random along a direction of shape (n_columns,).
        Returns errors (n_pairs, n_lines * n_widths, 2 groups): zero without a line, NaN without a cut.
        Returns rows (n_pairs, n_lines * n_widths, 2, 2): the rows in the slab through the group, and in that between.
        """
        contacts = self.landmarks.contacts(cuts)
        if self.combinations is not None:
            contacts = contacts @ self.combinations
        own = np.append(group, ELSEWHERE)[self.cell]
        members, of_counted = (members_of(cells, len(group)) for cells in (group[self.own], own))
        of_others = np.zeros((len(pairs), len(group) + 1), dtype=np.bool_)  # rows elsewhere are counted
        of_others[:, :-1] = left_out
        counts = np.zeros((len(pairs), len(LADDER), len(WIDTHS), int(self.part.max()) + 1, 3), dtype=np.int64)
        n_drawn = len(pairs) if self.few_columns or self.combinations is not None else 0
        size = max(BLOCK // (len(LADDER) * self.choosing.shape[1]), 1)
        for i in range(0, n_drawn, size):
            some = slice(i, i + size)
            lines = drawn_lines(self.choosing, contacts[some], members, pairs[some], self.few_columns)
            if not self.few_columns and not self.landmarks.by_parts:  # a few groups can be told apart along some line
                place_by_counted(self.counted, of_counted, pairs[some], lines)
            shifts = self._widths(lines.direction, bandwidth), self.normal
            count_on_lines(self.counted, own, self.part, of_others[some], lines, shifts, counts[some])
        return self._errors(counts.reshape(len(pairs), N_KINDS, *counts.shape[3:]), cuts)

    def _errors(self, counts: Integers, cuts: Listed) -> tuple[Floats, Floats]:
        """Return the standard errors of counts of shape (n_pairs, n_lines * n_widths, n_parts, 3), and the rows."""
        total = counts.sum(axis=-2)
        errors = errors_in_slabs(total)
        if self.landmarks.by_parts:
            of_parts = np.moveaxis((counts[..., [0, 2]] - counts[..., [1]]).astype(np.float64), -2, 0)
            errors = errors_of_parts(of_parts, errors)
        errors[np.diff(cuts.start) == 0] = np.nan
        return errors, total[..., [[0, 1], [2, 1]]].astype(np.float64)

    def _widths(self, directions: Floats, bandwidth: Bandwidth | None) -> Floats:
        """Return the standard deviations of displacements along lines, shape (n_pairs, n_lines)."""
        if bandwidth is None:
            return np.zeros(directions.shape[:2])
        in_columns = directions if self.axes is None else directions @ self.axes.T
        widths = [bandwidth(direction) for of_pair in in_columns for direction in of_pair]
        return np.array(widths, dtype=np.float64).reshape(directions.shape[:2])


def n_varying(rows: Floats) -> int:
    """Return the number of columns that are not constant."""
    return int(np.count_nonzero(np.ptp(rows, axis=0)))


def errors_in_slabs(counts: Integers) -> Floats:
    """Return by how many standard errors the slabs through groups hold more rows than those between, shape (..., 2).

    The last axis of `counts` are the slab of one group, that between and that of the other group.
    """
    sides, between = counts[..., [0, 2]], counts[..., [1]]
    return np.asarray((sides - between) / np.sqrt(np.maximum(sides + between, 1)))


def drawn_lines(rows: Floats, contacts: Floats, members: Listed, pairs: Integers, few_columns: bool) -> Lines:
    """Return the lines of the ladder for pairs of groups; parameters are those of `draw_lines`."""
    shape = len(pairs), len(LADDER)
    directions, middles = np.zeros((2, *shape, rows.shape[1]))
    lines = Lines(directions, middles, np.zeros((*shape, 2)), np.zeros(shape), np.zeros(shape, dtype=np.bool_))
    draw_lines(rows, contacts, members, pairs, few_columns, lines)
    return lines


def combinations_apart(rows: Floats, cell: Integers) -> Floats | None:
    """Return the combinations of columns in which cells differ most, shape (n_columns, at most n_cells - 1).

    Distances between them are Mahalanobis distances by the covariance within cells, in the span of the means of cells.
    The covariance is drawn to a multiple of the identity, as it is known from few rows. None if cells do not differ.

    Source: Fisher's linear discriminants; Ledoit and Wolf, A well-conditioned estimator for large-dimensional
    covariance matrices (2004), for the share of the identity.
    """
    within, means, unit = _about_means(rows, cell)
    apart = (means - means.mean(axis=0)).T
    solved = _solved(within, apart)
    values, vectors = np.linalg.eigh(apart.T @ solved)
    kept = values > 1e-10 * values[-1]  # less is rounding errors
    return solved @ (vectors[:, kept] / values[kept] ** 0.5) / unit if kept.any() else None


def whitening(rows: Floats, cell: Integers) -> Floats:
    """Return the combinations of few columns that are uncorrelated within cells, with variance one.

    The covariance is that of `combinations_apart`.
    """
    within, _, unit = _about_means(rows, cell)
    products = within.T @ within
    of_products, of_identity = _shares(within, products)
    covariance = of_products * products + of_identity * np.eye(len(products))
    return np.asarray(np.linalg.inv(np.linalg.cholesky(covariance)).T / unit)


def _about_means(rows: Floats, cell: Integers) -> tuple[Floats, Floats, float]:
    """Return rows about the means of their cells, and these, in units that are returned, too."""
    cells, own, n_rows = np.unique(cell, return_inverse=True, return_counts=True)
    unit = float(2.0 ** np.frexp(np.abs(rows).max())[1])  # without which fourth powers of far values overflow
    rows = rows / unit
    means = np.eye(len(cells))[own].T @ rows / n_rows[:, None]
    return rows - means[own], means, unit


def _solved(within: Floats, right: Floats) -> Floats:
    """Return the right sides divided by the covariance of centred rows."""
    n, d = within.shape
    products = within @ within.T if n < d else within.T @ within
    of_products, of_identity = _shares(within, products)
    small = of_products * products + of_identity * np.eye(len(products))
    if n >= d:
        return np.asarray(np.linalg.solve(small, right))
    # The identity of Woodbury: fewer rows than columns make a smaller system.
    return np.asarray((right - of_products * (within.T @ np.linalg.solve(small, within @ right))) / of_identity)


def _shares(within: Floats, products: Floats) -> tuple[float, float]:
    """Return the multiples of the products and of the identity whose sum is the covariance, by Ledoit and Wolf.

    `products` are those of the columns, or those of the rows.
    """
    n, d = within.shape
    mean, squares = float(np.trace(products)) / n / d, float(np.square(products).sum()) / n**2
    fourth = np.square(np.einsum("ij,ij->i", within, within)).sum()
    chance = (float(fourth) / n - squares) / n
    spread = squares - d * mean**2
    # With less, the covariance of rows of which some column is constant could not be inverted.
    shrinkage = min(max(chance / spread, 1e-6), 1.0) if spread > 0 else 1.0
    return (1 - shrinkage) / n, shrinkage * (mean or 1)
