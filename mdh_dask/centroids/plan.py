"""K-means, started on a sample and settled by passes over all rows, and its number of clusters by the gap statistic."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from .._blas import one_blas_thread
from .._random import generator
from .._typing import AnyArray, Booleans, Floats, Integers
from ..chunks import Pass, Plan
from ..growth.discrete import spread
from ..growth.exemplars import Exemplars, least
from ..growth.passes import FirstLook, Sample, draw, first_read, rows_in_memory
from ..growth.scaling import Standardiser, robust_standardiser
from .passes import CentroidPass, ClusterSums, nearest_centroids, step_for, unit_for

MOST_PASSES = 5
"""Most passes over all rows after the first; after a sample of 10,000 rows, more than two are seldom needed."""

MOST_STEPS = 300
"""Most steps if the sample holds all rows."""

ROWS = 1000
"""Most rows of the sample, as k-means runs for every number of clusters and every reference."""

N_REFERENCES = 10
"""Uniform samples to compare with."""

logger = logging.getLogger(__name__)


def _fitted(points: Floats, n_clusters: int, n_init: int, seed: int):  # type: ignore[no-untyped-def]
    from sklearn.cluster import KMeans  # imported late: with half of scikit-learn

    # Several threads add in no particular order, which changes the last bits.
    with one_blas_thread(), threadpool_limits(limits=1, user_api="openmp"):
        return KMeans(n_clusters, n_init=n_init, random_state=seed).fit(points)


class Centroids(NamedTuple):
    """Clusters of k-means, the largest first."""

    frame: Standardiser
    means: Floats
    """Centroids of standardised rows, shape (n_clusters, n_features)."""
    n_rows: Integers
    """Rows nearest to each centroid, shape (n_clusters,)."""
    inertia: float
    """Sum of the squared distances of all standardised rows from their centroids."""
    exemplars: Exemplars
    """The sample row nearest to each centroid among those of its cluster."""
    gaps: Floats
    """The gap statistic of each number of clusters that was tried, from 1, or empty."""
    far: Integers
    """Rows of each cluster in each bin of squared distances, shape (n_clusters, N_FAR)."""
    unit: float
    """Unit of these distances."""


@dataclass(frozen=True)
class CentroidSettings:
    """The settings of k-means; see `mdh_dask.KernelKMeans`.

    `standardise` is False for features, whose scale counts.
    """

    n_clusters: int | None
    max_clusters: int
    n_init: int
    sample_size: int
    standardise: bool
    scale: bool
    seed: int


class Number(NamedTuple):
    """A number of clusters and the gaps of those that were tried, from 1."""

    n_clusters: int
    gaps: Floats


def k_means(
    settings: CentroidSettings, shape: tuple[int, int], check: Callable[[FirstLook], None], found: Number | None = None
) -> Plan[Centroids]:
    """Plan the k-means of rows.

    One pass, which draws a sample; no more if the sample holds all rows. Otherwise from one to `MOST_PASSES` passes of
    Lloyd's algorithm over all rows.

    found: the number of clusters and its gaps, if features of a sample gave it.
    """
    look = yield from first_read(settings.seed, settings.sample_size, shape[0], check)
    sample, d = look.sample, shape[1]
    frame = Standardiser(np.zeros(d), np.ones(d))
    if settings.standardise:
        frame = robust_standardiser(sample.rows, settings.scale)
    points = np.ascontiguousarray(frame.exactly(sample.rows), dtype=np.float64)
    most, held = len(np.unique(points, axis=0)), len(sample.rows) == shape[0]
    found = found if settings.n_clusters is None else Number(settings.n_clusters, np.empty(0))
    if found is None:
        mixed = points[np.argsort(sample.hashes, kind="stable")]  # so that the first of them are a random sample
        found = gap_number(mixed, min(settings.max_clusters, most), settings.seed)
    k, gaps = found
    if k > most:
        raise ValueError(
            f"expected at least n_clusters={k} different rows; got {most} among {len(points)} sample rows: ask for "
            "fewer clusters" + ("" if held else ", or for a larger sample_size")
        )
    fitted = _fitted(points, k, settings.n_init, settings.seed)
    centroids = fitted.cluster_centers_.astype(np.float32).astype(np.float64)  # in single precision
    own = nearest_centroids(points, np.zeros(d), np.ones(d), centroids)
    apart = points - centroids[own]
    # Other rows may be as far apart as usual ones from the centre, where each of the sample is a centroid.
    smallest = step_for(np.vstack([apart, np.median(np.abs(points), axis=0)]))
    unit = unit_for(np.square(apart).sum(axis=1))
    n_steps = MOST_STEPS if held else MOST_PASSES
    for step in range(1, n_steps + 1):
        moving = CentroidPass(frame.centre, frame.scale, centroids, smallest, unit)
        sums: ClusterSums = moving.chunk(0, sample.rows) if held else (yield Pass("moving centroids", moving))
        squares = sums.squares * moving.step_of_squares
        moved = np.square(moving.means(sums) - centroids).sum(axis=1)
        if (moved <= 1e-3**2 * squares / np.maximum(sums.n_rows, 1)).all():
            break
        logger.info("step %s moves %s of %s centroids", step, np.count_nonzero(moved), k)
        if step < n_steps:
            centroids = moving.means(sums)
    # The numbers of rows are those of these centroids: the largest first, equal ones by their coordinates.
    order = np.lexsort((*centroids.T[::-1], -sums.n_rows))
    centroids = centroids[order]
    chosen = _nearest_rows(frame, centroids, sample)
    return Centroids(frame, centroids, sums.n_rows[order], float(squares.sum()), chosen, gaps, sums.far[order], unit)


def _nearest_rows(frame: Standardiser, centroids: Floats, sample: Sample) -> Exemplars:
    """Return the sample row nearest to each centroid, of those that are in its cluster."""
    own = nearest_centroids(sample.rows, frame.centre, frame.scale, centroids)
    squares = np.square(frame.exactly(sample.rows) - centroids[own]).sum(axis=1)
    return Exemplars.among(sample, least(squares, own, len(centroids)))


def gap_number(points: Floats, most: int, seed: int, references: Sequence[Floats] = ()) -> Number:
    """Return the number of clusters by the gap statistic, and the gaps of the numbers that were tried.

    The least k whose gap is at least that of k + 1 less a standard error of it; the gap is the mean logarithm of the
    sum of squares within k clusters of rows without clusters, less that of the rows.

    R. Tibshirani, G. Walther and T. Hastie, Estimating the number of clusters in a data set via the gap statistic,
    Journal of the Royal Statistical Society B 63, 2001. Thesis section 2.2.3.

    points (n, n_features): rows in random order; the first `ROWS` are used.
    most: largest number to return.
    references, each (n, n_features): rows without clusters to compare with; none for uniform ones in the
        box of the principal components of `points`.
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
    return (yield from draw(seed, rows_in_memory(ROWS, shape[1]), shape[0]))


def gap_number_of_features(
    sample: Sample, categorical: Booleans, features_of: Callable[[AnyArray], Floats], most: int, seed: int
) -> Number:
    """Return the number of clusters of the features of a sample, and the gaps of the numbers that were tried.

    Features lie along curves, also those of a single cluster, and uniform ones do not. So the rows without clusters are
    uniform, and a map is fitted to each sample of them, as to the rows. Numbers are uniform in the box of the principal
    components. Of mixed columns, or if values are missing, they are uniform in each column, and categories and missing
    values are those of random rows. Integers of few values are spread over their steps, which would be clusters.

    categorical (n_columns,) bool.
    features_of: fits a map to rows and returns their features.
    most: largest number to return.
    """
    rng, rows = generator(seed, ROWS), np.asarray(sample.rows, dtype=np.float64)
    if categorical.any() or np.isnan(rows).any():
        drawn = [_by_column(rows, categorical, rng) for _ in range(N_REFERENCES)]
    else:
        rows = spread(sample).jittered(rows, sample.hashes)
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
    return float(np.log(max(_fitted(points, k, 2, seed).inertia_, np.finfo(np.float64).tiny)))
