"""The plan of a density tree: cells of a sample, the evidence between them, and counts of all rows."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._blas import one_blas_thread
from .._jit.lattices import NO_LATTICES, Lattices
from .._typing import AnyArray, Floats, Integers
from ..chunks import Pass, Plan
from ..growth.bounds import without_far_rows
from ..growth.frames import frame_of
from ..growth.lattices import lattices_in, spread_sample
from ..growth.passes import FirstLook, Sample
from ..growth.reading import first_read, of_all_rows
from ..growth.sampling import RESERVOIR_VALUES
from ..growth.scaling import smallest_gaps
from ..splits.cuts import FEW_COLUMNS
from .basins import with_basins
from .clusters import clusters_of
from .model import DensityModel, counts_in_cells
from .passes import BallCounts, LandmarksAndBalls, NearestCounts, level_of, nearest_landmarks
from .places import places_of
from .recount import tested_again
from .structure import structure_of

logger = logging.getLogger(__name__)

MOST_LEVELS = 10_000
"""Values of more levels are hardly ever equal, so that their steps do not matter."""

ROWS_TO_TEST_AGAIN = 2
"""With at least so many rows for each row of the sample, the rows that are not in it test the clusters again."""


@dataclass(frozen=True)
class DensitySettings:
    """The settings of a density tree; see `mdh_dask.DensityTree`.

    `min_rows` is the least number of rows in a cluster, `most_clusters` the largest number of clusters, or None.
    `outliers` is the share of rows outside the density level, which `leaves_outside` says are in no cluster.
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


def cluster(
    settings: DensitySettings, shape: tuple[int, int], check: Callable[[FirstLook], None]
) -> Plan[DensityModel]:
    """Plan the density tree of rows.

    Parameters
    ----------
    settings : DensitySettings
    shape : (n_rows, n_features)
        Shape of the rows that the passes will read.
    check : callable
        Raises an error if the first pass shows that the rows cannot be clustered.

    Notes
    -----
    One pass, which draws a sample; no more if the sample holds all rows. Otherwise a second counts the rows nearest to
    each landmark, and with many rows those in the balls of every test, on rows that are not in the sample.
    """
    n_rows, n_features = shape
    wanted = rows_sampled(settings.sample_size, n_features)
    look = yield from first_read(settings.seed, wanted, n_rows, check)
    frame = frame_of(look.sample.rows, settings.scale)
    sample = look.sample.take(np.argsort(look.sample.hashes, kind="stable"))
    lattices = NO_LATTICES if np.count_nonzero(frame.scale) > FEW_COLUMNS else _lattices(look, sample)
    points = frame(spread_sample(sample, lattices).rows).astype(np.float64)
    more = n_rows >= ROWS_TO_TEST_AGAIN * len(points)
    with one_blas_thread():
        structure = structure_of(points, sample.hashes, 1 - settings.quantile, slabs=not more)
        if more and len(structure.sides):
            structure = with_basins(points, structure)
        chosen = points[: settings.n_landmarks]
        landmarks = NearestCounts(frame.centre, frame.scale, chosen, level_of(chosen, settings.outliers))
        cells = structure.cell[: settings.n_landmarks]
        again = places_of(points, structure, len(cells)) if more else None
    if again is None:
        counts: Integers = yield from of_all_rows("counting", landmarks, look.sample, n_rows)
    else:
        counting = BallCounts(landmarks, again, lattices, settings.seed)
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


def rows_sampled(sample_size: int, n_columns: int) -> int:
    """Return the number of rows in the sample."""
    return max(min(sample_size, RESERVOIR_VALUES // n_columns), 1)


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


def _lattices(look: FirstLook, sample: Sample) -> Lattices:
    """Return the columns of rounded values, which are spread over their steps.

    Each level would otherwise be a cluster, and each gap between many levels a valley. In many columns hardly any rows
    are equal, and the spread would hide clusters (optdigits: 5 instead of 10).
    """
    near = without_far_rows(look.columns, sample)[1]
    return lattices_in(near, smallest_gaps(near.rows), MOST_LEVELS)
