"""The plan of a density tree: cells of a sample, the evidence between them, and counts of all rows."""

import logging
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._blas import one_blas_thread
from .._levels import changed_by_levels, has_levels
from .._random import generator
from .._typing import AnyArray, Floats, Integers
from ..chunks import Pass, Plan
from ..growth.bounds import clipped
from ..growth.crowds import (
    BALL,
    BALLS,
    FEWEST_ROWS,
    GAPS,
    MOST_IN_BALL,
    N_BALLS,
    ROWS_EACH,
    balls_are_crowded,
    groups_apart,
)
from ..growth.passes import FirstLook, Sample, draw, first_read, of_all_rows, rows_in_memory
from ..growth.scaling import near_standardiser
from ..tree.clusters import clusters_of
from ..valleys.graph import neighbourhood
from ..valleys.neighbours import distinct
from ..valleys.regions import least_of_discoveries
from ..valleys.structure import Structure, cells_of_crowd, spanned
from .basins import with_basins
from .model import DensityModel, counts_in_cells
from .passes import NearestCounts, Recount, RowsInBalls, level_of
from .places import AT_PEAK, RADII, Places, places_of
from .sketch import DensitySettings, Sketch, sketch_of

OF_PEAK, OF_PATH = 8, 9
"""Weights of a row at a peak and in the sparsest ball on a path: the peak must be denser by more than an eighth, as the
sparsest of several balls is sparse by chance."""

WIDE = 2
"""Radius of balls that have to show a valley, too: on a cut through a thin ridge, all smaller ones may be beside it."""

MORE_ROWS = np.iinfo(np.int64).max
"""More rows than in any ball."""

ROWS_OF_CELL = 400
"""Sample rows of a cell where clusters are not clearly apart, on average.

Of 200, 300, 400 and 600, ``python -m tests.benchmarks many --clusters 200 --columns 8 --kind Zipf`` finds 140, 156, 160
and 163 clusters, and takes longer with each."""

MOST_ROWS = 100_000
"""Most rows, as comparing all pairs of them takes time with the square of their number."""


def tested_again(structure: Structure, again: Places, in_balls: Integers, level: float) -> Structure:
    """Return the structure with the evidence of other rows than those of the sample, for links that it does not show.

    These rows chose nothing, so levels are those of a normal distribution. A link separates if every path across its
    cut has a ball with significantly fewer rows than the balls at both peaks. There are many links, and `level` is the
    share of false ones among them: in a cloud without clusters, the probability of any. Their evidence is divided by
    the ratio of their threshold to that of the sample.

    in_balls (n_balls, n_radii): rows in each ball of `again`.
    """
    counts = _at_peak_and_on_path(again, in_balls)
    strength, *rows = _weaker_side(_against_the_path(counts), counts)
    ratio = structure.threshold / least_of_discoveries(strength, level, len(RADII))
    evidence, in_core, in_cut = structure.evidence.copy(), structure.core_rows.copy(), structure.cut_rows.copy()
    evidence[again.links] = strength * ratio
    in_core[again.links], in_cut[again.links] = rows
    return structure._replace(evidence=evidence, core_rows=in_core, cut_rows=in_cut)


def _at_peak_and_on_path(again: Places, in_balls: Integers) -> Integers:
    """Return the rows at the peak of each test, and in the sparsest ball on the densest path, (n_tests, n_radii, 2)."""
    counts = np.zeros((*again.radii.shape, 2), dtype=np.int64)
    peak = again.path == AT_PEAK
    counts[again.test[peak], :, 0] = in_balls[peak]
    sparsest = np.full((len(again.radii), again.path.max() + 1, again.radii.shape[1]), MORE_ROWS)
    np.minimum.at(sparsest, (again.test[~peak], again.path[~peak]), in_balls[~peak])
    counts[..., 1] = np.where(sparsest < MORE_ROWS, sparsest, 0).max(axis=1)
    return counts


def _against_the_path(counts: Integers) -> Floats:
    """Return by how many standard errors the weighted rows at the peak exceed those of the sparsest ball on a path."""
    excess, variance = counts @ np.array([OF_PEAK, -OF_PATH]), counts @ np.array([OF_PEAK**2, OF_PATH**2])
    errors = excess / np.sqrt(np.maximum(variance, 1))
    wide = np.where(counts[:, WIDE, 0] > 0, errors[:, WIDE], np.inf)  # small groups have no balls so wide
    return np.minimum(errors, wide[:, None])


def _weaker_side(errors: Floats, counts: Integers) -> tuple[Floats, Floats, Floats]:
    """Return the evidence of each link at its best radius or width, and the rows in the core and on the cut."""
    by_side, counts = errors.reshape(-1, 2, errors.shape[1]), counts.reshape(-1, 2, *counts.shape[1:])
    best = by_side.min(axis=1).argmax(axis=1)
    links = np.arange(len(best))
    side = by_side[links, :, best].argmin(axis=1)
    rows = counts[links, side, best].astype(np.float64)
    return by_side[links, side, best], rows[:, 0], rows[:, 1]


logger = logging.getLogger(__name__)

ROWS_TO_TEST_AGAIN = 2
"""With at least so many rows for each row of the sample, the rows that are not in it test the clusters again."""


