"""Contingency tables of clusterings, and distinct tuples of labels or sides of hyperplanes, counted in one pass."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from .._jit.branches import side_bits
from .._jit.hashing import hash_again, hash_rows
from .._jit.rows import loop_ready
from .._jit.sums import count_pairs
from .._storable import storable
from .._typing import AnyArray, Booleans, Floats, Integers
from ..chunks import Statistic
from ..growth.passes import Sample
from ..metrics.contingency import factorise
from ..tree.structure import Tree

NO_LABEL = -1

NO_ROW = np.iinfo(np.int64).max

MOST_LABELS = 2**13
"""Most labels of all clusterings together: the contingency tables of all pairs then take half a gigabyte."""


def check_number_of_labels(n_labels: int) -> None:
    """Raise an error if there are more labels than tables can have."""
    if n_labels > MOST_LABELS:
        raise ValueError(
            f"expected at most {MOST_LABELS} different labels of all clusterings together, got at least {n_labels}: "
            "leave out those with the most labels, which may be numbers of rows, or give some with fewer clusters"
        )


@storable
class Tuples(NamedTuple):
    """The value of `TuplePass`: distinct tuples in the order of their hashes.

    words (n_tuples, n_words) uint64: of hyperplanes, bit ``j % 64`` of word ``j // 64`` is set for rows above
        hyperplane j. Of labels, a word each.
    counts (n_tuples,) int64: number of rows with the tuple.
    first (n_tuples,) int64: number of the first row with it.
    n_rows: number of all rows, including those of omitted tuples.
    """

    words: Integers
    counts: Integers
    first: Integers
    n_rows: int


class TupleCounts(Statistic):
    """Base of statistics of distinct tuples: a subclass has the most tuples to count, and makes those of a block.

    Of more tuples, those with the smallest hashes are counted, a random sample with exact counts.
    """

    most: int

    @abstractmethod
    def words(self, *blocks: AnyArray) -> Integers:
        """Return the tuple of every row, shape (n_rows, n_words), uint64."""

    def chunk(self, start: int, *blocks: AnyArray) -> Tuples:
        words = self.words(*blocks)
        return self._kept(words, np.ones(len(words), dtype=np.int64), start + np.arange(len(words)), len(words))

    def combine(self, left: Tuples, right: Tuples) -> Tuples:
        words, counts, rows = (np.concatenate(both) for both in zip(left[:3], right[:3]))
        return self._kept(words, counts, rows, left.n_rows + right.n_rows)

    def _kept(self, words: Integers, counts: Integers, rows: Integers, n_rows: int) -> Tuples:
        """Return each tuple once. The hash of a tuple omitted here is too large for the final sample."""
        hashes = np.zeros(len(words), dtype=np.uint64)
        for word in words.T:
            hashes = hash_again(hashes ^ word, 1)
        order = np.lexsort((*words.T, hashes))
        words = words[order]
        first = np.flatnonzero(np.append(True, (words[1:] != words[:-1]).any(axis=1))[: len(words)])
        sums = np.add.reduceat(counts[order], first) if len(first) else counts
        earliest = np.minimum.reduceat(rows[order], first) if len(first) else rows
        return Tuples(words[first][: self.most], sums[: self.most], earliest[: self.most], n_rows)


@dataclass(frozen=True)
class TuplePass(TupleCounts):
    """The distinct tuples of sides of hyperplanes and their numbers of rows."""

    planes: Floats
    """Shape (n_hyperplanes, n_features)."""
    offsets: Floats
    """Shape (n_hyperplanes,)."""
    most: int

    def words(self, *blocks: AnyArray) -> Integers:
        return words_of(blocks[0], self.planes, self.offsets)


@dataclass(frozen=True)
class LabelTuples(TupleCounts):
    """The distinct tuples of the labels of several clusterings, or leaves of trees, and their numbers of rows."""

    most: int
    trees: tuple[Any, ...] = ()
    """See `labels_of`."""

    @property
    def journalled(self) -> bool:
        return not holds_maps(self.trees)

    def words(self, *blocks: AnyArray) -> Integers:
        return np.stack([words_of_labels(labels) for labels in labels_of(self.trees, blocks)], axis=1)


def labels_of(trees: tuple[Any, ...], blocks: tuple[AnyArray, ...]) -> Sequence[AnyArray]:
    """Return row-aligned labels, or without them the leaves of rows in trees.

    Trees may be other objects with a method `labels`, such as a tree on the features of a map.
    """
    return [tree.labels(blocks[0]) for tree in trees] if trees else blocks


def holds_maps(trees: tuple[Any, ...]) -> bool:
    """Return whether some are no trees: the journal cannot store feature maps, which may use any kernel."""
    return not all(isinstance(tree, Tree) for tree in trees)


def words_of_labels(labels: AnyArray) -> Integers:
    """Return a word for each label, shape (n_rows,), uint64: an integer itself, a digest of a text."""
    if labels.dtype.kind in "biu":
        return labels.astype(np.int64).view(np.uint64)
    names, place = np.unique(labels.astype(str), return_inverse=True)
    digests = (blake2b(name.encode(), digest_size=8).digest() for name in names.tolist())
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)[place]


def words_of(rows: AnyArray, planes: Floats, offsets: Floats) -> Integers:
    """Return the packed sides of hyperplanes on which rows lie, shape (n_rows, n_words), uint64."""
    words = np.zeros((len(rows), -(-len(planes) // 64)), dtype=np.uint64)
    side_bits(loop_ready(rows), planes, offsets, words)
    return words


def bits_of(words: Integers, n_hyperplanes: int) -> Booleans:
    """Return packed sides as booleans, shape (n_tuples, n_hyperplanes)."""
    j = np.arange(n_hyperplanes)
    return (words[:, j // 64] >> (j % 64).astype(np.uint64) & np.uint64(1)).astype(bool)


@storable
class Votes(NamedTuple):
    """The value of `LabelVotes`; *places* are the labels of all clusterings, one clustering after another.

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
class LabelVotes(Statistic):
    """The contingency tables of all pairs of several clusterings, given by row-aligned labels or by trees."""

    seed: int
    """Seed of the rows' hashes."""
    limit: int
    """Rows with a hash of at most this are sampled."""
    trees: tuple[Any, ...] = ()
    """See `labels_of`."""

    @property
    def journalled(self) -> bool:
        return not holds_maps(self.trees)

    def chunk(self, start: int, *blocks: AnyArray) -> Votes:
        labels = labels_of(self.trees, blocks)
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
        tables = _empty_tables(sum(map(len, names)))
        count_pairs(places, tables)
        hashes = hash_rows(self.seed, start, n)
        chosen = np.flatnonzero(hashes <= np.uint64(self.limit))
        return Votes(
            tuple(names), np.concatenate(first), tables, Sample(places[chosen], hashes[chosen], start + chosen)
        )

    def combine(self, left: Votes, right: Votes) -> Votes:
        names = tuple(a if np.array_equal(a, b) else np.union1d(a, b) for a, b in zip(left.names, right.names))
        a, b = (_renamed(side, names) for side in (left, right))
        return Votes(names, np.minimum(a.first, b.first), a.tables + b.tables, a.sample.joined(b.sample))


def _empty_tables(n_places: int) -> Integers:
    check_number_of_labels(n_places)
    return np.zeros((n_places, n_places), dtype=np.int64)


def _renamed(votes: Votes, names: tuple[AnyArray, ...]) -> Votes:
    """Return the votes in tables with more labels."""
    if sum(len(own) for own in names) == len(votes.first):
        return votes
    starts = np.cumsum([0, *map(len, names)])
    to = np.concatenate([s + np.searchsorted(new, old) for s, new, old in zip(starts, names, votes.names)])
    first, tables = np.full(starts[-1], NO_ROW), _empty_tables(int(starts[-1]))
    first[to] = votes.first
    tables[np.ix_(to, to)] = votes.tables
    rows = np.append(to, NO_LABEL).astype(np.int32)[votes.sample.rows]  # index -1 is the last
    return Votes(names, first, tables, votes.sample._replace(rows=rows))
