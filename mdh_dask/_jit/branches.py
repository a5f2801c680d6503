"""One sweep of a chunk's rows through a tree: the leaf of every row, histograms at the nodes on its way, and margins.

Rows are taken a tile at a time and transposed so that the inner loops run along rows: the processor then works on
several rows at once, while every projection is still summed over the features in order. A matrix product would
be as fast, but the last bits of its results depend on the number of rows, and so on the chunking.
"""

from math import erf, sqrt
from typing import NamedTuple

import numpy as np

from .._numba import jit, part
from .._storable import storable
from .._typing import Floats, Integers
from .hashing import jitter_tile
from .rows import combine_rows

TILE = 64

BLOCK = 8192
"""Rows that pass through the whole tree before the next ones: few enough for the processor's second cache."""


@storable
class Routes(NamedTuple):
    """The separators of a tree, by which rows are routed: left where ``plane . x <= threshold``."""

    left: Integers
    """Children, shape (n_nodes,), int32, which follow their parents; -1 at a leaf."""
    right: Integers
    planes: Floats
    """Shape (n_nodes, n_features)."""
    thresholds: Floats


class Measures(NamedTuple):
    """The directions along which the nodes of a tree are measured, their bins, and what is counted."""

    first: Integers
    """A node is measured along the directions from ``first[node]`` to ``first[node + 1]``; shape (n_nodes + 1,)."""
    bit: Integers
    """The lowest bit of a row's hash that tells its part at each node, shape (n_nodes,)."""
    directions: Floats
    origin: Floats
    """Lower ends and widths of the bins of each direction, shape (n_directions,)."""
    width: Floats
    counts: Integers
    """Rows per bin, shape (n_directions, n_parts, n_bins); see `sweep_branches`."""
    extremes: Floats
    """Smallest and largest projection in every bin, (n_directions, n_parts, 2, n_bins); without bins if not needed."""


@jit
def sweep_branches(rows, routes, measures, hashes, jitter):
    """Return the leaf of every row, adding the projections at the measured nodes to `counts` and `extremes`.

    The number of parts, those of `extremes`, is a power of two. Rows are routed as they are, and counted after their
    values in the columns of `jitter` are spread. Then `counts` has one part more: it counts the rows as they are, that
    is as a split at the end of a bin would route them.
    """
    left, right, first = routes.left, routes.right, measures.first
    n, n_nodes = rows.shape[0], left.shape[0]
    leaf = np.empty(n, dtype=np.int32)
    order, spare = np.empty(BLOCK, dtype=np.int64), np.empty(BLOCK, dtype=np.int64)
    start, stop = np.empty(n_nodes, dtype=np.int64), np.empty(n_nodes, dtype=np.int64)
    start[0] = 0  # the others follow from their parents
    in_chain, chain = np.zeros(n_nodes, dtype=np.bool_), np.empty(32, dtype=np.int64)  # most nodes of a chain
    chains = jitter.columns.shape[0] == 0 and measures.extremes.shape[3] == 0
    for begin in range(0, n, BLOCK):
        stop[0] = min(BLOCK, n - begin)
        for i in range(stop[0]):
            order[i] = begin + i
        for node in range(n_nodes):
            if in_chain[node]:
                continue
            here = order[start[node] : stop[node]]
            n_chain, end = chain_from(node, left, right, chain) if chains else (0, node)
            if n_chain > 1:
                for c in range(n_chain):
                    in_chain[chain[c]] = chain[c] != node
                    beside, beyond = left[chain[c]], right[chain[c]]
                    start[beside] = stop[beside] = 0  # a leaf, whose rows are known then, or in the chain
                    start[beyond] = stop[beyond] = 0
                start[end], stop[end] = (
                    start[node],
                    start[node] + visit_chain(rows, here, chain[:n_chain], leaf, hashes, routes, measures),
                )
                continue
            if left[node] >= 0 or first[node] < first[node + 1]:
                n_left = visit_node(rows, here, node, spare, hashes, jitter, routes, measures)
            if left[node] >= 0:
                start[left[node]] = start[node]
                stop[left[node]] = start[right[node]] = start[node] + n_left
                stop[right[node]] = stop[node]
            else:
                for i in range(here.shape[0]):
                    leaf[here[i]] = node
    return leaf


