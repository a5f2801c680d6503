"""The passes of growing a tree: a first pass over all rows, and a sweep of all branches."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._jit.blocks import loop_ready
from .._jit.branches import sweep_branches
from .._jit.columns import column_moments
from .._jit.hashing import hash_rows
from .._jit.lattices import NO_LATTICES, Lattices
from .._storable import storable
from .._typing import AnyArray, Floats, Integers
from ..chunks import Statistic
from ..density.histograms import joint_extremes, no_extremes
from ..projections.random import KeyedDirections
from ..splits.choose import Counts

HASH_RANGE = 2**64


@storable
class Sample(NamedTuple):
    """Rows with their hashes and global row numbers, in the order of the rows."""

    rows: AnyArray
    hashes: Integers
    numbers: Integers

    def take(self, which: Integers) -> "Sample":
        """Return some of the rows."""
        return Sample(*(np.take(part, which, axis=0) for part in self))

    def joined(self, other: "Sample") -> "Sample":
        """Return the rows followed by those of another sample."""
        return Sample(*(np.concatenate(pair) for pair in zip(self, other)))


@storable
class Columns(NamedTuple):
    """Number or weight of rows, and mean, sum of squared deviations, minimum and maximum of every column."""

    n: float
    mean: Floats
    deviations: Floats
    low: AnyArray
    high: AnyArray


@storable
class FirstLook(NamedTuple):
    """The value of `FirstPass`."""

    columns: Columns
    sample: Sample
    n_nan: int
    n_infinite: int
    first_bad_row: int
    """Global number of the first row with NaN or infinity, or -1."""


@storable
class BranchCounts(NamedTuple):
    """The value of `BranchPass`."""

    counts: Integers
    """Rows per bin, shape (n_directions, 2 halves, n_bins); with lattices a third entry for all raw rows."""
    extremes: Floats
    """Smallest and largest projection in every bin, (n_directions, 2 halves, 2, n_bins); without bins if not needed."""
    arrivals: Integers
    """Rows per leaf, shape (n_nodes,); zero at inner nodes."""
    sample: Sample
    leaf: Integers
    """Leaf of each row of the sample."""

    def along(self, directions: slice) -> Counts:
        """Return the counts along some of the directions."""
        return Counts(self.counts[directions], self.extremes[directions])


def sample_limit(n_wanted: float, n_rows: float) -> int:
    """Return a limit for hashes that selects at least `n_wanted` of `n_rows` rows, but for a chance of one in 1e6."""
    # Five standard deviations of the number of selected rows m: m - 5 sqrt(m) = n_wanted.
    share = (2.5 + np.sqrt(n_wanted + 6.25)) ** 2 / max(n_rows, 1)
    return HASH_RANGE - 1 if share >= 1 else int(share * HASH_RANGE)


def smallest_hashes(sample: Sample, size: int) -> Sample:
    """Return the `size` rows with the smallest hashes, in the order of the rows."""
    if len(sample.hashes) <= size:
        return sample
    keep = np.flatnonzero(sample.hashes <= np.partition(sample.hashes, size - 1)[size - 1])
    return sample.take(keep)


@dataclass(frozen=True)
class SamplePass(Statistic):
    """A sample of the rows.

    Parameters
    ----------
    seed : int
        Seed of the rows' hashes.
    limit : int
        Rows with a hash of at most this are sampled.
    array : int, default=0
        Index of the array to sample among row-aligned ones.
    """

    seed: int
    limit: int
    array: int = 0

    def chunk(self, start: int, *blocks: AnyArray) -> Sample:
        """Return the sampled rows of a block."""
        rows = blocks[self.array]
        hashes = hash_rows(self.seed, start, len(rows))
        chosen = np.flatnonzero(hashes <= np.uint64(self.limit))
        return Sample(rows[chosen], hashes[chosen], start + chosen)

    def combine(self, left: Sample, right: Sample) -> Sample:
        """Concatenate two samples."""
        return left.joined(right)


@dataclass(frozen=True)
class FirstPass(Statistic):
    """Column moments and ranges, a sample of the rows, and the positions of NaN and infinities.

    Parameters
    ----------
    seed : int
        Seed of the rows' hashes.
    limit : int
        Rows with a hash of at most this are sampled.
    """

    seed: int
    limit: int

    def chunk(self, start: int, *blocks: AnyArray) -> FirstLook:
        """Return the state of one block of rows."""
        rows = loop_ready(blocks[0])
        columns = columns_of(rows)
        n_nan = n_infinite = 0
        first_bad = -1
        if not np.isfinite(columns.mean).all() and rows.dtype.kind == "f":
            bad = ~np.isfinite(rows)
            n_nan = int(np.isnan(rows).sum())
            n_infinite = int(bad.sum()) - n_nan
            first_bad = start + int(bad.any(axis=1).argmax()) if bad.any() else -1
        sample = SamplePass(self.seed, self.limit).chunk(start, rows)
        return FirstLook(columns, sample, n_nan, n_infinite, first_bad)

    def combine(self, left: FirstLook, right: FirstLook) -> FirstLook:
        """Merge counts, samples and, by the pairwise formula, moments."""
        return FirstLook(
            merge_columns(left.columns, right.columns),
            left.sample.joined(right.sample),
            left.n_nan + right.n_nan,
            left.n_infinite + right.n_infinite,
            left.first_bad_row if left.first_bad_row >= 0 else right.first_bad_row,
        )


@dataclass(frozen=True)
class BranchPass(Statistic):
    """Counts of all rows at the measured nodes of a tree, rows per leaf, and fresh samples of some leaves.

    Parameters
    ----------
    seed : int
        Seed of the rows' hashes, the same in all passes.
    left, right : arrays of shape (n_nodes,), int32
        Children, which follow their parents; -1 at a leaf.
    planes : array of shape (n_nodes, n_features)
    thresholds : array of shape (n_nodes,)
        A row goes left where ``plane . x <= threshold``.
    first : array of shape (n_nodes + 1,), int64
        A node is measured along the directions from ``first[node]`` to ``first[node + 1]``.
    directions : array of shape (n_directions, n_features), or a tuple of such arrays and of keys that make them
    origin, width : arrays of shape (n_directions,)
        Bins of each direction.
    n_bins : int
    bit : array of shape (n_nodes,), int64
        The bit of the hash that sets a row's half at that node.
    limit : array of shape (n_nodes,), uint64
        Rows of this leaf with a hash below the limit are sampled.
    extremes : bool
        Whether to find the smallest and the largest projection in every bin.
    lattices : Lattices
        Columns whose values are spread where rows are counted; rows are routed as they are.
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
    lattices: Lattices = NO_LATTICES

    def chunk(self, start: int, *blocks: AnyArray) -> BranchCounts:
        """Sweep one block of consecutive rows."""
        rows = loop_ready(blocks[0])
        return self.sweep(rows, hash_rows(self.seed, start, len(rows)), start + np.arange(len(rows)))

    def sweep(self, rows: AnyArray, hashes: Integers, numbers: Integers) -> BranchCounts:
        """Sweep rows with the given hashes and global numbers."""
        directions = self.directions
        if isinstance(directions, tuple):
            made = (part.make() if isinstance(part, KeyedDirections) else part for part in directions)
            directions = np.concatenate([np.empty((0, rows.shape[1])), *made])
        counts = np.zeros((len(directions), 3 if self.lattices else 2, self.n_bins), dtype=np.int64)
        extremes = no_extremes(len(directions), 2, self.n_bins if self.extremes else 0)
        leaf = sweep_branches(
            rows, self.left, self.right, self.planes, self.thresholds, self.first, self.bit, hashes,
            self.lattices, directions, self.origin, self.width, counts, extremes,
        )  # fmt: skip
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


def columns_of(rows: AnyArray) -> Columns:
    """Return the moments and ranges of the columns of some rows."""
    n, d = rows.shape
    columns = Columns(n, np.zeros(d), np.zeros(d), np.full(d, np.inf), np.full(d, -np.inf))
    column_moments(rows, *columns[1:])
    return columns


def merge_columns(a: Columns, b: Columns) -> Columns:
    """Merge moments and ranges of disjoint rows by the pairwise formula."""
    n = a.n + b.n
    share = b.n / n if n else 0.0
    # The first pass reports infinite means as bad rows, not as warnings.
    with np.errstate(invalid="ignore", over="ignore"):
        delta = b.mean - a.mean
        mean, deviations = a.mean + delta * share, a.deviations + b.deviations + delta**2 * a.n * share
    return Columns(n, mean, deviations, np.minimum(a.low, b.low), np.maximum(a.high, b.high))
