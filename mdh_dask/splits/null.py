"""Scores of searches for directions, and null distributions of the scores of one direction and of a search."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from .._random import generator
from .._typing import AnyArray, Booleans, Floats
from ..density.histograms import Histograms
from ..density.kde import BANDWIDTHS, BINS_PER_BANDWIDTH, Bandwidth, unimodal_fit, valley_evidence
from ..projections.search import IndexScore, Score
from ..projections.starts import sample_histograms
from .costs import ERRORS
from .rules import SplitRule

NULL_SAMPLES = 1000
CERTAINLY_DEEP, CERTAINLY_FLAT = 7.0, 1.0
"""Beyond this many standard errors, a simulation of the depth would not change the decision."""

FAR_BELOW = 10
"""A bound on the chance of a valley that is so many times below the level decides without a simulation."""

MOST_SIMULATED, ENOUGH_EXCEED = 199, 20
"""Most histograms to simulate for a p-value, and number of as deep ones after which the simulation ends."""

BATCH = 64
"""Number of histograms to simulate at once."""


@lru_cache(maxsize=256)
def _uniform_depths(half_octave: int, bandwidth: Bandwidth) -> Floats:
    n = 2.0 ** (half_octave / 2)
    h = float(bandwidth.of(n, 1 / np.sqrt(12), 0.5))
    inner = int(np.clip(np.ceil(BINS_PER_BANDWIDTH / h), 8, 4096))
    rng = generator(half_octave, 0x6E756C6C)
    # Binned counts of a uniform sample are multinomial, so no sample is drawn, however large n is.
    counts = np.zeros((NULL_SAMPLES, inner + 2))
    counts[:, 1:-1] = rng.multinomial(int(n), np.full(inner, 1 / inner), size=NULL_SAMPLES)
    margin = np.zeros((NULL_SAMPLES, 4 * BINS_PER_BANDWIDTH))
    counts = np.concatenate([margin, counts, margin], axis=1)
    histograms = Histograms(counts, np.zeros(NULL_SAMPLES), np.full(NULL_SAMPLES, 1 / inner), bandwidth)
    return np.sort(histograms.depth.max(axis=1))


def uniform_depth_quantile(n: float, bandwidth: Bandwidth, quantile: float) -> float:
    """Return a quantile of the largest relative depth of `n` uniform rows.

    n: number of rows, rounded down to a power of the square root of two. This gives a slightly larger quantile, but few
        distributions to simulate. They are cached.
    Thesis section 6.3.1 rejects splits below the 0.975 quantile of 1000 samples.
    """
    half_octave = max(int(np.floor(2 * np.log2(max(n, 2)))), 4)
    return float(np.quantile(_uniform_depths(half_octave, bandwidth.free), quantile))


def unimodal_p_value(histogram: Histograms, k: int, rng: np.random.Generator, level: float | None = None) -> float:
    """Return the probability of at least the depth after bin `k` under the closest unimodal distribution.

    histogram: rows that were not used to choose the direction or the bin.
    k: the bin after which the split lies.
    level: what the p-value will be compared with: no more is simulated than decides.
    Returns one if there is no valley, or one that no level admits. The null distribution is that of histograms drawn
        from the least-squares unimodal fit: the uniform one of thesis algorithm 1 has no tails, in which few rows make
        deep valleys by chance. Simulation ends with the twentieth histogram that is as deep, or the second if there is
        a level (Besag and Clifford, Biometrika 78, 1991). Where none is, it is at most `chance_of_mode`.
    """
    most, enough = (MOST_SIMULATED, ENOUGH_EXCEED) if level is None else (int(np.ceil(2 / level)) - 1, 2)
    errors = 0.0
    if histogram.depth[0, k] > 0:
        errors = valley_evidence(histogram.density[0], k, histogram.spread[0][0], histogram.bandwidth[0])
    if errors == 0 or (level is not None and errors < CERTAINLY_FLAT):
        return 1.0
    chance = chance_of_mode(histogram, k, errors)
    if errors > CERTAINLY_DEEP or (level is not None and chance * FAR_BELOW <= level):
        return min(chance, 1 / (1 + most))
    drawn = exceeding = 0
    for exceeds in _simulated(histogram, k, most, rng):
        if exceeding + int(exceeds.sum()) >= enough:
            last = np.flatnonzero(exceeds)[enough - exceeding - 1]
            return enough / float(drawn + last + 1)
        drawn, exceeding = drawn + len(exceeds), exceeding + int(exceeds.sum())
    simulated = (1 + exceeding) / (1 + most)
    return simulated if exceeding else min(chance, simulated)


def chance_of_mode(histogram: Histograms, k: int, errors: float) -> float:
    """Return a bound on the probability of a mode so many standard errors above bin `k` where the density only falls.

    The expected number of times that the density crosses this height from below within the range of the rows (Rice,
    Bell System Technical Journal 24, 1945), of a Gaussian kernel whose square roots have equal variances.
    """
    held = np.flatnonzero(histogram.counts[0, 1:-1]) + 1
    longest = max(k - held[0], held[-1] - k, 1) * histogram.width[0] / histogram.bandwidth[0]
    bound = longest / (4 * np.pi) * np.exp(-(errors**2) / 2)
    return float(np.clip(bound, np.finfo(float).tiny, 1.0))


def _simulated(histogram: Histograms, k: int, samples: int, rng: np.random.Generator) -> Iterator[Booleans]:
    """Yield batches of masks of the simulated histograms that are as deep after bin `k`, from the unimodal fit."""
    counts = np.array(histogram.counts[0], dtype=np.float64)
    counts[[0, -1]] = 0
    fit = unimodal_fit(counts, int(histogram.density[0].argmax()))
    for done in range(0, samples, BATCH):
        drawn = rng.multinomial(int(counts.sum()), fit, size=min(BATCH, samples - done))
        null = replace(histogram[[0] * len(drawn)], counts=drawn)
        yield null.depth[:, k] >= histogram.depth[0, k]


SEARCHES = 40
"""Number of searches for a quantile, whose standard error is about ten per cent."""

SEARCHED_ROWS = (16, 64, 256, 1024)
"""Numbers of rows of the simulated searches; the log score is interpolated linearly in their logarithms."""


@lru_cache(maxsize=64)
def _single_scores(half_octave: int, rule: SplitRule, bandwidth: Bandwidth) -> Floats:
    n = int(2.0 ** (half_octave / 2))
    width = float(bandwidth.of(n, 1.0, 1.349)) / BINS_PER_BANDWIDTH
    n_bins = 2 * int(6.0 / width) + 2
    edges = (np.arange(1, n_bins) - n_bins / 2) * width
    share = np.diff(ndtr(edges), prepend=0.0, append=1.0)
    rng = generator(half_octave, 0x73696E67)
    counts = np.array([rng.multinomial(n, share) for _ in range(NULL_SAMPLES)])
    ones = np.ones(NULL_SAMPLES)
    histograms = Histograms(counts, 0 * ones, width * ones, bandwidth)  # scores do not depend on the origin
    return np.sort(np.maximum(rule.score(histograms, np.sqrt(n)), 0.0))


def single_score_quantile(n: float, rule: SplitRule, bandwidth: Bandwidth, quantile: float) -> float:
    """Return a quantile of the score of `n` normal rows along one direction (TR-2003009, section 3.3.6).

    `n` is rounded down to a power of the square root of two, which gives a slightly larger quantile; the
    distributions are cached.
    """
    half_octave = max(int(np.floor(2 * np.log2(max(n, 2)))), 4)
    return float(np.quantile(_single_scores(half_octave, rule, bandwidth.free), quantile))


@dataclass(frozen=True)
class Search:
    """A search that can be repeated on other rows."""

    propose: Callable[[AnyArray, np.random.Generator], Any]
    """Returns directions, ``(rows, rng) -> directions``, a pair of these and thresholds, or a list of families."""
    n_features: int
    rule: SplitRule
    """Scores the directions."""
    bandwidth: Bandwidth
    best_scores: dict[int, Floats] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Simulated best scores by the number of rows: kept here, as what proposes may change its parameters later."""

    def best(self, rows: AnyArray, rng: np.random.Generator) -> float:
        """Return the best score of the directions for nearly centred rows, or zero if none is admissible."""
        proposed = self.propose(rows, rng)
        directions, thresholds = proposed if isinstance(proposed, tuple) else (proposed, None)
        if isinstance(directions, list):
            directions = np.concatenate(directions)
        if len(directions) == 0:
            return 0.0
        histograms = sample_histograms(np.ascontiguousarray(directions @ rows.T, dtype=np.float64), self.bandwidth.free)
        histograms = replace(histograms, suggested=thresholds, length=np.linalg.norm(directions, axis=1))
        return max(float(self.rule.score(histograms, np.sqrt(len(rows))).max()), 0.0)

    def null_scores(self, n: int) -> Floats:
        """Return the best scores of `SEARCHES` searches in `n` normal rows, simulated once."""
        if n not in self.best_scores:
            rng = generator(n, 0x62657374, self.n_features)
            self.best_scores[n] = np.array(
                [self.best(rng.standard_normal((n, self.n_features)), rng) for _ in range(SEARCHES)]
            )
        return self.best_scores[n]


