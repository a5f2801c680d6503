"""The plan of a density tree: cells of a sample, the evidence between them, and counts of all rows."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .._blas import one_blas_thread
from .._levels import LevelFeatures, TwoValued
from .._typing import AnyArray, Floats, Integers
from ..chunks import Pass, Plan
from ..growth.bounds import clipped, without_far_rows
from ..growth.discrete import Discrete, discrete_of
from ..growth.passes import FirstLook, Sample, first_read, of_all_rows, rows_in_memory
from ..growth.scaling import Standardiser, robust_standardiser
from ..growth.ties import with_drawn_scales
from ..valleys.lines import FEW_COLUMNS
from .basins import with_basins
from .clusters import clusters_of
from .model import DensityModel, counts_in_cells
from .passes import BallCounts, LandmarksAndBalls, NearestCounts, level_of, nearest_landmarks
from .places import places_of
from .recount import tested_again
from .structure import Structure, structure_of

logger = logging.getLogger(__name__)

MOST_VALUES = 10_000
"""More values are hardly ever equal, so that their steps do not matter."""

ROWS_TO_TEST_AGAIN = 2
"""With at least so many rows for each row of the sample, the rows that are not in it test the clusters again."""


@dataclass(frozen=True)
class DensitySettings:
    """The settings of a density tree; see `mdh_dask.DensityTree`.

    `min_rows` is the least number of rows in a cluster, `most_clusters` the largest number of clusters, or None.
    `outliers` is the share of rows outside the density level, which `leaves_outside` says are in no cluster. `levels`
    are those of the map whose features the rows are, None if they are columns. `parts_at` is the index of the array
    with the part of every row, None for independent rows.
    """

    sample_size: int
    n_landmarks: int
    scale: bool
    quantile: float
    min_rows: int
    most_clusters: int | None
    exactly: bool
    outliers: float
    leaves_outside: bool
    seed: int
    levels: LevelFeatures | None = None
    parts_at: int | None = None


def cluster(
    settings: DensitySettings, shape: tuple[int, int], check: Callable[[FirstLook], None]
) -> Plan[DensityModel]:
    """Plan the density tree of rows.

    One pass, which draws a sample; no more if the sample holds all rows. Otherwise a second counts the rows nearest to
    each landmark, and with many rows those in the balls of every test, on rows that are not in the sample.

    shape: shape of the rows that the passes will read.
    check: raises an error if the first pass shows that the rows cannot be clustered.
    """
    n_rows, n_features = shape
    wanted = rows_in_memory(settings.sample_size, n_features)
    look = yield from first_read(settings.seed, wanted, n_rows, check, settings.parts_at)
    sample = look.sample.take(np.argsort(look.sample.hashes, kind="stable"))
    more = settings.parts_at is None and n_rows >= ROWS_TO_TEST_AGAIN * len(sample.rows)
    near = sample._replace(rows=clipped(sample.rows, settings.scale))
    frame, discrete, points, structure = _sketch(settings, look, near, more)
    with one_blas_thread():
        if (more or settings.parts_at is not None) and len(structure.sides):
            structure = with_basins(points, structure)
        chosen = points[: settings.n_landmarks]
        landmarks = NearestCounts(frame.centre, frame.scale, chosen, level_of(chosen, settings.outliers))
        cells = structure.cell[: settings.n_landmarks]
        again = places_of(points, structure, len(cells)) if more else None
    if again is None:
        counts: Integers = yield from of_all_rows("counting", landmarks, look.sample, n_rows)
    else:
        counting = BallCounts(landmarks, again, discrete, settings.seed)
        found: LandmarksAndBalls = yield Pass("counting", counting)
        counts, ours = found.counts, counting.sums(sample.rows, sample.hashes)
        others = (found.sums - ours[0], found.in_balls - ours[1])
        structure = tested_again(structure, again, *others, 1 - settings.quantile)
    n_cells = len(structure.links) + 1
    inside, *outside = counts_in_cells(counts, cells, n_cells)
    rows = inside if settings.leaves_outside else inside + sum(outside)
    least = max(settings.min_rows, 1)  # cells without landmarks or with rows outside only may be empty
    threshold = -np.inf if settings.exactly else structure.threshold
    clusters = clusters_of(structure.links, structure.evidence, rows, threshold, least, settings.most_clusters)
    peaks = _peaks(sample, landmarks, cells, structure.reach, n_cells)
    return DensityModel(
        frame.centre, frame.scale, landmarks.points, cells.astype(np.int64), counts[0], np.array(outside),
        structure.links, structure.evidence, structure.core_rows, structure.cut_rows, clusters,
        float(structure.threshold), *peaks, landmarks.level, settings.leaves_outside,
    )  # fmt: skip


def _peaks(
    sample: Sample, landmarks: NearestCounts, cells: Integers, reach: Floats, n_cells: int
) -> tuple[AnyArray, Integers, Floats]:
    """Return the densest landmark of each cell as a raw row, its row number and its reach; -1 and inf without any."""
    n = len(cells)
    rows = sample.rows[:n]
    # A rounded value can be nearer to another landmark than to its own, whose values were spread.
    nearest, _ = nearest_landmarks(rows, landmarks.centre, landmarks.scale, landmarks.points)
    there = cells[nearest] == cells
    order = np.flatnonzero(there)[np.argsort(reach[:n][there], kind="stable")]
    found, first = np.unique(cells[order], return_index=True)
    peaks, numbers, reaches = (
        np.zeros((n_cells, rows.shape[1]), rows.dtype),
        np.full(n_cells, -1),
        np.full(n_cells, np.inf),
    )
    best = order[first]
    peaks[found], numbers[found], reaches[found] = rows[best], sample.numbers[best], reach[best]
    return peaks, numbers, reaches


class _Sketch(NamedTuple):
    """What a sample shows."""

    frame: Standardiser
    discrete: Discrete
    points: Floats
    """The jittered and standardised rows of the sample."""
    structure: Structure


def _sketch(settings: DensitySettings, look: FirstLook, sample: Sample, more: bool) -> _Sketch:
    """Return what a sample shows, in few columns without those of two values, and with them if these show no clusters.

    Jittered two-valued columns hide clusters of the others.
    """
    frame = robust_standardiser(sample.rows, settings.scale)

    def sketch(frame: Standardiser, discrete: Discrete, bandwidth: Callable[[Floats], float] | None = None) -> _Sketch:
        points = frame.exactly(discrete.jittered_levels(sample.rows, sample.hashes))
        in_groups = settings.parts_at is not None
        structure = structure_of(points, sample.hashes, 1 - settings.quantile, not more, bandwidth, in_groups)
        return _Sketch(frame, discrete, points, structure)

    with one_blas_thread():
        if np.count_nonzero(frame.scale) > FEW_COLUMNS:
            if settings.levels is None:  # the ends of correlated ratings would be clusters
                sample = with_drawn_scales(sample)
            return sketch(frame, Discrete(), _bandwidth(settings.levels, frame.scale))
        # Each level would otherwise be a cluster, and each gap between many values a valley.
        discrete = discrete_of(without_far_rows(look.columns, sample)[1], settings.levels, MOST_VALUES)
        two = discrete.levels
        others = frame.without(two.columns) if isinstance(two, TwoValued) else frame
        if others is frame or not others.scale.any():
            return sketch(frame, discrete)
        found = sketch(others, replace(discrete, levels=None))
        if found.structure.separates:
            return found
        jittered = sketch(frame, discrete)
        return jittered if jittered.structure.separates else found


def _bandwidth(levels: LevelFeatures | None, scale: Floats) -> Callable[[Floats], float] | None:
    """Return how far the levels of a map of many columns smooth directions of standardised features.

    Hardly any rows are equal there, and jitter would hide clusters. None without a map that knows levels: the
    columns of two values by which two groups differ are left out of their test.
    """
    if levels is None or not len(levels.starts):
        return None
    discrete = Discrete(levels=levels)
    return lambda direction: float(discrete.bandwidth_along((direction * scale)[None])[0])
