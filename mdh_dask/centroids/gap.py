"""The gap statistic, which finds the number of clusters of k-means."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .._random import generator
from .._typing import AnyArray, Booleans, Floats
from ..chunks import Pass, Plan
from ..growth.bounds import without_far_rows
from ..growth.discrete import Discrete, jitter_of
from ..growth.passes import Sample, SamplePass, columns_of, sample_limit
from ..growth.sampling import RESERVOIR_VALUES
from ..growth.scaling import robust_standardiser
from .starts import inertia_of

ROWS = 1000
"""Most rows of the sample, as k-means runs for every number of clusters and every reference."""

N_REFERENCES = 10
"""Uniform samples to compare with."""

N_INIT = 2


class Number(NamedTuple):
    """A number of clusters and the gaps of those that were tried, from 1."""

    n_clusters: int
    gaps: Floats


def gap_number(points: Floats, most: int, seed: int, references: Sequence[Floats] = ()) -> Number:
    """Return the number of clusters by the gap statistic, and the gaps of the numbers that were tried.

    The least k whose gap is at least that of k + 1 less a standard error of it; the gap is the mean logarithm of the
    sum of squares within k clusters of rows without clusters, less that of the rows.

    Parameters
    ----------
    points : array of shape (n, n_features)
        Rows in random order; the first `ROWS` are used.
    most : int
        Largest number to return.
    seed : int
    references : sequence of arrays of shape (n, n_features)
        Rows without clusters to compare with; none for uniform ones in the box of the principal components of `points`.

    Notes
    -----
    R. Tibshirani, G. Walther and T. Hastie, Estimating the number of clusters in a data set via the gap statistic,
    Journal of the Royal Statistical Society B 63, 2001. Thesis section 2.2.3.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> gap_number(rng.normal(size=(300, 2)) + np.repeat([[0, 0], [9, 0], [0, 9]], 100, axis=0), 8, 0)[0]
    3
    """
    points = points[:ROWS]
    most = min(most, len(np.unique(points, axis=0)))
    references = references or uniform_rows(points, generator(seed, ROWS))
    gaps: list[float] = []
    for k in range(1, most + 1):
        logs = np.array([_log_inertia(reference, k, seed) for reference in references])
        error = float(logs.std()) * np.sqrt(1 + 1 / N_REFERENCES)
        gaps.append(float(logs.mean()) - _log_inertia(points, k, seed))
        if k > 1 and gaps[-2] >= gaps[-1] - error:
            return Number(k - 1, np.array(gaps))
    return Number(most, np.array(gaps))


def gap_sample(shape: tuple[int, int], seed: int) -> Plan[Sample]:
    """Plan the sample of rows whose features the gap statistic compares with those of rows without clusters."""
    wanted = max(min(ROWS, RESERVOIR_VALUES // shape[1]), 1)
    drawn: Sample = yield Pass("sampling", SamplePass(seed, sample_limit(wanted, shape[0])))
    return drawn.first(wanted)


def gap_number_of_features(
    sample: Sample, categorical: Booleans, features_of: Callable[[AnyArray], Floats], most: int, seed: int
) -> Number:
    """Return the number of clusters of the features of a sample, and the gaps of the numbers that were tried.

    Features lie along curves, also those of a single cluster, and uniform ones do not. So the rows without clusters are
    uniform, and a map is fitted to each sample of them, as to the rows. Numbers are uniform in the box of the principal
    components. Of mixed columns, or if values are missing, they are uniform in each column, and categories and missing
    values are those of random rows. Integers of few values are spread over their steps, which would be clusters.

    Parameters
    ----------
    sample : Sample
    categorical : array of shape (n_columns,), bool
    features_of : callable
        Fits a map to rows and returns their features.
    most : int
        Largest number to return.
    seed : int
    """
    rng, rows = generator(seed, ROWS), np.asarray(sample.rows, dtype=np.float64)
    if categorical.any() or np.isnan(rows).any():
        drawn = [_by_column(rows, categorical, rng) for _ in range(N_REFERENCES)]
    else:
        jitter, _ = jitter_of(without_far_rows(columns_of(rows), sample)[1])
        rows = Discrete(jitter).jittered(rows, sample.hashes)
        frame = robust_standardiser(rows, scale=True)
        scaled = uniform_rows(frame.exactly(rows), rng)
        unit = np.divide(1.0, frame.scale, out=np.zeros_like(frame.scale), where=frame.scale > 0)
        drawn = [own * unit + frame.centre for own in scaled]
    points, *references = (np.asarray(features_of(own), dtype=np.float64) for own in (rows, *drawn))
    return gap_number(points, most, seed, references)


def uniform_rows(points: Floats, rng: np.random.Generator) -> list[Floats]:
    """Return as many uniform rows in the box of the principal components of points, `N_REFERENCES` times."""
    centre = points.mean(axis=0)
    axes = np.linalg.svd(points - centre, full_matrices=False)[2]
    along = (points - centre) @ axes.T
    low, high = along.min(axis=0), along.max(axis=0)
    return [rng.uniform(low, high, along.shape) @ axes + centre for _ in range(N_REFERENCES)]


def _by_column(rows: Floats, categorical: Booleans, rng: np.random.Generator) -> Floats:
    drawn = rng.permuted(rows, axis=0)
    for j in np.flatnonzero(~categorical & ~np.isnan(rows).all(axis=0)):
        known = ~np.isnan(drawn[:, j])
        drawn[known, j] = rng.uniform(np.nanmin(rows[:, j]), np.nanmax(rows[:, j]), np.count_nonzero(known))
    return drawn


def _log_inertia(points: Floats, k: int, seed: int) -> float:
    return float(np.log(max(inertia_of(points, k, N_INIT, seed), np.finfo(np.float64).tiny)))
