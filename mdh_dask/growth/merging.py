"""Merging leaves of a grown tree if the density of the rows has no valley between them."""

import logging
from collections.abc import Callable, Collection
from typing import NamedTuple

import numpy as np

from .._random import generator
from .._typing import AnyArray, Floats, Integers
from ..chunks import Plan
from ..tree.structure import Tree
from ..valleys.merging import Merged, merge_cells
from .bounds import clipped
from .passes import Sample, draw, rows_in_memory
from .ties import without_ties

logger = logging.getLogger(__name__)

SAMPLE_ROWS = 10_000
"""Number of sampled rows on which merging is based; fewer with many columns."""

DEPENDENT_ROWS = 4000
"""Most sample rows that depend on each other: of more, few rows of each part are in a ball."""

MERGING = 3
"""Key of the random stream of the hashes, so that the halves differ from those that tested the splits."""


class Merges(NamedTuple):
    """The merges of the leaves of a tree."""

    cells: Merged
    rows: Integers
    """Rows of each leaf before."""


def merging_sample(shape: tuple[int, int], seed: int, parts_at: int | None = None) -> Plan[Sample]:
    """Plan the sample of rows on which merging is based.

    shape: shape of the rows that the pass reads.
    parts_at: index of the array with the part of every row, if rows depend on each other; see
        `growth.passes.hashes_of`.
    Returns a plan of one pass, which asks nothing of the tree: it goes together with the first pass of growing.
    """
    key = int(generator(seed, MERGING).integers(2**31))
    wanted = SAMPLE_ROWS if parts_at is None else DEPENDENT_ROWS
    return (yield from draw(key, rows_in_memory(wanted, shape[1]), shape[0], parts_at))


def merged(
    tree: Tree,
    leaf_of: Callable[[AnyArray], Integers],
    coordinates: Callable[[AnyArray], Floats],
    sample: Sample,
    most_clusters: int | None = None,
    fewest_clusters: int = 1,
    apart: Collection[tuple[int, int]] = (),
    in_groups: bool = False,
) -> tuple[Tree, Merges | None]:
    """Return the tree with merged leaves and the merges; see `mdh_dask.valleys.merging.merge_cells`.

    tree: tree in which every leaf is a cluster.
    leaf_of: returns the leaf of each row, numbered from left to right.
    coordinates: returns the rows as points whose distances are compared.
    sample: result of `merging_sample`.
    most_clusters: largest number of clusters; leaves are merged until it is reached.
    fewest_clusters: number of clusters at which merging stops, whatever the density.
    apart: leaves that should stay in different clusters.
    in_groups: whether rows depend on each other, and the last bits of the hashes of the sample are their parts.
    """
    if tree.n_leaves == 1:
        return tree, None
    bounds = most_clusters, fewest_clusters
    leaf = leaf_of(sample.rows)
    cells = merged_cells(leaf, tree.n_leaves, coordinates, sample, *bounds, apart, in_groups)
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
    """Return the merges of the cells of a partition, from the cells of the sample rows; parameters as for `merged`."""
    near = clipped(np.asarray(coordinates(sample.rows), dtype=np.float64), scaled=False)
    points = without_ties(sample._replace(rows=near))
    cell = cell[np.isin(sample.numbers, points.numbers)]
    bounds = most_clusters, fewest_clusters
    cells = merge_cells(points.rows, points.hashes, cell, n_cells, *bounds, apart, in_groups=in_groups)
    logger.info("merged %s cells into %s clusters", n_cells, cells.group.max() + 1)
    return cells