def cluster(
    settings: DensitySettings, shape: tuple[int, int], check: Callable[[FirstLook], None]
) -> Plan[DensityModel]:
    """Plan the density tree of rows.

    One pass draws a sample; no more follow if it holds all rows. Where clusters are so many that it holds few rows of
    each, a second pass draws a larger one. If that does not hold all rows either, the last pass counts the rows nearest
    to each landmark, and, with many rows and usual clusters, those in the balls of every link that the sample does not
    show.

    shape: shape of the rows that the passes will read.
    check: raises an error if the first pass shows that the rows cannot be clustered.
    """
    n_rows, n_features = shape
    wanted = rows_in_memory(settings.sample_size, n_features)
    look = yield from first_read(settings.seed, wanted, n_rows, check, settings.parts_at)
    sample, (shown, frame, discrete, points, structure, testable), least = yield from _seen(settings, shape, look)
    n_landmarks, again = max(settings.n_landmarks, least), None
    with one_blas_thread():
        # Others than those that are shown may be copies of them, which test nothing.
        if testable and shown is sample and n_rows >= ROWS_TO_TEST_AGAIN * len(sample.rows):
            structure, sides = with_basins(points, structure)
            again = places_of(points, sides[:, structure.cell], n_landmarks)
        chosen = points[:n_landmarks]
        cells = structure.cell[:n_landmarks].astype(np.int64)
        level = level_of(chosen, settings.outliers)
        landmarks = NearestCounts(frame.centre, frame.scale, chosen, cells, level)
    if again is None:
        counts: Integers = yield from of_all_rows("counting", landmarks, sample, n_rows)
    else:
        counting = RowsInBalls(landmarks, again, discrete, settings.seed)
        found: Recount = yield Pass("counting", counting)
        counts, of_others = found.counts, found.in_balls - counting.in_balls(sample.rows, sample.hashes)
        structure = tested_again(structure, again, of_others, 1 - settings.quantile)
    n_cells = len(structure.links) + 1
    inside, *outside = counts_in_cells(counts, cells, n_cells)
    rows = inside if settings.leaves_outside else inside + sum(outside)
    least = max(settings.min_rows, 1)  # cells without landmarks or with rows outside only may be empty
    threshold = -np.inf if settings.exactly else structure.threshold
    clusters = clusters_of(structure.links, structure.evidence, rows, threshold, least, settings.most_clusters)
    peaks = _peaks(shown, landmarks, structure.reach, n_cells)
    return DensityModel(
        frame.centre, frame.scale, landmarks.points, cells, counts[0], np.array(outside),
        structure.links, structure.evidence, structure.core_rows, structure.cut_rows, clusters,
        float(structure.threshold), *peaks, landmarks.level, settings.leaves_outside,
    )  # fmt: skip


def _peaks(sample: Sample, landmarks: NearestCounts, reach: Floats, n_cells: int) -> tuple[AnyArray, Integers, Floats]:
    """Return the densest landmark of each cell as a raw row, its row number and its reach; -1 and inf without any."""
    cells = landmarks.cells
    n = len(cells)
    rows = sample.rows[:n]
    # A rounded value can be nearer to other landmarks than to its own, whose values were spread.
    there = cells[landmarks.near(rows).own] == cells
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


class Crowd(NamedTuple):
    """What shows clusters that are many."""

    rows: int
    """Rows of the sample."""
    n_landmarks: int
    """Least number of landmarks: a quarter of the rows where clusters are clearly apart, else half of them."""


@one_blas_thread()
def crowd_of(sample: Sample, scale: bool, seed: int) -> Crowd | None:
    """Return what shows so many clusters that neighbourhoods of sample rows look like them, or None if they do not."""
    raw = clipped(sample.rows, scale)
    changed = changed_by_levels(raw, None)  # each combination of levels would look like a cluster
    rows = near_standardiser(sample._replace(rows=raw), scale).without(changed).exactly(raw)
    rows = spanned(rows[distinct(rows)])
    if len(rows) < FEWEST_ROWS:
        return None
    groups = groups_apart(rows, 0, generator(seed, GAPS))
    if groups is not None:
        wanted = min(round(len(sample.rows) * ROWS_EACH / groups.rows), MOST_ROWS)
        return Crowd(wanted, wanted // 4)
    n = min(round(BALL * len(rows)), MOST_IN_BALL)
    if not balls_are_crowded(rows, n, N_BALLS, generator(seed, BALLS)):
        return None
    n_cells = int(cells_of_crowd(neighbourhood(rows)).max()) + 1
    wanted = min(ROWS_OF_CELL * n_cells, MOST_ROWS)
    return Crowd(wanted, wanted // 2)


def _seen(settings: DensitySettings, shape: tuple[int, int], look: FirstLook) -> Plan[tuple[Sample, Sketch, int]]:
    """Plan a sample in the order of its hashes, what its different rows show, and its least number of landmarks.

    If neighbourhoods look like those of many clusters, the sample has enough rows of each, and rows are counted in
    regions around two cells if most cells are clusters, or if this shows more of them than balls and slabs do, which
    know more of groups of many cells.
    """
    n_rows, n_columns = shape

    def usual(least_apart: int = 0) -> tuple[Sample, Sketch, int]:
        sample = look.sample.in_random_order()
        return sample, sketch_of(settings, look.columns, sample, False, least_apart, n_rows), 0

    # Each combination of levels would look like a cluster of a crowd.
    sought = settings.parts_at is None and not has_levels(settings.levels)
    if not sought or (crowd := crowd_of(look.sample, settings.scale, settings.seed)) is None:
        return usual()
    sample, wanted = look.sample, min(crowd.rows, n_rows)
    if len(sample.rows) < wanted:
        logger.info("neighbourhoods look like those of many clusters: %s rows are drawn", wanted)
        sample = yield from draw(settings.seed, rows_in_memory(wanted, n_columns, len(sample.rows)), n_rows)
    sample = sample.in_random_order()
    sketch = sketch_of(settings, look.columns, sample, True, 0, n_rows)
    apart = sketch.structure.n_apart
    if 2 * apart <= len(sketch.structure.links) and (found := usual(apart))[1].structure.n_apart >= apart:
        return found
    return sample, sketch, crowd.n_landmarks
