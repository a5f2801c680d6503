"""The test of `mdh_dask.valleys` between clusters of contours, on rows that were not used to draw them.

The contours of one half of the rows are spread to cells that cover all rows. That half also chooses the places of the
core of each cell and of the cut between two, and the rows of the other half are counted there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist, squareform

from .._jit.contours import flood, kernel_totals, lowest_along
from .._jit.hashing import hash_again
from .._typing import Booleans, Floats, Integers
from ..valleys.merging import FEWEST, LEVEL, Merged, merge_cells
from ..valleys.pair_tests import Halves
from .adjacency import neighbour_pairs, points_between

PLACES = 3
"""Key of the hashes whose bits halve the rows that choose places."""

ROWS_TO_HALVE = 1000
"""Least number of rows, of the half that drew the contours, that are halved twice to choose places. A contour has
stray rows in other clusters, and a line through one of them may miss the valley between two clusters: each half of the
rows that choose has only some of these. With fewer rows, halves choose worse places than all rows do."""

ROWS_TO_SHOW = 1000
"""Number of rows, of the half that drew the contours, that must show valleys."""


def connecting_edges(points: Floats, n_neighbors: int) -> Integers:
    """Return the pairs of neighbouring points and the edges of the minimum spanning tree, which connect all points."""
    tree = minimum_spanning_tree(squareform(pdist(points))).tocoo()
    pairs = np.vstack([neighbour_pairs(points, n_neighbors), np.sort(np.column_stack([tree.row, tree.col]), axis=1)])
    return np.unique(pairs, axis=0)


def densest_first(edges: Integers, points: Floats, counts: Floats, width: float) -> Integers:
    """Return the edges in descending order of the lowest density of rows between their ends."""
    shares = counts / counts.sum()
    lowest, _ = lowest_along(points, edges, points_between(points, edges, width, None), points, shares, width)
    lowest = np.minimum(lowest, kernel_totals(points, points, shares, width)[edges].min(axis=1))
    return edges[np.argsort(-lowest, kind="stable")]


class Confirmed(NamedTuple):
    """Clusters between which rows show valleys."""

    labels: Integers
    merged: Merged | None = None
    """The merges; None if rows were too few to test."""

    @property
    def evidence(self) -> float:
        """The weakest evidence of a valley between two of them, in standard errors; infinite for one."""
        return min((found for _, found in self.merged.apart), default=np.inf) if self.merged else np.inf

    @property
    def failed(self) -> tuple[float, float]:
        """The strongest evidence of clusters that were merged, minus infinity if none were, and what it needed."""
        return (max(self.merged.evidence, default=-np.inf), self.merged.threshold) if self.merged else (-np.inf, np.inf)


@dataclass(frozen=True)
class Rows:
    """The rows that draw contours, and those that test them.

    points (n_rows, n_features) float64: standardised rows, in ascending order of their hashes.
    hashes (n_rows,) uint64.
    first (n_rows,) bool: the half that draws contours.
    in_groups: whether the last bits of the hashes are the parts of dependent rows.
    """

    points: Floats
    hashes: Integers
    first: Booleans
    in_groups: bool = False

    def nearest(self, landmarks: Floats) -> Integers:
        """Return the landmark that is nearest to each row, shape (n_rows,)."""
        return np.asarray(cKDTree(landmarks).query(self.points)[1])

    def shown(self, edges: Integers, labels: Integers, nearest: Integers) -> Confirmed:
        """Return labels with clusters merged if the first rows that drew them show no valley; see `confirmed`."""
        own = np.flatnonzero(self.first)[:ROWS_TO_SHOW]
        every = np.ones(len(own), dtype=np.bool_)
        return Rows(self.points[own], self.hashes[own], every, self.in_groups)._merged(
            edges, labels, nearest[own], [(every, every)], LEVEL * (int(labels.max()) + 1)
        )

    def confirmed(self, edges: Integers, labels: Integers, nearest: Integers, level: float) -> Confirmed:
        """Return labels with clusters merged if the other half shows no valley between them.

        edges (n_edges, 2): along these, labels spread to landmarks without one, in their order.
        labels (n_landmarks,): clusters of the landmarks: 0, 1, ...; -1 outside.
        nearest (n_rows,): the landmark that is nearest to each row.
        level: probability of a false cluster.
        """
        return self._merged(edges, labels, nearest, [(own, ~self.first) for own in self._choosing()], level)

    def _choosing(self) -> list[Booleans]:
        """Return the rows that choose places in turn: evidence is the mean over them."""
        if np.count_nonzero(self.first) < ROWS_TO_HALVE:
            return [self.first]
        again = hash_again(self.hashes, PLACES)
        bits = [(again >> np.uint64(number)) & np.uint64(1) == 0 for number in range(2)]
        return [self.first & half for bit in bits for half in (bit, ~bit)]

    def _merged(
        self, edges: Integers, labels: Integers, nearest: Integers, halves: Sequence[Halves], level: float
    ) -> Confirmed:
        n_cells = int(labels.max()) + 1
        if len(self.points) < FEWEST:  # too few to test
            return Confirmed(np.minimum(labels, 0))
        merged = merge_cells(
            self.points, self.hashes, flood(edges, labels)[nearest], n_cells, smooth=False, in_groups=self.in_groups,
            level=level, halves=halves,
        )  # fmt: skip
        return Confirmed(np.where(labels < 0, -1, merged.group[labels]), merged)
