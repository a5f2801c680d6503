"""Sides of hyperplanes on which rows lie, as bits."""

import numpy as np

from .._numba import jit
from .branches import TILE, fill_tile
from .vectors import combine_rows


@jit
def side_bits(rows, planes, offsets, words):
    """Set the bit ``j % 64`` of ``words[i, j // 64]`` if row i lies above hyperplane j: ``plane . x > offset``."""
    here = np.arange(rows.shape[0])
    tile = np.zeros((rows.shape[1], TILE))
    sums = np.empty(TILE)
    for start in range(0, rows.shape[0], TILE):
        size = fill_tile(rows, here, start, tile)
        for j in range(planes.shape[0]):
            combine_rows(planes[j], tile, sums)
            bit = np.uint64(1) << np.uint64(j % 64)
            for i in range(size):
                if sums[i] > offsets[j]:
                    words[start + i, j // 64] |= bit
