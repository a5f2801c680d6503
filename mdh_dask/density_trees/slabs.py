"""The test whether rows are fewer in a slab between two groups than in slabs through either, in few columns.

Balls count few of the rows along a cut. Slabs count all rows around it, which shows valleys between groups of fewer
than a hundred rows. Where the density along a line has one mode, the slab between holds as many as one of the others.
"""

import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._typing import Booleans, Floats, Integers
from ..valleys.lines import WITHIN

NEAREST = (12, 24, 48, 96, 192, 384, 768, 1536)
"""Rows of each group, nearest to the contact, that choose a line. The line that 192 of thousands of rows choose does
not reach the sides of a wide valley: clusters that overlap were merged, the sooner the more rows they had."""

LEAST_SPREAD = 0.6
"""Least spread of rows across the line as a share of that along it, in the groups. Lines leave thin curves, which are
divided without this limit."""

BESIDE = 3.5
"""The contact is beside a line if it is farther from it than so many standard errors of the mean of a group's rows."""


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


def rows_in_slabs(
    points: Floats, choosing: Integers, counted: Integers, group: Integers, pair: tuple[int, int], contact: Floats
) -> Integers:
    """Return how many more rows the slabs in two groups hold than those between them.

    There are no slabs along a line if the contact is not in the slab between, nor along one that could leave a thin or
    bent group and those that more rows choose.

    Parameters
    ----------
    points : array of shape (n_rows, n_columns), float64
    choosing, counted : arrays of int
        Rows that choose the lines, and rows that are counted.
    group : array of shape (n_rows,), int
        Group of each row. The outer slabs hold rows of their own group, the slab between those of all.
    pair : two groups
    contact : array of shape (n_columns,)
        The densest place between both.

    Returns
    -------
    array of shape (2, len(NEAREST), 4), int64
        For each group: the difference, the sum, the rows in the slab of the group, and those in the slab between. Zeros
        without a line.
    """
    sums = np.zeros((2, len(NEAREST), 4), dtype=np.int64)
    near = [_nearest(points, choosing[group[choosing] == side], contact) for side in pair]
    rows, ours = points[counted], group[counted]
    for column, n in enumerate(NEAREST):
        if n > min(map(len, near)):
            break
        chosen = [own[:n] for own in near]
        line = line_through(chosen)
        if line is None or not _holds(line, contact):
            continue
        if _leaves(line, chosen, contact):
            break
        along, inside = line.along(rows)
        between = line.counts(along[inside])[1]
        for side, end in ((0, 0), (1, 2)):
            at_end = line.counts(along[inside & (ours == pair[side])])[end]
            sums[side, column] = at_end - between, at_end + between, at_end, between
    return sums


def _nearest(points: Floats, rows: Integers, contact: Floats) -> Floats:
    """Return the points of rows, those nearest to the contact first, as many as the last line needs."""
    squares = np.square(points[rows] - contact).sum(axis=1)
    return points[rows[np.argsort(squares, kind="stable")[: NEAREST[-1]]]]


def _holds(line: Line, contact: Floats) -> bool:
    """Return whether the contact is in the slab between."""
    along, inside = line.along(contact[None])
    return bool(inside[0]) and line.counts(along)[1] == 1


def _leaves(line: Line, chosen: Sequence[Floats], contact: Floats) -> bool:
    """Return whether a line may leave the groups: they are thin across it, or bend away from it."""
    along = [line.along(rows)[0] for rows in chosen]
    slabs = [rows[np.abs(at - end) <= line.half] for rows, at, end in zip(chosen, along, line.ends)]
    slabs = [own if len(own) else rows for own, rows in zip(slabs, chosen)]
    centred = [rows - rows.mean(axis=0) for rows in slabs]
    rows = np.concatenate(centred)
    across = rows - np.outer(rows @ line.direction, line.direction)
    # In ascending order; the first is zero, along the line.
    variances = np.linalg.eigvalsh(across.T @ across) / max(len(across) - 2, 1)
    thin = variances[1] < LEAST_SPREAD**2 * np.mean([np.var(at) for at in along])
    return bool(thin) or _bends(line, centred, contact, BESIDE * float(variances.sum() / len(chosen[0])) ** 0.5)


def _bends(line: Line, centred: Sequence[Floats], contact: Floats, beside: float) -> bool:
    """Return whether groups turn away from a line beside which the contact is, the more the farther from the contact.

    The projection of such a curve on its chord is densest at both ends. Two straight bars at an angle do not turn.
    """
    away = contact - line.middle
    away -= away @ line.direction * line.direction
    height = float(np.linalg.norm(away))
    if height <= beside:
        return False
    along = [rows @ line.direction for rows in centred]
    slopes = [(rows @ away / height) @ at / max(float(at @ at), sys.float_info.min) for rows, at in zip(centred, along)]
    return bool(slopes[0] - slopes[1] > height / line.half)


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
