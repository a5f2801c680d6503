"""How far rows lie from the separators on their way through a tree, and how dense it is where they lie."""

from math import erf, sqrt

from .._numba import jit


@jit
def row_margins(rows, tree, scale, first_bin, bins, tails, out):
    """Write distance, agreement and rarity of every row to `out` (rows x 3).

    `tree` is ``(left, right, planes, thresholds)`` as in `sweep_branches`, with the same bits of the projections.
    `scale` has the unit of the distances at each node; zero where unknown. The bins of node i are laid out by
    ``bins[i]``, origin and width; ``tails[first_bin[i] + k]`` is the value of the bin k of node i.

    The distance is the least one of all separators on the way, the agreement the product of the normal distribution
    function of all, and the rarity the least value of a bin on the way times the number of nodes with bins.
    """
    left, right, planes, thresholds = tree
    for i in range(rows.shape[0]):
        node, n_measured = 0, 0
        distance, agreement, rarity = out[i, 0], 1.0, 1.0
        while True:
            along = 0.0
            for j in range(planes.shape[1]):
                along += planes[node, j] * rows[i, j]
            n_bins = first_bin[node + 1] - first_bin[node]
            if n_bins > 0:
                k = int(min(max((along - bins[node, 0]) * (1.0 / bins[node, 1]), 0.0), n_bins - 1.0))
                rarity = min(rarity, tails[first_bin[node] + k])
                n_measured += 1
            if left[node] < 0:
                break
            above = along > thresholds[node]
            if scale[node] > 0:
                z = abs(along - thresholds[node]) / scale[node]
                distance = min(distance, z)
                agreement *= 0.5 * (1.0 + erf(z / sqrt(2.0)))
            node = right[node] if above else left[node]
        out[i, 0], out[i, 1], out[i, 2] = distance, agreement, min(rarity * max(n_measured, 1), 1.0)
