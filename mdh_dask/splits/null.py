"""Null distributions of the relative depth, which test whether a valley is deeper than in a unimodal density."""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

import numpy as np

from .._random import generator
from .._typing import Booleans, Floats
from ..density.bandwidth import Bandwidth
from ..density.histograms import Histograms
from ..density.kde import BINS_PER_BANDWIDTH, unimodal_fit, valley_evidence

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
    bandwidth: the bandwidth rule of the depth to test.
    Thesis section 6.3.1 rejects splits below the 0.975 quantile of 1000 samples.
    """
    half_octave = max(int(np.floor(2 * np.log2(max(n, 2)))), 4)
    return float(np.quantile(_uniform_depths(half_octave, bandwidth.free), quantile))


def unimodal_p_value(histogram: Histograms, k: int, rng: np.random.Generator, level: float | None = None) -> float:
    """Return the probability of at least the depth after bin `k` under the closest unimodal distribution.

    histogram: rows that were not used to choose the direction or the bin.
    k: the bin after which the split lies.
    rng: source of the simulated histograms.
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
