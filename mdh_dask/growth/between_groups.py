"""Hyperplanes between the groups of a crowd: clusters that regions around cells show, but no line through all rows.

The groups are confirmed first, by `mdh_dask.valleys.structure.structure_of_crowd`. Hyperplanes that divide them only
route rows, and need no valley: each leaves the fewest rows of groups on the side of others, for what it tells of them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import entr, ndtr

from .._blas import one_blas_thread
from .._random import generator
from .._typing import Booleans, Floats, Integers
from ..tree.clusters import clusters_of
from ..valleys.neighbours import distinct
from ..valleys.regions import WIDTHS
from ..valleys.structure import Structure, structure_of_crowd
from .bounds import bounds_of, without_overflow
from .branches import Branch, State
from .discrete import ROUNDED, spread, without_copies
from .examine import Examiner
from .passes import Sample

MOST_ROWS = 40_000
"""Most rows in cells, as comparing all pairs of them takes time with the square of their number."""

PAIRS = 6
"""Key of the random streams that choose pairs of groups."""

N_PAIRS, N_TURNED, TURNS = 32, 2, 3
"""Number of directions between two groups, number of the best that are turned, and most turns of each."""

NEAR = (0.25, 0.5, 4.0)
"""Directions are turned by the rows near their thresholds, in standard deviations of all."""

THRESHOLDS = 64
"""Number of thresholds along a direction."""


class Cut(NamedTuple):
    """The best threshold along a direction."""

    direction: Floats
    threshold: float
    cost: float
    lower: Booleans
    """Whether most rows of each group are on the lower side, shape (n_groups,)."""


@one_blas_thread()
def divide_crowd(root: Branch, examiner: Examiner) -> bool:
    """Divide a branch afresh between the groups of its rows; return whether it was divided.

    It is if these are more than its leaves. The p-value of a split is that of all links of cells on the paths between
    its groups.
    """
    selector = examiner.settings.selector
    some, found = structure_within(root, examiner)
    least = selector.min_rows * len(some) / len(root.sample)
    of_cells = np.bincount(found.cell, minlength=len(found.links) + 1)
    group = clusters_of(found.links, found.evidence, of_cells, found.threshold, least)
    if group.max() < len(root.leaves):
        return False
    of_row = np.full(len(root.sample.drawn.hashes), -1)
    of_row[root.sample.indices[some]] = group[found.cell]
    root.children, stack = None, [(root, np.arange(int(group.max()) + 1), found.links, found.evidence)]
    while stack:
        branch, groups, links, evidence = stack.pop()
        own = of_row[branch.sample.indices]
        groups, branch.state = np.intersect1d(groups, own), State.LEAF
        if len(groups) > 1:
            links, evidence = linking(links, evidence, np.isin(group, groups))
            p_value = min(len(links) * len(WIDTHS) * float(ndtr(-evidence.max())), 1.0)
            ours, rng = np.isin(own, groups), generator(*examiner.settings.stream_of(branch.node_id), PAIRS)
            cut = best_cut(examiner.rows_of(branch)[ours], np.searchsorted(groups, own[ours]), rng)
            lower = cut.lower
            for child in examiner.split_at(branch, cut.direction, cut.threshold, p_value, len(some)):
                stack.append((child, groups[lower], links, evidence))
                lower = ~lower
    return root.children is not None


@one_blas_thread()
def structure_within(branch: Branch, examiner: Examiner) -> tuple[Integers, Structure]:
    """Return which sample rows of a branch are in cells, and what these show."""
    sample, stop = branch.sample.load(), examiner.settings.selector.stop
    some, rows = compared_rows(sample, examiner)
    first = np.argsort(sample.hashes[some], kind="stable")[:MOST_ROWS]
    some = some[first]
    return some, structure_of_crowd(rows[first], sample.hashes[some], 1 - stop.quantile)


def compared_rows(sample: Sample, examiner: Examiner) -> tuple[Integers, Floats]:
    """Return which rows of a sample are different, and these rows, standardised, for comparisons by distance.

    Copies would look like groups. So would rounded rows of columns of different scales, which lie in lines: their
    values are spread over the steps. Far values are moved nearer, so that their squares do not overflow.
    """
    which = np.flatnonzero(np.isin(sample.numbers, without_copies(sample)[0].numbers))
    sample = sample.take(which).without(examiner.standardise.dropped)
    rows = examiner.standardise(spread(sample, ROUNDED).jittered(sample.rows, sample.hashes))
    rows = without_overflow(np.asarray(rows, dtype=np.float64))
    different = distinct(rows)
    return which[different], rows[different]


def linking(links: Integers, evidence: Floats, wanted: Booleans) -> tuple[Integers, Floats]:
    """Return the links of a spanning tree of cells on the paths between wanted cells."""
    while True:
        loose = (np.bincount(links.ravel(), minlength=len(wanted)) == 1) & ~wanted
        kept = ~loose[links].any(axis=1)
        if kept.all():
            return links, evidence
        links, evidence = links[kept], evidence[kept]


def best_cut(rows: Floats, group: Integers, rng: np.random.Generator) -> Cut:
    """Return the hyperplane that divides groups of rows at the least cost.

    Its cost is the number of rows on the side on which most of their group are not, for the information of the sides
    about groups: cuts of low cost in turn leave few rows on the side of other groups in all.
    """
    rows, n = rows.clip(*bounds_of(rows)), np.bincount(group)
    means = np.array([np.bincount(group, column) for column in rows.T]).T / n[:, None]
    one, other = rng.integers(len(n), size=(2, N_PAIRS)) if len(n) > 2 else np.array([[0], [1]])
    differ = one != other
    directions = np.linalg.solve(_covariance(rows - means[group]), (means[one[differ]] - means[other[differ]]).T).T
    found = best_cuts(directions, rows, group)
    for _ in range(TURNS if np.isfinite(found[0].cost) else 0):  # some groups have one place
        turned = np.concatenate([_turned(cut, rows, group) for cut in found])
        better = best_cuts(turned, rows, group, found)
        if better[0].cost == found[0].cost:
            break
        found = better
    return found[0]


def _turned(cut: Cut, rows: Floats, group: Integers) -> Floats:
    """Return Fisher's discriminants of both sides of a cut among the rows near it, for several widths."""
    away, lower = rows @ cut.direction - cut.threshold, cut.lower[group]
    weights = np.exp(-np.square(away / (np.array(NEAR)[:, None] * (away.std() or 1.0))) / 2)
    weights = np.maximum(weights, np.finfo(np.float64).tiny)  # all rows of a side may be far from the cut
    found = []
    for own in weights / weights.mean(axis=1, keepdims=True):
        sides = np.stack([own * lower, own * ~lower])
        means = sides @ rows / sides.sum(axis=1, keepdims=True)
        within = (rows - means[(~lower).astype(np.int64)]) * np.sqrt(own)[:, None]
        found.append(np.linalg.solve(_covariance(within), means[1] - means[0]))
    return np.array(found)


