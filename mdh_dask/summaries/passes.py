"""Passes that count levels, missing and distinct values, ranges, and the rows nearest to separators."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._jit.hashing import hash_rows
from .._jit.rows import loop_ready
from .._storable import storable
from .._typing import AnyArray, Booleans, Floats, Integers
from ..chunks import Statistic
from ..columns.coding import Coder, coded, column_of, tables_in
from ..growth.labelled import UNLABELLED
from .moments import MomentPass, SlicedSums

Unseen = tuple[tuple[tuple[str, int], ...], ...]
"""Unknown levels of every column and their numbers of rows, by name."""


@dataclass(frozen=True)
class FrequencyPass(Statistic):
    """Number of rows with each level of some columns in every cluster; the blocks are labels and rows of codes.

    The value is an array of shape (n_clusters, n_levels + 2) for each column: rows with each level, with an unknown
    one, and without a value.
    """

    n_clusters: int
    columns: tuple[int, ...]
    n_levels: tuple[int, ...]
    """Numbers of the columns, and of their levels."""
    lowest: int = 0
    """The lowest label."""

    def chunk(self, start: int, *blocks: AnyArray) -> tuple[Integers, ...]:
        labels = np.asarray(blocks[0], dtype=np.intp) - self.lowest
        return tuple(self._counts(labels, blocks[1][:, j], n) for j, n in zip(self.columns, self.n_levels))

    def _counts(self, labels: Integers, codes: AnyArray, n_levels: int) -> Integers:
        place = np.where(np.isnan(codes), n_levels + 1, codes).astype(np.intp)
        width = n_levels + 2
        return np.bincount(labels * width + place, minlength=self.n_clusters * width).reshape(self.n_clusters, width)


@dataclass(frozen=True)
class LevelPass(Statistic):
    """Number of rows with each level of some columns, with an unknown one, and without a value.

    The value is an array of shape (n_levels + 2,) for each column.
    """

    columns: tuple[int, ...]
    n_levels: tuple[int, ...]
    """Numbers of the columns, and of their levels."""
    array: int = 0
    """Which of the row-aligned arrays holds the codes."""

    def chunk(self, start: int, *blocks: AnyArray) -> tuple[Integers, ...]:
        codes = blocks[self.array]
        counts = FrequencyPass(1, self.columns, self.n_levels).chunk(start, np.zeros(len(codes), np.intp), codes)
        return tuple(of_column[0] for of_column in counts)


@dataclass(frozen=True)
class UnseenPass(Statistic):
    """Rows with each level of some columns that is not among the known ones; see `Unseen` for the value.

    A block is a matrix, or an array of tables, as for `mdh_dask.columns.coding.Levels`.
    """

    keys: tuple[Any, ...]
    """Names of the columns in a table, or their numbers in a matrix."""
    known: tuple[tuple[str, ...], ...]
    """Known levels of each column."""
    coder: Coder | None = None
    """The codes of all columns, to leave out rows without one of them; None to count all rows."""
    most: int = 100
    """Most levels of a column in the value."""

    # No job asks for levels that a model does not know.
    journalled = False

    def chunk(self, start: int, *blocks: AnyArray) -> Unseen:
        counts: list[Counter[str]] = [Counter() for _ in self.keys]
        for table in tables_in(blocks[0]):
            left_out = False if self.coder is None else np.isnan(self.coder(table)).any(axis=1)
            for found, key, known in zip(counts, self.keys, self.known):
                column = coded(column_of(table, key))
                codes = np.where(left_out, -1, column.codes)
                n_rows = np.bincount(codes[codes >= 0], minlength=len(column.texts))
                others = set(column.texts).difference(known)
                found.update({text: int(n) for text, n in zip(column.texts, n_rows) if n and text in others})
        return self._first(counts)

    def combine(self, left: Unseen, right: Unseen) -> Unseen:
        """Add the counts of the first levels, which are among the first of both parts."""
        return self._first([Counter(dict(a)) + Counter(dict(b)) for a, b in zip(left, right)])

    def _first(self, counts: list[Counter[str]]) -> Unseen:
        return tuple(tuple(sorted(found.items())[: self.most]) for found in counts)


@storable
class Missing(NamedTuple):
    """The value of `MissingPass`."""

    mean: Floats
    """Mean of the values of every column that are not missing, shape (n_features,); NaN if all are."""
    n_missing: Integers
    """Number of missing values of every column, shape (n_features,)."""
    n_incomplete: int
    """Number of rows with missing values."""
    whole: Booleans
    """Whether all values of each column that are not missing are whole numbers, shape (n_features,)."""


MissingState = tuple[SlicedSums, int, Booleans]


@dataclass(frozen=True)
class MissingPass(Statistic):
    """Missing values (NaN) of the columns, what the others are, and the number of rows with missing values."""

    n_features: int

    @property
    def _moments(self) -> MomentPass:
        return MomentPass(1, np.zeros(self.n_features), missing=True)

    def chunk(self, start: int, *blocks: AnyArray) -> MissingState:
        rows = blocks[0]
        sums = self._moments.chunk(start, np.zeros(len(rows), np.intp), rows)
        missing = np.isnan(rows)
        return sums, int(np.count_nonzero(missing.any(axis=1))), (missing | (rows == np.rint(rows))).all(axis=0)

    def combine(self, left: MissingState, right: MissingState) -> MissingState:
        return self._moments.combine(left[0], right[0]), left[1] + right[1], left[2] & right[2]

    def finalise(self, state: MissingState) -> Missing:
        sums, n_incomplete, whole = state
        return Missing(self._moments.finalise(sums).mean[0], sums.n_missing[0], n_incomplete, whole)


@dataclass(frozen=True)
class CompleteRows(Statistic):
    """Number of rows without missing values in every block, which are the chunks of those rows."""

    # The counts belong to the blocks.
    keeps_blocks = True

    def chunk(self, start: int, *blocks: AnyArray) -> Integers:
        return np.array([np.count_nonzero(~np.isnan(blocks[0]).any(axis=1))])

    def combine(self, left: Integers, right: Integers) -> Integers:
        return np.concatenate([left, right])


@storable
class Nearest(NamedTuple):
    """Distances, clusters, hashes and numbers of rows."""

    distance: Floats
    cluster: Integers
    hashes: Integers
    numbers: Integers


@dataclass(frozen=True)
class NearestRows(Statistic):
    """Numbers of rows near separators, of each cluster in turn, the nearest first."""

    n: int
    """Number of rows."""
    seed: int
    """Seed of the hashes that order rows of equal distance."""

    def chunk(self, start: int, *blocks: AnyArray) -> Nearest:
        """Return the nearest rows without a label of a block of distances, clusters and, if given, labels."""
        distance, cluster, *labels = blocks
        rows = np.flatnonzero(cluster >= 0 if not labels else (cluster >= 0) & (labels[0] == UNLABELLED))
        hashes = hash_rows(self.seed, start, len(distance))[rows]
        return self._kept(Nearest(distance[rows], cluster[rows], hashes, start + rows))[0]

    def combine(self, left: Nearest, right: Nearest) -> Nearest:
        joined: list[AnyArray] = [np.concatenate(both) for both in zip(left, right)]
        return self._kept(Nearest(*joined))[0]

    def finalise(self, state: Nearest) -> Integers:
        """Return the numbers of the rows, shape (at most n,)."""
        kept, turn = self._kept(state)
        return kept.numbers[np.lexsort((kept.hashes, kept.distance, turn))][: self.n]

    def _kept(self, rows: Nearest) -> tuple[Nearest, Integers]:
        """Return the `n` nearest rows of each cluster, and the place of each row in its cluster."""
        order = np.lexsort((rows.hashes, rows.distance, rows.cluster))
        clusters = rows.cluster[order]
        turn = np.arange(len(order)) - np.searchsorted(clusters, clusters)
        kept = turn < self.n
        nearest: list[AnyArray] = [part[order[kept]] for part in rows]
        return Nearest(*nearest), turn[kept]


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
