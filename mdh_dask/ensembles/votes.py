"""Contingency tables of several clusterings of the same rows, counted in one pass."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._jit.hashing import hash_rows
from .._jit.sums import count_pairs
from .._storable import storable
from .._typing import AnyArray, Integers
from ..chunks import Statistic
from ..growth.passes import Sample
from ..metrics.contingency import factorise
from ..tree.structure import Tree
from .mixture import LabelTuples

NO_LABEL = -1

NO_ROW = np.iinfo(np.int64).max


@storable
class Votes(NamedTuple):
    """The value of `VotePass`; *places* are the labels of all clusterings, one clustering after another.

    names: the labels of each clustering, ascending; rows with negative numbers have no label.
    first (n_places,) int64: number of the first row with the label.
    tables (n_places, n_places) int64: numbers of rows with both labels: the contingency tables of all pairs of
        clusterings, in the upper triangle. The diagonal holds the rows of each label.
    sample: sample rows with the index of their label in each clustering, `NO_LABEL` for none.
    """

    names: tuple[AnyArray, ...]
    first: Integers
    tables: Integers
    sample: Sample

    @property
    def starts(self) -> Integers:
        """Index of the first label of each clustering, and the number of labels."""
        return np.cumsum([0, *map(len, self.names)])


@dataclass(frozen=True)
class VotePass(Statistic):
    """The contingency tables of all pairs of several clusterings."""

    seed: int
    """Seed of the rows' hashes."""
    limit: int
    """Rows with a hash of at most this are sampled."""

    @abstractmethod
    def labels(self, *blocks: AnyArray) -> Sequence[AnyArray]:
        """Return the labels of each clustering for the rows of a block."""

    def chunk(self, start: int, *blocks: AnyArray) -> Votes:
        """Count the pairs of labels of some rows."""
        labels = self.labels(*blocks)
        n = len(labels[0])
        places = np.full((n, len(labels)), NO_LABEL, dtype=np.int32)
        names: list[AnyArray] = []
        first: list[Integers] = []
        for j, own in enumerate(labels):
            votes = np.flatnonzero(own >= 0) if own.dtype.kind == "i" else np.arange(n)
            found, place = factorise(own[votes])
            places[votes, j] = place + sum(len(known) for known in names)
            earliest = np.full(len(found), NO_ROW)
            earliest[place[::-1]] = start + votes[::-1]  # the last assignment wins, which is the first row of a label
            names.append(found)
            first.append(earliest)
        tables = np.zeros((sum(len(own) for own in names),) * 2, dtype=np.int64)
        count_pairs(places, tables)
        hashes = hash_rows(self.seed, start, n)
        chosen = np.flatnonzero(hashes <= np.uint64(self.limit))
        return Votes(
            tuple(names), np.concatenate(first), tables, Sample(places[chosen], hashes[chosen], start + chosen)
        )

    def combine(self, left: Votes, right: Votes) -> Votes:
        """Add the tables over the labels of both."""
        names = tuple(a if np.array_equal(a, b) else np.union1d(a, b) for a, b in zip(left.names, right.names))
        a, b = (_renamed(side, names) for side in (left, right))
        return Votes(names, np.minimum(a.first, b.first), a.tables + b.tables, a.sample.joined(b.sample))


def _renamed(votes: Votes, names: tuple[AnyArray, ...]) -> Votes:
    """Return the votes in tables with more labels."""
    if sum(len(own) for own in names) == len(votes.first):
        return votes
    starts = np.cumsum([0, *map(len, names)])
    to = np.concatenate([s + np.searchsorted(new, old) for s, new, old in zip(starts, names, votes.names)])
    first, tables = np.full(starts[-1], NO_ROW), np.zeros((starts[-1],) * 2, dtype=np.int64)
    first[to] = votes.first
    tables[np.ix_(to, to)] = votes.tables
    rows = np.append(to, NO_LABEL).astype(np.int32)[votes.sample.rows]  # index -1 is the last
    return Votes(names, first, tables, votes.sample._replace(rows=rows))


@dataclass(frozen=True)
class LabelVotes(VotePass):
    """The votes of row-aligned arrays of labels."""

    def labels(self, *blocks: AnyArray) -> Sequence[AnyArray]:
        """Return the blocks, which are labels."""
        return blocks


@dataclass(frozen=True)
class LeavesOfTrees:
    """The labels of the leaves of trees, for statistics of them."""

    trees: tuple[Any, ...]
    """Trees, or other objects with a method `labels`, such as a tree on the features of a map."""

    @property
    def journalled(self) -> bool:
        """Whether the journal keeps the value; it cannot store feature maps, which may use any kernel."""
        return all(isinstance(tree, Tree) for tree in self.trees)

    def labels(self, *blocks: AnyArray) -> Sequence[AnyArray]:
        """Return the labels of the trees' leaves."""
        return [tree.labels(blocks[0]) for tree in self.trees]


@dataclass(frozen=True)
class TreeVotes(LeavesOfTrees, VotePass):
    """The votes of the leaves of trees."""


@dataclass(frozen=True)
class TreeTuples(LeavesOfTrees, LabelTuples):
    """The distinct tuples of the leaves of trees."""

    def words(self, *blocks: AnyArray) -> Integers:
        """Return the leaves of the rows as words."""
        return super().words(*self.labels(*blocks))
