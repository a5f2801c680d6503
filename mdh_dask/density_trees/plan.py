"""The plan of a density tree: cells of a sample, the evidence between them, and counts of all rows."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._jit.lattices import spread_rows
from .._typing import Integers
from ..chunks import Pass, Plan, Statistic
from ..growth.frames import frame_of
from ..growth.passes import FirstLook, FirstPass, Sample, sample_limit, smallest_hashes
from ..growth.sampling import RESERVOIR_VALUES
from ..growth.scaling import standardiser
from .model import DensityModel
from .passes import NearestCounts
from .structure import MANY_COLUMNS, clusters_of, structure_of

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class DensitySettings:
    """The settings of a density tree; see `mdh_dask.DensityTree`.

    `min_rows` is the least number of rows in a cluster, `most_clusters` the largest number of clusters, or None.
    """

    sample_size: int
    n_landmarks: int
    scale: bool
    quantile: float
    min_rows: int
    most_clusters: int | None
    exactly: bool
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
    each landmark.
    """
    n_rows, n_features = shape
    wanted = rows_sampled(settings.sample_size, n_features)
    look: FirstLook = yield Pass("reading", FirstPass(settings.seed, sample_limit(wanted, n_rows)))
    check(look)
    sample = smallest_hashes(look.sample, wanted)
    held = sample if len(sample.rows) == n_rows else None
    frame = frame_of(sample.rows, settings.scale)
    spread = _spread(look, sample, settings.scale)
    points = frame(spread.rows).astype(np.float64)
    structure = structure_of(points, spread.hashes, 1 - settings.quantile)
    size = settings.n_landmarks
    points, cells = points[:size], structure.cell[:size]
    counts = yield from _asked("counting", NearestCounts(frame.centre, frame.scale, points), held)
    n_cells = len(structure.links) + 1
    rows = np.zeros(n_cells, dtype=np.int64)
    np.add.at(rows, cells, counts)
    threshold = -np.inf if settings.exactly else structure.threshold
    clusters = clusters_of(
        structure.links, structure.evidence, rows, threshold, settings.min_rows, settings.most_clusters
    )
    return DensityModel(
        frame.centre, frame.scale, points, cells.astype(np.int64), counts.astype(np.int64), structure.links,
        structure.evidence, structure.core_rows, structure.cut_rows, clusters, float(structure.threshold),
    )  # fmt: skip


def rows_sampled(sample_size: int, n_columns: int) -> int:
    """Return the number of rows in the sample."""
    return max(min(sample_size, RESERVOIR_VALUES // n_columns), 1)


def _spread(look: FirstLook, sample: Sample, scale: bool) -> Sample:
    """Return the sample in the order of the hashes, with values of few levels spread over their steps.

    Each level would otherwise be a cluster. In many columns hardly any rows are equal, and the spread would hide
    clusters (optdigits: 5 instead of 10).
    """
    lattices = standardiser(look.columns, sample, scale, spread=True).lattices
    sample = sample.take(np.argsort(sample.hashes, kind="stable"))
    if not lattices or sample.rows.shape[1] > MANY_COLUMNS:
        return sample
    rows = sample.rows.astype(np.float64)
    spread_rows(rows, sample.hashes, lattices)
    return sample._replace(rows=rows)


def _asked(verb: str, statistic: Statistic, held: Sample | None) -> Plan[Any]:
    """Request a statistic of all rows, or compute it from the sample if it holds them all."""
    if held is not None:
        counts: Integers = statistic.finalise(statistic.chunk(0, held.rows))
        return counts
    value = yield Pass(verb, statistic)
    return value
