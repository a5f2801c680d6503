"""Counts of rows that compare pairs of groups: in balls of their cores and cuts, and in slabs along lines."""

from typing import NamedTuple

import numpy as np

from .._numba import jit
from .._typing import Floats, Integers
from .communities import rows_in_core_and_cut


class Listed(NamedTuple):
    """Numbers in lists: those of list i are ``items[start[i]:start[i + 1]]``."""

    items: Integers
    start: Integers


class BallsOfPairs(NamedTuple):
    """Balls of one size around landmarks and the bottlenecks of their links, the densest link of a pair first."""

    reach: Floats
    """Squared distance of each landmark to its k-th neighbour."""
    apart: Floats
    """Squared distances of the landmarks."""
    ends: Integers
    """Landmarks at both ends of each link, shape (2, n_links)."""
    bottleneck: Integers
    """The two landmarks in whose middle the bottleneck of each link is, shape (2, n_links)."""
    between: Floats
    """Squared distance of the latter."""
    link_reach: Floats
    """Squared distance of the bottleneck to its k-th neighbour."""


class Limits(NamedTuple):
    """See `mdh_dask.valleys.balls`."""

    most: int
    spread: np.float32
    ties: np.float32


class Lines(NamedTuple):
    """A line for each pair of groups, and three slabs of the same width and radius that lie side by side on it."""

    direction: Floats
    """Shape (n_pairs, n_columns)."""
    middle: Floats
    """The point that is 0 on the line, shape (n_pairs, n_columns)."""
    ends: Floats
    """The middles of the outer slabs, shape (n_pairs, 2); there is no line unless the first is the lower one."""
    radius: Floats
    """Largest squared distance of rows from the line, shape (n_pairs,)."""


@jit
def rows_in_balls_of_pairs(squares, balls, members, cuts, pairs, limits, sums):
    """Count the rows in balls in the core of either group of each pair, and in as many on the cut between both.

    Parameters
    ----------
    squares : array of shape (n_landmarks, n_rows), float32
        Squared distances.
    balls : BallsOfPairs
    members, cuts : Listed
        The landmarks of each group, and the links of each pair, the densest first.
    pairs : array of shape (n_pairs, 2), int
    limits : Limits
    sums : array of shape (n_pairs, 2, 5), int64
        For each group, those of `mdh_dask._jit.communities.rows_in_core_and_cut` are added.
    """
    beside = np.zeros(squares.shape[0], np.bool_)
    for p in range(pairs.shape[0]):
        links = cuts.items[cuts.start[p] : cuts.start[p + 1]]
        if links.shape[0] == 0:
            continue
        for e in links:
            beside[balls.ends[0, e]] = beside[balls.ends[1, e]] = True
        least = balls.link_reach[links[0]]
        n_cut = 0
        while n_cut < min(links.shape[0], limits.most) and balls.link_reach[links[n_cut]] <= limits.spread * least:
            n_cut += 1
        for side in range(2):
            ours = members.items[members.start[pairs[p, side]] : members.start[pairs[p, side] + 1]]
            size = 0
            for i in ours:
                size += beside[i]
            core = core_around_peak(ours, size, balls)[:n_cut]
            own = links[: core.shape[0]]
            between, radius = balls.between[own], least * limits.ties
            rows_in_core_and_cut(squares, core, balls.bottleneck[:, own], between, radius, sums[p, side])
        for e in links:
            beside[balls.ends[0, e]] = beside[balls.ends[1, e]] = False


@jit
def core_around_peak(ours, size, balls):
    """Return the `size` landmarks of a group that are nearest to its densest one, the densest first."""
    peak = ours[balls.reach[ours].argmin()]
    around = ours[np.argsort(balls.apart[peak][ours], kind="mergesort")[:size]]
    return around[np.argsort(balls.reach[around], kind="mergesort")]


