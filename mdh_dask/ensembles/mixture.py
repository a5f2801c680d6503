"""Distinct tuples of sides of hyperplanes or of labels, counted in one pass, and mixtures fitted to them.

A component is a product of categorical distributions. With two categories these are the Bernoulli mixtures of Topchy,
Jain and Punch (2005) and thesis eq. 4.7. The expectation-maximisation works on tuples, not rows, so its cost does not
depend on the number of rows.
"""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal, NamedTuple

import numpy as np

from .._jit.branches import side_bits
from .._jit.rows import loop_ready
from .._random import generator
from .._storable import storable
from .._typing import AnyArray, Booleans, Floats, Integers
from ..chunks import Statistic

WORD = 64

GOLDEN = np.uint64(0x9E3779B97F4A7C15)

Criterion = Literal["bic", "aic", "icl"]

PRIOR = 1e-2
"""Prior rows of every category of every component, which keep logarithms and likelihoods finite."""

SHORT, LONG = 8, 300
"""Iterations of every start, and most iterations of the best one."""

WORTHWHILE = 1e-7
"""The iterations end at a mean gain per row below this."""

PATIENCE = 3
"""Successive numbers of components that may be worse before the search ends."""


@storable
class Tuples(NamedTuple):
    """The value of `TuplePass`: distinct tuples in the order of their hashes.

    words (n_tuples, n_words) uint64: of hyperplanes, bit ``j % 64`` of word ``j // 64`` is set for rows above
        hyperplane j. Of labels, a word each.
    counts (n_tuples,) int64: number of rows with the tuple.
    n_rows: number of all rows, including those of omitted tuples.
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
    """The distinct tuples of sides of hyperplanes and their numbers of rows."""

    planes: Floats
    """Shape (n_hyperplanes, n_features)."""
    offsets: Floats
    """Shape (n_hyperplanes,)."""
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
    """Return packed sides as booleans, shape (n_tuples, n_hyperplanes)."""
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


class Tally(NamedTuple):
    """Distinct tuples as one-hot columns for the categories of each variable, and their counts.

    ones (n_tuples, n_categories) float64: one 1 in the columns of each variable.
    counts (n_tuples,) float64.
    starts (n_variables + 1,): the first column of each variable.
    """

    ones: Floats
    counts: Floats
    starts: Integers


@storable
@dataclass(frozen=True)
class Mixture:
    """Mixture components, given by log weights and log probabilities of the categories."""

    log_weights: Floats
    """Shape (n_components,)."""
    log_probabilities: Floats
    """Shape (n_components, n_categories)."""

    @property
    def n_components(self) -> int:
        """Number of components."""
        return len(self.log_weights)

    def log_joint(self, ones: Floats) -> Floats:
        """Return the joint log probabilities of tuples and components, shape (n_tuples, n_components)."""
        return ones @ self.log_probabilities.T + self.log_weights

    def shares(self, ones: Floats) -> Floats:
        """Return the probability of each component given the tuple."""
        return _normalised(self.log_joint(ones))[1]

    def log_prior(self) -> float:
        """Return the logarithm of the prior density, up to a constant."""
        return PRIOR * float(self.log_probabilities.sum() + self.log_weights.sum())

    def of(self, which: Integers) -> "Mixture":
        """Return some of the components, with weights that sum to one."""
        weights = self.log_weights[which]
        return Mixture(weights - np.log(np.exp(weights).sum()), self.log_probabilities[which])


class Fit(NamedTuple):
    """A mixture and the quality of its fit."""

    mixture: Mixture
    log_likelihood: float
    entropy: float
    """Entropy of the components of all rows, given their tuples."""
    path: tuple[float, ...]
    """Log likelihood plus log prior after each iteration."""

    def score(self, criterion: Criterion, tally: Tally) -> float:
        """Return the criterion; smaller is better."""
        n_variables = len(tally.starts) - 1
        k, free = self.mixture.n_components, tally.ones.shape[1] - n_variables
        n_parameters = k * free + k - 1
        if criterion == "aic":
            return 2 * n_parameters - 2 * self.log_likelihood
        bic = n_parameters * float(np.log(tally.counts.sum())) - 2 * self.log_likelihood
        return bic + 2 * self.entropy if criterion == "icl" else bic


def _normalised(joint: Floats) -> tuple[Floats, Floats]:
    """Return the log-sum-exp of the rows, and the exponentials as shares of their sums."""
    top = joint.max(axis=1, keepdims=True)
    shares = np.exp(joint - top)
    sums = shares.sum(axis=1, keepdims=True)
    return (top + np.log(sums))[:, 0], shares / sums


def maximise(tally: Tally, shares: Floats) -> Mixture:
    """Return the mixture of highest posterior density for given shares of components in the tuples."""
    weighted = shares * tally.counts[:, None]
    of_category = weighted.T @ tally.ones + PRIOR
    of_variable = np.add.reduceat(of_category, tally.starts[:-1], axis=1)
    rows = weighted.sum(axis=0) + PRIOR
    probabilities = of_category / np.repeat(of_variable, np.diff(tally.starts), axis=1)
    return Mixture(np.log(rows / rows.sum()), np.log(probabilities))


def climb(tally: Tally, mixture: Mixture, most: int) -> Fit:
    """Return the result of expectation-maximisation from a mixture, in at most `most` iterations."""
    path: list[float] = []
    n = tally.counts.sum()
    while True:
        logs, shares = _normalised(mixture.log_joint(tally.ones))
        likelihood = float(tally.counts @ logs)
        path.append(likelihood + mixture.log_prior())
        if len(path) > most or (len(path) > 1 and path[-1] - path[-2] < WORTHWHILE * n):
            entropy = -float(tally.counts @ (shares * np.log(np.maximum(shares, np.finfo(float).tiny))).sum(axis=1))
            return Fit(mixture, likelihood, entropy, tuple(path))
        mixture = maximise(tally, shares)


def fit_components(tally: Tally, k: int, n_init: int, seed: int) -> Fit:
    """Return the best mixture of `k` components from short runs of several starts and a long run of the best."""
    starts = (_start(tally, k, generator(seed, k, repeat)) for repeat in range(n_init))
    short = max((climb(tally, start, SHORT) for start in starts), key=lambda fit: fit.path[-1])
    return climb(tally, short.mixture, LONG)


def _start(tally: Tally, k: int, rng: np.random.Generator) -> Mixture:
    """Return the mixture of the tuples around `k` tuples that are drawn far from each other (k-means++)."""
    n_variables = len(tally.starts) - 1
    chosen = [int(rng.choice(len(tally.counts), p=tally.counts / tally.counts.sum()))]
    apart = n_variables - tally.ones @ tally.ones[chosen[0]]
    near = np.zeros(len(apart), dtype=np.int64)
    while len(chosen) < k:
        weight = tally.counts * apart
        chosen.append(int(rng.choice(len(weight), p=weight / weight.sum())))
        own = n_variables - tally.ones @ tally.ones[chosen[-1]]
        near[own < apart] = len(chosen) - 1
        apart = np.minimum(own, apart)
    return maximise(tally, np.eye(k)[near])


def fits(tally: Tally, most: int, n_init: int, seed: int, criterion: Criterion) -> Iterator[Fit]:
    """Yield fits of 1, 2, ... components until more are worse, or reach `most` or the number of tuples."""
    least, worse = np.inf, 0
    for k in range(1, min(most, len(tally.counts)) + 1):
        fit = fit_components(tally, k, n_init, seed)
        yield fit
        score = fit.score(criterion, tally)
        least, worse = (score, 0) if score < least else (least, worse + 1)
        if worse == PATIENCE:
            return


def cells(tally: Tally, least: float) -> Mixture:
    """Return a component for each tuple with at least `least` rows, or for the most frequent one."""
    large = np.flatnonzero(tally.counts >= min(least, float(tally.counts.max())))
    nearest = (tally.ones @ tally.ones[large].T).argmax(axis=1)
    return maximise(tally, np.eye(len(large))[nearest])


def bernoulli_tally(bits: Booleans, counts: Integers) -> Tally:
    """Return tuples of bits as tuples of variables with two categories, not set and set."""
    ones = np.stack([~bits, bits], axis=2).reshape(len(bits), -1).astype(np.float64)
    return Tally(ones, counts.astype(np.float64), np.arange(bits.shape[1] + 1) * 2)