def _covariance(within: Floats) -> Floats:
    products = within.T @ within / len(within)
    ridge = 1e-3 * np.trace(products) / len(products) or 1.0  # few rows would make it singular
    return products + ridge * np.eye(len(products))


def best_cuts(directions: Floats, rows: Floats, group: Integers, known: Sequence[Cut] = ()) -> list[Cut]:
    """Return the cuts of least cost along directions and among known ones, which come first among equal ones."""
    cuts = [*known, *(_cut(*one, group) for one in zip(directions, directions @ rows.T))]
    return sorted(cuts, key=lambda cut: cut.cost)[:N_TURNED]


def _cut(direction: Floats, along: Floats, group: Integers) -> Cut:
    """Return the threshold of least cost along a direction, by the projections on it; see `best_cut`."""
    n_groups = int(group.max()) + 1
    low = float(along.min())
    width = max(float(along.max()) - low, np.finfo(np.float64).tiny) / THRESHOLDS
    bins = np.minimum((along - low) / width, THRESHOLDS - 1).astype(np.int64)
    counts = np.bincount(group * THRESHOLDS + bins, minlength=n_groups * THRESHOLDS)
    below = counts.reshape(n_groups, THRESHOLDS).cumsum(axis=1)
    below, total = below[:, :-1], below[:, -1:]
    lower = 2 * below > total
    share = (lower * total).sum(axis=0) / len(group)
    told = entr(share) + entr(1 - share)
    astray = np.minimum(below, total - below).sum(axis=0) + 1  # where none is, the cut that tells most
    costs = np.divide(astray, told, out=np.full(told.shape, np.inf), where=told > 0)
    best = int(costs.argmin())
    return Cut(direction, low + width * (best + 1), float(costs[best]), lower[:, best])
