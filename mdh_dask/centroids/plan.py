"""The plan of k-means: centroids of a sample, which passes over all rows move until they settle."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._typing import Floats, Integers
from ..chunks import Pass, Plan
from ..growth.exemplars import Exemplars, least
from ..growth.passes import FirstLook, Sample, first_read
from ..growth.scaling import Standardiser, robust_standardiser
from .gap import Number, gap_number
from .passes import CentroidPass, ClusterSums, nearest_centroids, step_for, unit_for
from .starts import best_of_starts

MOST_PASSES = 5
"""Most passes over all rows after the first; after a sample of 10,000 rows, more than two are seldom needed."""

MOST_STEPS = 300
"""Most steps if the sample holds all rows."""

SETTLED = 1e-3
"""Centroids have settled when none moves by more than this share of its cluster's root mean squared distance."""

logger = logging.getLogger(__name__)


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


def k_means(
    settings: CentroidSettings,
    shape: tuple[int, int],
    check: Callable[[FirstLook], None],
    found: Number | None = None,
) -> Plan[Centroids]:
    """Plan the k-means of rows.

    Parameters
    ----------
    settings : CentroidSettings
    shape : (n_rows, n_features)
        Shape of the rows that the passes will read.
    check : callable
        Raises an error if the first pass shows that the rows cannot be clustered.
    found : Number or None
        The number of clusters and its gaps, if features of a sample gave it.

    Notes
    -----
    One pass, which draws a sample; no more if the sample holds all rows. Otherwise from one to `MOST_PASSES` passes of
    Lloyd's algorithm over all rows.
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
    centroids = best_of_starts(points, k, settings.n_init, settings.seed)
    own = nearest_centroids(points, np.zeros(d), np.ones(d), centroids)
    unit = unit_for(np.square(points - centroids[own]).sum(axis=1))
    for step in range(MOST_STEPS if held else MOST_PASSES):
        moving = CentroidPass(frame.centre, frame.scale, centroids, step_for(points), unit)
        sums: ClusterSums = moving.chunk(0, sample.rows) if held else (yield Pass("moving centroids", moving))
        squares = sums.squares * moving.step_of_squares
        moved = np.square(moving.means(sums) - centroids).sum(axis=1)
        if (moved <= SETTLED**2 * squares / np.maximum(sums.n_rows, 1)).all():
            break
        logger.info("step %s moves %s of %s centroids", step + 1, np.count_nonzero(moved), k)
        if step + 1 < (MOST_STEPS if held else MOST_PASSES):
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
