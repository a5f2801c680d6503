"""Null distributions of the scores of a single direction and of the best direction of a search."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.stats import norm

from .._random import generator
from .._typing import AnyArray, Floats
from ..density.bandwidth import Bandwidth
from ..density.histograms import Histograms
from ..density.kde import BINS_PER_BANDWIDTH
from ..projections.starts import sample_histograms
from .null import NULL_SAMPLES
from .rules import SplitRule

SEARCHES = 40
"""Number of searches for a quantile, whose standard error is about ten per cent."""

SEARCHED_ROWS = (16, 64, 256, 1024)
"""Numbers of rows of the simulated searches; the log score is interpolated linearly in their logarithms."""

WIDEST = 6.0
"""Range of the bins in standard deviations of a normal distribution."""


@lru_cache(maxsize=64)
def _single_scores(half_octave: int, rule: SplitRule, bandwidth: Bandwidth) -> Floats:
    n = int(2.0 ** (half_octave / 2))
    width = float(bandwidth.of(n, 1.0, 1.349)) / BINS_PER_BANDWIDTH
    n_bins = 2 * int(WIDEST / width) + 2
    edges = (np.arange(1, n_bins) - n_bins / 2) * width
    share = np.diff(norm.cdf(edges), prepend=0.0, append=1.0)
    rng = generator(half_octave, 0x73696E67)
    counts = np.array([rng.multinomial(n, share) for _ in range(NULL_SAMPLES)])
    ones = np.ones(NULL_SAMPLES)
    histograms = Histograms(counts, -n_bins / 2 * width * ones, width * ones, bandwidth)
    return np.sort(np.maximum(rule.score(histograms, np.sqrt(n)), 0.0))


def single_score_quantile(n: float, rule: SplitRule, bandwidth: Bandwidth, quantile: float) -> float:
    """Return a quantile of the score of `n` normal rows along one direction (TR-2003009, section 3.3.6).

    `n` is rounded down to a power of the square root of two, which gives a slightly larger quantile; the
    distributions are cached.

    Examples
    --------
    >>> from mdh_dask.density.bandwidth import BANDWIDTHS
    >>> rule = SplitRule("minimum_error", threshold_rule="minimum_error")
    >>> small = single_score_quantile(100, rule, BANDWIDTHS["normal"], 0.995)
    >>> large = single_score_quantile(1600, rule, BANDWIDTHS["normal"], 0.995)
    >>> small > 5 * large > 0
    True
    """
    half_octave = max(int(np.floor(2 * np.log2(max(n, 2)))), 4)
    return float(np.quantile(_single_scores(half_octave, rule, bandwidth.free), quantile))


@dataclass(frozen=True)
class Search:
    """A search that can be repeated on other rows.

    Parameters
    ----------
    propose : callable
        Returns directions, ``(rows, rng) -> directions``, a pair of these and thresholds, or a list of families.
        Hashable, as null distributions are cached by it.
    n_features : int
    rule : SplitRule
        Scores the directions.
    bandwidth : Bandwidth
    """

    propose: Callable[[AnyArray, np.random.Generator], Any]
    n_features: int
    rule: SplitRule
    bandwidth: Bandwidth

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


@lru_cache(maxsize=256)
def _best_scores(search: Search, n: int) -> Floats:
    rng = generator(n, 0x62657374, search.n_features)
    return np.array([search.best(rng.standard_normal((n, search.n_features)), rng) for _ in range(SEARCHES)])


def best_score_quantile(n: float, search: Search, quantile: float) -> float:
    """Return a quantile of the best score that a search finds in `n` normal rows.

    The scores of `SEARCHES` searches are assumed to be lognormal. They are simulated for the numbers in `SEARCHED_ROWS`
    around `n`, the largest of which are extrapolated, and cached.
    """
    after = next((pair for pair in pairwise(SEARCHED_ROWS) if n <= pair[1]), SEARCHED_ROWS[-2:])
    low, high = (_lognormal_quantile(_best_scores(search, size), quantile) for size in after)
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
    return float(np.exp(logs.mean() + norm.ppf(1 - (1 - quantile) / share) * logs.std(ddof=1)))