@part
def chain_from(node, left, right, chain):
    """Write the nodes from here on of which one child is a leaf and the other is not to `chain`.

    Return how many there are, and the node that follows them.
    """
    n = 0
    while n < chain.shape[0] and left[node] >= 0 and (left[left[node]] < 0) != (left[right[node]] < 0):
        chain[n] = node
        node = right[node] if left[left[node]] < 0 else left[node]
        n += 1
    return n, node


@part
def visit_chain(rows, here, chain, leaf, hashes, routes, measures):
    """Count ``rows[here]`` at the nodes of a chain and its leaves as `visit_node` does, and write these leaves.

    Reorder `here` so that the other rows come first, in their former order, and return their number.
    """
    first = measures.first
    tile, sums, lane = np.empty((rows.shape[1], TILE)), np.empty(TILE), np.empty(TILE, dtype=np.int64)
    n_left = 0
    for start in range(0, here.shape[0], TILE):
        n = fill_tile(rows, here, start, tile)
        for i in range(n):
            lane[i] = i
        for node in chain:
            for c in range(first[node], first[node + 1]):
                combine_rows(measures.directions[c], tile, sums)
                origin, scale = measures.origin[c], 1.0 / measures.width[c]
                for k in range(n):
                    i = lane[k]
                    count_row((sums[i] - origin) * scale, node, c, hashes[here[start + i]], measures)
            last = first[node + 1] - 1
            if last < first[node] or differ(measures.directions[last], routes.planes[node]):
                combine_rows(routes.planes[node], tile, sums)
            n_on, leaf_is_left = 0, routes.left[routes.left[node]] < 0
            beside = routes.left[node] if leaf_is_left else routes.right[node]
            for k in range(n):
                i = lane[k]
                if (sums[i] <= routes.thresholds[node]) != leaf_is_left:
                    lane[n_on] = i
                    n_on += 1
                    continue
                leaf[here[start + i]] = beside
                for c in range(first[beside], first[beside + 1]):  # of few rows, one at a time
                    along = 0.0
                    for j in range(tile.shape[0]):
                        along += measures.directions[c, j] * tile[j, i]
                    scale = 1.0 / measures.width[c]
                    count_row((along - measures.origin[c]) * scale, beside, c, hashes[here[start + i]], measures)
            n = n_on
        for k in range(n):
            here[n_left] = here[start + lane[k]]
            n_left += 1
    return n_left


@part
def differ(a, b):
    """Return whether two vectors differ in any entry."""
    different = False
    for j in range(a.shape[0]):
        different |= a[j] != b[j]
    return different


@part
def count_row(place, node, c, hashed, measures):
    """Count a row whose projection is so many bins above the origin of a direction."""
    n_parts, top = np.uint64(measures.extremes.shape[1]), measures.counts.shape[2] - 1.0
    part_of = (hashed >> np.uint64(measures.bit[node])) & (n_parts - np.uint64(1))
    measures.counts[c, part_of, int(min(max(0.0, place), top))] += 1


@part
def visit_node(rows, here, node, spare, hashes, jitter, routes, measures):
    """Count ``rows[here]`` along the directions of a node; at an inner node, reorder `here` so that rows that go left
    come first, each side in its former order. Return the number of rows that go left.
    """  # noqa: D205
    directions, counts, extremes = measures.directions, measures.counts, measures.extremes
    inner, plane, threshold = routes.left[node] >= 0, routes.planes[node], routes.thresholds[node]
    first, last, bit = measures.first[node], measures.first[node + 1], np.uint64(measures.bit[node])
    tile = np.empty((rows.shape[1], TILE))
    sums, along_plane, part_of = np.empty(TILE), np.empty(TILE), np.empty(TILE, dtype=np.int64)
    n_parts = extremes.shape[1]
    n_counts = 0 if first == last else 1 + (jitter.columns.shape[0] > 0)
    n_left = n_right = 0
    for start in range(0, here.shape[0], TILE):
        size = fill_tile(rows, here, start, tile)
        if inner:
            combine_rows(plane, tile, along_plane)
        for count in range(n_counts, 0, -1):  # first the rows as they are if their values will be spread
            for i in range(size):
                part_of[i] = n_parts if count == 2 else (hashes[here[start + i]] >> bit) & np.uint64(n_parts - 1)
            if count < n_counts:
                jitter_tile(tile, here, start, size, hashes, jitter)
            for c in range(first, last):
                combine_rows(directions[c], tile, sums)
                count_tile(sums, part_of, size, measures.origin[c], 1.0 / measures.width[c], counts[c])
                if count == 1 and extremes.shape[3] > 0:
                    widen_tile(sums, part_of, size, measures.origin[c], 1.0 / measures.width[c], extremes[c])
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


