"""One sweep of a chunk's rows through a tree, for the leaf of every row and histograms at the nodes on its way.

Rows are taken a tile at a time and transposed so that the inner loops run along rows: the processor then works on
several rows at once, while every projection is still summed over the features in order. A matrix product would
be as fast, but the last bits of its results depend on the number of rows, and so on the chunking.
"""

import numpy as np

from .._numba import jit
from .lattices import spread_tile

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
    leaf = np.empty(rows.shape[0], dtype=np.int32)
    for begin in range(0, rows.shape[0], BLOCK):
        block = slice(begin, begin + BLOCK)
        sweep_block(
            rows[block], left, right, planes, thresholds, first, bit, hashes[block], lattices, directions, origin,
            width, counts, extremes, leaf[block],
        )  # fmt: skip
    return leaf


@jit
def sweep_block(
    rows,
    left,
    right,
    planes,
    thresholds,
    first,
    bit,
    hashes,
    lattices,
    directions,
    origin,
    width,
    counts,
    extremes,
    leaf,
):
    """Sweep rows that fit the cache, as `sweep_branches` does, and write their leaves to `leaf`."""
    n = rows.shape[0]
    order = np.empty(n, dtype=np.int64)
    for i in range(n):
        order[i] = i
    spare = np.empty(n, dtype=np.int64)
    start = np.zeros(left.shape[0], dtype=np.int64)
    stop = np.zeros(left.shape[0], dtype=np.int64)
    stop[0] = n
    for node in range(left.shape[0]):
        here = order[start[node] : stop[node]]
        inner = left[node] >= 0
        own = slice(first[node], first[node + 1])
        if inner or own.start < own.stop:
            n_left = visit_node(
                rows, here, inner, planes[node], thresholds[node], spare,
                bit[node], hashes, lattices, directions[own], origin[own], width[own], counts[own],
                extremes[own],
            )  # fmt: skip
        if inner:
            start[left[node]] = start[node]
            stop[left[node]] = start[right[node]] = start[node] + n_left
            stop[right[node]] = stop[node]
        else:
            for i in here:
                leaf[i] = node


@jit
def visit_node(
    rows, here, inner, plane, threshold, spare, bit, hashes, lattices, directions, origin, width, counts, extremes
):
    """Count ``rows[here]`` along the directions; at an inner node, reorder `here` so that rows that go left come
    first, each side in its former order. Return the number of rows that go left.
    """  # noqa: D205
    tile = np.zeros((rows.shape[1], TILE))
    sums, along_plane = np.empty(TILE), np.empty(TILE)
    half, third = np.empty(TILE, dtype=np.int64), np.full(TILE, 2)
    n_left = n_right = 0
    for start in range(0, here.shape[0], TILE):
        size = fill_tile(rows, here, start, tile)
        if inner:
            project_tile(tile, plane, along_plane)
        if directions.shape[0] > 0 and lattices.columns.shape[0] > 0:
            for c in range(directions.shape[0]):
                project_tile(tile, directions[c], sums)
                count_tile(sums[:size], third, origin[c], 1.0 / width[c], counts[c])
            spread_tile(tile, here, start, size, hashes, lattices)
        for c in range(directions.shape[0]):
            if c == 0:
                for i in range(size):
                    half[i] = (hashes[here[start + i]] >> np.uint64(bit)) & np.uint64(1)
            project_tile(tile, directions[c], sums)
            count_tile(sums[:size], half, origin[c], 1.0 / width[c], counts[c])
            if extremes.shape[3] > 0:
                widen_tile(sums[:size], half, origin[c], 1.0 / width[c], extremes[c])
        if inner:
            for i in range(size):
                if along_plane[i] <= threshold:
                    here[n_left] = here[start + i]
                    n_left += 1
                else:
                    spare[n_right] = here[start + i]
                    n_right += 1
    for i in range(n_right):  # assigning a slice would take seconds to compile, for the text of its shape error
        here[n_left + i] = spare[i]
    return n_left


@jit
def count_tile(sums, half, origin, scale, counts):
    """Add the projections to `counts` (halves x bins), whose outermost bins take the tails."""
    top = counts.shape[1] - 1.0
    for i in range(sums.shape[0]):
        k = min(max((sums[i] - origin) * scale, 0.0), top)
        counts[half[i], int(k)] += 1


@jit
def widen_tile(sums, half, origin, scale, extremes):
    """Update `extremes` (2 halves x 2 x bins) with the smallest and the largest projection in each bin."""
    top = extremes.shape[2] - 1.0
    for i in range(sums.shape[0]):
        k = int(min(max((sums[i] - origin) * scale, 0.0), top))
        extremes[half[i], 0, k] = min(extremes[half[i], 0, k], sums[i])
        extremes[half[i], 1, k] = max(extremes[half[i], 1, k], sums[i])


@jit
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


@jit
def project_tile(tile, direction, sums):
    """Write ``direction @ tile`` to `sums`, each summed over the features in order."""
    d = direction.shape[0]
    sums[:] = 0.0
    j = 0
    while j + 4 <= d:
        a, b, c, e = direction[j], direction[j + 1], direction[j + 2], direction[j + 3]
        for i in range(TILE):  # the parentheses keep the order of sums, and so the bits, of one feature at a time
            sums[i] = (((sums[i] + a * tile[j, i]) + b * tile[j + 1, i]) + c * tile[j + 2, i]) + e * tile[j + 3, i]
        j += 4
    while j < d:
        for i in range(TILE):
            sums[i] += direction[j] * tile[j, i]
        j += 1
