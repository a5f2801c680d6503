"""The first pass over all rows: moments and ranges of the columns, and a sample."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._jit.hashing import hash_rows
from .._jit.rows import column_moments, loop_ready
from .._sparse import SparseRows
from .._storable import storable
from .._typing import AnyArray, Floats, Integers
from ..chunks import Pass, Plan, Statistic
from ..splits.dependence import N_PARTS, parts_in

HASH_RANGE = 2**64

RESERVOIR_VALUES = 2**25
"""Most values in the samples of one pass, if these are enough rows: a worker and the driver hold them (128 MiB)."""


def rows_in_memory(wanted: int, n_columns: int, least: int = 1) -> int:
    """Return the number of rows to sample: as many as wanted, fewer with many columns, but not fewer than the least.

    >>> rows_in_memory(40_000, 50), rows_in_memory(40_000, 2000), rows_in_memory(40_000, 20_000, least=10_000)
    (40000, 16777, 10000)
    """
    return max(min(wanted, RESERVOIR_VALUES // n_columns), least)


@storable
class Sample(NamedTuple):
    """Rows with their hashes and global row numbers, in the order of the rows."""

    rows: AnyArray
    hashes: Integers
    numbers: Integers

    def take(self, which: Integers) -> "Sample":
        """Return some of the rows."""
        return Sample(*(np.take(part, which, axis=0) for part in self))

    def first(self, size: int) -> "Sample":
        """Return the `size` rows with the smallest hashes, in the order of the rows: a sample of the sample."""
        if len(self.hashes) <= size:
            return self
        return self.take(np.flatnonzero(self.hashes <= np.partition(self.hashes, size - 1)[size - 1]))

    def in_random_order(self, size: int | None = None) -> "Sample":
        """Return the rows, or `size` of them, in the order of their hashes: the first of them are a sample, too."""
        return self.take(np.argsort(self.hashes, kind="stable")[:size])

    def without(self, columns: Integers) -> "Sample":
        """Return the sample with zeros in some columns."""
        if len(columns) == 0:
            return self
        rows = self.rows.copy()
        rows[:, columns] = 0
        return self._replace(rows=rows)

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


def sample_limit(n_wanted: float, n_rows: float) -> int:
    """Return a limit for hashes that selects at least `n_wanted` of `n_rows` rows, but for a chance of one in 1e6."""
    # Five standard deviations of the number of selected rows m: m - 5 sqrt(m) = n_wanted.
    share = (2.5 + np.sqrt(n_wanted + 6.25)) ** 2 / max(n_rows, 1)
    return HASH_RANGE - 1 if share >= 1 else int(share * HASH_RANGE)


def hashes_of(seed: int, start: int, blocks: Sequence[AnyArray], parts_at: int | None) -> Integers:
    """Return the hashes of the rows of blocks, which say who is sampled and who chooses.

    Where rows depend on each other, the array at the index `parts_at` holds the part of each row, see
    `splits.dependence`. Then the last bits of a hash are the part, so that rows of one part are always together.
    """
    hashes: Integers = hash_rows(seed, start, len(blocks[0]))
    return hashes if parts_at is None else in_parts(hashes, blocks[parts_at])


def in_parts(hashes: Integers, parts: Integers) -> Integers:
    """Return hashes with the part of each row in their last bits."""
    last = np.uint64(N_PARTS - 1)
    return (hashes & ~last) | (parts & parts.dtype.type(last))


@dataclass(frozen=True)
class SamplePass(Statistic):
    """A sample of the rows.

    array: index of the array to sample among row-aligned ones.
    """

    seed: int
    limit: int
    array: int = 0
    parts_at: int | None = None

    takes_sparse = True  # only sampled rows become dense

    def chunk(self, start: int, *blocks: AnyArray) -> Sample:
        hashes = hashes_of(self.seed, start, blocks, self.parts_at)
        chosen = np.flatnonzero(hashes <= np.uint64(self.limit))
        rows: Any = blocks[self.array][chosen]
        rows = rows.dense() if isinstance(rows, SparseRows) else rows
        return Sample(loop_ready(rows), hashes[chosen], start + chosen)

    def combine(self, left: Sample, right: Sample) -> Sample:
        return left.joined(right)


@dataclass(frozen=True)
class FirstPass(Statistic):
    """Column moments and ranges, a sample of the rows, and the positions of NaN and infinities."""

    seed: int
    limit: int
    parts_at: int | None = None

    def chunk(self, start: int, *blocks: AnyArray) -> FirstLook:
        rows = loop_ready(blocks[0])
        columns = columns_of(rows)
        n_nan = n_infinite = 0
        first_bad = -1
        if not np.isfinite(columns.mean).all() and rows.dtype.kind == "f":
            bad = ~np.isfinite(rows)
            n_nan = int(np.isnan(rows).sum())
            n_infinite = int(bad.sum()) - n_nan
            first_bad = start + int(bad.any(axis=1).argmax()) if bad.any() else -1
        sample = SamplePass(self.seed, self.limit, parts_at=self.parts_at).chunk(start, rows, *blocks[1:])
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


def columns_of(rows: AnyArray) -> Columns:
    """Return the moments and ranges of the columns of some rows."""
    n, d = rows.shape
    columns = Columns(n, np.zeros(d), np.zeros(d), np.full(d, np.inf), np.full(d, -np.inf))
    column_moments(loop_ready(rows), *columns[1:])
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


def draw(seed: int, n_wanted: int, n_rows: int, parts_at: int | None = None, array: int = 0) -> Plan[Sample]:
    """Plan a pass that draws `n_wanted` rows of an array, or all of fewer; see `hashes_of` for `parts_at`."""
    drawn: Sample = yield Pass("sampling", SamplePass(seed, sample_limit(n_wanted, n_rows), array, parts_at))
    return drawn.first(n_wanted)


def first_read(
    seed: int, n_wanted: int, n_rows: int, check: Callable[[FirstLook], None], parts_at: int | None = None
) -> Plan[FirstLook]:
    """Plan the first pass, which measures the columns and draws `n_wanted` of the rows, or all of fewer."""
    look: FirstLook = yield Pass("reading", FirstPass(seed, sample_limit(n_wanted, n_rows), parts_at))
    check(look)
    return look._replace(sample=look.sample.first(n_wanted))


def of_all_rows(verb: str, statistic: Statistic, sample: Sample, n_rows: int) -> Plan[Any]:
    """Plan a statistic of all rows, without a pass if the sample of a first read holds them.

    It reads the parts of dependent rows beside them, if it needs these.
    """
    if len(sample.rows) == n_rows:
        return statistic.finalise(statistic.chunk(0, sample.rows, parts_in(sample.hashes)))
    return (yield Pass(verb, statistic))


PILOT_ROWS = 1024
"""Sample rows of a branch that set the bins of its histograms if every direction is scored on all rows."""


def rows_held(sample_size: int, n_columns: int) -> int:
    """Return the number of rows in the root's sample, and in all fresh samples of one pass together."""
    return rows_in_memory(4 * sample_size, n_columns, least=sample_size)
