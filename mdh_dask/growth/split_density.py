"""The pass that measures the density near every split of a tree, and its gradient, along some directions each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from .._jit.hashing import hash_rows
from .._jit.rows import loop_ready
from .._jit.sums import RowSums, sum_rows_in_bins
from .._jit.valleys import Penalty, descend_to_valley
from .._storable import storable
from .._typing import AnyArray, Booleans, Floats, Integers
from ..chunks import Statistic
from ..projections.directions import Axes
from ..tree.routing import leaves_of
from ..tree.structure import Tree
from .scaling import Standardiser

REACH = 4
"""Bandwidths on both sides of a split within which rows count."""

BINS_PER_BANDWIDTH = 8

ROWS_AT_ONCE = 8192
"""Rows that are copied together where their values are jittered."""

N_BINS = 2 * REACH * BINS_PER_BANDWIDTH


@storable
class ValleySums(NamedTuple):
    """Sums of the rows near splits."""

    n_rows: Integers
    """Number of rows of each split, shape (n_splits,)."""
    counts: Integers
    """Rows per bin, shape (n_splits, n_trials, N_BINS)."""
    sums: Floats
    """Sums of the standardised rows per bin, shape (n_splits, n_trials, N_BINS, n_features)."""


@storable
class RangedSums(NamedTuple):
    """The value of `ValleyPass`."""

    near: ValleySums
    low: Floats
    """Smallest projection of all rows of the split, shape (n_splits, n_trials)."""
    high: Floats


class Valley(NamedTuple):
    """The lowest density near a split, for unit directions of the standardised rows."""

    value: float
    place: float
    """Threshold in units of the projections; NaN if the density only falls towards an end of the bins."""
    gradient: Floats
    """Gradient of the density by the direction, tangent to the unit sphere."""
    centre: Floats
    """Mean of the standardised rows around the valley."""


@dataclass(frozen=True)
class ValleyPass(Statistic):
    """Sums of the rows around the splits of a tree, along some directions for each.

    A state takes ``512 n_features`` bytes for each direction. All sums are exact, and so independent of the chunks.

    splits (n_splits,) int: inner nodes to measure.
    directions (n_splits, n_trials, n_features): directions for raw rows.
    origin (n_splits, n_trials): lower end of the first bin.
    width (n_splits,): width of a bin.
    """

    tree: Tree
    splits: Integers
    directions: Floats
    origin: Floats
    width: Floats
    standardise: Standardiser

    @classmethod
    def along(cls, axes: Sequence[Axes], tree: Tree, splits: Integers, standardise: Standardiser) -> Self:
        """Return the statistic along axes of the splits, as many for each; the bins of a split have one width."""
        directions = np.array([own.directions.vectors for own in axes])
        origin, width = np.array([own.origin for own in axes]), np.array([own.width[0] for own in axes])
        return cls(tree, splits, directions, origin, width, standardise)

    def chunk(self, start: int, *blocks: AnyArray) -> RangedSums:
        """Sum the rows of one block."""
        rows = loop_ready(blocks[0])
        tree, standardise = self.tree, self.standardise
        leaf = leaves_of(rows, tree.left, tree.right, tree.planes, tree.thresholds)
        n_splits, n_trials, d = self.directions.shape
        counts = np.zeros((n_splits, n_trials, N_BINS), dtype=np.int64)
        sums = np.zeros((n_splits, n_trials, N_BINS, d))
        low, high = np.full((n_splits, n_trials), np.inf), np.full((n_splits, n_trials), -np.inf)
        n_rows = np.zeros(n_splits, dtype=np.int64)
        for i, under in enumerate(leaves_under(tree, self.splits)):
            chosen = np.flatnonzero(under[leaf])
            n_rows[i] = len(chosen)
            for values, some in self._jittered(rows, chosen, start):
                sum_rows_in_bins(
                    values, some, self.directions[i], self.origin[i], np.full(n_trials, self.width[i]),
                    standardise.centre, standardise.scale, RowSums(counts[i], sums[i], low[i], high[i]),
                )  # fmt: skip
        return RangedSums(ValleySums(n_rows, counts, sums), low, high)

    def _jittered(self, rows: AnyArray, chosen: Integers, start: int) -> Iterator[tuple[AnyArray, Integers]]:
        """Yield rows and which of them are chosen; where values are jittered, copies of a few at a time."""
        discrete = self.standardise.discrete
        if not discrete.jitter:
            yield rows, chosen
            return
        hashes = hash_rows(0, start, len(rows))
        for first in range(0, len(chosen), ROWS_AT_ONCE):
            some = chosen[first : first + ROWS_AT_ONCE]
            yield discrete.jittered(rows[some], hashes[some]), np.arange(len(some))

    def combine(self, left: RangedSums, right: RangedSums) -> RangedSums:
        """Add the sums and merge the ranges."""
        a, b = left.near, right.near
        near = ValleySums(a.n_rows + b.n_rows, a.counts + b.counts, a.sums + b.sums)
        return RangedSums(near, np.minimum(left.low, right.low), np.maximum(left.high, right.high))


def leaves_under(tree: Tree, nodes: Integers) -> Booleans:
    """Return a mask of the nodes of a tree that are, or descend from, each of some nodes, (len(nodes), n_nodes)."""
    under = np.zeros((len(nodes), tree.n_nodes), dtype=bool)
    parent = tree.parent
    for i, ancestor in enumerate(nodes):
        under[i, ancestor] = True
        for node in range(int(ancestor) + 1, tree.n_nodes):
            under[i, node] = under[i, parent[node]]
    return under


def valley_of(n_rows: int, counts: AnyArray, sums: Floats, direction: Floats, origin: float, h: float) -> Valley:
    """Return the valley along one unit direction from the sums around a split.

    n_rows: number of rows of the node.
    counts, sums (N_BINS,) and (N_BINS, n_features).
    direction (n_features,): unit direction for standardised rows.
    origin: lower end of the first bin.
    h: bandwidth.
    """
    centres = origin + h / BINS_PER_BANDWIDTH * (np.arange(N_BINS) + 0.5)
    low, high = centres[0] + h, centres[-1] - h
    # A coarse grid gives the start of Newton's method.
    grid = np.linspace(low, high, 2 * N_BINS)
    u = (centres - grid[:, None]) / h
    start = grid[(np.exp(-0.5 * u**2) @ counts).argmin()]
    weights = counts.astype(np.float64)
    none = np.empty(0)
    density = Penalty(float(h), 0.0, 1.0, 0.0, np.empty((0, 0)), none, 0.0, 0.0)  # without any penalty
    value, place = descend_to_valley(centres, weights, max(n_rows, 1), none, np.inf, density, (low, start, high), 1e-8)
    u = (centres - place) / h
    kernel = np.exp(-0.5 * u**2)
    gradient = (-u * kernel) @ sums / (max(n_rows, 1) * h**2 * np.sqrt(2 * np.pi))
    centre = kernel @ sums / max(kernel @ weights, 1e-300)
    at_end = min(place - low, high - place) < 1e-3 * h
    return Valley(value, np.nan if at_end else place, gradient - (gradient @ direction) * direction, centre)
