"""The plan of support vector clustering: landmarks and their weights, contours, levels."""

import logging
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from .._jit.hashing import in_first_half
from .._jit.landmarks import flood
from .._typing import Booleans, Floats, Integers
from ..chunks import Plan
from ..growth.bounds import clipped
from ..growth.discrete import Discrete, spread
from ..growth.exemplars import Exemplars, least
from ..growth.merging import Merges
from ..growth.passes import FirstLook, Sample, first_read, of_all_rows, rows_in_memory
from ..growth.redundant import redundant_columns
from ..growth.scaling import Standardiser, robust_standardiser
from .components import UNCLASSIFIED, by_size, components, merged
from .dual import SLACK, Landmarks, Sphere, landmarks_of, level_of, smallest_sphere, spacing
from .model import N_COLUMNS, Contours, LandmarkCounts, LevelCounts, level_of_counts
from .sweep import (
    ContourSettings,
    Rows,
    Step,
    best_failed,
    chosen_step,
    connecting_edges,
    persistence_of,
    plateau_of,
    sweep,
    widths_for,
)

logger = logging.getLogger(__name__)

SAMPLE = 10
"""Sample rows per landmark; half of them test the clusters."""

SPACING_ALLOWED = 0.5
"""Median distance of a landmark to the nearest, in units of ``1 / sqrt(width)``, above which there is a warning."""


class Clustered(NamedTuple):
    """The result of the plan."""

    contours: Contours
    exemplars: Exemplars
    """The landmark of each cluster where rows are densest."""
    merges: Merges | None = None
    """The merges of the clusters that held-out rows tested."""


def cluster(settings: ContourSettings, shape: tuple[int, int], check: Callable[[FirstLook], None]) -> Plan[Clustered]:
    """Plan the contours around rows.

    One pass, which draws a sample; no more if the sample holds all rows. Otherwise a second counts the rows nearest to
    each landmark, and a third the rows at each level of the contours.
    """
    n_rows, n_features = shape
    wanted = rows_sampled(settings.n_landmarks, n_features)
    look = yield from first_read(settings.seed, wanted, n_rows, check, settings.parts_at)
    near = look.sample._replace(rows=clipped(look.sample.rows, settings.scale))
    frame, discrete = robust_standardiser(near.rows, settings.scale), Discrete()
    if settings.width is None:
        frame = frame.without(redundant_columns(look.sample))
        discrete = spread(look.sample.without(frame.dropped))
    sample = near._replace(rows=discrete.jittered(near.rows, near.hashes))
    landmarks = landmarks_of(sample, frame, settings.n_landmarks)
    mixed = sample.in_random_order()
    first, in_groups = in_first_half(mixed.hashes), settings.parts_at is not None
    rows = Rows(frame.exactly(mixed.rows), mixed.hashes, first, in_groups)
    if len(landmarks.points) < 2:
        logger.warning("all %s rows are equal: they are one cluster", n_rows)
        one = Sphere(landmarks.points, settings.width or 1.0, np.ones(1), np.ones(1))
        contours = _contours(settings, frame, one, np.zeros(1, dtype=np.int64), 1.0, 1.0, _table([], 0, {}))
        return _clustered(contours, look.sample, settings.n_landmarks, n_rows)
    columns = np.ascontiguousarray(landmarks.points.T)
    counting = LandmarkCounts(
        settings.seed, frame.centre, frame.scale, columns, landmarks.first, discrete, settings.parts_at
    )
    counts: Integers = yield from of_all_rows("counting landmarks", counting, look.sample, n_rows)
    exact = n_rows <= settings.n_landmarks
    weights, of_first = counts.astype(np.float64)
    if settings.width is None and (np.count_nonzero(landmarks.first) < 2 or rows.first.all()):
        # Too few rows to divide them into halves.
        settings = replace(settings, width=float(widths_for(landmarks.points)[0]), max_clusters=1)
    steps: list[Step] = []
    if settings.width is None:
        steps = sweep(landmarks.points[landmarks.first], of_first[landmarks.first], rows, settings)
    chosen = chosen_step(steps)
    # The same pass also measures the levels at the widths beside the chosen one, at no cost.
    plateau = [chosen] if exact and steps else plateau_of(steps, chosen)
    pairs = [(steps[i].sphere.width, steps[i].outliers) for i in plateau]
    if settings.width is not None:
        pairs = [(settings.width, settings.outliers)]
    spheres = [smallest_sphere(landmarks.points, weights, width, share) for width, share in pairs]
    histograms = None
    if not exact:
        if not steps:
            _warn_of_spacing(landmarks.points, spheres[0].width)
        measuring = LevelCounts(
            frame.centre, frame.scale, columns, np.stack([sphere.coefficients for sphere in spheres]),
            np.array([sphere.width for sphere in spheres]),
        )  # fmt: skip
        histograms = yield from of_all_rows("measuring levels", measuring, look.sample, n_rows)
    levels = [_level(spheres, weights, histograms, i, settings.outliers) for i in range(len(spheres))]
    own = plateau.index(chosen) if steps else 0
    inner = _level(spheres, weights, histograms, own, pairs[own][1], drawn=True)
    step = steps[chosen] if steps else None
    labels = _labels(settings, spheres[own], inner, weights, landmarks.first, step)
    table = _table(steps, chosen, dict(zip(plateau, levels)))
    contours = _contours(settings, frame, spheres[own], labels, inner, levels[own], table)
    contours = replace(contours, failed=best_failed(steps, chosen))
    merges = _merges(steps, chosen, landmarks, weights, 1 - settings.quantile)
    return _clustered(contours, look.sample, settings.n_landmarks, n_rows)._replace(merges=merges)


