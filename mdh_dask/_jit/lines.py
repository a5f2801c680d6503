"""Counts of rows that compare pairs of groups in slabs along lines between both."""

import math
from typing import NamedTuple

import numpy as np

from .._numba import jit, part
from .._typing import Booleans, Floats
from .rows import add_multiple, inner, order_of, quantile_of

LADDER = (12, 24, 48, 96, 192, 384, 768, 1536)
"""Rows of each group, nearest to the contact, that choose a line. The line that 192 of thousands of rows choose does
not reach the sides of a wide valley: clusters that overlap were merged, the sooner the more rows they had."""

WIDTHS = 1 / 2, 1 / 3
"""Widths of slabs, as shares of the distance between the medians of both groups. Wide ones hold more rows of few; in
narrow ones, the flank of a large group does not hide a small one."""

WITHIN = 0.9
"""Share of the rows that place slabs within their radius, so that few rows of other groups are counted."""

LEAST_SPREAD = 0.6
"""Least spread of rows across the line as a share of that along it, in the groups. Lines leave thin curves, which are
divided without this limit."""

BESIDE = 3.5
"""The contact is beside a line if it is farther from it than so many standard errors of the mean of a group's rows."""


class Lines(NamedTuple):
    """Lines between the groups of each pair, and the places and the radius of three slabs on each."""

    direction: Floats
    """Shape (n_pairs, n_lines, n_columns)."""
    middle: Floats
    """The point that is 0 on the line, shape (n_pairs, n_lines, n_columns)."""
    ends: Floats
    """Middles of the outer slabs, shape (n_pairs, n_lines, 2); there is no line unless the first is the lower one."""
    radius: Floats
    """Largest squared distance of rows from the line, shape (n_pairs, n_lines)."""
    whole: Booleans
    """Whether all rows of the smaller group have chosen the line, shape (n_pairs, n_lines)."""


@jit
def draw_lines(rows, contacts, members, pairs, few_columns, lines):
    """Draw lines through the means of the rows of both groups that are nearest to their contact, as `LADDER` says.

    rows (n_rows, n_columns): rows that choose lines.
    contacts (n_pairs, n_columns): the densest place between both groups; NaN without any.
    pairs (n_pairs, 2) int.
    few_columns: whether lines may leave the groups, so that they are drawn near the contact only.
    lines: they are written.
    """
    for p in range(pairs.shape[0]):
        if np.isnan(contacts[p, 0]):
            continue
        one = nearest_rows(rows, members, pairs[p, 0], contacts[p])
        other = nearest_rows(rows, members, pairs[p, 1], contacts[p])
        fewest = min(one.shape[0], other.shape[0])
        if fewest < 3:
            continue
        for k in range(len(LADDER)):
            n = min(LADDER[k], fewest)
            if (few_columns and n < LADDER[k]) or (k > 0 and LADDER[k - 1] >= fewest):
                break
            lines.whole[p, k] = n == fewest or k + 1 == len(LADDER)
            near_one, near_other = taken(rows, one[:n]), taken(rows, other[:n])
            if not draw_line(near_one, near_other, contacts[p : p + 1], few_columns, p, k, lines):
                break


@jit
def taken(rows, places):
    """Return some of the rows; an array as the index, or slices that are written to, would take longer to compile."""
    own = np.empty((places.shape[0], rows.shape[1]))
    for i in range(own.shape[0]):
        for j in range(own.shape[1]):
            own[i, j] = rows[places[i], j]
    return own


@jit
def nearest_rows(rows, members, group, place):
    """Return the rows of a group, those nearest to a place first."""
    own = members.items[members.start[group] : members.start[group + 1]]
    away = np.zeros(own.shape[0])
    for i in range(own.shape[0]):
        for j in range(rows.shape[1]):
            away[i] += (rows[own[i], j] - place[j]) ** 2
    return own[order_of(away)]


@part
def draw_line(one, other, contact, few_columns, p, k, lines):
    """Draw the line through the means of rows of two groups; return whether lines through more rows may be drawn.

    There is no line if the medians on it are not in order or, in few columns, if the contact is not between them, as
    near to the line as most rows. None is drawn, nor one through more rows, if it may leave the groups.
    """
    direction, middle = lines.direction[p, k], lines.middle[p, k]
    for j in range(one.shape[1]):
        low, high = one[:, j].mean(), other[:, j].mean()
        direction[j], middle[j] = high - low, (low + high) / 2
    length = math.sqrt(inner(direction, direction))
    if length == 0:
        return True
    for j in range(direction.shape[0]):
        direction[j] /= length
    along_one, beside_one = on_line(one, direction, middle)
    along_other, beside_other = on_line(other, direction, middle)
    low, high = quantile_of(along_one, 0.5), quantile_of(along_other, 0.5)
    radius = quantile_of(np.concatenate((beside_one, beside_other)), WITHIN)
    if not low < high:
        return True
    half = (high - low) / 4
    at, beside = on_line(contact, direction, middle)
    if few_columns and not (beside[0] <= radius and low < at[0] < high):
        return True
    own = slab_at(one, along_one, low, half), slab_at(other, along_other, high, half)
    if few_columns and is_thin(own, direction, (along_one.var() + along_other.var()) / 2):
        return False
    if is_bent(own, direction, contact[0] - middle, half, BESIDE / math.sqrt(one.shape[0])):
        return False
    lines.ends[p, k, 0], lines.ends[p, k, 1], lines.radius[p, k] = low, high, radius
    return True


@jit
def on_line(rows, direction, middle):
    """Return the places of rows on a line, and their squared distances from it."""
    along, beside = np.empty(rows.shape[0]), np.empty(rows.shape[0])
    place_on_line(rows.T.copy().T, direction, middle, along, beside)
    return along, beside


