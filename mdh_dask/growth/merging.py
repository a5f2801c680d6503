"""Merging leaves of a grown tree if the density of the rows has no valley between them."""

import logging
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import numpy as np

from .._random import generator
from .._typing import AnyArray, Floats, Integers
from ..chunks import Plan
from ..tree.structure import Tree
from ..valleys.merging import LEVEL, Merged, merge_cells
from .bounds import clipped
from .discrete import without_ties
from .passes import Sample, draw, rows_in_memory

logger = logging.getLogger(__name__)

FEW_CELLS_ROWS, CELL_ROWS = 10_000, 500
"""Rows on which merging is based with few cells, and of each of more: few do not show a valley between two of many."""

MOST_ROWS, MOST_VALUES = 65_536, 2**22
"""Most rows that are drawn for many cells, and most values in them, as every fit draws them."""


class Merges(NamedTuple):
    """The merges of cells, as of the leaves of a tree."""

    cells: Merged
    rows: Integers
    """Rows of each cell before."""
    level: float = LEVEL
    """Probability that the threshold divides a cloud without clusters."""
    n_tried: int = 1
    """Number of partitions into cells that were tested, of which this is the best."""


def merging_sample(shape: tuple[int, int], seed: int, parts_at: int | None = None) -> Plan[Sample]:
    """Plan the sample of rows on which merging is based.

    Returns a plan of one pass, which asks nothing of the tree: it goes together with the first pass of growing.
    """
    key = int(generator(seed, 3).integers(2**31))  # so that the halves differ from those that tested the splits
    # Of more than 4000 rows, few of each part are in a ball.
    wanted = rows_drawn(shape[1]) if parts_at is None else rows_in_memory(4000, shape[1])
    return (yield from draw(key, wanted, shape[0], parts_at))


def rows_drawn(n_columns: int) -> int:
    """Return the number of rows in the sample, which may be more than merging needs."""
    return rows_in_memory(max(min(MOST_ROWS, MOST_VALUES // n_columns), FEW_CELLS_ROWS), n_columns)


def rows_for_cells(sample: Sample, n_cells: int) -> Sample:
    """Return as many rows of a sample as show whether so many cells are apart."""
    return sample.first(max(FEW_CELLS_ROWS, CELL_ROWS * n_cells))


def merged(
    tree: Tree,
    leaf_of: Callable[[AnyArray], Integers],
    coordinates: Callable[[AnyArray], Floats],
    sample: Sample,
    *limits: Any,
) -> tuple[Tree, Merges | None]:
    """Return a tree in which every leaf is a cluster with merged leaves, and the merges.

    leaf_of: returns the leaf of each row, numbered from left to right.
    sample: result of `merging_sample`.
    coordinates, limits: as for `merged_cells`.
    """
    if tree.n_leaves == 1:
        return tree, None
    sample = rows_for_cells(sample, tree.n_leaves)
    cells = merged_cells(leaf_of(sample.rows), tree.n_leaves, coordinates, sample, *limits)
    return tree.merged(cells.group), Merges(cells, tree.n_rows[tree.leaves])


def merged_cells(
    cell: Integers,
    n_cells: int,
    coordinates: Callable[[AnyArray], Floats],
    sample: Sample,
    most_clusters: int | None = None,
    fewest_clusters: int = 1,
    apart: Collection[tuple[int, int]] = (),
    in_groups: bool = False,
) -> Merged:
    """Return the merges of the cells of a partition; see `mdh_dask.valleys.merging.merge_cells`.

    cell (n,) int: cells of the sample rows.
    coordinates: returns the rows as points whose distances are compared.
    sample: result of `rows_for_cells`.
    most_clusters, fewest_clusters: cells are merged down to the former, and not below the latter, whatever the density.
    apart: cells that should stay in different clusters.
    in_groups: whether rows depend on each other, and the last bits of the hashes of the sample are their parts.
    """
    near = clipped(np.asarray(coordinates(sample.rows), dtype=np.float64), scaled=False)
    points = without_ties(sample._replace(rows=near))
    cell = cell[np.isin(sample.numbers, points.numbers)]
    bounds = most_clusters, fewest_clusters
    cells = merge_cells(points.rows, points.hashes, cell, n_cells, *bounds, apart, in_groups=in_groups)
    logger.info("merged %s cells into %s clusters", n_cells, cells.group.max() + 1)
    return cells
