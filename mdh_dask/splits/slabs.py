"""The test whether rows are fewer in a slab between two groups than in slabs through either.

In many columns, balls hold too few rows to show valleys between groups of few rows, and seem to show some between
groups of many rows where there are none. Along the line that joins two groups, all rows near it count, and a unimodal
density has no valley.
"""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np

from .._typing import Booleans, Floats, Integers
from .cuts import ELSEWHERE, has_many_columns
from .distances import BLOCK

NEAREST = 24
"""Rows of each group, nearest to the contact, that choose the line. With many more, the line leaves the contact."""

WITHIN = 0.9
"""Share of these rows that are within the radius of the slabs, so that few rows of other groups are counted."""

FEWEST = 3
"""With fewer rows in a group there is no line."""


class Levels(NamedTuple):
    """How projections are displaced that single columns of few levels change: gaps between levels are no valleys."""

    bandwidth: Callable[[Floats], float]
    """Returns the standard deviation of the displacements along a direction, shape (n_columns,)."""
    normal: Floats
    """A random number of each row, normal with variance one, shape (n_rows,)."""

    def displacements(self, direction: Floats) -> Floats:
        """Return how far each row is displaced along a direction, shape (n_rows,)."""
        return self.bandwidth(direction) * self.normal

    def of(self, rows: Integers) -> "Levels":
        """Return those of some rows, by their numbers."""
        return Levels(self.bandwidth, self.normal[rows])


class Slabs(NamedTuple):
    """Rows of one half, which choose slabs, and those of the other half, which are counted in them."""

    choosing: Floats
    counted: Floats
    cells: tuple[Integers, Integers]
    """Cells of the rows of both halves."""
    squares: tuple[Floats, Floats]
    """Squared lengths of the rows of both halves."""

    def evidence(
        self,
        group: Integers,
        pair: tuple[int, int],
        contact: Floats,
        left_out: Collection[int] = (),
        levels: Levels | None = None,
    ) -> Floats:
        """Return by how many standard errors the slab through each group holds more rows than that between them.

        Three slabs of the same width and radius lie side by side on the line through the means of the rows that are
        nearest to the contact of both groups: the outer ones around the medians of these rows. Where the density along
        the line has one mode, the slab between holds as many rows as one of the outer ones.

        Parameters
        ----------
        group : array of shape (n_cells,), int
            Group of each cell.
        pair : two groups
        contact : array of shape (n_columns,)
            A point between the groups.
        left_out : collection of groups
            Groups of which no row is counted.
        levels : Levels, optional
            Of the rows that are counted.

        Returns
        -------
        array of shape (2,)
            For each group. Zeros if a group has too few rows.
        """
        ours, counted = (np.where(cell == ELSEWHERE, ELSEWHERE, group[cell]) for cell in self.cells)
        sides = [np.flatnonzero(ours == side) for side in pair]
        if min(map(len, sides)) < FEWEST:
            return np.zeros(2)
        away = self.squares[0] - 2 * (self.choosing @ contact)
        nearest = [side[np.argsort(away[side], kind="stable")[:NEAREST]] for side in sides]
        line = line_through([self.choosing[side] for side in nearest])
        if line is None:
            return np.zeros(2)
        along = self.counted @ line.direction - line.middle @ line.direction
        across = self.squares[1] - 2 * (self.counted @ line.middle) + line.middle @ line.middle - np.square(along)
        if levels is not None:
            along += levels.displacements(line.direction)
        return line.evidence(along[(across <= line.radius) & in_others(counted, left_out)])


class Line(NamedTuple):
    """Three slabs of the same width and radius that lie side by side on a line, the outer ones in two groups."""

    direction: Floats
    middle: Floats
    """The point that is 0 on the line."""
    ends: tuple[float, float]
    """The middles of the outer slabs on the line, the lower one first."""
    radius: float
    """Largest squared distance of rows from the line."""

    @property
    def half(self) -> float:
        """Half the width of a slab."""
        return (self.ends[1] - self.ends[0]) / 4

    def along(self, rows: Floats) -> tuple[Floats, Booleans]:
        """Return the places of rows on the line, and whether the rows are within the radius."""
        centred = rows - self.middle
        along: Floats = centred @ self.direction
        return along, np.square(centred).sum(axis=1) - np.square(along) <= self.radius

    def counts(self, along: Floats) -> tuple[int, int, int]:
        """Return the number of places on the line in each slab, the lower outer one first."""
        low, high = self.ends
        left, between, right = (
            int(np.count_nonzero((along > at - self.half) & (along <= at + self.half)))
            for at in (low, (low + high) / 2, high)
        )
        return left, between, right

    def evidence(self, along: Floats) -> Floats:
        """Return by how many standard errors either outer slab holds more of these places than that between."""
        left, between, right = self.counts(along)
        return np.array([(side - between) / max(side + between, 1) ** 0.5 for side in (left, right)])


def in_others(groups: Integers, left_out: Collection[int]) -> Booleans | bool:
    """Return whether rows are in other groups than those that are left out."""
    return ~np.isin(groups, [*left_out]) if left_out else True


def line_through(chosen: Sequence[Floats]) -> Line | None:
    """Return the line through the means of the rows of two groups, or None if their medians on it are not in order."""
    means = [rows.sum(axis=0) / len(rows) for rows in chosen]
    direction, middle = means[1] - means[0], (means[0] + means[1]) / 2
    length = float(np.linalg.norm(direction))
    if length == 0:
        return None
    direction /= length
    centred = [rows - middle for rows in chosen]
    along = [rows @ direction for rows in centred]
    across = [np.square(rows).sum(axis=1) - np.square(at) for rows, at in zip(centred, along)]
    return line_between(direction, middle, along, across)


def line_between(direction: Floats, middle: Floats, along: Sequence[Floats], across: Sequence[Floats]) -> Line | None:
    """Return the line whose outer slabs are at the medians of two groups, or None if these are not in order.

    Parameters
    ----------
    direction, middle : arrays of shape (n_columns,)
    along, across : pairs of arrays
        Places of the rows of both groups on the line, and their squared distances from it.
    """
    low, high = map(_median, along)
    return Line(direction, middle, (low, high), _quantile(np.concatenate(across), WITHIN)) if low < high else None


def _median(values: Floats) -> float:
    """Return the median as `numpy.median` does, which takes five times as long for few values."""
    values = np.sort(values)
    return float(values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2


def _quantile(values: Floats, share: float) -> float:
    """Return a quantile as `numpy.quantile` does, which takes ten times as long for few values."""
    values = np.sort(values)
    place = (len(values) - 1) * share
    first = int(place)
    low, high = float(values[first]), float(values[min(first + 1, len(values) - 1)])
    beyond = place - first
    # As in NumPy, the result has the same bits whatever end it is nearer to.
    return low + (high - low) * beyond if beyond < 0.5 else high - (high - low) * (1 - beyond)


def slabs(rows: Floats, choosing: Integers, counted: Integers, cell: Integers) -> Slabs | None:
    """Return the halves of rows in many columns, or None with few columns, constant ones aside."""
    if not has_many_columns(rows):
        return None
    choosing = choosing[cell[choosing] != ELSEWHERE]
    chosen, others = rows[choosing], rows[counted]
    return Slabs(chosen, others, (cell[choosing], cell[counted]), (_squares(chosen), _squares(others)))


def _squares(rows: Floats) -> Floats:
    return np.concatenate([np.square(rows[i : i + BLOCK]).sum(axis=1) for i in range(0, len(rows), BLOCK)])
