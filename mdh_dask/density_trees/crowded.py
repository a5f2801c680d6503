"""Hundreds of clusters, of which a usual sample holds tens of rows each: how many show them, and their structure."""

from typing import NamedTuple

import numpy as np

from .._blas import one_blas_thread
from .._jit.hashing import hash_again
from .._random import generator
from .._typing import Floats, Integers
from ..growth.bounds import clipped
from ..growth.crowds import BALL, BALLS, FEWEST_ROWS, GAPS, MOST_IN_BALL, ROWS_EACH, balls_are_crowded, groups_apart
from ..growth.passes import Sample
from ..growth.scaling import robust_standardiser
from ..valleys.graph import RESOLUTION, communities, neighbourhood
from ..valleys.linkage import closest, linkage
from ..valleys.neighbours import distinct
from ..valleys.pair_tests import HALVES
from ..valleys.regions import WIDTHS, in_regions, least_of_discoveries
from .structure import MOST_EVIDENCE, Structure, no_sides, one_cell, spanned

ROWS_OF_CELL = 200
"""Sample rows of a cell where clusters are not clearly apart, on average: of half as many, fewer valleys are told."""

USUAL_ROWS = 20_000
"""Rows for which `RESOLUTION` is; it grows with them, so that the cells of more rows are more, not larger."""

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
    rows = spanned(robust_standardiser(raw, scale).exactly(raw[distinct(raw)]))
    if len(rows) < FEWEST_ROWS:
        return None
    groups = groups_apart(rows, 0, generator(seed, GAPS))
    if groups is not None:
        wanted = min(round(len(sample.rows) * ROWS_EACH / groups.rows), MOST_ROWS)
        return Crowd(wanted, wanted // 4)
    n = min(round(BALL * len(rows)), MOST_IN_BALL)
    if not balls_are_crowded(rows, n, generator(seed, BALLS)):
        return None
    n_cells = int(communities(neighbourhood(rows).shared, _resolution(len(rows))).max()) + 1
    wanted = min(ROWS_OF_CELL * n_cells, MOST_ROWS)
    return Crowd(wanted, wanted // 2)


def structure_of_crowd(points: Floats, hashes: Integers, level: float) -> Structure:
    """Return the cells of rows and the evidence between them in convex regions around two cells in contact.

    A share of `level` of the links that separate cells is false at most; in a cloud without clusters, this is the
    probability of any.

    points (n_rows, n_columns) float64: in ascending order of the hashes.
    """
    points = spanned(points)
    graph = neighbourhood(points)
    cell = communities(graph.shared, _resolution(len(points)))
    n_cells = int(cell.max()) + 1
    if n_cells == 1:
        return one_cell(len(points))._replace(reach=graph.reach)
    order = linkage(graph.dense, cell)
    members, links = [np.array([own]) for own in range(n_cells)], []
    for kept, gone in zip(order.kept.tolist(), order.gone.tolist()):
        links.append(closest(order.contact, members[kept], members[gone]))
        members[kept] = np.append(members[kept], members[gone])
    first = np.asarray(hash_again(hashes, HALVES) & np.uint64(1) == 0)
    found = in_regions(points, first, cell, np.array(links))
    threshold = least_of_discoveries(found.evidence, level, len(WIDTHS))
    evidence = np.clip(found.evidence, 0, MOST_EVIDENCE)
    return Structure(cell, np.array(links), evidence, found.core, found.cut, threshold, no_sides(n_cells), graph.reach)


def _resolution(n_rows: int) -> float:
    return RESOLUTION * max(n_rows / USUAL_ROWS, 1)
