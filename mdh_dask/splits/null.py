"""Is a valley deeper than chance makes it in a unimodal density: null distributions of the relative depth."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from .._random import generator
from .._typing import Floats
from ..density.bandwidth import Bandwidth
from ..density.histograms import Histograms
from ..density.kde import BINS_PER_BANDWIDTH
from ..density.modes import unimodal_fit

NULL_SAMPLES = 1000
CERTAINLY_DEEP, CERTAINLY_FLAT = 7.0, 1.0
"""Standard errors beyond which simulating a valley's depth could not change the verdict."""


@lru_cache(maxsize=256)
def _uniform_depths(half_octave: int, bandwidth: Bandwidth) -> Floats:
    n = 2.0 ** (half_octave / 2)
    h = float(bandwidth.of(n, 1 / np.sqrt(12), 0.5))
    inner = int(np.clip(np.ceil(BINS_PER_BANDWIDTH / h), 8, 4096))
    rng = generator(half_octave, 0x6E756C6C)
    # Binned counts of a uniform sample are multinomial: no sample is needed, however large n is.
    counts = np.zeros((NULL_SAMPLES, inner + 2))
    counts[:, 1:-1] = rng.multinomial(int(n), np.full(inner, 1 / inner), size=NULL_SAMPLES)
    margin = np.zeros((NULL_SAMPLES, 4 * BINS_PER_BANDWIDTH))
    counts = np.concatenate([margin, counts, margin], axis=1)
    histograms = Histograms(counts, np.zeros(NULL_SAMPLES), np.full(NULL_SAMPLES, 1 / inner), bandwidth)
    return np.sort(histograms.depth.max(axis=1))


def uniform_depth_quantile(n: float, bandwidth: Bandwidth, quantile: float) -> float:
    """Return a quantile of the largest relative depth of `n` uniform rows.

    Parameters
    ----------
    n : float
        Number of rows; rounded down to a whole power of the square root of two, which gives a slightly larger
        quantile, so that few distributions are simulated. They are cached.
    bandwidth : Bandwidth
        The rule with which the depth to be judged is computed.
    quantile : float in (0, 1)

    Returns
    -------
    float
        Thesis section 6.3.1 rejects splits below the 0.975 quantile of 1000 samples.

    Examples
    --------
    >>> from mdh_dask.density.bandwidth import BANDWIDTHS
    >>> small = uniform_depth_quantile(100, BANDWIDTHS["normal"], 0.975)
    >>> large = uniform_depth_quantile(10_000, BANDWIDTHS["normal"], 0.975)
    >>> small > large > 0
    True
    """
    half_octave = max(int(np.floor(2 * np.log2(max(n, 2)))), 4)
    return float(np.quantile(_uniform_depths(half_octave, bandwidth.free), quantile))


def exceeds_unimodal(histogram: Histograms, k: int, level: float, rng: np.random.Generator) -> bool:
    """Test whether the depth after bin `k` is more than chance in the closest unimodal distribution.

    Parameters
    ----------
    histogram : Histograms of one direction
        Rows that had no part in choosing the direction or the bin.
    k : int
        The bin after which the split lies.
    level : float in (0, 1)
        Probability of a false positive.
    rng : Generator
        Source of the simulated histograms.

    Returns
    -------
    bool
        True if the depth exceeds the ``1 - level`` quantile of that of histograms drawn from the least-squares
        unimodal fit. A uniform reference distribution, as in thesis algorithm 1, knows no tails, where few
        rows make deep valleys by chance.
    """
    depth = histogram.depth[0, k]
    if depth <= 0:
        return False
    errors = _standard_errors(histogram, k)
    if errors > CERTAINLY_DEEP or errors < CERTAINLY_FLAT:
        return bool(errors > CERTAINLY_DEEP)
    counts = np.array(histogram.counts[0], dtype=np.float64)
    counts[[0, -1]] = 0
    fit = unimodal_fit(counts, int(histogram.density[0].argmax()))
    samples = int(np.ceil(2 / level)) - 1
    batch, exceeding = 64, 0
    for done in range(0, samples, batch):
        size = min(batch, samples - done)
        drawn = rng.multinomial(int(counts.sum()), fit, size=size)
        null = replace(histogram[[0] * size], counts=drawn)
        exceeding += int((null.depth[:, k] >= depth).sum())
        if (1 + exceeding) / (1 + samples) > level:
            return False
    return True


def _standard_errors(histogram: Histograms, k: int) -> float:
    # The square roots of the rows that a kernel sees at the valley and at the lower mode differ by chance with
    # variance 1/4 each.
    density = histogram.density[0]
    rows = density * histogram.spread[0][0] * histogram.bandwidth[0] * 2 * np.sqrt(np.pi)
    mode = min(rows[: k + 1].max(), rows[k:].max())
    return float(np.sqrt(2) * (np.sqrt(mode) - np.sqrt(rows[k])))
