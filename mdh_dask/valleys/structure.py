"""The tree of merges of cells with the evidence for each."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._typing import Booleans, Floats, Integers
from .graph import (
    RESOLUTION,
    Neighbourhood,
    basins_of,
    closest,
    communities,
    groups_of,
    linkage,
    neighbourhood,
    smooth_neighbours,
    with_most_edges,
)
from .lines import FEW_COLUMNS, n_varying
from .merging import FEWEST, Merged, merge_cells
from .pair_tests import counted_in_regions
from .regions import WIDTHS, least_of_discoveries

COARSE_RESOLUTION = 3.0
"""Resolution of the communities in many columns: their evidence needs larger cells."""

USUAL_ROWS = 12_000
"""Most rows that are divided at `RESOLUTION`. With 20,000, some clusters of a hundred rows in a crowd would share a
cell."""

DEPENDENT = 1e-6
"""Columns are dependent if rows spread by less than this across some direction, as a share of their largest spread,
with far rows drawn near. The sums of columns of 32 bits have rounding errors."""

MOST_EVIDENCE = 1e6
"""That of groups that are no neighbours, as no file holds infinite numbers."""


class Source(NamedTuple):
    """A way to draw cells."""

    cells: Callable[[Floats, Neighbourhood], Integers]
    """Returns the cell of each of some points, whose neighbours are known, shape (n_points,)."""
    many_columns: bool
    """Whether points have more than `FEW_COLUMNS`."""
    of_groups: bool = True
    """Whether points may depend on each other in groups, which show valleys between large cells only."""


SOURCES = {
    "communities": Source(lambda _, graph: communities(graph.shared), many_columns=False, of_groups=False),
    "basins": Source(lambda points, _: basins_of(*smooth_neighbours(points)), many_columns=False),
    "large communities": Source(lambda _, graph: communities(graph.shared, COARSE_RESOLUTION), many_columns=True),
}
"""Sources of cells, of which the one whose cells show most clusters counts.