@jit
def draw_contact_lines(rows, squares, contacts, members, pairs, nearest, within, lines):
    """Draw lines through the means of the rows of both groups that are nearest to their contact.

    Parameters
    ----------
    rows : array of shape (n_rows, n_columns)
    squares : array of shape (n_landmarks, n_rows)
        Squared distances.
    contacts : array of shape (n_pairs, 2), int
        The landmarks in whose middle the contact is; -1 without any.
    members : Listed
        The rows of each group.
    pairs : array of shape (n_pairs, 2), int
    nearest : int
        Number of rows of each group.
    within : float
        Share of these rows that are within the radius.
    lines : Lines
        They are written.
    """
    for p in range(pairs.shape[0]):
        one = members.items[members.start[pairs[p, 0]] : members.start[pairs[p, 0] + 1]]
        other = members.items[members.start[pairs[p, 1]] : members.start[pairs[p, 1] + 1]]
        if contacts[p, 0] < 0 or min(one.shape[0], other.shape[0]) < 3:
            continue
        away = squares[contacts[p, 0]] + squares[contacts[p, 1]]
        one = one[np.argsort(away[one], kind="mergesort")[:nearest]]
        other = other[np.argsort(away[other], kind="mergesort")[:nearest]]
        n, chosen = one.shape[0], np.concatenate((one, other))
        direction, middle = lines.direction[p], lines.middle[p]
        for j in range(rows.shape[1]):
            low, high = rows[one, j].sum() / n, rows[other, j].sum() / other.shape[0]
            direction[j], middle[j] = high - low, (low + high) / 2
        length = np.sqrt((direction * direction).sum())
        if length > 0:
            direction /= length
            along, beside = np.empty(chosen.shape[0]), np.empty(chosen.shape[0])
            for i in range(chosen.shape[0]):
                centred = rows[chosen[i]] - middle
                along[i] = (centred * direction).sum()
                beside[i] = (centred * centred).sum() - along[i] * along[i]
            lines.ends[p, 0], lines.ends[p, 1] = quantile_of(along[:n], 0.5), quantile_of(along[n:], 0.5)
            lines.radius[p] = quantile_of(beside, within)


@jit
def draw_fisher_lines(moments, pairs, lines, roots):
    """Draw the lines of Fisher's discriminants of pairs of groups, in coordinates in which both are round.

    Parameters
    ----------
    moments : tuple of arrays
        Of each group, the number of rows, the mean, the sums of products of centred rows, and the sum of the fourth
        powers of their lengths.
    pairs : array of shape (n_pairs, 2), int
    lines : Lines
        Directions and middles are written.
    roots : array of shape (n_pairs, n_coordinates, n_coordinates)
        Written: lower Cholesky factors of the shrunk covariances, with the inverse of the diagonals.
    """
    n_rows, means, scatter, fourth = moments
    d = means.shape[1]
    for p in range(pairs.shape[0]):
        a, b = pairs[p]
        n, root = n_rows[a] + n_rows[b], roots[p]
        trace, squares = 0.0, 0.0
        for i in range(d):
            for j in range(d):
                root[i, j] = scatter[a, i, j] + scatter[b, i, j]
                squares += root[i, j] * root[i, j]
            trace += root[i, i]
        mean, squares = trace / n / d, squares / (n * n)
        chance, spread = ((fourth[a] + fourth[b]) / n - squares) / n, squares - d * mean * mean
        share = min(max(chance / spread, 1e-6), 1.0) if spread > 0 else 1.0
        for i in range(d):
            for j in range(d):
                root[i, j] *= (1 - share) / n
            root[i, i] += share * (mean if mean > 0 else 1.0)
            lines.middle[p, i] = (means[a, i] + means[b, i]) / 2
            lines.direction[p, i] = means[b, i] - means[a, i]
        factorise(root)
        solve_round(root, lines.direction[p])


@jit
def factorise(root):
    """Replace a matrix by its lower Cholesky factor, with the inverse of the diagonal."""
    for i in range(root.shape[0]):
        for j in range(i + 1):
            total = root[i, j]
            for k in range(j):
                total -= root[i, k] * root[j, k]
            root[i, j] = total * root[j, j] if j < i else 1 / np.sqrt(max(total, 1e-300))


@jit
def solve_round(root, vector):
    """Replace a difference by the direction on which rounded rows have the unit of their distance from each other."""
    length = 0.0
    for i in range(vector.shape[0]):
        for k in range(i):
            vector[i] -= root[i, k] * vector[k]
        vector[i] *= root[i, i]
        length += vector[i] * vector[i]
    for i in range(vector.shape[0] - 1, -1, -1):
        for k in range(i + 1, vector.shape[0]):
            vector[i] -= root[k, i] * vector[k]
        vector[i] *= root[i, i]
    if length > 0:
        vector /= np.sqrt(length)


