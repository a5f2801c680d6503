"""Mixtures fitted to counted tuples of sides of hyperplanes.

A component is a product of Bernoulli distributions (Topchy, Jain and Punch 2005; thesis eq. 4.7). The
expectation-maximisation works on tuples, not rows, so its cost does not depend on the number of rows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

from .._jit.rows import few_at_once
from .._random import generator
from .._state import State, checked_array
from .._typing import AnyArray, Booleans, Floats, Integers
from .votes import Tuples, bits_of, words_of

Criterion = Literal["bic", "aic", "icl"]

PRIOR = 1e-2
"""Prior rows of every category of every component, which keep logarithms and likelihoods finite."""

SHORT, LONG = 8, 300
"""Iterations of every start, and most iterations of the best one."""


class BinaryTally(NamedTuple):
    """Distinct tuples of variables with two categories each, and their counts.

    ones (n_tuples, 2 n_variables) float64: one 1 in the two columns of each variable.
    counts (n_tuples,) float64.
    """

    ones: Floats
    counts: Floats

    @property
    def n_variables(self) -> int:
        """Return the number of variables."""
        return self.ones.shape[1] // 2


class Mixture(NamedTuple):
    """Components, given by log weights and log probabilities of the categories, in the columns of `BinaryTally`."""

    log_weights: Floats
    log_probabilities: Floats

    @property
    def n_components(self) -> int:
        """Number of components."""
        return len(self.log_weights)

    def log_joint(self, ones: Floats) -> Floats:
        """Return the joint log probabilities of tuples and components, shape (n_tuples, n_components)."""
        return ones @ self.log_probabilities.T + self.log_weights

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

    def score(self, criterion: Criterion, tally: BinaryTally) -> float:
        """Return the criterion; smaller is better."""
        k = self.mixture.n_components
        n_parameters = k * tally.n_variables + k - 1
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


def maximise(tally: BinaryTally, shares: Floats) -> Mixture:
    """Return the mixture of highest posterior density for given shares of components in the tuples."""
    weighted = shares * tally.counts[:, None]
    of_category = weighted.T @ tally.ones + PRIOR
    of_variable = of_category[:, ::2] + of_category[:, 1::2]
    rows = weighted.sum(axis=0) + PRIOR
    probabilities = of_category / np.repeat(of_variable, 2, axis=1)
    return Mixture(np.log(rows / rows.sum()), np.log(probabilities))


def climb(tally: BinaryTally, mixture: Mixture, most: int) -> Fit:
    """Return the result of expectation-maximisation from a mixture, in at most `most` iterations."""
    path: list[float] = []
    n = tally.counts.sum()
    while True:
        logs, shares = _normalised(mixture.log_joint(tally.ones))
        likelihood = float(tally.counts @ logs)
        log_prior = PRIOR * float(mixture.log_probabilities.sum() + mixture.log_weights.sum())  # up to a constant
        path.append(likelihood + log_prior)
        if len(path) > most or (len(path) > 1 and path[-1] - path[-2] < 1e-7 * n):
            entropy = -float(tally.counts @ (shares * np.log(np.maximum(shares, np.finfo(float).tiny))).sum(axis=1))
            return Fit(mixture, likelihood, entropy, tuple(path))
        mixture = maximise(tally, shares)


def fit_components(tally: BinaryTally, k: int, n_init: int, seed: int) -> Fit:
    """Return the best mixture of `k` components from short runs of several starts and a long run of the best."""
    starts = (_start(tally, k, generator(seed, k, repeat)) for repeat in range(n_init))
    short = max((climb(tally, start, SHORT) for start in starts), key=lambda fit: fit.path[-1])
    return climb(tally, short.mixture, LONG)


def _start(tally: BinaryTally, k: int, rng: np.random.Generator) -> Mixture:
    """Return the mixture of the tuples around `k` tuples that are drawn far from each other (k-means++)."""
    chosen = [int(rng.choice(len(tally.counts), p=tally.counts / tally.counts.sum()))]
    apart = tally.n_variables - tally.ones @ tally.ones[chosen[0]]
    near = np.zeros(len(apart), dtype=np.int64)
    while len(chosen) < k:
        weight = tally.counts * apart
        chosen.append(int(rng.choice(len(weight), p=weight / weight.sum())))
        own = tally.n_variables - tally.ones @ tally.ones[chosen[-1]]
        near[own < apart] = len(chosen) - 1
        apart = np.minimum(own, apart)
    return maximise(tally, np.eye(k)[near])


def fits(tally: BinaryTally, most: int, n_init: int, seed: int, criterion: Criterion) -> Iterator[Fit]:
    """Yield fits of 1, 2, ... components until more are worse, or reach `most` or the number of tuples."""
    least, worse = np.inf, 0
    for k in range(1, min(most, len(tally.counts)) + 1):
        fit = fit_components(tally, k, n_init, seed)
        yield fit
        score = fit.score(criterion, tally)
        least, worse = (score, 0) if score < least else (least, worse + 1)
        if worse == 3:
            return


def cells(tally: BinaryTally, least: float, most: int) -> Mixture:
    """Return a component for each tuple with at least `least` rows, or for the most frequent one; `most` at most."""
    large = np.argsort(-tally.counts, kind="stable")[:most]
    large = np.sort(large[tally.counts[large] >= min(least, float(tally.counts.max()))])
    nearest = (tally.ones @ tally.ones[large].T).argmax(axis=1)
    return maximise(tally, np.eye(len(large))[nearest])


def bernoulli_tally(bits: Booleans, counts: Integers) -> BinaryTally:
    """Return tuples of bits as tuples of variables with two categories, not set and set."""
    ones = np.stack([~bits, bits], axis=2).reshape(len(bits), -1).astype(np.float64)
    return BinaryTally(ones, counts.astype(np.float64))


@dataclass(frozen=True)
class HyperplaneMixture(State):
    """Hyperplanes and a mixture of the tuples of their sides."""

    planes: Floats
    """Shape (n_hyperplanes, n_features), float64: directions for raw rows."""
    offsets: Floats
    """Shape (n_hyperplanes,), float64: thresholds: a row lies above a hyperplane if ``plane . x > offset``."""
    log_weights: Floats
    """Shape (n_components,), float64."""
    log_probabilities: Floats
    """Shape (n_components, n_hyperplanes, 2), float64: logarithms of the probabilities of lying below and above each
    hyperplane."""
    n_rows: Integers
    """Shape (n_clusters,), int64: number of rows of each cluster, over the counted tuples."""
    complete: bool
    """Whether all rows were counted."""
    failed: Floats = field(default_factory=lambda: np.empty(0))
    """Shape (3,) or (0,), float64: of the best valley that was not accepted, its relative depth on the rows that test
    it; the share of samples with a single mode that have one as deep there, NaN if the stop rule does not ask; and what
    was needed."""
    cluster: Integers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Shape (n_components,), int64: the cluster of each component; by default each is a cluster."""

    def __post_init__(self) -> None:
        """Make every component a cluster if none are given."""
        if np.size(self.cluster) == 0:
            object.__setattr__(self, "cluster", np.arange(np.size(self.log_weights)))

    @property
    def sizes(self) -> Integers | None:
        """Return the number of rows in every cluster, if all were counted."""
        return self.n_rows if self.complete else None

    @property
    def n_clusters(self) -> int:
        return len(self.n_rows)

    @property
    def n_features(self) -> int:
        return self.planes.shape[1]

    def labels(self, rows: AnyArray) -> Integers:
        """Return the most probable cluster of every row, shape (n_rows,), int32."""
        return self._few_at_once(lambda shares: shares.argmax(axis=1).astype(np.int32), rows)

    def agreeing(self, rows: AnyArray) -> Floats:
        """Return the probability of the most probable cluster of every row."""
        return self._few_at_once(lambda shares: shares.max(axis=1), rows)

    def check(self) -> None:
        h, k = len(np.atleast_1d(self.offsets)), len(np.atleast_1d(self.log_weights))
        width = self.planes.shape[-1] if self.planes.ndim == 2 else 0
        if k < 1 or width < 1:
            raise ValueError(f"expected at least 1 cluster and 1 column, got {k} and {width}")
        checked_array("planes", self.planes, (h, width))
        checked_array("offsets", self.offsets, (h,))
        checked_array("log_weights", self.log_weights, (k,))
        checked_array("log_probabilities", self.log_probabilities, (k, h, 2))
        checked_array("cluster", self.cluster, (k,), least=0)
        checked_array("n_rows", self.n_rows, (len(np.unique(self.cluster)),), least=0)
        if self.cluster.max() >= len(self.n_rows):
            raise ValueError(f"expected clusters numbered from 0 to {len(self.n_rows) - 1}, got {self.cluster.max()}")
        if not isinstance(self.complete, bool):
            raise ValueError(f"expected true or false for complete, got {self.complete!r}")
        checked_array("failed", self.failed, (3,) if np.size(self.failed) else (0,), missing=True)

    def shares(self, rows: AnyArray) -> Floats:
        """Return the probability of every cluster given the sides of a row, shape (n_rows, n_clusters)."""
        return self._few_at_once(lambda shares: shares, rows)

    def _few_at_once(self, of: Callable[[Floats], AnyArray], rows: AnyArray) -> AnyArray:
        """Return a function of the shares, which take more memory than the rows."""
        words = (words_of(rows[part], self.planes, self.offsets) for part in few_at_once(max(len(rows), 1)))
        return np.concatenate([of(self._shares_of_words(own)) for own in words])

    def merged(self, group: Integers, tuples: Tuples) -> "HyperplaneMixture":
        """Return the mixture with its clusters in groups, without those that are the most probable one of no tuple."""
        cluster = group[self.cluster]
        joined = replace(self, cluster=cluster, n_rows=np.zeros(int(cluster.max()) + 1, dtype=np.int64))
        label = joined._shares_of_words(tuples.words).argmax(axis=1)
        np.add.at(joined.n_rows, label, tuples.counts)
        order = np.argsort(-joined.n_rows, kind="stable")
        order = order[joined.n_rows[order] > 0]
        number = np.full(len(joined.n_rows), -1)
        number[order] = np.arange(len(order))
        kept = number[cluster] >= 0
        return replace(
            joined, log_weights=self.log_weights[kept], log_probabilities=self.log_probabilities[kept],
            n_rows=joined.n_rows[order], cluster=number[cluster[kept]],
        )  # fmt: skip

    def _shares_of_words(self, words: Integers) -> Floats:
        bits = bits_of(words, len(self.planes)).astype(np.intp)
        joint = np.repeat(self.log_weights[None], len(words), axis=0)
        # One hyperplane at a time, as the last bits of a matrix product depend on the rows of the block.
        for j, side in enumerate(bits.T):
            joint += self.log_probabilities[:, j, :].T[side]
        of_clusters = np.zeros((len(words), self.n_clusters))
        for component, cluster in zip(_normalised(joint)[1].T, self.cluster):
            of_clusters[:, cluster] += component
        return of_clusters
