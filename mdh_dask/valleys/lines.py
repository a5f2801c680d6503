"""Lines between two groups, and slabs on them: between groups of a unimodal density, rows are not fewer than in both.

In many columns, balls hold too few rows to show valleys between groups of few rows. Along a line that joins two groups,
all rows near it count. There are two lines for each pair: one through the rows that are nearest to the contact of both,
and one in the few combinations of columns in which cells differ most, in comparison with how their rows differ: nearly
all rows of two groups are near the line through their means there, and most rows of other groups are not.
"""

from collections.abc import Callable

import numpy as np

from .._jit.pairs import Lines, count_in_slabs, draw_contact_lines, draw_fisher_lines, place_slabs
from .._typing import Booleans, Floats, Integers
from ..splits.dependence import errors_of_parts
from .balls import ELSEWHERE, Landmarks, has_many_columns, listed

NEAREST = 24
"""Rows of each group, nearest to the contact, that choose a line. With many more, the line leaves the contact."""

WITHIN = 0.9
"""Share of the rows that place slabs within their radius, so that few rows of other groups are counted."""

FEWEST = 3
"""With fewer rows in a group there is no line."""

NEGLIGIBLE = 1e-10
"""Combinations in which cells differ by a smaller share of their largest difference are rounding errors."""

LEAST_SHRINKAGE = 1e-6
"""With less, the covariance of rows of which some column is constant could not be inverted."""

N_KINDS = 2
"""Number of lines for each pair."""

BLOCK = 2**22
"""Number of values of one kind that are held at once, such as places on lines."""


