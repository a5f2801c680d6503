"""One sweep of a chunk's rows through a tree, for the leaf of every row and histograms at the nodes on its way.

Rows are taken a tile at a time and transposed so that the inner loops run along rows: the processor then works on
several rows at once, while every projection is still summed over the features in order. A matrix product would
be as fast, but the last bits of its results depend on the number of rows, and so on the chunking.
"""

import numpy as np

from .._numba import jit, part
from .lattices import spread_tile
from .vectors import combine_rows

TILE = 64

WIDE = 64
"""Rows with more features are transposed a square at a time, so that the written lines stay cached."""

BLOCK = 8192
"""Rows that pass through the whole tree before the next ones: few enough for the processor's second cache."""


@jit
def sweep_branches(
    rows, left, right, planes, thresholds, first, bit, hashes, lattices, directions, origin, width, counts, extremes
):
    """Return the leaf of every row, adding the projections of the measured nodes to `counts` and `extremes`.

    The tree is `left`, `right` (-1 at a leaf; children follow their parents), `planes` (nodes x features) and
    `thresholds`: a row goes left where ``plane . x <= threshold``. A node is measured along the rows of `directions`
    from ``first[node]`` to ``first[node + 1]``, whose bins are laid out by `origin` and `width`; `counts` is
    directions x 2 x bins. The row's half is the bit ``bit[node]`` of its hash. `extremes`, directions x 2 x 2 x bins,
    is updated with the smallest and the largest projection of every bin; pass it without bins to skip this.

    Rows are routed as they are, and counted after their values in the columns of `lattices` are spread. Then `counts`
    is directions x 3 x bins: the last one counts the rows as they are, that is as a split at the end of a bin
    would route them.
    """
    n, n_nodes = rows.shape[0], left.shape[0]
    leaf = np.empty(n, dtype=np.int32)
    order, spare = np.empty(BLOCK, dtype=np.int64), np.empty(BLOCK, dtype=np.int64)
    start, stop = np.empty(n_nodes, dtype=np.int64), np.empty(n_nodes, dtype=np.int64)
    start[0] = 0  # the others follow from their parents
    for begin in range(0, n, BLOCK):
        stop[0] = min(BLOCK, n - begin)
        for i in range(stop[0]):
            order[i] = begin + i
        for node in range(n_nodes):
            here = order[start[node] : stop[node]]
            inner, own = left[node] >= 0, (first[node], first[node + 1])
            if inner or own[0] < own[1]:
                n_left = visit_node(
                    rows, here, inner, planes[node], thresholds[node], spare,
                    own, bit[node], hashes, lattices, directions, origin, width, counts, extremes,
                )  # fmt: skip
            if inner:
                start[left[node]] = start[node]
                stop[left[node]] = start[right[node]] = start[node] + n_left
                stop[right[node]] = stop[node]
            else:
                for i in range(here.shape[0]):
                    leaf[here[i]] = node
    return leaf


@part
def visit_node(
    rows, here, inner, plane, threshold, spare, own, bit, hashes, lattices, directions, origin, width, counts, extremes
):
    """Count ``rows[here]`` along the directions from ``own[0]`` to ``own[1]``; at an inner node, reorder `here` so
    that rows that go left come first, each side in its former order. Return the number of rows that go left.
    """  # noqa: D205
    tile = np.empty((rows.shape[1], TILE))
    sums, along_plane, half = np.empty(TILE), np.empty(TILE), np.empty(TILE, dtype=np.int64)
    n_counts = 0 if own[0] == own[1] else 1 + (lattices.columns.shape[0] > 0)
    n_left = n_right = 0
    for start in range(0, here.shape[0], TILE):
        size = fill_tile(rows, here, start, tile)
        if inner:
            combine_rows(plane, tile, along_plane)
        for count in range(n_counts, 0, -1):  # first the rows as they are if their values will be spread
            for i in range(size):
                half[i] = 2 if count == 2 else (hashes[here[start + i]] >> np.uint64(bit)) & np.uint64(1)
            if count < n_counts:
                spread_tile(tile, here, start, size, hashes, lattices)
            for c in range(own[0], own[1]):
                combine_rows(directions[c], tile, sums)
                count_tile(sums, half, size, origin[c], 1.0 / width[c], counts[c])
                if count == 1 and extremes.shape[3] > 0:
                    widen_tile(sums, half, size, origin[c], 1.0 / width[c], extremes[c])
        if inner:
            for i in range(size):
                row = here[start + i]
                if along_plane[i] <= threshold:
                    here[n_left] = row
                    n_left += 1
                else:
                    spare[n_right] = row
                    n_right += 1
    for i in range(n_right):  # assigning a slice would take seconds to compile, for the text of its shape error
        here[n_left + i] = spare[i]
    return n_left


@part
def count_tile(sums, half, size, origin, scale, counts):
    """Add the first `size` projections to `counts` (halves x bins), whose outermost bins take the tails."""
    top = counts.shape[1] - 1.0
    for i in range(size):
        k = min(max((sums[i] - origin) * scale, 0.0), top)
        counts[half[i], int(k)] += 1


@part
def widen_tile(sums, half, size, origin, scale, extremes):
    """Update `extremes` (2 halves x 2 x bins) with the smallest and the largest of these projections in each bin."""
    top = extremes.shape[2] - 1.0
    for i in range(size):
        k = int(min(max((sums[i] - origin) * scale, 0.0), top))
        extremes[half[i], 0, k] = min(extremes[half[i], 0, k], sums[i])
        extremes[half[i], 1, k] = max(extremes[half[i], 1, k], sums[i])


@part
def fill_tile(rows, here, start, tile):
    """Write up to `TILE` rows to the columns of `tile` and return their number."""
    size = min(TILE, here.shape[0] - start)
    d = rows.shape[1]
    if d <= WIDE:
        for i in range(size):
            row = rows[here[start + i]]
            for j in range(d):
                tile[j, i] = row[j]
        return size
    for begin in range(0, d, TILE):
        for i in range(size):
            row = rows[here[start + i]]
            for j in range(begin, min(begin + TILE, d)):
                tile[j, i] = row[j]
    return size
