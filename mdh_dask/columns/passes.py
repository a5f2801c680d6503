"""Passes over mixed columns, whose values may be missing: their ranges and distinct values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._jit.rows import loop_ready
from .._storable import storable
from .._typing import AnyArray, Floats, Integers
from ..chunks import Statistic


@storable
class TypedLook(NamedTuple):
    """The value of `TypedPass`."""

    low: Floats
    """Smallest value of every column; infinite if all are missing."""
    high: Floats
    n_missing: Integers
    """Number of missing values in every column."""
    n_infinite: int
    first_infinite: int
    """Global number of the first row with an infinite value, or -1."""


@dataclass(frozen=True)
class TypedPass(Statistic):
    """Ranges of the columns, some of whose values are missing, and the positions of infinities."""

    def chunk(self, start: int, *blocks: AnyArray) -> TypedLook:
        rows = loop_ready(blocks[0])
        d = rows.shape[1]
        low, high, n_missing = np.full(d, np.inf), np.full(d, -np.inf), np.zeros(d, dtype=np.int64)
        n_infinite, first = 0, -1
        if len(rows):
            low, high = np.fmin(low, np.fmin.reduce(rows)), np.fmax(high, np.fmax.reduce(rows))
        if rows.dtype.kind == "f":
            n_missing += np.isnan(rows).sum(axis=0)
            infinite = np.isinf(rows)
            n_infinite = int(np.count_nonzero(infinite))
            first = start + int(infinite.any(axis=1).argmax()) if n_infinite else -1
        return TypedLook(low, high, n_missing, n_infinite, first)

    def combine(self, left: TypedLook, right: TypedLook) -> TypedLook:
        return TypedLook(
            np.minimum(left.low, right.low),
            np.maximum(left.high, right.high),
            left.n_missing + right.n_missing,
            left.n_infinite + right.n_infinite,
            left.first_infinite if left.first_infinite >= 0 else right.first_infinite,
        )


@storable
class DistinctValues(NamedTuple):
    """The value of `DistinctPass`."""

    values: Floats
    """Distinct values of every column in ascending order, one column after the other."""
    counts: Integers
    """Number of distinct values of every column, or -1 if there are more than the limit."""

    def of(self, column: int) -> Floats | None:
        """Return the distinct values of a column, or None if there are too many."""
        if self.counts[column] < 0:
            return None
        start = int(self.counts[:column].clip(0).sum())
        return self.values[start : start + int(self.counts[column])]


@dataclass(frozen=True)
class DistinctPass(Statistic):
    """Distinct values of every column, without missing ones, if they are few.

    limits (n_features,) int64: most distinct values of each column.
    """

    limits: Integers

    def chunk(self, start: int, *blocks: AnyArray) -> DistinctValues:
        rows = blocks[0]
        return self._within([np.unique(column[column == column]).astype(np.float64) for column in rows.T])

    def combine(self, left: DistinctValues, right: DistinctValues) -> DistinctValues:
        joined: list[Floats | None] = []
        for column in range(len(self.limits)):
            a, b = left.of(column), right.of(column)
            joined.append(None if a is None or b is None else np.union1d(a, b))
        return self._within(joined)

    def _within(self, columns: Sequence[Floats | None]) -> DistinctValues:
        counts = [-1 if x is None or len(x) > limit else len(x) for x, limit in zip(columns, self.limits)]
        kept = [x for x, count in zip(columns, counts) if x is not None and count >= 0]
        return DistinctValues(np.concatenate([np.empty(0), *kept]), np.array(counts, dtype=np.int64))
