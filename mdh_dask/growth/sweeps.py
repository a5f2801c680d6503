"""Sweeps of all branches of a tree: counts of all rows along the directions of their branches."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from .._jit.branches import Measures, Routes, sweep_branches
from .._jit.hashing import NO_JITTER, Jitter, hash_rows
from .._jit.rows import few_at_once, loop_ready
from .._jit.sums import RowSums, sum_rows_in_bins
from .._jit.valleys import Penalty, descend_to_valley
from .._storable import storable
from .._typing import AnyArray, Booleans, Floats, Integers
from ..chunks import Statistic
from ..density.histograms import joint_extremes, no_extremes
from ..projections.directions import Axes, KeyedDirections
from ..splits.choose import TWO_HALVES, Counts
from ..splits.dependence import N_PARTS
from ..tree.editing import nodes_below
from ..tree.routing import leaves_of
from ..tree.structure import Tree
from .passes import FirstLook, FirstPass, Sample, hashes_of
from .scaling import Standardiser


@storable
class BranchCounts(NamedTuple):
    """The value of `BranchPass`."""

    counts: Integers
    """Rows per bin, shape (n_directions, n_parts, n_bins); with jitter one more entry for all raw rows."""
    extremes: Floats
    """Smallest and largest projection in every bin, (n_directions, n_parts, 2, n_bins); without bins if not needed."""
    arrivals: Integers
    """Rows per leaf, shape (n_nodes,); zero at inner nodes."""
    sample: Sample
    leaf: Integers
    """Leaf of each row of the sample."""

    def along(self, directions: slice, first: Booleans = TWO_HALVES) -> Counts:
        """Return the counts along some of the directions, in parts of which some are the half that chooses."""
        return Counts(self.counts[directions], self.extremes[directions], first)


@dataclass(frozen=True)
class BranchPass(Statistic):
    """Counts of all rows at the measured nodes of a tree, rows per leaf, and fresh samples of some leaves.

    first (n_nodes + 1,) int64: a node is measured along the directions from ``first[node]`` to ``first[node + 1]``.
    directions (n_directions, n_features) or a tuple of such arrays and of keys that make them.
    origin, width (n_directions,): bins of each direction.
    bit (n_nodes,) int64: the bit of the hash that sets a row's half at that node.
    limit (n_nodes,) uint64: rows of this leaf with a hash below the limit are sampled.
    jitter: columns whose values are spread where rows are counted; rows are routed as they are.
    parts_at: index of the array with the part of every row, if rows depend on each other; None for two halves.
    """

    seed: int
    routes: Routes
    first: Integers
    directions: "Floats | tuple[Floats | KeyedDirections, ...]"
    origin: Floats
    width: Floats
    n_bins: int
    bit: Integers
    limit: Integers
    extremes: bool = False
    jitter: Jitter = NO_JITTER
    parts_at: int | None = None

    def chunk(self, start: int, *blocks: AnyArray) -> BranchCounts:
        rows = loop_ready(blocks[0])
        return self.sweep(rows, hashes_of(self.seed, start, blocks, self.parts_at), start + np.arange(len(rows)))

    def sweep(self, rows: AnyArray, hashes: Integers, numbers: Integers) -> BranchCounts:
        """Sweep rows with the given hashes and global numbers."""
        directions = self.directions
        if isinstance(directions, tuple):
            made = (part.make() if isinstance(part, KeyedDirections) else part for part in directions)
            directions = np.concatenate([np.empty((0, rows.shape[1])), *made])
        n_parts = len(TWO_HALVES) if self.parts_at is None else N_PARTS
        counts = np.zeros((len(directions), n_parts + bool(self.jitter), self.n_bins), dtype=np.int64)
        extremes = no_extremes(len(directions), n_parts, self.n_bins if self.extremes else 0)
        measures = Measures(self.first, self.bit, directions, self.origin, self.width, counts, extremes)
        leaf = sweep_branches(rows, self.routes, measures, hashes, self.jitter)
        chosen = np.flatnonzero(hashes < self.limit[leaf])
        sample = Sample(rows[chosen], hashes[chosen], numbers[chosen])
        arrivals = np.bincount(leaf, minlength=len(self.limit))
        return BranchCounts(counts, extremes, arrivals, sample, leaf[chosen])

    def combine(self, left: BranchCounts, right: BranchCounts) -> BranchCounts:
        """Add counts, and merge extremes and samples."""
        return BranchCounts(
            left.counts + right.counts,
            joint_extremes(left.extremes, right.extremes),
            left.arrivals + right.arrivals,
            left.sample.joined(right.sample),
            np.concatenate([left.leaf, right.leaf]),
        )


@dataclass(frozen=True)
class UpdatePass(Statistic):
    """A first pass over new rows together with their counts in a tree, which skip rows that are not finite."""

    first: FirstPass
    counts: BranchPass

    def chunk(self, start: int, *blocks: AnyArray) -> tuple[FirstLook, BranchCounts]:
        look = self.first.chunk(start, *blocks)
        if not (look.n_nan or look.n_infinite):
            return look, self.counts.chunk(start, *blocks)
        # Projections of NaN have no bin, and the loops would write outside the array.
        rows = loop_ready(blocks[0])
        finite = np.flatnonzero(np.isfinite(rows).all(axis=1))
        hashes = hash_rows(self.counts.seed, start, len(rows))[finite]
        return look, self.counts.sweep(rows[finite], hashes, start + finite)

    def combine(
        self, left: tuple[FirstLook, BranchCounts], right: tuple[FirstLook, BranchCounts]
    ) -> tuple[FirstLook, BranchCounts]:
        return self.first.combine(left[0], right[0]), self.counts.combine(left[1], right[1])


REACH = 4
"""Bandwidths on both sides of a split within which rows count."""

BINS_PER_BANDWIDTH = 8


N_BINS = 2 * REACH * BINS_PER_BANDWIDTH


@storable
class ValleySums(NamedTuple):
    """The value of `ValleyPass`: sums of the rows near splits, and the range of all their rows."""

    n_rows: Integers
    """Number of rows of each split, shape (n_splits,)."""
    counts: Integers
    """Rows per bin, shape (n_splits, n_trials, N_BINS)."""
    sums: Floats
    """Sums of the standardised rows per bin, shape (n_splits, n_trials, N_BINS, n_features)."""
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

    def chunk(self, start: int, *blocks: AnyArray) -> ValleySums:
        rows = loop_ready(blocks[0])
        tree, standardise = self.tree, self.standardise
        leaf = leaves_of(rows, tree.routes)
        n_splits, n_trials, d = self.directions.shape
        counts = np.zeros((n_splits, n_trials, N_BINS), dtype=np.int64)
        sums = np.zeros((n_splits, n_trials, N_BINS, d))
        low, high = np.full((n_splits, n_trials), np.inf), np.full((n_splits, n_trials), -np.inf)
        n_rows = np.zeros(n_splits, dtype=np.int64)
        for i, node in enumerate(self.splits):
            chosen = np.flatnonzero(nodes_below(tree, node)[leaf])
            n_rows[i] = len(chosen)
            for values, some in self._jittered(rows, chosen, start):
                sum_rows_in_bins(
                    values, some, self.directions[i], self.origin[i], np.full(n_trials, self.width[i]),
                    standardise.centre, standardise.scale, RowSums(counts[i], sums[i], low[i], high[i]),
                )  # fmt: skip
        return ValleySums(n_rows, counts, sums, low, high)

    def _jittered(self, rows: AnyArray, chosen: Integers, start: int) -> Iterator[tuple[AnyArray, Integers]]:
        """Yield rows and which of them are chosen; where values are jittered, copies of a few at a time."""
        discrete = self.standardise.discrete
        if not discrete.jitter:
            yield rows, chosen
            return
        hashes = hash_rows(0, start, len(rows))
        for part in few_at_once(len(chosen)):
            some = chosen[part]
            yield discrete.jittered(rows[some], hashes[some]), np.arange(len(some))

    def combine(self, left: ValleySums, right: ValleySums) -> ValleySums:
        added: ValleySums = super().combine(left, right)
        return added._replace(low=np.minimum(left.low, right.low), high=np.maximum(left.high, right.high))


def valley_of(n_rows: int, counts: AnyArray, sums: Floats, direction: Floats, origin: float, h: float) -> Valley:
    """Return the valley along one unit direction from the sums around a split.

    counts, sums (N_BINS,) and (N_BINS, n_features).
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
