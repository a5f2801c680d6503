"""Merging leaves of a grown tree if the density of the rows has no valley between them."""

import logging
from collections.abc import Callable

import numpy as np

from .._random import generator
from .._typing import AnyArray, Floats, Integers
from ..chunks import Pass, Plan
from ..splits.merging import merge_cells
from ..tree.structure import Tree
from .passes import Sample, SamplePass, sample_limit, smallest_hashes
from .sampling import RESERVOIR_VALUES

logger = logging.getLogger(__name__)

SAMPLE_ROWS = 10_000
"""Number of sampled rows on which merging is based; fewer with many columns."""

MERGING = 3
"""Key of the random stream of the hashes, so that the halves differ from those that tested the splits."""


def merge(
    tree: Tree,
    leaf_of: Callable[[AnyArray], Integers],
    coordinates: Callable[[AnyArray], Floats],
    shape: tuple[int, int],
    seed: int,
    most_clusters: int | None = None,
    fewest_clusters: int = 1,
) -> Plan[Tree]:
    """Plan the merging of the leaves of a tree; see `mdh_dask.splits.merging.merge_cells`.

    Parameters
    ----------
    tree : Tree
        Tree in which every leaf is a cluster.
    leaf_of : callable
        Returns the leaf of each row, numbered from left to right.
    coordinates : callable
        Returns the rows as points whose distances are compared.
    shape : (n_rows, n_columns)
        Shape of the rows that the pass reads.
    seed : int
    most_clusters : int, optional
        Largest number of clusters; leaves are merged until it is reached.
    fewest_clusters : int, default=1
        Number of clusters at which merging stops, whatever the density.

    Returns
    -------
    generator
        A plan for `mdh_dask.chunks.run`; its result is the tree with merged leaves.

    Notes
    -----
    One pass, which draws a sample; no pass if there is only one leaf.
    """
    if tree.n_leaves == 1:
        return tree
    n_rows, n_columns = shape
    wanted = max(min(SAMPLE_ROWS, RESERVOIR_VALUES // n_columns), 1)
    key = int(generator(seed, MERGING).integers(2**31))
    drawn: Sample = yield Pass("sampling", SamplePass(key, sample_limit(wanted, n_rows)))
    sample = smallest_hashes(drawn, wanted)
    points = np.asarray(coordinates(sample.rows), dtype=np.float64)
    merged = merge_cells(points, sample.hashes, leaf_of(sample.rows), tree.n_leaves, most_clusters, fewest_clusters)
    logger.info("merged %s leaves into %s clusters", tree.n_leaves, merged.group.max() + 1)
    return tree.merged(merged.group)
