"""The look at neighbourhoods before a tree grows: so many clusters that no other line shows them are sought by it."""

import logging
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .._blas import one_blas_thread
from .._jit.landmarks import nearest_columns
from .._levels import has_levels
from .._random import generator
from .._typing import Floats, Integers
from ..chunks import Plan
from ..valleys.graph import NEIGHBOURS, communities, shared_neighbours
from ..valleys.neighbours import distances_in_blocks, squared_distances
from .between_groups import compared_rows, divide_crowd, structure_within
from .branches import Branch, SampleRows
from .examine import Examiner
from .passes import draw, rows_in_memory

logger = logging.getLogger(__name__)

CROWD = (
    "neighbourhoods of rows look like those of more clusters, which no line through all rows separates, as in few "
    "columns or much noise. DensityTree().fit(X) compares neighbourhoods"
)
"""What users should know of a tree whose largest cluster is crowded."""

FEWEST_ROWS = 4000
"""With fewer different sample rows, the neighbourhoods of one cluster would hold several of a few others."""

GAPS, BALLS = 5, 4
"""Keys of the random streams that choose rows whose nearest rows are looked at, and the centres of balls."""

LOOKED_AT, SMALL = 100, 1 / 4
"""Number of rows whose nearest rows are looked at, and the share that must be in small groups apart from others."""

FIRST = 20
"""Number of them after which the look ends if none is in such a group, which has a chance of .003 where `SMALL` are."""

ROWS_EACH, FEW = 40, 0.1
"""Sample rows of a cluster by which to find it, and the share of rows in clusters that may have fewer."""

LEVEL = 0.001
"""Probability of a gap among the nearest rows of one row in a cloud."""

BALL, MOST_IN_BALL = 1 / 40, 500
"""Share of the rows in a ball, and most of them."""

CROWDED, N_BALLS, N_IN_ONE = 2, 16, 3
"""Number of balls that must show several clusters, and most balls: of the rows of one cluster two in vain end the look,
of others a few large clusters may hold most."""

MANY, MORE = 16, 5 / 4
"""Leaves of a tree among which large clusters may hide a crowd, and groups of cells for each that show it."""

APART = 0.5
"""Edges between communities, in times of those of a cloud, below which a ball shows several clusters. Of clouds of one
cluster in 2 to 384 columns it is at least .6, of 200 to 5000 clear clusters in 32 to 128 columns at most .4."""

RESOLUTION = 1.0
"""Resolution of the communities: that of modularity, which hardly divides clear clusters."""

NEAREST = 4, 64
"""First and last of the nearest rows whose distances show the number of dimensions."""

ROWS_OF_PLACE = 1000
"""Number of rows for each place where rows are compared."""


class SmallGroups(NamedTuple):
    """Small groups of sample rows that are apart from all others."""

    rows: float
    """Rows of all but the smallest groups."""
    radius: float
    """Distance within which all but the widest have their rows."""


def crowd(root: Branch, shape: tuple[int, int], examiner: Examiner) -> Plan[tuple[Branch, Examiner]]:
    """Plan the root and the examiner of a tree, after a look at the neighbourhoods of its sample rows.

    Where these show clusters with fewer rows than a cluster needs, several clusters in the largest one found, or more
    than are found, all are sought in a sample with enough rows of each, as if it were all rows. Otherwise the root
    is examined as usual. Each combination of levels would look like a cluster: two-valued columns are left out, and
    features that levels change are not looked at.
    """
    settings, selector = examiner.settings, examiner.settings.selector
    alone = settings.order is None and settings.parts_at is None and root.groups is None
    if not (settings.nearby and alone) or has_levels(settings.levels):
        return root, examiner
    examiner.examine_open(root)
    usual, examiner = examiner, examiner.without_levels()
    rows = compared_rows(root.sample.load(), examiner)[1]
    last = round(selector.min_rows * len(root.sample) / root.n_rows)
    groups = groups_apart(rows, last, generator(*settings.stream_of(root.node_id), GAPS))
    if groups is None and (len(rows) < FEWEST_ROWS or not shows_more(root, examiner, rows)):
        return root, usual
    sample = root.sample.load()
    wanted = 0 if groups is None else round(len(sample.rows) * ROWS_EACH / groups.rows)
    if not root.complete and wanted > len(sample.rows):
        logger.info("neighbourhoods show that clusters are many: %s rows are drawn", min(wanted, shape[0]))
        sample = yield from draw(settings.seed, rows_in_memory(wanted, shape[1], len(sample.rows)), shape[0])
    least = max(round(min(selector.min_rows * len(sample.rows) / shape[0], settings.nearby)), 1)
    if groups is not None:
        rows = examiner.standardise.jittered(sample.rows, sample.hashes)
        sample = sample.take(_within(np.asarray(rows, dtype=np.float64), groups.radius))
    n = len(sample.rows)
    own = replace(settings, selector=replace(selector, n_root=n, min_rows=least))
    return Branch(1, SampleRows.of_all(sample), n, counted=True), replace(examiner, settings=own, near=True)