@lru_cache(maxsize=64)
def shared_search(
    propose: Callable[[AnyArray, np.random.Generator], Any], n_features: int, rule: SplitRule, bandwidth: Bandwidth
) -> Search:
    """Return the one search for equal parameters, of which `propose` is hashable by value: equal fits simulate once."""
    return Search(propose, n_features, rule, bandwidth)


def best_score_quantile(n: float, search: Search, quantile: float) -> float:
    """Return a quantile of the best score that a search finds in `n` normal rows.

    The scores of `SEARCHES` searches are assumed to be lognormal. They are simulated for the numbers in `SEARCHED_ROWS`
    around `n`, the largest of which are extrapolated, and kept by the search.
    """
    after = next((pair for pair in pairwise(SEARCHED_ROWS) if n <= pair[1]), SEARCHED_ROWS[-2:])
    low, high = (_lognormal_quantile(search.null_scores(size), quantile) for size in after)
    if min(low, high) <= 0:
        return max(low, high)
    slope = np.log(high / low) / np.log(after[1] / after[0])
    return float(low * (n / after[0]) ** slope)


def _lognormal_quantile(scores: Floats, quantile: float) -> float:
    """Return the quantile of scores whose positive values are lognormal."""
    logs = np.log(scores[scores > 0])
    share = len(logs) / len(scores)
    if len(logs) < 2 or quantile <= 1 - share:
        return 0.0
    return float(np.exp(logs.mean() + ndtri(1 - (1 - quantile) / share) * logs.std(ddof=1)))


@dataclass(frozen=True)
class RuleScore:
    """The score of a split rule, on histograms with bins for their bandwidths."""

    rule: SplitRule
    """The rule; splits have at least the square root of the rows on each side."""
    bandwidth: Bandwidth = BANDWIDTHS["normal"]
    """Rule for the bandwidth of each direction, as rows spread equally along all in the space of a search."""

    def __call__(self, projections: Floats) -> Floats:
        """Return one score for each direction, or zero if none of its thresholds is admissible."""
        histograms = sample_histograms(np.ascontiguousarray(projections), self.bandwidth.free)
        scores = self.rule.score(histograms, float(np.sqrt(projections.shape[1])))
        # A criterion may be negative, but directions are drawn in proportion to their scores.
        low = scores.min(where=np.isfinite(scores), initial=0.0)
        return np.where(np.isfinite(scores), scores - low, 0.0)


def search_score(rule: SplitRule, bandwidth: Bandwidth, n_bins: int) -> Score:
    """Return the score of a search: the index on `n_bins` bins for rules based on J, otherwise that of the rule."""
    if rule.criterion in ERRORS:
        return IndexScore(ERRORS[rule.criterion], n_bins)
    return RuleScore(rule, bandwidth)