Communities have borders that cross dense places, so that some of them reach from one cluster into another. Basins do
not, but those of a thin curve end where it is sparse. In many columns, neighbours hardly tell where rows are dense."""


class Structure(NamedTuple):
    """Cells of rows and a spanning tree of the cells, whose links are the merges in turn."""

    cell: Integers
    """Cell of each row, numbered from 0, shape (n_rows,)."""
    links: Integers
    """The two cells in closest contact of each merge, shape (n_cells - 1, 2)."""
    evidence: Floats
    """By how many standard errors the cut has fewer rows than either core, at the radius or slab where this is most; of
    the groups that are left last, the most so far, as all of them are apart when the next two are merged."""
    core_rows: Floats
    """Rows in the balls or slab of the core there, on the side of the least evidence; a mean over halves."""
    cut_rows: Floats
    """Rows in as many balls, or in the slab, on the cut."""
    threshold: float
    """Evidence above which a link separates clusters."""
    reach: Floats
    """Distance of each row to its tenth neighbour, small where rows are dense, shape (n_rows,)."""

    @property
    def n_apart(self) -> int:
        """Return the number of links that separate clusters."""
        return int(np.count_nonzero(self.evidence >= self.threshold))

    @property
    def groups(self) -> Integers:
        """Return the cluster of each cell, numbered from 0, shape (n_cells,)."""
        return groups_of(self.links[self.evidence < self.threshold], len(self.links) + 1)


def structure_of(
    points: Floats,
    hashes: Integers,
    level: float,
    bandwidth: Callable[[Floats], float] | None = None,
    in_groups: bool = False,
    least_apart: int = 0,
) -> Structure:
    """Return the cells of rows and the evidence between them.

    points (n_rows, n_columns) float64: in ascending order of the hashes.
    hashes (n_rows,) uint64: their bits divide the rows into halves.
    level: probability of a false separation, shared among the ways to draw cells, the merges, the radii and the slabs.
    bandwidth: returns how far single columns of few levels change a projection on a direction, shape (n_columns,). For
        more than `FEW_COLUMNS` columns, as the rows of fewer are displaced.
    in_groups: whether rows depend on each other, and the last bits of the hashes are their parts; see
        `mdh_dask.splits.dependence`. Then halves are those of the parts, whose counts are compared, in balls only.
    least_apart: least number of links that have to separate clusters. Where fewer do, there may be one cell only:
        comparing all groups that the merges in order leave takes most of the time.
    """
    n = len(points)
    if not (varying := np.ptp(points, axis=0) > 0).any():
        return one_cell(n)
    points = spanned(points)
    many, graph = n_varying(points) > FEW_COLUMNS, neighbourhood(points)
    if n < FEWEST:
        return one_cell(n)._replace(reach=graph.reach)
    # Columns of few levels are hidden in projections of many columns only.
    along = (lambda direction: bandwidth(_placed(direction, varying))) if many and bandwidth is not None else None
    partitions = _partitions(points, graph, many, in_groups)

    def found(cell: Integers) -> Structure:
        n_cells = int(cell.max()) + 1
        if n_cells == 1:
            return one_cell(n)._replace(reach=graph.reach)
        order = linkage(graph.dense, cell)
        # Communities end where few neighbours are shared, which is a better border than that of most neighbours.
        merged = merge_cells(
            points, hashes, cell, n_cells, most_groups=1, fewest_groups=max(least_apart, 1), smooth=False,
            bandwidth=along, in_groups=in_groups, slabs=many or not in_groups, order=order,
            level=level / len(partitions),
        )  # fmt: skip
        return _structure(cell, merged, order.contact, graph.reach) if len(merged.pairs) == n_cells - 1 else one_cell(n)

    return _settled(graph, max(map(found, partitions), key=lambda structure: structure.n_apart))


def _partitions(points: Floats, graph: Neighbourhood, many: bool, in_groups: bool) -> list[Integers]:
    """Return the cell of each row by each source of cells for such rows.

    Equal rows have one cell: the nearest rows of each would be some of the others, and a thousand of them a hundred
    cells.
    """
    sources = (own for own in SOURCES.values() if own.many_columns == many and (own.of_groups or not in_groups))
    _, first, place = np.unique(points, axis=0, return_index=True, return_inverse=True)
    drawn = (own.cells(points, graph) for own in sources)
    return [np.unique(cell[first][place.ravel()], return_inverse=True)[1] for cell in drawn]


def structure_of_crowd(points: Floats, hashes: Integers, level: float) -> Structure:
    """Return the cells of rows and the evidence between them in convex regions around two cells in contact.

    A share of `level` of the links that separate cells is false at most; in a cloud without clusters, this is the
    probability of any.

    points (n_rows, n_columns) float64: in ascending order of the hashes.
    """
    points = spanned(points)
    graph = neighbourhood(points)
    cell = cells_of_crowd(graph)
    n_cells = int(cell.max()) + 1
    if n_cells == 1:
        return one_cell(len(points))._replace(reach=graph.reach)
    order = linkage(graph.dense, cell)
    members, links = [np.array([own]) for own in range(n_cells)], []
    for kept, gone in zip(order.kept.tolist(), order.gone.tolist()):
        links.append(closest(order.contact, members[kept], members[gone]))
        members[kept] = np.append(members[kept], members[gone])
    found = counted_in_regions(points, hashes, cell, np.array(links))
    threshold = least_of_discoveries(found.evidence, level, len(WIDTHS))
    evidence = np.clip(found.evidence, 0, MOST_EVIDENCE)
    rows = found.core_rows, found.cut_rows
    return _settled(graph, Structure(cell, np.array(links), evidence, *rows, threshold, graph.reach))


def cells_of_crowd(graph: Neighbourhood) -> Integers:
    """Return the cell of each of many rows; the cells of more rows are more, not larger."""
    return communities(graph.shared, RESOLUTION * max(len(graph.reach) / USUAL_ROWS, 1))


def _structure(cell: Integers, merged: Merged, contact: Floats, reach: Floats) -> Structure:
    """Return the tree of merges.

    When two of the groups that are apart are merged, all have at least their evidence, so the next merge has no less,
    even if a third group hides a valley.
    """
    n_cells = len(contact)
    group, links = np.arange(n_cells), []
    for first, second in merged.pairs:
        links.append(closest(contact, np.flatnonzero(group == first), np.flatnonzero(group == second)))
        group[group == second] = first
    evidence = np.minimum(merged.evidence, MOST_EVIDENCE)
    evidence = np.maximum(evidence, np.maximum.accumulate(np.where(evidence >= merged.threshold, evidence, 0)))
    core, cut = np.transpose(merged.rows)
    return Structure(cell, np.array(links), evidence, core, cut, merged.threshold, reach)


def _settled(graph: Neighbourhood, structure: Structure) -> Structure:
    """Return the structure with rows in the clusters to which they have most edges."""
    return structure._replace(cell=with_most_edges(graph.shared, structure.cell, structure.groups))


def spanned(points: Floats) -> Floats:
    """Return points in the columns that they span, in which they have the same distances.

    Others would pass for dimensions, across which rows are not spread: constant columns, and of few columns sums or
    copies of others.
    """
    points = np.compress(np.ptp(points, axis=0) > 0, points, axis=1)  # column by column if they were indexed
    if not 1 < points.shape[1] <= FEW_COLUMNS:
        return points
    away = np.abs(points - np.median(points, axis=0)).max(axis=1)
    centred = points - points[away.argmin()]
    lengths = np.abs(centred).max(axis=1)
    # A row at a million times the distance of others would leave them no spread in comparison.
    drawn = centred / np.maximum(lengths, np.median(lengths[lengths > 0]))[:, None]
    variances, axes = np.linalg.eigh(drawn.T @ drawn)
    free = variances > DEPENDENT**2 * variances[-1]
    return points if free.all() else centred @ axes[:, free]


def _placed(values: Floats, places: Booleans) -> Floats:
    """Return values at some places among zeros."""
    found = np.zeros(len(places))
    found[places] = values
    return found


def one_cell(n: int) -> Structure:
    """Return the structure of rows without clusters."""
    none = np.empty(0)
    cell, links = np.zeros(n, dtype=np.int64), np.empty((0, 2), dtype=np.int64)
    # Nothing is compared with the threshold; JSON of saved models has no infinite numbers.
    return Structure(cell, links, none, none, none, float(np.finfo(np.float64).max), np.zeros(n))
