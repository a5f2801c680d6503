"""Counts of rows that compare pairs of groups: in balls of their cores and cuts, and in slabs along lines."""

from typing import NamedTuple

import numpy as np

from .._numba import jit
from .._typing import Booleans, Floats, Integers
from .communities import rows_by_radius


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


class Limits(NamedTuple):
    """How many balls compare a core and a cut; see `mdh_dask.valleys.landmarks`."""

    rows_of_place: int
    least_places: int
    most_places: int
    spread: float
    width: int
    share_of_group: float
    fair: float
    ties: float


class Lines(NamedTuple):
    """Lines between the groups of each pair, and three slabs of one width and radius that lie side by side on each."""

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


class Guards(NamedTuple):
    """Which lines are drawn; see `mdh_dask.valleys.lines`."""

    within: float
    least_spread: float
    beside: float
    few_columns: bool


@jit
def kth_from_middle(one, other, between, k):
    """Return the k-th smallest squared distance to the middle of two points from the distances to both."""
    least = np.full(k, np.inf)
    for x in range(one.shape[0]):
        square = (one[x] + other[x]) / 2 - between / 4
        if square < least[k - 1]:
            at = k - 1
            while at > 0 and least[at - 1] > square:
                least[at] = least[at - 1]
                at -= 1
            least[at] = square
    return least[k - 1]


@jit
def find_bottlenecks(squares, apart, first, second, k, ties, halfway, meets):
    """Measure the middles of links.

    Parameters
    ----------
    squares : array of shape (n_landmarks, n_rows)
        Squared distances.
    apart : array of shape (n_landmarks, n_landmarks)
    first, second : arrays of shape (n_links,), int
    k : int
    ties : float
        Relative difference up to which distances are equal.
    halfway : array of shape (n_links,)
        Written: squared distances of the middles to their k-th nearest row.
    meets : array of shape (n_links,), bool
        Written: whether no landmark is nearer to the middle than both ends.
    """
    for e in range(first.shape[0]):
        a, b = first[e], second[e]
        halfway[e] = kth_from_middle(squares[a], squares[b], apart[a, b], k)
        meets[e] = kth_from_middle(apart[a], apart[b], apart[a, b], 1) >= apart[a, b] / 4 * (1 - ties)


