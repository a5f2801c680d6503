"""Mixtures of products of categorical distributions, fitted to distinct tuples and their counts.

With two categories they are the Bernoulli mixtures of Topchy, Jain and Punch (2005) and thesis eq. 4.7. The
expectation-maximisation works on tuples, not rows, so its cost does not depend on the number of rows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from .._random import generator
from .._typing import Booleans, Floats, Integers

Criterion = Literal["bic", "aic", "icl"]

PRIOR = 1e-2
"""Prior rows of every category of every component, which keep logarithms and likelihoods finite."""

SHORT, LONG = 8, 300
"""Iterations of every start, and most iterations of the best one."""

WORTHWHILE = 1e-7
"""The iterations end at a mean gain per row below this."""

PATIENCE = 3
"""Successive numbers of components that may be worse before the search ends."""


class Tally(NamedTuple):
    """Distinct tuples as one-hot columns for the categories of each variable, and their counts.

    Attributes
    ----------
    ones : ndarray of shape (n_tuples, n_categories), float64
        One 1 in the columns of each variable.
    counts : ndarray of shape (n_tuples,), float64
    starts : ndarray of shape (n_variables + 1,)
        The first column of each variable.
    """

    ones: Floats
    counts: Floats
    starts: Integers


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
    large = np.flatnonzero(tally.counts >= min(least, tally.counts.max()))
    nearest = (tally.ones @ tally.ones[large].T).argmax(axis=1)
    return maximise(tally, np.eye(len(large))[nearest])


def bernoulli_tally(bits: Booleans, counts: Integers) -> Tally:
    """Return tuples of bits as tuples of variables with two categories, not set and set.

    Examples
    --------
    >>> bernoulli_tally(np.array([[True, False]]), np.array([3])).ones
    array([[0., 1., 1., 0.]])
    """
    return categorical_tally(bits.astype(np.intp), [2] * bits.shape[1], counts)


def categorical_tally(codes: Integers, sizes: Sequence[int], counts: Integers) -> Tally:
    """Return tuples of codes, from 0 to below the size of each variable, as one-hot columns.

    Examples
    --------
    >>> categorical_tally(np.array([[0, 2], [1, 0]]), [2, 3], np.array([3, 1])).ones
    array([[1., 0., 0., 0., 1.],
           [0., 1., 1., 0., 0.]])
    """
    starts = np.cumsum([0, *sizes])
    ones = np.zeros((len(codes), starts[-1]))
    np.put_along_axis(ones, codes + starts[:-1], 1.0, axis=1)
    return Tally(ones, counts.astype(np.float64), starts)
