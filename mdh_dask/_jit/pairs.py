"""Counts of rows that compare pairs of groups in balls of their cores and of the cut between both."""

import sys
from typing import NamedTuple

import numpy as np

from .._numba import jit, part
from .._typing import Booleans, Floats, Integers
from .communities import rows_by_radius
from .rows import order_of, quantile_of

PLACES = 40
"""Largest number of balls on a cut and in a core."""

ROWS_OF_PLACE, LEAST_PLACES = 3, 5
"""Landmarks of the smaller group for each place, and least number of places."""

SPREAD = 8.0
"""Largest ratio of the squared distances to the neighbours of places on a cut."""

WIDTH = 3
"""Landmarks around the densest one of a group for each ball of its core. The balls of neighbouring landmarks would hold
the same rows."""

SHARE_OF_GROUP = 0.7
"""Share of the landmarks of a group around its densest one that have balls in its core, where a cut has few places: at
least `WIDTH` times as many as these, at most `PLACES`. As few balls in a core would be as uncertain: many clusters of
less than a hundred rows were merged."""

COLUMNS_OF_BALLS = 3
"""Most columns in which balls hold enough rows to show a valley that slabs show; in more, see `mdh_dask.valleys.views`.
"""

UNLIMITED = sys.float_info.max
"""A ratio that limits nothing; zero times infinity would be no number."""

TIES = 1e-5
"""Relative difference up to which distances are equal, as those of rounded values differ by rounding errors."""


class Listed(NamedTuple):
    """Numbers in lists: those of list i are ``items[start[i]:start[i + 1]]``."""

    items: Integers
    start: Integers


class Links(NamedTuple):
    """Pairs of landmarks in different cells, and the sparsest place between both, its bottleneck."""

    first: Integers
    second: Integers
    ends: Integers
    """The two landmarks, maybe equal, in whose middle the bottleneck is, shape (2, n_links)."""
    between: Floats
    """Squared distance of these."""
    reach: Floats
    """Squared distance of the bottleneck to its k-th neighbour."""
    meets: Booleans
    """Whether no other landmark is in the ball between both, as otherwise their middle may be in a third place."""


class Marks(NamedTuple):
    """Landmarks of one half of the rows, from which the places of balls are chosen."""

    apart: Floats
    """Squared distances, shape (n_landmarks, n_landmarks)."""
    reach: Floats
    """Squared distance of each landmark to its k-th neighbour, small where rows are dense."""
    reaches: Floats
    """The same for the neighbours that say how large balls are, shape (n_landmarks, n_radii)."""
    sizes: Integers
    """The numbers of these neighbours, shape (n_radii,)."""
    links: Links


@jit
def list_places(numbers, start, items):
    """List the places of every number from 0 in ascending order; those of other numbers are in no list.

    start (n_lists + 1,) int64: zero before, the ends of the lists after.
    items (n,) int64, written up to ``start[-1]``.
    """
    n = start.shape[0] - 1
    for x in range(numbers.shape[0]):
        if 0 <= numbers[x] < n:
            start[numbers[x] + 1] += 1
    for i in range(n):
        start[i + 1] += start[i]
    free = start.copy()
    for x in range(numbers.shape[0]):
        if 0 <= numbers[x] < n:
            items[free[numbers[x]]] = x
            free[numbers[x]] += 1


@jit
def find_closest(apart, cell, one, other):
    """Find the first of the closest landmarks of every two cells.

    apart (n_landmarks, n_landmarks): squared distances.
    cell (n_landmarks,) int.
    one, other (n_cells, n_cells) int: -1 before, a landmark of the first cell and one of the second after.
    """
    least = np.empty(one.shape, apart.dtype)
    for i in range(apart.shape[0]):
        a = cell[i]
        for j in range(apart.shape[0]):
            b = cell[j]
            if one[a, b] < 0 or apart[i, j] < least[a, b]:
                one[a, b], other[a, b], least[a, b] = i, j, apart[i, j]