class Slabs:
    """Rows of one half, which choose lines in many columns, and of the other half, which are counted along them.

    Parameters
    ----------
    rows : array of shape (n_rows, n_columns), float64
    choosing, counted : arrays of int
        Indices of the rows of both halves.
    cell : array of shape (n_rows,), int
        Rows of `ELSEWHERE` choose nothing, but are counted.
    n_cells : int
    landmarks : Landmarks
        Of the same half.
    normal : array of shape (n_rows,)
        A random number of each row, normal with variance one.
    parts : array of shape (n_rows,), int, optional
        Parts of dependent rows: then rows are counted by their parts, and not by their cells.
    """

    def __init__(
        self,
        rows: Floats,
        choosing: Integers,
        counted: Integers,
        cell: Integers,
        n_cells: int,
        landmarks: Landmarks,
        normal: Floats,
        parts: Integers | None = None,
    ) -> None:
        ours = cell[choosing] != ELSEWHERE
        self.choosing, self.own = rows[choosing[ours]], cell[choosing[ours]]
        self.counted, self.normal, self.n_cells = rows[counted], normal[counted], n_cells
        self.cell = np.where(cell[counted] == ELSEWHERE, n_cells, cell[counted])
        self.kind, self.n_kinds, self.by_parts = self.cell, n_cells + 1, parts is not None
        if parts is not None:
            found, self.kind = np.unique(parts[counted], return_inverse=True)
            self.n_kinds = len(found)
        self.squares = np.square(self.counted).sum(axis=1)
        self.landmarks, self.to_choosing = landmarks, landmarks.to_choosing[:, ours]
        self.combinations = combinations_apart(self.choosing, self.own)
        if self.combinations is not None:
            self.chosen_coordinates = self.choosing @ self.combinations
            self.coordinates = self.counted @ self.combinations
        self.moments: tuple[Integers, Floats, Floats, Floats] | None = None

    def counts(self, group: Integers, pairs: Integers, bandwidth: Callable[[Floats], float] | None = None) -> Integers:
        """Return the rows in slabs along both lines of each pair of groups, shape (n_pairs, 2, 2, 3, n_cells + 1).

        The second axis is the line, the third is 1 for places that are displaced by the bandwidth along a direction of
        shape (n_columns,), the fourth the slab. Rows of `ELSEWHERE` are those of the last cell. Of dependent rows, the
        last axis are the parts that are counted.
        """
        few = len(self.counted) < 2**15  # of hundreds of cells, there are thousands of pairs
        counts = np.zeros((len(pairs), N_KINDS, 2, 3, self.n_kinds), dtype=np.int16 if few else np.int32)
        n_coordinates = 0 if self.combinations is None else self.combinations.shape[1]
        size = max(BLOCK // max(len(self.counted), n_coordinates**2, self.choosing.shape[1], 1), 1)
        for i in range(0, len(pairs), size):
            own, contacts = pairs[i : i + size], self.landmarks.contacts(group, pairs[i : i + size])
            counts[i : i + size, 0] = self._near_contacts(group, own, contacts, bandwidth)
            if self.combinations is not None:
                # Levels of a category may be so far apart that groups have no link.
                needed = np.flatnonzero((contacts[:, 0] >= 0) | (bandwidth is not None))
                counts[i + needed, 1] = self._apart(group, own[needed], self.combinations, bandwidth)
        return counts

    def _near_contacts(
        self, group: Integers, pairs: Integers, contacts: Integers, bandwidth: Callable[[Floats], float] | None
    ) -> Integers:
        """Return the counts along lines through the rows nearest to contacts."""
        lines, members = _no_lines(pairs, self.choosing.shape[1]), listed(group[self.own], np.arange(len(group)))
        draw_contact_lines(self.choosing, self.to_choosing, contacts, members, pairs, NEAREST, WITHIN, lines)
        along = _places(self.counted, lines)
        beside = self.squares - 2 * (lines.middle @ self.counted.T) + np.square(lines.middle).sum(axis=1)[:, None]
        return self._counted(along, beside - np.square(along), lines, _widths(lines.direction, bandwidth))

    def _apart(
        self, group: Integers, pairs: Integers, combinations: Floats, bandwidth: Callable[[Floats], float] | None
    ) -> Integers:
        """Return the counts along lines that all rows of both groups choose in coordinates that tell cells apart.

        These tell apart better the rows that chose them than others, so slabs are placed by those that are counted. But
        a few groups of dependent rows can be told apart along some line, so those that choose it place its slabs, too.
        """
        members = listed(np.append(group, len(group))[self.cell], np.arange(len(group)))
        n_rows = np.bincount(group[self.own], minlength=len(group))
        drawn = np.flatnonzero((np.minimum(n_rows, np.diff(members.start)) >= FEWEST)[pairs].all(axis=1))
        lines, d = _no_lines(pairs[drawn], combinations.shape[1]), combinations.shape[1]
        roots = np.empty((len(drawn), d, d))
        draw_fisher_lines(self._moments(group, n_rows), pairs[drawn], lines, roots)
        along = _places(self.coordinates, lines)
        beside = np.full(along.shape, np.inf)
        columns = np.ascontiguousarray(self.coordinates.T)
        widths = _widths(lines.direction @ combinations.T, bandwidth)
        reach = WITHIN, widths * np.abs(self.normal).max(initial=0.0)
        placed = lines
        if self.by_parts:
            placed, reach = _copied(lines), (WITHIN, np.full(len(drawn), np.inf))  # of all rows counted
            chosen = listed(group[self.own], np.arange(len(group)))
            own = _places(self.chosen_coordinates, lines)
            of_chosen = np.ascontiguousarray(self.chosen_coordinates.T)
            place_slabs(of_chosen, own, roots, chosen, pairs[drawn], reach, lines, np.full(own.shape, np.inf))
        place_slabs(columns, along, roots, members, pairs[drawn], reach, placed, beside)
        counts = np.zeros((len(pairs), 2, 3, self.n_kinds), dtype=np.int32)
        counts[drawn] = self._counted(along, beside, lines, widths)
        return counts

    def _counted(self, along: Floats, beside: Floats, lines: Lines, widths: Floats) -> Integers:
        """Return the counts in slabs of places on lines, displaced by `widths`, and distances from the lines."""
        counts = np.zeros((len(along), 2, 3, self.n_kinds), dtype=np.int32)
        count_in_slabs(along, beside, lines, (widths, self.normal), self.kind, counts)
        return counts

    def _moments(self, group: Integers, n_rows: Integers) -> tuple[Integers, Floats, Floats, Floats]:
        """Return the moments of groups that `draw_fisher_lines` takes; those of the last call are kept."""
        if self.moments is None:
            n, d = len(group), self.chosen_coordinates.shape[1]
            self.moments = np.full(n, ELSEWHERE), np.zeros((n, d)), np.zeros((n, d, d)), np.zeros(n)
        last, means, scatter, fourth = self.moments
        own = group[self.own]
        for k in np.flatnonzero(n_rows).tolist():
            if not np.array_equal(group == k, last == k):
                rows = self.chosen_coordinates[own == k]
                means[k] = rows.mean(axis=0)
                centred = rows - means[k]
                scatter[k] = centred.T @ centred
                fourth[k] = np.square(np.square(centred).sum(axis=1)).sum()
        last[:] = group
        return n_rows, means, scatter, fourth


def slabs(
    rows: Floats,
    choosing: Integers,
    counted: Integers,
    cell: Integers,
    n_cells: int,
    landmarks: Landmarks,
    normal: Floats,
    parts: Integers | None = None,
) -> Slabs | None:
    """Return the halves of rows in many columns, or None with few columns, constant ones aside."""
    return Slabs(rows, choosing, counted, cell, n_cells, landmarks, normal, parts) if has_many_columns(rows) else None


def _no_lines(pairs: Integers, n_columns: int) -> Lines:
    """Return lines that are still to be drawn."""
    n = len(pairs)
    return Lines(np.zeros((n, n_columns)), np.zeros((n, n_columns)), np.zeros((n, 2)), np.zeros(n))


def _copied(lines: Lines) -> Lines:
    return Lines(*(part.copy() for part in lines))


def _widths(directions: Floats, bandwidth: Callable[[Floats], float] | None) -> Floats:
    """Return the standard deviations of displacements along directions, shape (n_pairs,)."""
    return np.array([0.0 if bandwidth is None else bandwidth(direction) for direction in directions])


def _places(rows: Floats, lines: Lines) -> Floats:
    """Return the places of rows on lines, shape (n_pairs, n_rows)."""
    return lines.direction @ rows.T - np.einsum("ij,ij->i", lines.direction, lines.middle)[:, None]


def errors_in_slabs(counts: Integers, kept: Booleans) -> Floats:
    """Return by how many standard errors the slab through each group holds more rows than that between both.

    Parameters
    ----------
    counts : array of shape (..., 3, n_cells), int
    kept : array of shape (..., n_cells), bool
        Cells whose rows are counted.

    Returns
    -------
    array of shape (..., 2)
    """
    left, between, right = np.moveaxis((counts * kept[..., None, :]).sum(axis=-1), -1, 0)
    sides = np.stack([left, right], axis=-1)
    return np.asarray((sides - between[..., None]) / np.sqrt(np.maximum(sides + between[..., None], 1)))


def errors_among_parts(counts: Integers) -> Floats:
    """Return what `errors_in_slabs` does for dependent rows, whose parts are the last axis."""
    left, between, right = np.moveaxis(counts.astype(np.float64), -2, 0)
    return errors_of_parts(np.moveaxis(np.stack([left - between, right - between], axis=-1), -2, 0))


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
