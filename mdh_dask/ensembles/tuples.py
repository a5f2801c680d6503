"""Distinct tuples of the sides of several hyperplanes, or of several labels, and their counts, in one pass."""

from abc import abstractmethod
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from .._jit.branches import side_bits
from .._jit.rows import loop_ready
from .._storable import storable
from .._typing import AnyArray, Booleans, Floats, Integers
from ..chunks import Statistic

WORD = 64

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@storable
class Tuples(NamedTuple):
    """The value of `TuplePass`: distinct tuples in the order of their hashes.

    Attributes
    ----------
    words : ndarray of shape (n_tuples, n_words), uint64
        Of hyperplanes, bit ``j % 64`` of word ``j // 64`` is set for rows above hyperplane j. Of labels, a word each.
    counts : ndarray of shape (n_tuples,), int64
        Number of rows with the tuple.
    n_rows : int
        Number of all rows, including those of omitted tuples.
    """

    words: Integers
    counts: Integers
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
        """Count the tuples of some rows."""
        words = self.words(*blocks)
        return self._kept(words, np.ones(len(words), dtype=np.int64), len(words))

    def combine(self, left: Tuples, right: Tuples) -> Tuples:
        """Add the counts of equal tuples."""
        words, counts = (np.concatenate(both) for both in zip(left[:2], right[:2]))
        return self._kept(words, counts, left.n_rows + right.n_rows)

    def _kept(self, words: Integers, counts: Integers, n_rows: int) -> Tuples:
        """Return each tuple once. The hash of a tuple omitted here is too large for the final sample."""
        hashes = _hashes(words)
        order = np.lexsort((*words.T, hashes))
        words = words[order]
        first = np.flatnonzero(np.append(True, (words[1:] != words[:-1]).any(axis=1))[: len(words)])
        sums = np.add.reduceat(counts[order], first) if len(first) else counts
        return Tuples(words[first][: self.most], sums[: self.most], n_rows)


@dataclass(frozen=True)
class TuplePass(TupleCounts):
    """The distinct tuples of sides of hyperplanes and their numbers of rows.

    Parameters
    ----------
    planes : array of shape (n_hyperplanes, n_features)
    offsets : array of shape (n_hyperplanes,)
    most : int
    """

    planes: Floats
    offsets: Floats
    most: int

    def words(self, *blocks: AnyArray) -> Integers:
        """Return the packed sides of the rows of a block."""
        return words_of(blocks[0], self.planes, self.offsets)


@dataclass(frozen=True)
class LabelTuples(TupleCounts):
    """The distinct tuples of the labels of several clusterings and their numbers of rows."""

    most: int

    def words(self, *blocks: AnyArray) -> Integers:
        """Return the labels of the rows as words."""
        return np.stack([words_of_labels(labels) for labels in blocks], axis=1)


def words_of_labels(labels: AnyArray) -> Integers:
    """Return a word for each label, shape (n_rows,), uint64: an integer itself, a digest of a text."""
    if labels.dtype.kind in "biu":
        return labels.astype(np.int64).view(np.uint64)
    names, place = np.unique(labels.astype(str), return_inverse=True)
    digests = (blake2b(name.encode(), digest_size=8).digest() for name in names.tolist())
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)[place]


def words_of(rows: AnyArray, planes: Floats, offsets: Floats) -> Integers:
    """Return the packed sides of hyperplanes on which rows lie, shape (n_rows, n_words), uint64."""
    words = np.zeros((len(rows), -(-len(planes) // WORD)), dtype=np.uint64)
    side_bits(loop_ready(rows), planes, offsets, words)
    return words


def bits_of(words: Integers, n_hyperplanes: int) -> Booleans:
    """Return packed sides as booleans, shape (n_tuples, n_hyperplanes).

    Examples
    --------
    >>> bits_of(np.array([[5]], dtype=np.uint64), 3)
    array([[ True, False,  True]])
    """
    j = np.arange(n_hyperplanes)
    return (words[:, j // WORD] >> (j % WORD).astype(np.uint64) & np.uint64(1)).astype(bool)


def _hashes(words: Integers) -> Integers:
    z = np.zeros(len(words), dtype=np.uint64)
    for word in words.T:  # SplitMix64, word by word
        z = (z ^ word) + GOLDEN
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return z