@jit
def cut_between(own, links, n_least, limits, used):
    """Return some of the links `own` of two groups, which are in descending order of density, as places on their cut.

    Each landmark is in one of them at most, as the same rows would otherwise be counted in many balls. Further places
    than these would be far from the densest one, and sparser than a core even if no valley is between. `n_least` is
    the number of landmarks of the smaller group; `used` is false before and after, shape (n_landmarks,).
    """
    most = min(max(n_least // limits.rows_of_place, limits.least_places), limits.most_places)
    chosen, n = np.empty(most, np.int64), 0
    for e in own:
        sparse = links.reach[e] > limits.spread * links.reach[own[0]]
        if n == most or sparse or links.meets[e] != links.meets[own[0]]:
            break
        if not used[links.first[e]] and not used[links.second[e]]:
            used[links.first[e]] = used[links.second[e]] = True
            chosen[n] = e
            n += 1
    for e in chosen[:n]:
        used[links.first[e]] = used[links.second[e]] = False
    return chosen[:n]


@jit
def core_around_peak(side, n_places, marks, limits):
    """Return landmarks around the densest one of a group, the densest first, and how far the core reaches at most.

    There are more balls in the core than the `n_places` on the cut, as few would be as uncertain. Landmarks are in the
    order of hashes, so the first of those around the densest one are a random choice; the densest of a thin group all
    lie on its ridge, but places on a cut through it do not.
    """
    peak = side[np.argmin(marks.reach[side])]
    around = side[np.argsort(marks.apart[peak][side], kind="mergesort")]
    wide = limits.width * n_places
    farthest = marks.apart[peak, around[min(wide, around.shape[0]) - 1]]
    n = max(n_places, min(max(wide, int(limits.share_of_group * side.shape[0])), limits.most_places))
    core = np.sort(around[: max(wide, n)])[:n]
    return core[np.argsort(marks.reach[core], kind="mergesort")], farthest


@jit
def balls_of_group(side, n_rows, cut, marks, limits):
    """Return the landmarks in the core of a group, the links on a cut that are as near to its densest place, and radii.

    Rows grow sparser along a cut, too. Its places would be farther from the densest one than those of a core are from
    theirs, as a cut has a dimension less: in skewed and curved clouds they would be sparser without a valley. A ball
    that would hold more rows than the group, which has `n_rows`, or only equal ones, has a squared radius below zero:
    no row is in it.
    """
    core, farthest = core_around_peak(side, cut.shape[0], marks, limits)
    links, one, other = marks.links, marks.links.ends[0], marks.links.ends[1]
    near, n = np.empty(cut.shape[0], np.int64), 0
    for e in cut:
        square = -np.float64(links.between[cut[0]] + links.between[e]) / 4
        for a in (one[cut[0]], other[cut[0]]):
            square += (np.float64(marks.apart[a, one[e]]) + marks.apart[a, other[e]]) / 4
        if square <= farthest * limits.fair * (1 + limits.ties):
            near[n] = e
            n += 1
    core = core[: -(-core.shape[0] * n // cut.shape[0])]
    radii = np.full(marks.sizes.shape[0], -1.0)
    for r in range(radii.shape[0]):
        if core.shape[0] > 0 and marks.sizes[r] <= max(n_rows, marks.sizes[0]):
            reach = quantile_of(marks.reaches[:, r][core].astype(np.float64), 0.5)
            radii[r] = reach * (1 + limits.ties) if reach > 0 else -1.0
    return core, near[:n], radii


@jit
def count_in_balls(squares, starts, marks, members, n_rows, cuts, pairs, limits, sums, n_balls):
    """Count the rows in balls in the core of either group of each pair, and in those on the cut between both.

    Parameters
    ----------
    squares : array of shape (n_landmarks, n_rows), float32
        Squared distances of the rows, which are in the order of their parts.
    starts : array of shape (n_parts + 1,), int
        First row of each part.
    marks : Marks
    members, cuts : Listed
        The landmarks of each group, and the links of each pair in descending order of density.
    n_rows : array of shape (n_groups,), int
    pairs : array of shape (n_pairs, 2), int
    limits : Limits
    sums : array of shape (n_pairs, 2, n_parts, n_radii, 5), int64
        For each group, those of `mdh_dask._jit.communities.rows_by_radius` are added.
    n_balls : array of shape (n_pairs, 2, 2), int64
        Written: the numbers of balls in the core and on the cut.
    """
    used = np.zeros(squares.shape[0], np.bool_)
    for p in range(pairs.shape[0]):
        own = cuts.items[cuts.start[p] : cuts.start[p + 1]]
        if own.shape[0] == 0:
            continue
        first, second = pairs[p]
        one = members.items[members.start[first] : members.start[first + 1]]
        other = members.items[members.start[second] : members.start[second + 1]]
        cut = cut_between(own, marks.links, min(one.shape[0], other.shape[0]), limits, used)
        for g in range(2):
            side = one if g == 0 else other
            core, near, radii = balls_of_group(side, n_rows[pairs[p, g]], cut, marks, limits)
            n_balls[p, g, 0], n_balls[p, g, 1] = core.shape[0], near.shape[0]
            ends, between = marks.links.ends[:, near], marks.links.between[near]
            for part in range(starts.shape[0] - 1):
                rows = squares[:, starts[part] : starts[part + 1]]
                rows_by_radius(rows, core, ends, between, radii, sums[p, g, part])


@jit
def draw_lines(rows, contacts, members, pairs, ladder, guards, lines):
    """Draw lines through the means of the rows of both groups that are nearest to their contact.

    Parameters
    ----------
    rows : array of shape (n_rows, n_columns)
        Rows that choose lines.
    contacts : array of shape (n_pairs, n_columns)
        The densest place between both groups; NaN without any.
    members : Listed
        The rows of each group.
    pairs : array of shape (n_pairs, 2), int
    ladder : array of shape (n_lines,), int
        Numbers of rows of each group.
    guards : Guards
    lines : Lines
        They are written.
    """
    for p in range(pairs.shape[0]):
        if np.isnan(contacts[p, 0]):
            continue
        one = nearest_rows(rows, members, pairs[p, 0], contacts[p])
        other = nearest_rows(rows, members, pairs[p, 1], contacts[p])
        fewest = min(one.shape[0], other.shape[0])
        if fewest < 3:
            continue
        for k in range(ladder.shape[0]):
            n = min(ladder[k], fewest)
            if (guards.few_columns and n < ladder[k]) or (k > 0 and ladder[k - 1] >= fewest):
                break
            lines.whole[p, k] = n == fewest or k + 1 == ladder.shape[0]
            if not draw_line(rows[one[:n]], rows[other[:n]], contacts[p], guards, p, k, lines):
                break


@jit
def nearest_rows(rows, members, group, place):
    """Return the rows of a group, those nearest to a place first."""
    own = members.items[members.start[group] : members.start[group + 1]]
    away = np.zeros(own.shape[0])
    for i in range(own.shape[0]):
        for j in range(rows.shape[1]):
            away[i] += (rows[own[i], j] - place[j]) ** 2
    return own[np.argsort(away, kind="mergesort")]


@jit
def draw_line(one, other, contact, guards, p, k, lines):
    """Draw the line through the means of rows of two groups; return whether lines through more rows may be drawn.

    There is no line if the medians on it are not in order or, in few columns, if the contact is not in the slab
    between. None is drawn, nor one through more rows, if it may leave the groups.
    """
    direction, middle = lines.direction[p, k], lines.middle[p, k]
    for j in range(one.shape[1]):
        low, high = one[:, j].mean(), other[:, j].mean()
        direction[j], middle[j] = high - low, (low + high) / 2
    length = np.sqrt((direction * direction).sum())
    if length == 0:
        return True
    direction /= length
    along_one, beside_one = on_line(one, direction, middle)
    along_other, beside_other = on_line(other, direction, middle)
    low, high = quantile_of(along_one, 0.5), quantile_of(along_other, 0.5)
    radius = quantile_of(np.concatenate((beside_one, beside_other)), guards.within)
    if not low < high:
        return True
    half = (high - low) / 4
    at, beside = on_line(contact.reshape(1, -1), direction, middle)
    if guards.few_columns and not (beside[0] <= radius and abs(at[0] - (low + high) / 2) <= half):
        return True
    own = slab_at(one, along_one, low, half), slab_at(other, along_other, high, half)
    if guards.few_columns and is_thin(own, direction, guards.least_spread, (along_one.var() + along_other.var()) / 2):
        return False
    if is_bent(own, direction, contact - middle, half, guards.beside / np.sqrt(one.shape[0])):
        return False
    lines.ends[p, k, 0], lines.ends[p, k, 1], lines.radius[p, k] = low, high, radius
    return True


@jit
def on_line(rows, direction, middle):
    """Return the places of rows on a line, and their squared distances from it."""
    along, beside = np.zeros(rows.shape[0]), np.zeros(rows.shape[0])
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            centred = rows[i, j] - middle[j]
            along[i] += centred * direction[j]
            beside[i] += centred * centred
        away = beside[i] - along[i] * along[i]
        beside[i] = away if away > 1e-9 * beside[i] else 0.0  # the rest is rounding errors, as in one combination
    return along, beside


@jit
def slab_at(rows, along, place, half):
    """Return the rows in a slab, centred on their mean; all rows if none is in it."""
    inside = np.abs(along - place) <= half
    own = rows[inside] if inside.any() else rows.copy()
    for j in range(own.shape[1]):
        own[:, j] -= own[:, j].mean()
    return own


@jit
def is_thin(slabs, direction, least_spread, variance):
    """Return whether the rows in two slabs spread less across a line than a share of the `variance` along it."""
    n, d = 0, direction.shape[0]
    covariance = np.zeros((d, d))
    for own in slabs:
        n += own.shape[0]
        along = own @ direction
        for i in range(own.shape[0]):
            across = own[i] - along[i] * direction
            for j in range(d):
                covariance[j] += across[j] * across
    # In ascending order; the first is zero, along the line.
    return np.linalg.eigvalsh(covariance)[1] / max(n - 2, 1) < least_spread**2 * variance


@jit
def is_bent(slabs, direction, contact, half, beside):
    """Return whether groups turn away from a line beside which the contact is, the more the farther from the contact.

    The contact is beside the line if it is farther from it than `beside` standard deviations of the rows across it.
    The projection of a curve on its chord is densest at both ends. Two straight bars at an angle do not turn.
    """
    away = contact - (contact * direction).sum() * direction
    height = np.sqrt((away * away).sum())
    if height == 0:
        return False
    n, squares, slopes = 0, 0.0, np.zeros(2)
    for s in range(2):
        own = slabs[s]
        along = own @ direction
        total = (along * along).sum()
        n += own.shape[0]
        squares += (own * own).sum() - total
        slopes[s] = ((own @ away) * along).sum() / height / max(total, 1e-300)
    across = np.sqrt(max(squares, 0.0) / max(n - 2, 1))
    return height > beside * across and slopes[0] - slopes[1] > height / half


@jit
def place_by_counted(rows, members, pairs, within, lines):
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
            along_one, beside_one = on_line(rows[one], lines.direction[p, k], lines.middle[p, k])
            along_other, beside_other = on_line(rows[other], lines.direction[p, k], lines.middle[p, k])
            lines.ends[p, k, 0], lines.ends[p, k, 1] = quantile_of(along_one, 0.5), quantile_of(along_other, 0.5)
            lines.radius[p, k] = quantile_of(np.concatenate((beside_one, beside_other)), within)


@jit
def count_on_lines(rows, own, part, pairs, left_out, lines, shifts, counts):
    """Count the rows of either group around the ends of each line, and all rows but some half way between.

    Parameters
    ----------
    rows : array of shape (n_rows, n_columns)
    own, part : arrays of shape (n_rows,), int
        Group and part of each row.
    pairs : array of shape (n_pairs, 2), int
    left_out : array of shape (n_pairs, n_groups + 1), bool
        Groups whose rows are not counted between those of each pair.
    lines : Lines
    shifts : tuple of arrays of shape (n_pairs, n_lines) and (n_rows,)
        Products of both are the displacements of the rows along the lines.
    counts : array of shape (n_pairs, n_lines, 2, n_parts, 3), int64
        They are added to, first by the places, then by the displaced ones: around the lower end, between, around the
        other end.
    """
    for p in range(pairs.shape[0]):
        for k in range(lines.radius.shape[1]):
            low, high = lines.ends[p, k]
            if not low < high:
                continue
            half, centre = (high - low) / 4, (low + high) / 2
            along, beside = on_line(rows, lines.direction[p, k], lines.middle[p, k])
            for x in range(rows.shape[0]):
                if beside[x] > lines.radius[p, k]:
                    continue
                for shown in range(2 if shifts[0][p, k] > 0 else 1):
                    at, found = along[x] + shown * shifts[0][p, k] * shifts[1][x], counts[p, k, shown, part[x]]
                    found[0] += own[x] == pairs[p, 0] and low - half < at <= low + half
                    found[1] += centre - half < at <= centre + half and not left_out[p, own[x]]
                    found[2] += own[x] == pairs[p, 1] and high - half < at <= high + half


@jit
def quantile_of(values, share):
    """Return a quantile of values, between the two nearest of them."""
    values = np.sort(values)
    first = int((values.shape[0] - 1) * share)
    beyond = (values.shape[0] - 1) * share - first
    return values[first] if beyond == 0 else values[first] * (1 - beyond) + values[first + 1] * beyond
