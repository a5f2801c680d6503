"""What a sample shows: the looks at its columns, the draws of its rows, and the structure that counts."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from .._blas import one_blas_thread
from .._jit.hashing import hash_again
from .._levels import LevelFeatures, changed_by_levels, has_levels
from .._typing import AnyArray, Floats, Integers
from ..growth.bounds import clipped, without_far_rows
from ..growth.discrete import (
    ROUNDED,
    Discrete,
    atom_in,
    discrete_of,
    spread,
    with_drawn_scales,
    without_copies,
)
from ..growth.passes import Columns, Sample
from ..growth.scaling import Standardiser, near_standardiser
from ..growth.uneven import uneven_in
from ..metrics.contingency import Contingency
from ..metrics.scores import normalized_mutual_information
from ..valleys.lines import FEW_COLUMNS, n_varying
from ..valleys.structure import Structure, structure_of, structure_of_crowd

ROWS_OF_DRAWS, MOST_DRAWS, FEWEST_DRAWS = 5000, 7, 3
"""Few rows are drawn repeatedly, until about so many are compared in all: their order, halves and displacements decide
whether clusters at the edge of significance are found. More rows are drawn once."""

ALIKE = 0.95
"""Clusters that share so much information differ by single rows."""

DECIMALS = 9
"""Sums of shared information are compared by so many decimals, as rounding errors depend on the order of clusters."""


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


class Sketch(NamedTuple):
    """What a sample shows."""

    shown: Sample
    """Its rows without copies."""
    frame: Standardiser
    discrete: Discrete
    points: Floats
    """The same, jittered and standardised."""
    structure: Structure
    testable: bool
    """Whether other rows can test it again: balls hold few rows of many columns, and those of regions are counted."""


class _Look(NamedTuple):
    """Columns of a sample."""

    frame: Standardiser
    """Drops the other columns."""
    whole: bool
    """Whether these are all columns."""
    levels: LevelFeatures | None
    sample: Sample
    """Rows that differ in the columns."""


def _looks(settings: DensitySettings, sample: Sample, crowded: bool, n_rows: int) -> list[_Look]:
    """Return the looks at a sample: that at the columns which levels do not change first, the only one of a crowd."""
    shown = sample if settings.levels is not None else _different_rows(settings, sample, None, n_rows)
    raw = clipped(shown.rows, settings.scale)
    frame = near_standardiser(shown._replace(rows=raw), settings.scale)
    numbers = frame.without(changed_by_levels(raw, settings.levels))
    every = [_Look(frame, True, settings.levels, shown)]
    if (numbers.scale == frame.scale).all() or not numbers.scale.any():
        return every
    shown = _different_rows(settings, shown, np.flatnonzero(numbers.scale), n_rows)
    of_numbers = _Look(numbers, False, None, shown)
    return [of_numbers] if crowded else [of_numbers, *every]


def sketch_of(
    settings: DensitySettings, columns: Columns, sample: Sample, crowded: bool, least_apart: int, n_rows: int
) -> Sketch:
    """Return what rows show without the columns that levels change or with them, whichever are more clusters.

    Neighbours in all columns are rows of equal levels, and jittered levels hide clusters of the other columns; but
    levels may tell clusters apart, too.
    """
    looks = _looks(settings, sample, crowded, n_rows)
    level = (1 - settings.quantile) / len(looks)
    in_groups = settings.parts_at is not None

    def drawn(look: _Look, raw: Sample, draw: int) -> Sketch:
        again = hash_again(raw.hashes, draw) if draw else raw.hashes
        order = np.argsort(again, kind="stable")
        rows = raw._replace(hashes=again).take(order)
        changed, discrete, bandwidth = _without_levels(columns, rows, look)
        points = look.frame.exactly(discrete.jittered_levels(changed, rows.hashes))
        if crowded:
            found = structure_of_crowd(points, rows.hashes, level)
        else:
            found = structure_of(points, rows.hashes, level, bandwidth, in_groups, least_apart)
        # Rows that are not drawn would show the levels of scales.
        testable = not crowded and not in_groups and n_varying(points) <= FEW_COLUMNS and changed is rows.rows
        back = np.argsort(order)
        found = found._replace(cell=found.cell[back], reach=found.reach[back])
        return Sketch(look.sample, look.frame, discrete, points[back], found, testable and len(found.links) > 0)

    def seen(look: _Look) -> Sketch:
        raw = look.sample._replace(rows=clipped(look.sample.rows, settings.scale)).without(look.frame.dropped)
        draws = partial(drawn, look, raw)
        return draws(0) if crowded or in_groups else _most_agreed(draws, len(raw.rows))

    with one_blas_thread():
        return max(map(seen, looks), key=lambda sketch: sketch.structure.n_apart)


def _without_levels(
    columns: Columns, sample: Sample, look: _Look
) -> tuple[AnyArray, Discrete, Callable[[Floats], float] | None]:
    """Return rows with drawn scales, and what else keeps their levels from being clusters, or from hiding any.

    The third is the bandwidth of `mdh_dask.valleys.structure.structure_of`.
    """
    many = np.count_nonzero(look.frame.scale) > FEW_COLUMNS
    if many and look.levels is not None:
        return sample.rows, Discrete(), _bandwidth(look.levels, look.frame.scale)
    sample = with_drawn_scales(sample)  # the ends of correlated ratings would be clusters
    if many:
        discrete = spread(sample)
    else:  # each step or level would be a cluster, and gaps between values valleys
        near = without_far_rows(columns, sample)[1]
        discrete = replace(discrete_of(near, look.levels, ROUNDED), uneven=uneven_in(near))
    return sample.rows, discrete if look.whole else replace(discrete, levels=None), None


def _most_agreed(drawn: Callable[[int], Sketch], n_rows: int) -> Sketch:
    """Return the sketch whose clusters share most information with those of the other draws.

    There are no further draws once most of all would be alike; of equals, the one with more clusters counts.
    """
    n_draws = min(ROWS_OF_DRAWS // n_rows, MOST_DRAWS)
    if n_draws < FEWEST_DRAWS:
        return drawn(0)
    found: list[Sketch] = []
    while len(found) < n_draws:
        found.append(drawn(len(found)))
        shared = _shared(found)
        if 2 * (shared >= ALIKE).sum(axis=1).max() > n_draws:
            break
    agreement = shared.sum(axis=1).round(DECIMALS)
    return max(zip(agreement, found), key=lambda each: (each[0], each[1].structure.n_apart))[1]


def _shared(found: list[Sketch]) -> Floats:
    """Return the normalised mutual information of the clusters by every two draws, shape (n_draws, n_draws)."""
    labels, counting = [own.structure.groups[own.structure.cell] for own in found], Contingency()
    tables = [[counting.finalise(counting.chunk(0, one, other)) for other in labels] for one in labels]
    return np.array([[normalized_mutual_information(table) for table in row] for row in tables])


def _bandwidth(levels: LevelFeatures | None, scale: Floats) -> Callable[[Floats], float] | None:
    """Return how far the levels of a map of many columns smooth directions of standardised features.

    Jitter along all of them would hide clusters. None without a map that knows levels: those of two-valued columns are
    hidden where two groups may differ by them.
    """
    if not has_levels(levels):
        return None
    discrete = Discrete(levels=levels)
    return lambda direction: float(discrete.bandwidth_along((direction * scale)[None])[0])


def _different_rows(settings: DensitySettings, sample: Sample, columns: Integers | None, n_rows: int) -> Sample:
    """Return a sample without copies of rows in some columns, all if None.

    The nearest rows of a row, and those that test it, would be its copies.
    """
    if settings.parts_at is not None:
        return sample
    rows = sample.rows if columns is None else sample.rows[:, columns]
    places = sample._replace(rows=rows, numbers=np.arange(len(rows)))
    kept = without_copies(places, atom_in(sample, n_rows, settings.min_rows))[0].numbers
    return sample if len(kept) == len(rows) else sample.take(kept)