def shows_more(root: Branch, examiner: Examiner, rows: Floats) -> bool:
    """Return whether the largest leaf of a tree is crowded, or cells show clearly more clusters than it has leaves.

    rows: the distinct rows of the root.
    """
    largest, n_leaves = _largest(root), len(root.leaves)
    if is_crowded(largest, len(root.sample), examiner, rows if largest is root else None):
        return True
    if n_leaves < MANY or not is_crowded(root, len(root.sample), examiner, rows):
        return False
    return structure_within(root, examiner)[1].n_apart >= MORE * n_leaves


def crowd_left(root: Branch, examiner: Examiner) -> bool:
    """Divide a tree afresh between groups of cells of all rows, and then its largest leaf while that is crowded.

    Returns whether it still is.
    """
    divide_crowd(root, examiner)
    while crowded := is_crowded(largest := _largest(root), len(root.sample), examiner):
        if largest is root or len(largest.sample) < FEWEST_ROWS or not divide_crowd(largest, examiner):
            break
    return crowded


def _largest(root: Branch) -> Branch:
    return max(root.leaves, key=lambda leaf: len(leaf.sample))


@one_blas_thread()  # others would still be spinning in the next pass
def groups_apart(rows: Floats, last: int, rng: np.random.Generator) -> SmallGroups | None:
    """Return the groups of distinct rows that are apart from all others and too small for a cluster, if many rows are.

    A sample may hold too few rows of each of thousands of clusters for any test between two of them.

    last: least number of rows in a cluster.
    """
    last = max(last, *NEAREST)
    if len(rows) < max(FEWEST_ROWS, last + 1):
        return None
    sizes, radii = small_groups(rows, last, rng)
    found = sizes > 0
    if np.count_nonzero(found) <= SMALL * len(found):
        return None
    return SmallGroups(float(np.quantile(sizes[found], FEW)), float(np.quantile(radii[found], 1 - FEW)))


@one_blas_thread()
def _within(rows: Floats, radius: float) -> Integers:
    """Return which rows have another one within a radius: others are noise, which would fill the valleys of all lines.

    Only rows that are nearest to the same one of some places are compared, as clusters have more than a few there.
    """
    of_blocks = distances_in_blocks(rows, rows[::ROWS_OF_PLACE])
    place = np.concatenate([squares.argmin(axis=1) for _, squares in of_blocks])
    near = np.zeros(len(rows), dtype=np.bool_)
    for own in np.split(np.argsort(place, kind="stable"), np.cumsum(np.bincount(place))[:-1]):
        for i, squares in distances_in_blocks(rows[own], rows[own]):
            near[own[i : i + len(squares)]] = np.count_nonzero(squares <= radius**2, axis=1) > 1  # itself
    return np.flatnonzero(near)


def is_crowded(branch: Branch, n_sample: int, examiner: Examiner, rows: Floats | None = None) -> bool:
    """Return whether balls of rows of a branch show several clusters; see `CROWD` for what this means.

    n_sample: sample rows of the tree.
    rows: the distinct rows of the branch, if they are known.
    """
    rows = compared_rows(branch.sample.load(), examiner)[1] if rows is None else rows
    rng = generator(*examiner.settings.stream_of(branch.node_id), BALLS)
    n_balls = N_BALLS if branch.children else N_IN_ONE
    return balls_are_crowded(rows, min(round(BALL * n_sample), MOST_IN_BALL), n_balls, rng)