@jit
def kth_from_middle(one, other, between, k):
    """Return the k-th smallest squared distance to the middle of two points from the distances to both.

    Sums of both are compared block by block, as most blocks hold none of the smallest.
    """
    n, least = one.shape[0], np.full(k, np.inf, one.dtype)
    for start in range(0, n, SUMS_AT_ONCE):
        stop = min(start + SUMS_AT_ONCE, n)
        if not any_sum_below(one[start:stop], other[start:stop], least[k - 1]):
            continue
        for x in range(start, stop):
            both = one[x] + other[x]
            if both < least[k - 1]:
                at = k - 1
                while at > 0 and least[at - 1] > both:
                    least[at] = least[at - 1]
                    at -= 1
                least[at] = both
    return least[k - 1] / 2 - between / 4


@jit
def any_in_ball_between(one, other, between):
    """Return whether any point is nearer to the middle of two others than these, by the distances to both.

    If they are far apart, one of the first points usually is.
    """
    n, quarter = one.shape[0], between / 4
    least, farthest = quarter * (1 - TIES), between * (1 + TIES)  # a little more than sums of points inside
    for start in range(0, n, SUMS_AT_ONCE):
        stop = min(start + SUMS_AT_ONCE, n)
        if any_sum_below(one[start:stop], other[start:stop], farthest):
            for x in range(start, stop):
                if (one[x] + other[x]) / 2 - quarter < least:
                    return True
    return False


SUMS_AT_ONCE = 64


@jit
def any_sum_below(one, other, bound):
    """Return whether any sum of two values is below a bound; without branches, several are compared at once."""
    n_below = np.int32(0)
    for x in range(one.shape[0]):
        n_below += np.int32(one[x] + other[x] < bound)
    return n_below > 0


@jit
def find_meeting(apart, first, second, meets):
    """Find the links of landmarks in the middle of which no other landmark is nearer than both ends.

    apart (n_landmarks, n_landmarks): squared distances.
    first, second (n_links,) int.
    meets (n_links,) bool, written.
    """
    for e in range(first.shape[0]):
        a, b = first[e], second[e]
        meets[e] = apart[a, b] < np.inf and not any_in_ball_between(apart[a], apart[b], apart[a, b])


@jit
def find_halfway(squares, apart, first, second, k, halfway):
    """Find the squared distance of the middle of each link to its k-th nearest row.

    squares (n_landmarks, n_rows): squared distances.
    apart (n_landmarks, n_landmarks).
    first, second (n_links,) int.
    halfway (n_links,), written.
    """
    for e in range(first.shape[0]):
        a, b = first[e], second[e]
        halfway[e] = kth_from_middle(squares[a], squares[b], apart[a, b], k)


