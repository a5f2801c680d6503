"""Mixtures of products of categorical distributions, fitted to distinct tuples and their counts.

With two categories they are the Bernoulli mixtures of Topchy, Jain and Punch (2005) and thesis eq. 4.7. The
expectation-maximisation sees tuples, not rows: its cost does not depend on how many rows have a tuple.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from .._random import generator
from .._typing import Booleans, Floats, Integers

Criterion = Literal["bic", "aic", "icl"]

PRIOR = 1e-2
"""Rows that every category of every component has from the start: no logarithm is infinite, and no likelihood."""

SHORT, LONG = 8, 300
"""Iterations of every start, and of the best of them at most."""

WORTHWHILE = 1e-7
"""A mean gain per row under which the iterations end."""

PATIENCE = 3
"""Numbers of components that may be worse, one after the other, before no more are tried."""


class Tally(NamedTuple):
    """Distinct tuples, as columns of zeros and ones for the categories of each variable, and their counts.

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
    """Components with the logarithms of their weights and of the probabilities of the categories."""

    log_weights: Floats
    """Shape (n_components,)."""
    log_probabilities: Floats
    """Shape (n_components, n_categories)."""

    @property
    def n_components(self) -> int:
        """Number of components."""
        return len(self.log_weights)

    def log_joint(self, ones: Floats) -> Floats:
        """Return the logarithms of the probabilities of a tuple and a component, shape (n_tuples, n_components)."""
        return ones @ self.log_probabilities.T + self.log_weights

    def shares(self, ones: Floats) -> Floats:
        """Return the probability of each component, given the tuple."""
        return _normalised(self.log_joint(ones))[1]

    def log_prior(self) -> float:
        """Return the logarithm of the prior density, up to a constant."""
        return PRIOR * float(self.log_probabilities.sum() + self.log_weights.sum())

    def of(self, which: Integers) -> "Mixture":
        """Return some of the components, with weights that sum to one."""
        weights = self.log_weights[which]
        return Mixture(weights - np.log(np.exp(weights).sum()), self.log_probabilities[which])


class Fit(NamedTuple):
    """A mixture and how well it fits."""

    mixture: Mixture
    log_likelihood: float
    entropy: float
    """Of the components of all rows, given their tuples."""
    path: tuple[float, ...]
    """Log likelihood plus log prior after each iteration."""

    def score(self, criterion: Criterion, tally: Tally) -> float:
        """Return the criterion, of which less is better."""
        n_variables = len(tally.starts) - 1
        k, free = self.mixture.n_components, tally.ones.shape[1] - n_variables
        n_parameters = k * free + k - 1
        if criterion == "aic":
            return 2 * n_parameters - 2 * self.log_likelihood
        bic = n_parameters * float(np.log(tally.counts.sum())) - 2 * self.log_likelihood
        return bic + 2 * self.entropy if criterion == "icl" else bic


def _normalised(joint: Floats) -> tuple[Floats, Floats]:
    """Return the logarithms of the sums of rows of exponentials, and these as shares of their sums."""
    top = joint.max(axis=1, keepdims=True)
    shares = np.exp(joint - top)
    sums = shares.sum(axis=1, keepdims=True)
    return (top + np.log(sums))[:, 0], shares / sums


def maximise(tally: Tally, shares: Floats) -> Mixture:
    """Return the mixture of highest posterior density for the components that tuples have."""
    weighted = shares * tally.counts[:, None]
    of_category = weighted.T @ tally.ones + PRIOR
    of_variable = np.add.reduceat(of_category, tally.starts[:-1], axis=1)
    rows = weighted.sum(axis=0) + PRIOR
    probabilities = of_category / np.repeat(of_variable, np.diff(tally.starts), axis=1)
    return Mixture(np.log(rows / rows.sum()), np.log(probabilities))


def climb(tally: Tally, mixture: Mixture, most: int) -> Fit:
    """Return where expectation-maximisation leads from a mixture, in at most so many iterations."""
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
    """Return the best mixture of `k` components that short runs from several starts, and a long one, find."""
    starts = (_start(tally, k, generator(seed, k, repeat)) for repeat in range(n_init))
    short = max((climb(tally, start, SHORT) for start in starts), key=lambda fit: fit.path[-1])
    return climb(tally, short.mixture, LONG)


def _start(tally: Tally, k: int, rng: np.random.Generator) -> Mixture:
    """Return the mixture of the tuples around `k` of them, which are drawn far from each other (k-means++)."""
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
    """Yield fits of 1, 2, ... components, until more are worse, are `most` or as many as there are tuples."""
    least, worse = np.inf, 0
    for k in range(1, min(most, len(tally.counts)) + 1):
        fit = fit_components(tally, k, n_init, seed)
        yield fit
        score = fit.score(criterion, tally)
        least, worse = (score, 0) if score < least else (least, worse + 1)
        if worse == PATIENCE:
            return


def cells(tally: Tally, least: float) -> Mixture:
    """Return a component for each tuple of at least so many rows, or for the most frequent one."""
    large = np.flatnonzero(tally.counts >= min(least, tally.counts.max()))
    nearest = (tally.ones @ tally.ones[large].T).argmax(axis=1)
    return maximise(tally, np.eye(len(large))[nearest])


def bernoulli_tally(bits: Booleans, counts: Integers) -> Tally:
    """Return tuples of bits as those of variables with two categories, not set and set.

    Examples
    --------
    >>> bernoulli_tally(np.array([[True, False]]), np.array([3])).ones
    array([[0., 1., 1., 0.]])
    """
    ones = np.stack([~bits, bits], axis=2).reshape(len(bits), -1).astype(np.float64)
    return Tally(ones, counts.astype(np.float64), np.arange(0, ones.shape[1] + 1, 2))