@jit
def goes_left(rows, here, plane, threshold):
    """Return which of ``rows[here]`` go left at a node, by the same bits as in `sweep_branches`."""
    left, tile, along = np.empty(here.shape[0], dtype=np.bool_), np.empty((rows.shape[1], TILE)), np.empty(TILE)
    for start in range(0, here.shape[0], TILE):
        size = fill_tile(rows, here, start, tile)
        combine_rows(plane, tile, along)
        for i in range(size):
            left[start + i] = along[i] <= threshold
    return left


@part
def count_tile(sums, part_of, size, origin, scale, counts):
    """Add the first `size` projections to `counts` (parts x bins), whose outermost bins take the tails."""
    top = counts.shape[1] - 1.0
    for i in range(size):
        k = min(max(0.0, (sums[i] - origin) * scale), top)
        counts[part_of[i], int(k)] += 1


@part
def widen_tile(sums, part_of, size, origin, scale, extremes):
    """Update `extremes` (parts x 2 x bins) with the smallest and the largest of these projections in each bin."""
    top = extremes.shape[2] - 1.0
    for i in range(size):
        k = int(min(max(0.0, (sums[i] - origin) * scale), top))
        extremes[part_of[i], 0, k] = min(extremes[part_of[i], 0, k], sums[i])
        extremes[part_of[i], 1, k] = max(extremes[part_of[i], 1, k], sums[i])


@part
def fill_tile(rows, here, start, tile):
    """Write up to `TILE` rows to the columns of `tile` and return their number."""
    size = min(TILE, here.shape[0] - start)
    d = rows.shape[1]
    for begin in range(0, d, TILE):  # a square at a time, so that the written lines stay cached
        for i in range(size):
            row = rows[here[start + i]]
            for j in range(begin, min(begin + TILE, d)):
                tile[j, i] = row[j]
    return size


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


@jit
def row_margins(rows, routes, scale, first_bin, bins, tails, out):
    """Write distance, agreement and rarity of every row to `out` (rows x 3).

    Projections have the same bits as in `sweep_branches`. `scale` has the unit of the distances at each node; zero
    where unknown. The bins of node i are laid out by ``bins[i]``, origin and width; ``tails[first_bin[i] + k]`` is the
    value of the bin k of node i.

    The distance is the least one of all separators on the way, the agreement the product of the normal distribution
    function of all, and the rarity the least value of a bin on the way, at most 1.
    """
    left, right, planes, thresholds = routes
    for i in range(rows.shape[0]):
        node, distance, agreement, rarity = 0, out[i, 0], 1.0, 1.0
        while True:
            along = 0.0
            for j in range(planes.shape[1]):
                along += planes[node, j] * rows[i, j]
            n_bins = first_bin[node + 1] - first_bin[node]
            if n_bins > 0:
                k = int(min(max(0.0, (along - bins[node, 0]) * (1.0 / bins[node, 1])), n_bins - 1.0))
                rarity = min(rarity, tails[first_bin[node] + k])
            if left[node] < 0:
                break
            above = along > thresholds[node]
            if scale[node] > 0:
                z = abs(along - thresholds[node]) / scale[node]
                distance = min(distance, z)
                agreement *= 0.5 * (1.0 + erf(z / sqrt(2.0)))
            node = right[node] if above else left[node]
        out[i, 0], out[i, 1], out[i, 2] = distance, agreement, rarity