def _merges(steps: Sequence[Step], chosen: int, landmarks: Landmarks, counts: Floats, level: float) -> Merges | None:
    """Return the merges that made the clusters, or, of one cluster, those that came nearest to two."""
    tested = [(step, step.confirmed.merged) for step in steps if step.confirmed and step.confirmed.merged]
    if not tested:
        return None
    step, merges = max(tested, key=lambda own: (own[0] is steps[chosen], own[0].found.failed[0]))
    _, nearest = cKDTree(landmarks.points[landmarks.first]).query(landmarks.points)
    cell = flood(step.edges, step.shown.labels)[nearest]
    rows = np.bincount(cell, counts, minlength=step.n_clusters).astype(np.int64)
    return Merges(merges, rows, level / len(tested), len(tested))


def _clustered(contours: Contours, sample: Sample, n_landmarks: int, n_rows: int) -> Clustered:
    """Return contours, whose clusters are numbered by all rows if the sample holds them, and the densest landmarks."""
    drawn = sample.first(n_landmarks)
    if len(sample.rows) == n_rows:
        contours = contours.numbered_by(sample.rows)
    best = least(-contours.totals(drawn.rows), contours.labels(drawn.rows), contours.n_clusters)
    return Clustered(contours, Exemplars.among(drawn, best))


def rows_sampled(n_landmarks: int, n_columns: int) -> int:
    """Return the number of rows in the sample."""
    return rows_in_memory(SAMPLE * n_landmarks, n_columns, least=n_landmarks)


def _warn_of_spacing(points: Floats, width: float) -> None:
    """Warn if landmarks are too far apart for their sum of kernels to approximate that of all rows."""
    if spacing(points) > SPACING_ALLOWED / np.sqrt(width):
        warnings.warn(
            f"expected landmarks at most {SPACING_ALLOWED / np.sqrt(width):.3g} apart for width={width:.3g}; their "
            f"median distance to the nearest is {spacing(points):.3g}: contours may have false holes. Give more "
            "landmarks with n_landmarks=, or a smaller width.",
            UserWarning,
            stacklevel=2,
        )


def _level(
    spheres: Sequence[Sphere], counts: Floats, histograms: Integers | None, i: int, outliers: float, drawn: bool = False
) -> float:
    """Return the level below which a share of all rows lies.

    The level of the landmarks leaves up to twice as many of all rows outside. It is used for contours around all
    landmarks, which a single far row would otherwise widen without limit.
    """
    if histograms is None or (drawn and outliers * len(counts) < 1):
        return level_of(spheres[i].totals(spheres[i].points)[counts > 0], counts[counts > 0], outliers)
    return level_of_counts(histograms[i], outliers)


def _labels(
    settings: ContourSettings, sphere: Sphere, level: float, counts: Floats, first: Booleans, step: Step | None
) -> Integers:
    """Return the clusters of the landmarks, the largest first; -1 outside."""
    if step is None:
        labels = components(sphere, level, counts, **settings.graph)
        large = by_size(labels, counts, float((settings.least_share or 0) * counts.sum()))
        labels = large if large.max() >= 0 else by_size(labels, counts)
    else:
        labels = by_size(_flooded(settings, sphere, level, first, step), counts)
    return labels if settings.max_clusters is None else merged(sphere, labels, counts, settings.max_clusters)


def _flooded(settings: ContourSettings, sphere: Sphere, level: float, first: Booleans, step: Step) -> Integers:
    """Return the clusters of a sweep inside the contours of all rows, spread from the landmarks of one half.

    They spread in descending order of the sum of kernels, so that a component without their landmarks also belongs to
    the cluster that it is connected with at the highest level.
    """
    seeds = np.full(len(sphere.points), -1)
    seeds[first] = step.found.labels
    edges = connecting_edges(sphere.points, settings.n_neighbors)
    labels = flood(sphere.highest_first(edges, settings.n_segment), seeds)
    return np.where(sphere.totals(sphere.points) >= level * (1 - SLACK), np.maximum(labels, 0), -1)


def _contours(
    settings: ContourSettings,
    frame: Standardiser,
    sphere: Sphere,
    labels: Integers,
    inner: float,
    level: float,
    table: Floats,
) -> Contours:
    """Return the contours that label rows by the landmarks inside, or by all once those outside have labels."""
    labels = UNCLASSIFIED[settings.unclassified](sphere, labels, inner * (1 - SLACK))
    leaves = settings.unclassified == "leave"
    known = sphere.totals(sphere.points) >= inner * (1 - SLACK) if leaves else labels >= 0
    vectors = sphere.support
    return Contours(
        frame.centre, frame.scale, sphere.points[known], labels[known].astype(np.int32), sphere.points[vectors],
        sphere.coefficients[vectors], float(sphere.width), level, leaves, table,
    )  # fmt: skip


def _table(steps: Sequence[Step], chosen: int, levels: dict[int, float]) -> Floats:
    """Return the table of the sweep with the columns of `SWEEP_DTYPE`; levels that were not measured are 0."""
    persistence = persistence_of(steps)
    rows = [
        (
            step.sphere.width, step.outliers, step.sphere.support.sum(), step.sphere.bounded.sum(), step.n_components,
            step.smallest, step.n_clusters, step.n_confirmed, persistence[i], levels.get(i, 0.0), i == chosen,
        )
        for i, step in enumerate(steps)
    ]  # fmt: skip
    return np.array(rows, dtype=np.float64).reshape(-1, N_COLUMNS)