@one_blas_thread()
def balls_are_crowded(rows: Floats, n: int, n_balls: int, rng: np.random.Generator) -> bool:
    """Return whether balls with `n` of some distinct rows, at most half of them, show several clusters."""
    rows = rows[:: -(-len(rows) // round(MOST_IN_BALL / BALL))]  # any more would make balls smaller, and take time
    n, crowded = min(n, len(rows) // 2), 0
    if n <= NEIGHBOURS:  # too few for a graph
        return False
    for i, centre in enumerate(rng.permutation(len(rows))[:n_balls]):
        near = nearest_columns(squared_distances(rows[[centre]], rows), n)[0]
        crowded += shows_clusters(rows[np.sort(near)])
        if crowded == CROWDED or n_balls - i - 1 < CROWDED - crowded:
            break
    return crowded == CROWDED


def small_groups(rows: Floats, last: int, rng: np.random.Generator) -> tuple[Integers, Floats]:
    """Return how many rows there are around some rows up to a gap among the nearest, and how far the last of them is.

    Zero for rows without a gap before the nearest row with the number `last`, as nearly all of a cloud are.
    """
    which = rng.choice(len(rows), LOOKED_AT, replace=False)
    for some in (which[:FIRST], which):
        logs, usual, near = _volumes(rows, some, last)
        best, found = logs.argmax(axis=1), logs.max(axis=1) > usual * np.log(last / LEVEL)
        if not found.any():
            break
    sizes = np.where(found, min(NEAREST) + 1 + best, 0)
    return sizes, np.sqrt(near[np.arange(len(sizes)), np.maximum(sizes - 1, 0)])


def shows_clusters(points: Floats) -> bool:
    """Return whether edges between communities of points are fewer, by `APART`, than those of a normal cloud.

    The cloud has as many points and dimensions as the points have locally. So a sample may hold too few rows of each of
    thousands of clusters for any test between two of them.
    """
    n, leaving = len(points), _leaving(points)
    # With more dimensions, more edges leave; most clouds have too many for as many dimensions as columns.
    return leaving < APART * _usual(n, points.shape[1]) and leaving < APART * _usual(n, dimensions_of(points))


@lru_cache(maxsize=64)
def _usual(n: int, n_columns: int) -> float:
    return _leaving(np.random.default_rng(0).normal(size=(n, n_columns)))


def _leaving(points: Floats) -> float:
    graph = shared_neighbours(points)[0]
    community, edges = communities(graph, RESOLUTION), graph.tocoo()
    return float(edges.data[community[edges.row] != community[edges.col]].sum() / edges.data.sum())


def dimensions_of(points: Floats) -> int:
    """Return the number of dimensions across which distinct points are spread locally, at least one."""
    return max(round(2 / _volumes(points, np.arange(len(points)), min(max(NEAREST), len(points) - 1))[1]), 1)


def _volumes(points: Floats, which: Integers, last: int) -> tuple[Floats, float, Floats]:
    """Return logarithms of volumes around some points, their usual mean, and the squared distances of near points.

    Around a place of nearly constant density, the logarithm of the volume of the ball through the next nearest point
    over that through the j-th nearest is exponential with mean 1 / j. With squared distances, j times their logarithms
    have the mean 2 / n_dimensions, and half of them are as the law says.
    """
    first = min(NEAREST)
    squares = np.partition(squared_distances(points[which], points), last, axis=1)[:, : last + 1].astype(np.float64)
    squares.sort(axis=1)  # the nearest is the point itself
    low, high = squares[:, first:-1], squares[:, first + 1 :]
    logs: Floats = np.log(np.divide(high, low, out=np.ones(low.shape), where=low > 0)) * np.arange(first, last)
    return logs, float(np.median(logs[logs > 0]) / np.log(2)) if (logs > 0).any() else np.inf, squares