@jit
def place_on_line(rows, direction, middle, along, beside):
    """Write the places of rows on a line, and their squared distances from it; rows are held column by column."""
    columns = rows.T
    along[:], beside[:] = 0.0, 0.0
    for j in range(columns.shape[0]):
        own = columns[j]
        for i in range(own.shape[0]):
            centred = own[i] - middle[j]
            along[i] += centred * direction[j]
            beside[i] += centred * centred
    for i in range(along.shape[0]):
        away = beside[i] - along[i] * along[i]
        beside[i] = away if away > 1e-9 * beside[i] else 0.0  # the rest is rounding errors, as in one combination


@jit
def slab_at(rows, along, place, half):
    """Return the rows in a slab, centred on their mean; all rows if none is in it."""
    inside, n = np.arange(rows.shape[0]), 0
    for i in range(rows.shape[0]):
        if abs(along[i] - place) <= half:
            inside[n] = i
            n += 1
    own = taken(rows, inside[:n] if n > 0 else inside)
    for j in range(own.shape[1]):
        mean = own[:, j].mean()
        for i in range(own.shape[0]):
            own[i, j] -= mean
    return own


@part
def is_thin(slabs, direction, variance):
    """Return whether the rows in two slabs spread less across a line than a share of the `variance` along it."""
    n, d = 0, direction.shape[0]
    covariance, across = np.zeros((d, d)), np.empty(d)
    for own in slabs:
        n += own.shape[0]
        along = own @ direction
        for i in range(own.shape[0]):
            for j in range(d):
                across[j] = own[i, j] - along[i] * direction[j]
            for j in range(d):
                add_multiple(covariance[j], across[j], across)
    # In ascending order; the first is zero, along the line.
    return np.linalg.eigvalsh(covariance)[1] / max(n - 2, 1) < LEAST_SPREAD**2 * variance


@part
def is_bent(slabs, direction, contact, half, beside):
    """Return whether groups turn away from a line beside which the contact is, the more the farther from the contact.

    The contact is beside the line if it is farther from it than `beside` standard deviations of the rows across it.
    The projection of a curve on its chord is densest at both ends. Two straight bars at an angle do not turn.
    """
    away, share = np.empty(direction.shape[0]), inner(contact, direction)
    for j in range(away.shape[0]):
        away[j] = contact[j] - share * direction[j]
    height = math.sqrt(inner(away, away))
    if height == 0:
        return False
    n, squares, slopes = 0, 0.0, np.zeros(2)
    for s in range(2):
        own = slabs[s]
        along = own @ direction
        total, whole = inner(along, along), 0.0
        n += own.shape[0]
        for i in range(own.shape[0]):
            for j in range(own.shape[1]):
                whole += own[i, j] * own[i, j]
        squares += whole - total
        slopes[s] = inner(own @ away, along) / height / max(total, 1e-300)
    across = math.sqrt(max(squares, 0.0) / max(n - 2, 1))
    return height > beside * across and slopes[0] - slopes[1] > height / half


@jit
def place_by_counted(rows, members, pairs, lines):
    """Place the slabs of lines that whole groups have chosen by the medians of the rows that are counted.

    A line tells apart better the rows that chose it than others. Parameters are those of `draw_lines` for counted rows.
    """
    for p in range(pairs.shape[0]):
        one = members.items[members.start[pairs[p, 0]] : members.start[pairs[p, 0] + 1]]
        other = members.items[members.start[pairs[p, 1]] : members.start[pairs[p, 1] + 1]]
        for k in range(lines.radius.shape[1]):
            if not lines.whole[p, k]:
                continue
            lines.whole[p, k] = False
            if min(one.shape[0], other.shape[0]) == 0:
                lines.ends[p, k] = 0
                continue
            along_one, beside_one = on_line(taken(rows, one), lines.direction[p, k], lines.middle[p, k])
            along_other, beside_other = on_line(taken(rows, other), lines.direction[p, k], lines.middle[p, k])
            lines.ends[p, k, 0], lines.ends[p, k, 1] = quantile_of(along_one, 0.5), quantile_of(along_other, 0.5)
            lines.radius[p, k] = quantile_of(np.concatenate((beside_one, beside_other)), WITHIN)


@jit
def count_on_lines(rows, own, part, left_out, lines, shifts, counts):
    """Count the rows around both ends of each line and half way between, without those of some groups.

    rows (n_rows, n_columns), held column by column.
    own, part (n_rows,) int: group and part of each row.
    left_out (n_pairs, n_groups + 1) bool: groups whose rows are not counted on the lines of each pair.
    shifts, (n_pairs, n_lines) and (n_rows,): products of both displace the rows along the lines.
    counts (n_pairs, n_lines, n_widths, n_parts, 3) int64: they are added to: around the lower end, between, around the
        other end.
    """
    along, beside = np.empty(rows.shape[0]), np.empty(rows.shape[0])
    for p in range(left_out.shape[0]):
        for k in range(lines.radius.shape[1]):
            low, high = lines.ends[p, k]
            if not low < high:
                continue
            place_on_line(rows, lines.direction[p, k], lines.middle[p, k], along, beside)
            for x in np.flatnonzero(beside <= lines.radius[p, k]):
                if left_out[p, own[x]]:
                    continue
                at = along[x] + shifts[0][p, k] * shifts[1][x]
                for w in range(len(WIDTHS)):
                    half, found = (high - low) * WIDTHS[w] / 2, counts[p, k, w, part[x]]
                    for end in range(3):
                        place = low + (high - low) * end / 2
                        found[end] += place - half < at <= place + half
