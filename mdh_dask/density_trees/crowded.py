"""Hundreds of clusters, of which a usual sample holds tens of rows each: how many show them, and their structure."""

from typing import NamedTuple

from .._blas import one_blas_thread
from .._levels import changed_by_levels
from .._random import generator
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
from ..growth.passes import Sample
from ..growth.scaling import near_standardiser
from ..valleys.graph import neighbourhood
from ..valleys.neighbours import distinct
from ..valleys.structure import cells_of_crowd, spanned

ROWS_OF_CELL = 400
"""Sample rows of a cell where clusters are not clearly apart, on average.

Of 200, 300, 400 and 600, ``python -m tests.benchmarks many --clusters 200 --columns 8 --kind Zipf`` finds 140, 156, 160
and 163 clusters, and takes longer with each."""

MOST_ROWS = 100_000
"""Most rows, as comparing all pairs of them takes time with the square of their number."""


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
    rows = near_standardiser(raw, scale).without(changed).exactly(raw)
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