@jit
def place_slabs(columns, along, roots, members, pairs, reach, lines, beside):
    """Place slabs on lines by the medians of both groups, and measure how far rows in them are from the line.

    Parameters
    ----------
    columns : array of shape (n_coordinates, n_rows)
    along : array of shape (n_pairs, n_rows)
        Places of the rows on the lines.
    roots : array of shape (n_pairs, n_coordinates, n_coordinates)
        See `draw_fisher_lines`.
    members : Listed
        The rows of each group.
    pairs : array of shape (n_pairs, 2), int
    reach : tuple of a float and an array of shape (n_pairs,)
        Share of the rows of both groups that are within the radius, and how far rows are displaced at most.
    lines : Lines
        Ends and radii are written.
    beside : array of shape (n_pairs, n_rows)
        Written: squared distances from the line of the rows that are near slabs and of those of both groups.
    """
    for p in range(pairs.shape[0]):
        one = members.items[members.start[pairs[p, 0]] : members.start[pairs[p, 0] + 1]]
        other = members.items[members.start[pairs[p, 1]] : members.start[pairs[p, 1] + 1]]
        low, high = quantile_of(along[p][one], 0.5), quantile_of(along[p][other], 0.5)
        lines.ends[p, 0], lines.ends[p, 1] = low, high
        beyond = (high - low) / 4 + reach[1][p]
        near = (along[p] >= low - beyond) & (along[p] <= high + beyond)
        near[one] = near[other] = True
        which = np.flatnonzero(near)
        squares = squared_lengths(columns, which, lines.middle[p], roots[p])
        for i in range(which.shape[0]):
            away = squares[i] - along[p, which[i]] * along[p, which[i]]
            beside[p, which[i]] = away if away > 1e-9 * squares[i] else 0.0  # the rest is rounding errors
        lines.radius[p] = quantile_of(np.concatenate((beside[p][one], beside[p][other])), reach[0])


@jit
def squared_lengths(columns, which, middle, root):
    """Return the squared lengths of some rows from a point in rounded coordinates."""
    total, rounded = np.zeros(which.shape[0]), np.empty((columns.shape[0], which.shape[0]))
    for j in range(columns.shape[0]):
        own = rounded[j]
        for i in range(which.shape[0]):
            own[i] = columns[j, which[i]] - middle[j]
        for k in range(j):
            share, earlier = root[j, k], rounded[k]
            for i in range(which.shape[0]):
                own[i] -= share * earlier[i]
        for i in range(which.shape[0]):
            own[i] *= root[j, j]
            total[i] += own[i] * own[i]
    return total


@jit
def count_in_slabs(along, beside, lines, shifts, cell, counts):
    """Count the rows of each cell in three slabs on each line: around both ends and half way between them.

    Parameters
    ----------
    along, beside : arrays of shape (n_pairs, n_rows)
        Places of rows on the lines, and their squared distances from the lines.
    lines : Lines
    shifts : tuple of arrays of shape (n_pairs,) and (n_rows,)
        Products of both are the displacements of the rows along the lines.
    cell : array of shape (n_rows,), int
    counts : array of shape (n_pairs, 2, 3, n_cells), int32
        They are added to, first by the places, then by the displaced ones.
    """
    for p in range(along.shape[0]):
        low, high = lines.ends[p]
        quarter = (high - low) / 4
        if not quarter > 0:
            continue
        for x in range(along.shape[1]):
            if beside[p, x] <= lines.radius[p]:
                for shown in range(2 if shifts[0][p] > 0 else 1):
                    place = along[p, x] + shown * shifts[0][p] * shifts[1][x]
                    for slab in range(3):
                        middle = low + 2 * slab * quarter
                        counts[p, shown, slab, cell[x]] += middle - quarter < place <= middle + quarter


@jit
def quantile_of(values, share):
    """Return a quantile of values, between the two nearest of them."""
    values = np.sort(values)
    first = int((values.shape[0] - 1) * share)
    beyond = (values.shape[0] - 1) * share - first
    return values[first] if beyond == 0 else values[first] * (1 - beyond) + values[first + 1] * beyond
