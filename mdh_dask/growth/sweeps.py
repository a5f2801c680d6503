"""Sweeps of all branches of a tree: counts of all rows along the directions of their branches."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._jit.branches import Measures, Routes, sweep_branches
from .._jit.hashing import hash_rows
from .._jit.jitter import NO_JITTER, Jitter
from .._jit.rows import loop_ready
from .._storable import storable
from .._typing import AnyArray, Booleans, Floats, Integers
from ..chunks import Statistic
from ..density.histograms import joint_extremes, no_extremes
from ..projections.random import KeyedDirections
from ..splits.choose import TWO_HALVES, Counts
from ..splits.dependence import N_PARTS
from .passes import FirstLook, FirstPass, Sample, hashes_of


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

    seed: seed of the rows' hashes, the same in all passes.
    left, right (n_nodes,) int32: children, which follow their parents; -1 at a leaf.
    planes (n_nodes, n_features).
    thresholds (n_nodes,): a row goes left where ``plane . x <= threshold``.
    first (n_nodes + 1,) int64: a node is measured along the directions from ``first[node]`` to ``first[node + 1]``.
    directions (n_directions, n_features) or a tuple of such arrays and of keys that make them.
    origin, width (n_directions,): bins of each direction.
    bit (n_nodes,) int64: the bit of the hash that sets a row's half at that node.
    limit (n_nodes,) uint64: rows of this leaf with a hash below the limit are sampled.
    extremes: whether to find the smallest and the largest projection in every bin.
    jitter: columns whose values are spread where rows are counted; rows are routed as they are.
    parts_at: index of the array with the part of every row, if rows depend on each other; None for two halves.
    """

    seed: int
    left: Integers
    right: Integers
    planes: Floats
    thresholds: Floats
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
        """Sweep one block of consecutive rows."""
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
        routes = Routes(self.left, self.right, self.planes, self.thresholds)
        measures = Measures(self.first, self.bit, directions, self.origin, self.width, counts, extremes)
        leaf = sweep_branches(rows, routes, measures, hashes, self.jitter)
        chosen = np.flatnonzero(hashes < self.limit[leaf])
        sample = Sample(rows[chosen], hashes[chosen], numbers[chosen])
        arrivals = np.bincount(leaf, minlength=len(self.left))
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
        """Return the states of both statistics for one block of rows."""
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
        """Combine the states of both statistics."""
        return self.first.combine(left[0], right[0]), self.counts.combine(left[1], right[1])
