"""Convex regions around two groups: a density without clusters has no valley there along any line.

A log-concave density, such as a normal or a uniform one, stays so in a convex region, and its projections are then
unimodal (Prekopa 1973). So all rows of a region may be counted along the line between two groups, where balls and slabs
count the few near it: this shows valleys between hundreds of clusters of tens of rows in few columns.
"""

import numpy as np
from scipy.special import ndtri

from .._typing import Floats, Integers
from .landmarks import Found, Half
from .lines import errors_in_slabs
from .neighbours import BLOCK, nearest_in_blocks

WIDTHS = 1 / 3, 1 / 4
"""Widths of slabs through both groups and between them, as shares of the distance of the groups."""


def found_in_regions(half: Half, n_cells: int, pairs: Integers) -> Found:
    """Return what slabs through both cells of each pair and between them hold, shape (n_pairs, 2).

    One half of the rows places cells, the other is counted in regions around two of them. Errors of cells that no row
    places are zero.
    """
    own, rows = half.cell[half.choosing], half.rows[half.counted]
    sizes, means = np.bincount(own, minlength=n_cells), np.zeros((n_cells, rows.shape[1]))
    np.add.at(means, own, half.rows[half.choosing])
    means /= np.maximum(sizes, 1)[:, None]
    known = sizes > 0
    members = _members(rows, means, np.flatnonzero(known))
    counts = np.zeros((len(pairs), len(WIDTHS), 3), dtype=np.int64)
    for found, (i, j) in zip(counts, pairs.tolist()):
        if known[i] and known[j]:
            others = known.copy()
            others[[i, j]] = False
            near = rows[np.union1d(members[i], members[j])]
            places = np.abs(_within(near, means[i], means[j], means[others])[:, None] - np.array([0, 0.5, 1]))
            found[:] = [np.count_nonzero(places < width / 2, axis=0) for width in WIDTHS]
    in_slabs = np.stack([counts[..., [0, 2]], counts[..., [1, 1]]], axis=-1)
    return Found(errors_in_slabs(counts), in_slabs.astype(np.float64))


def _members(rows: Floats, means: Floats, known: Integers) -> list[Integers]:
    """Return the rows of which each group is among the three nearest ones."""
    k = min(3, len(known))
    near, _ = nearest_in_blocks(rows, means[known], k)
    of_group, row = known[near].ravel(), np.repeat(np.arange(len(rows)), k)
    order = np.argsort(of_group, kind="stable")
    return np.split(row[order], np.cumsum(np.bincount(of_group, minlength=len(means)))[:-1])


def _within(rows: Floats, start: Floats, end: Floats, others: Floats) -> Floats:
    """Return where rows are along a segment, zero at its start and one at its end.

    Only rows that are nearer to the segment than to each other place are: those on its side of the plane between that
    place and the nearest point of the segment, which are a convex region.
    """
    line = end - start
    line /= max(float(line @ line), np.finfo(np.float64).tiny)
    point = start + np.clip((others - start) @ line, 0, 1)[:, None] * (end - start)
    normal, middle = others - point, (others + point) / 2
    bounds = np.einsum("ij,ij->i", normal, middle)
    # In many columns, all places are about as near, so that each is a bound.
    blocks = (rows[i : i + BLOCK] for i in range(0, max(len(rows), 1), BLOCK))
    inside = np.concatenate([(block @ normal.T <= bounds).all(axis=1) for block in blocks])
    return np.asarray((rows[inside] - start) @ line)


def least_of_discoveries(errors: Floats, level: float, n_kinds: int) -> float:
    """Return the least standard errors of tests of which a share of `level` is false at most.

    errors (n_tests,): the largest of some kinds.

    Source: Y. Benjamini and Y. Hochberg, Controlling the false discovery rate, 1995.
    """
    n = max(len(errors), 1)
    least = ndtri(1 - level * np.arange(1, n + 1) / (n * n_kinds))
    reached = np.flatnonzero(-np.sort(-errors) >= least[: len(errors)])
    return float(least[reached[-1] if len(reached) else 0])