@part
def cut_between(own, links, n_least, used):
    """Return some of the links `own` of two groups, which are in descending order of density, as places on their cut.

    Each landmark is in one of them at most, as the same rows would otherwise be counted in many balls. Further places
    than these would be far from the densest one, and sparser than a core even if no valley is between. `n_least` is
    the number of landmarks of the smaller group; `used` is false before and after, shape (n_landmarks,).
    """
    most = min(max(n_least // ROWS_OF_PLACE, LEAST_PLACES), PLACES)
    chosen, n = np.empty(most, np.int64), 0
    for e in own:
        sparse = links.reach[e] > SPREAD * links.reach[own[0]]
        if n == most or sparse or links.meets[e] != links.meets[own[0]]:
            break
        if not used[links.first[e]] and not used[links.second[e]]:
            used[links.first[e]] = used[links.second[e]] = True
            chosen[n] = e
            n += 1
    for e in chosen[:n]:
        used[links.first[e]] = used[links.second[e]] = False
    return chosen[:n]


@part
def core_around_peak(side, n_places, marks, densest):
    """Return landmarks around the densest one of a group, and how far the core reaches at most.

    `side` are the landmarks of the group, in ascending order.
    There are more balls in the core than the `n_places` on the cut, as few would be as uncertain. Landmarks are in the
    order of hashes, so the first of those around the densest one are a random choice; the densest of a thin group all
    lie on its ridge, but places on a cut through it do not. If `densest`, the densest come first all the same.
    """
    peak = side[np.argmin(marks.reach[side])]
    around = order_of(marks.apart[peak][side])
    wide = WIDTH * n_places
    farthest = marks.apart[peak, side[around[min(wide, around.shape[0]) - 1]]]
    n = max(n_places, min(max(wide, int(SHARE_OF_GROUP * side.shape[0])), PLACES))
    near = np.zeros(side.shape[0], np.bool_)
    for x in around[: max(wide, n)]:
        near[x] = True
    core = side[near][:n]
    return (core[order_of(marks.reach[core])] if densest else core), farthest


@part
def radii_of(core, n_rows, marks):
    """Return the squared radii of balls around landmarks in the core of a group of so many rows.

    A ball that would hold more rows than the group, or only equal ones, has one below zero: no row is in it.
    """
    radii = np.full(marks.sizes.shape[0], -1.0)
    for r in range(radii.shape[0]):
        if core.shape[0] > 0 and marks.sizes[r] <= max(n_rows, marks.sizes[0]):
            reach = quantile_of(marks.reaches[:, r][core].astype(np.float64), 0.5)
            radii[r] = reach * (1 + TIES) if reach > 0 else -1.0
    return radii


@part
def fair_ratio(n_columns):
    """Return by how much the squared width of a cut may exceed that of a core.

    In up to `COLUMNS_OF_BALLS` columns, the mean squared distance from the middle, across the line between both groups,
    is then the same: the density may fall in these directions only, as in long clouds, and has the same mean on a cut,
    which has one dimension less. In more columns, where balls hold few rows, the distance along the line counts, too:
    otherwise small clusters beside several columns are lost.
    """
    if n_columns <= 1:
        return UNLIMITED
    ratio = (n_columns + 1) / (n_columns + 2)
    return ratio if n_columns <= COLUMNS_OF_BALLS else ratio * (n_columns / (n_columns - 1))


@part
def balls_of_group(side, n_rows, cut, marks, n_columns):
    """Return the landmarks in the core of a group, the links on a cut that are as near to its densest place, and radii.

    Rows grow sparser along a cut, too. Its places would be farther from the densest one than those of a core are from
    theirs, as a cut has a dimension less: in skewed and curved clouds they would be sparser without a valley.
    """
    core, farthest = core_around_peak(side, cut.shape[0], marks, n_columns > COLUMNS_OF_BALLS)
    widest = farthest * fair_ratio(n_columns) * (1 + TIES)
    links, one, other = marks.links, marks.links.ends[0], marks.links.ends[1]
    near, n = np.empty(cut.shape[0], np.int64), 0
    for e in cut:
        square = -np.float64(links.between[cut[0]] + links.between[e]) / 4
        for a in (one[cut[0]], other[cut[0]]):
            square += (np.float64(marks.apart[a, one[e]]) + marks.apart[a, other[e]]) / 4
        if square <= widest:
            near[n] = e
            n += 1
    core = core[: -(-core.shape[0] * n // cut.shape[0])]
    return core, near[:n], radii_of(core, n_rows, marks)


@jit
def count_in_balls(squares, starts, marks, members, n_rows, cuts, pairs, n_columns, sums, n_balls):
    """Count the rows in balls in the core of either group of each pair, and in those on the cut between both.

    squares (n_landmarks, n_rows) float32: squared distances of the rows, which are in the order of their parts.
    starts (n_parts + 1,) int: first row of each part.
    members, cuts: the landmarks of each group, and the links of each pair in descending order of density.
    n_rows (n_groups,) int.
    pairs (n_pairs, 2) int.
    n_columns: number of columns of the rows.
    sums (n_pairs, 2, n_parts, n_radii, 5) int64: for each group, those of `mdh_dask._jit.communities.rows_by_radius`
        are added.
    n_balls (n_pairs, 2, 2) int64, written: the numbers of balls in the core and on the cut.
    """
    used = np.zeros(squares.shape[0], np.bool_)
    for p in range(pairs.shape[0]):
        own = cuts.items[cuts.start[p] : cuts.start[p + 1]]
        if own.shape[0] == 0:
            continue
        first, second = pairs[p]
        one = members.items[members.start[first] : members.start[first + 1]]
        other = members.items[members.start[second] : members.start[second + 1]]
        cut = cut_between(own, marks.links, min(one.shape[0], other.shape[0]), used)
        for g in range(2):
            side = one if g == 0 else other
            core, near, radii = balls_of_group(side, n_rows[pairs[p, g]], cut, marks, n_columns)
            n_balls[p, g, 0], n_balls[p, g, 1] = core.shape[0], near.shape[0]
            ends, between = marks.links.ends[:, near], marks.links.between[near]
            for q in range(starts.shape[0] - 1):
                rows_by_radius(squares, starts[q : q + 2], core, ends, between, radii, sums[p, g, q])
