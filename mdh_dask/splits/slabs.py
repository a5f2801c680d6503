"""The test whether rows are fewer in a slab between two groups of few rows than in slabs through either.

Balls hold too few rows to show valleys between groups of few rows in many columns. Along the line that joins two
groups, all their rows count.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._typing import Floats, Integers
from .cuts import BLOCK, ELSEWHERE

FEW_COLUMNS = 8
"""In at most as many columns, balls are sharp. There, lines leave curved groups: two moons were cut by slabs."""

FEW_ROWS = 200
"""If both groups have more rows in the half that chooses, balls are enough, and lines that leave the rows costly."""

NEAREST = 24
"""Rows of each group, nearest to the contact, that choose the line. With 32, more digits were merged."""

WITHIN = 0.9
"""Share of these rows that are within the radius of the slabs, so that few rows of other groups are counted. With 0.8,
clusters of a set of 358 rows in 34 columns were merged."""

WIDER = 2.0
"""Ratio of the spreads of two groups from which all their rows choose a line, too: the rows of a wide group that are
nearest to a tight one are few and far apart. Halves of a bent group are about as wide as each other."""

FEWEST = 3
"""With fewer rows in a group there is no line."""


class Slabs(NamedTuple):
    """Rows of one half, which choose slabs, and those of the other half, which are counted in them."""

    choosing: Floats
    counted: Floats
    cell: Integers
    """Cells of the rows that choose."""
    squares: tuple[Floats, Floats]
    """Squared lengths of the rows of both halves."""

    def evidence(self, group: Integers, pair: tuple[int, int], contact: Floats) -> Floats:
        """Return by how many standard errors the slab through each group holds more rows than that between them.

        Three slabs of the same width and radius lie side by side on the line through the means of the rows that are
        nearest to the contact of both groups: the outer ones around the medians of these rows. Where the density along
        the line has one mode, the slab between holds as many rows as one of the outer ones. If one group is much wider
        than the other, so for the line through the means of all their rows.

        Parameters
        ----------
        group : array of shape (n_cells,), int
            Group of each cell.
        pair : two groups
        contact : array of shape (n_columns,)
            A point between the groups.

        Returns
        -------
        array of shape (2, 2)
            Along the line near the contact and along that of all rows, for each group. Zeros for the first if a group
            has too few rows, or both have many, and for the second if none is much wider.
        """
        ours = group[self.cell]
        sides = [np.flatnonzero(ours == side) for side in pair]
        fewest = min(map(len, sides))
        near: Floats = np.zeros(2)
        whole: Floats = np.zeros(2)
        if FEWEST <= fewest <= FEW_ROWS:
            away = self.squares[0] - 2 * (self.choosing @ contact)
            nearest = [side[np.argsort(away[side], kind="stable")[:NEAREST]] for side in sides]
            near = self._along([self.choosing[side] for side in nearest])
        if fewest >= FEWEST and self._wider(sides):
            whole = self._along([self.choosing[side] for side in sides])
        return np.stack([near, whole])

    def _wider(self, sides: Sequence[Integers]) -> bool:
        """Return whether one group of rows is much wider than the other."""
        spreads = [
            float(self.squares[0][side].mean() - np.square(self.choosing[side].mean(axis=0)).sum()) for side in sides
        ]
        return max(spreads) >= WIDER**2 * min(spreads)

    def _along(self, chosen: Sequence[Floats]) -> Floats:
        """Return the evidence along the line through the means of some rows of both groups."""
        means = [rows.mean(axis=0) for rows in chosen]
        line, middle = means[1] - means[0], (means[0] + means[1]) / 2
        length = float(np.linalg.norm(line))
        if length == 0:
            return np.zeros(2)
        line /= length
        ends = [float(np.median((rows - middle) @ line)) for rows in chosen]
        if ends[0] >= ends[1]:
            return np.zeros(2)
        both = np.concatenate(chosen) - middle
        radius = np.quantile(np.square(both).sum(axis=1) - np.square(both @ line), WITHIN)
        along = self.counted @ line - middle @ line
        across = self.squares[1] - 2 * (self.counted @ middle) + middle @ middle - np.square(along)
        return _excess(along[across <= radius], *ends)


def slabs(rows: Floats, choosing: Integers, counted: Integers, cell: Integers) -> Slabs | None:
    """Return the halves of rows in many columns, or None with few columns, constant ones aside."""
    if np.count_nonzero(np.ptp(rows, axis=0)) <= FEW_COLUMNS:
        return None
    choosing = choosing[cell[choosing] != ELSEWHERE]
    chosen, others = rows[choosing], rows[counted]
    return Slabs(chosen, others, cell[choosing], (_squares(chosen), _squares(others)))


def _squares(rows: Floats) -> Floats:
    return np.concatenate([np.square(rows[i : i + BLOCK]).sum(axis=1) for i in range(0, len(rows), BLOCK)])


def _excess(along: Floats, low: float, high: float) -> Floats:
    """Return by how many standard errors more rows are around both ends of a line than around its middle."""
    half = (high - low) / 4
    left, between, right = (
        int(np.count_nonzero((along > at - half) & (along <= at + half))) for at in (low, (low + high) / 2, high)
    )
    return np.array([(side - between) / max(side + between, 1) ** 0.5 for side in (left, right)])
