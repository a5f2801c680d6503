"""Convex regions around two cells: a density without clusters has no valley there along any line.

A log-concave density, such as a normal or a uniform one, stays so in a convex region, and its projections are then
unimodal (Prekopa 1973). So all rows of a region may be counted along the line between two cells, where balls and slabs
count the few near it: this shows valleys between hundreds of clusters of tens of rows in few columns.
"""

from collections.abc import Iterator
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from .._typing import Booleans, Floats, Integers
from .neighbours import BLOCK, squared_distances

WIDTHS = 1 / 3, 1 / 4
"""Widths of slabs through both cells and between them, as shares of the distance of the cells."""

NEAREST_CELLS, MOST_SIDES = 3, 64
"""A region has rows of which one of its cells is among so many nearest ones, and at most so many sides."""


class InRegions(NamedTuple):
    """What links between cells show, each shape (n_links,)."""

    evidence: Floats
    """Standard errors by which the slab between has fewer rows than that through either cell."""
    core: Floats
    """Rows in the slab of the sparser cell."""
    cut: Floats
    """Rows in the slab between."""


def in_regions(rows: Floats, first: Booleans, cell: Integers, links: Integers) -> InRegions:
    """Return what convex regions around linked cells show; either half of the rows places them, the other is counted.

    first (n_rows,): the rows of the first half.
    cell (n_rows,): numbered from 0.
    links (n_links, 2): pairs of cells.
    """
    n_cells, counts = int(cell.max()) + 1, []
    for placing in (first, ~first):
        sizes = np.bincount(cell[placing], minlength=n_cells)
        means = np.zeros((n_cells, rows.shape[1]))
        np.add.at(means, cell[placing], rows[placing])
        means /= np.maximum(sizes, 1)[:, None]
        counts.append(np.array([*_counted(rows[~placing], means, sizes, links)]))
    sides, between = np.array(counts)[..., [0, 2]], np.array(counts)[..., 1]
    sides = sides.min(axis=-1)  # (2 halves, n_links, n_widths)
    of_widths = (sides - between) / np.sqrt(np.maximum(sides + between, 1))
    best = of_widths.sum(axis=0).argmax(axis=1)
    each = np.arange(len(links))
    core, cut = (values.sum(axis=0)[each, best].astype(np.float64) for values in (sides, between))
    return InRegions(of_widths[:, each, best].sum(axis=0) / np.sqrt(2), core, cut)


def _counted(rows: Floats, means: Floats, sizes: Integers, links: Integers) -> Iterator[Integers]:
    """Yield the rows in the three slabs of each width for each link, shape (n_widths, 3)."""
    known = np.flatnonzero(sizes)
    k = min(NEAREST_CELLS, len(known))
    near = [
        np.argpartition(squared_distances(rows[i : i + BLOCK], means[known]), k - 1, axis=1)[:, :k]
        for i in range(0, len(rows), BLOCK)
    ]
    of_cell, row = known[np.concatenate(near)].ravel(), np.repeat(np.arange(len(rows)), k)
    order = np.argsort(of_cell, kind="stable")
    members = np.split(row[order], np.cumsum(np.bincount(of_cell, minlength=len(means)))[:-1])
    none = np.zeros((len(WIDTHS), 3), dtype=np.int64)
    for i, j in links.tolist():
        if sizes[i] and sizes[j]:
            others = means[known[(known != i) & (known != j)]]
            along = _within(rows[np.union1d(members[i], members[j])], means[i], means[j], others)
            places = np.abs(along[:, None] - np.array([0, 0.5, 1]))
            yield np.array([np.count_nonzero(places < width / 2, axis=0) for width in WIDTHS])
        else:
            yield none


def _within(rows: Floats, start: Floats, end: Floats, others: Floats) -> Floats:
    """Return where rows are along a segment, zero at its start and one at its end.

    Only rows that are nearer to the segment than to each other place are: those on its side of the plane between that
    place and the nearest point of the segment, which are a convex region.
    """
    line = end - start
    line /= max(float(line @ line), np.finfo(np.float64).tiny)
    point = start + np.clip((others - start) @ line, 0, 1)[:, None] * (end - start)
    normal, middle = others - point, (others + point) / 2
    away = np.square(normal).sum(axis=1)
    closest = np.argsort(away, kind="stable")[:MOST_SIDES]
    bounds = np.einsum("ij,ij->i", normal[closest], middle[closest])
    inside = (rows @ normal[closest].T <= bounds).all(axis=1)
    return np.asarray((rows[inside] - start) @ line)


def least_of_discoveries(errors: Floats, level: float, n_kinds: int) -> float:
    """Return the least standard errors of tests of which a share of `level` is false at most.

    errors (n_tests,): the largest of some kinds.

    Source: Y. Benjamini and Y. Hochberg, Controlling the false discovery rate, 1995.
    """
    n = max(len(errors), 1)
    least = [NormalDist().inv_cdf(1 - level * rank / (n * n_kinds)) for rank in range(1, n + 1)]
    reached = np.flatnonzero(-np.sort(-errors) >= least[: len(errors)])
    return least[reached[-1] if len(reached) else 0]
