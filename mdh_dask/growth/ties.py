"""Samples without ties, for methods that compare distances: equal rows would be centres of great density.

Copies of a row are left out; rounded values are jittered or, on bounded scales such as ratings, replaced by values that
could have been rounded to them (ordinal imputation). On a scale of five steps, all rows beyond an end have the value of
the end. Where columns are correlated, rows near either end of all scales are so close to each other that both ends are
modes of the density, though it had one before the answers were rounded.
"""

import numpy as np
from scipy.special import ndtr, ndtri

from .._jit.hashing import hash_again
from .._jit.jitter import Jitter
from .._typing import Floats, Integers
from ..valleys.neighbours import distinct
from .discrete import Discrete, jitter_of, smallest_gaps
from .passes import Sample

MOST_DISTINCT = 0.9
"""Smallest share of distinct rows whose distances are left as they are. In many columns hardly any rows are equal, and
jitter would only add noise."""

MOST_VALUES = 2**24
"""Most values of a column that is jittered; more of them are as good as continuous."""

COPIES = 0.75
"""Rounding makes rows equal where other rows are only a step away. Rows that occur more than once are copies if at
least this share of them stay different when every two neighbouring values are joined."""

SWEEPS = 30
"""Draws of every column given all others. After 8, more than half of clouds of 2000 correlated ratings were split."""

RIDGE = 1e-3
"""Share of the variances that is added to them, as columns may be collinear."""

SAME_MODE = 4.0
"""Counts of levels are those of one mode if they rise before it and fall after it but for so many standard errors."""

MOST_TOGETHER = 100
"""More scales are drawn in parts: the covariance of as many scales as rows fits noise, so that the ends of 500 were two
clusters of 600 rows, and takes memory with their square. So many ratings tell where a row lies without the others."""

LEAST_SHARE = 1e-12
"""Smallest share of a distribution between two bounds, as logarithms of smaller ones overflow."""


def without_ties(sample: Sample) -> Sample:
    """Return a sample; if many rows are equal, without copies or with jittered values.

    Copies of a row say nothing more than the row: the first one is kept. Rounded rows are equal where there are many,
    so all of them count, spread evenly. Jittered columns keep their means and standard deviations. Bounded scales are
    drawn instead, also where few rows are equal.
    """
    _, first, times = np.unique(sample.rows, axis=0, return_index=True, return_counts=True)
    if len(first) >= MOST_DISTINCT * len(sample.rows):
        return with_drawn_scales(sample)
    repeated, gaps = sample.rows[first[times > 1]].astype(np.float64), smallest_gaps(sample.rows)
    pairs_of_values = np.floor((repeated - sample.rows.min(axis=0)) / np.where(gaps > 0, 2 * gaps, 1) + 1e-6)
    if len(distinct(pairs_of_values)) >= COPIES * len(repeated):
        return sample.take(np.sort(first))
    sample = with_drawn_scales(sample)
    jitter = jitter_of(sample, MOST_VALUES)[0]
    if not jitter:
        return sample
    rows, columns = Discrete(jitter).jittered(sample.rows, sample.hashes), jitter.columns
    found, mean = rows[:, columns], sample.rows[:, columns].mean(axis=0, dtype=np.float64)
    shrunk = sample.rows[:, columns].std(axis=0, dtype=np.float64) / found.std(axis=0)
    rows[:, columns] = mean + (found - mean) * shrunk
    return sample._replace(rows=rows)


def with_drawn_scales(sample: Sample) -> Sample:
    """Return a sample with the values of bounded scales drawn from what could have been rounded to them.

    The coarsely rounded columns whose counts have one mode, which is not at an end, are the scales. Their values are
    drawn from a normal distribution of all scales, given the level of each value (data augmentation by Gibbs sampling,
    as in Albert and Chib, Bayesian analysis of binary and polychotomous response data, JASA 88, 1993). No value leaves
    its step, except beyond the ends. A sample with fewer than two scales is returned as it is.
    """
    jitter, _ = jitter_of(sample)
    scales = [i for i, j in enumerate(jitter.columns) if _is_scale(sample.rows[:, j], float(jitter.steps[i]))]
    if len(scales) < 2:
        return sample
    scales.sort(key=lambda i: int(jitter.keys[i]))  # the same draws for permuted columns
    rows = sample.rows.astype(np.float64)
    for part in np.array_split(scales, -(-len(scales) // MOST_TOGETHER)):
        own = Jitter(jitter.columns[part], jitter.steps[part], jitter.keys[part])
        rows[:, own.columns] = _drawn(rows[:, own.columns], sample.hashes, own)
    return sample._replace(rows=rows)


def _is_scale(values: Floats, step: float) -> bool:
    counts = np.bincount(np.rint((values - values.min()) / step).astype(np.int64))
    mode = int(counts.argmax())
    if mode in (0, len(counts) - 1):
        return False
    rises, errors = np.diff(counts), SAME_MODE * np.sqrt(counts[1:] + counts[:-1])
    return bool((rises[:mode] >= -errors[:mode]).all() and (rises[mode:] <= errors[mode:]).all())


def _drawn(values: Floats, hashes: Integers, scales: Jitter) -> Floats:
    """Return values of scales, drawn column by column."""
    low = np.where(values == values.min(axis=0), -np.inf, values - scales.steps / 2)
    high = np.where(values == values.max(axis=0), np.inf, values + scales.steps / 2)
    drawn = values.copy()
    for sweep in range(SWEEPS):
        mean, covariance = drawn.mean(axis=0), np.atleast_2d(np.cov(drawn.T))
        precision = np.linalg.inv(covariance + RIDGE * np.diag(np.diag(covariance)))
        for j in range(values.shape[1]):
            weights = -precision[j] / precision[j, j]
            weights[j] = 0
            given = mean[j] + (drawn - mean) @ weights
            at = _uniform(hash_again(hashes ^ scales.keys[j], sweep))
            drawn[:, j] = _between(given, precision[j, j] ** -0.5, low[:, j], high[:, j], at)
    return drawn


def _between(mean: Floats, deviation: float, low: Floats, high: Floats, at: Floats) -> Floats:
    """Return the values of normal distributions between bounds that have a share `at` of them below."""
    # The upper half of a distribution is drawn as the lower one of its reflection, where shares are exact.
    sign = np.where((low + high) / 2 > mean, -1, 1)
    ends = np.sort(np.stack([(low - mean) * sign, (high - mean) * sign]) / deviation, axis=0)
    shares = ndtr(ends)
    share = shares[0] + at * (shares[1] - shares[0])
    return np.clip(mean + sign * deviation * ndtri(np.maximum(share, LEAST_SHARE)), low, high)


def _uniform(hashes: Integers) -> Floats:
    """Return a number on (0, 1) for each hash."""
    return ((hashes >> np.uint64(11)) + 0.5) * 2.0**-53
