"""Cells for the test on all rows: the basins of attraction of the modes of a sample's density."""

import numpy as np

from .._jit.landmarks import flood
from .._typing import Floats, Integers
from ..valleys.graph import basins_of, smooth_neighbours
from ..valleys.structure import Structure


class _Links:
    """A spanning tree of basins that grows link by link, with the basins on either side of each link."""

    def __init__(self, n: int) -> None:
        self.united = np.arange(n)
        self.pairs: list[tuple[int, int]] = []
        self.sides: list[Integers] = []

    def join(self, a: int, b: int) -> bool:
        """Link two basins unless they are connected."""
        one, other = self.united == self.united[a], self.united == self.united[b]
        if one[b]:
            return False
        self.pairs.append((a, b))
        self.sides.append(np.where(one, 0, np.where(other, 1, -1)).astype(np.int8))
        self.united[other] = self.united[a]
        return True


def with_basins(points: Floats, structure: Structure) -> tuple[Structure, Integers]:
    """Return a structure whose cells are basins, and the sides of the first links, which the sample does not show.

    Communities have borders that cross dense places. No number of rows then shows the valley, as the densest place on
    such a cut is in one of the clusters. The borders of basins are where rows are sparse. Links that the sample shows
    stay, and divide the basins as the groups to which these belong.

    points (n_rows, n_columns) float64: the sample.
    structure: its cells are communities.

    Returns
    -------
    structure : Structure
    sides : array of shape (n_hidden, n_basins), int8
        0 and 1 for basins of the two groups of each of these links, otherwise -1.
    """
    near, reach = smooth_neighbours(points)
    basin = basins_of(near, reach)
    pairs = _by_saddle(near, reach, basin)
    shown = np.flatnonzero(structure.evidence >= structure.threshold)
    group_of_cell = structure.groups
    rows = _rows_in_common(basin, group_of_cell[structure.cell])
    group, links = groups_of_basins(rows, pairs), _Links(len(rows))
    for a, b in pairs[group[pairs[:, 0]] == group[pairs[:, 1]]].tolist():
        links.join(a, b)
    for first in np.unique(group, return_index=True)[1].tolist():
        for other in np.flatnonzero(group == group[first]).tolist():
            links.join(first, other)
    n_hidden, kept = len(links.pairs), []
    for link in shown.tolist():
        ends = _contact(pairs, group, rows, *group_of_cell[structure.links[link]])
        if links.join(*ends):
            kept.append(link)
    evidence, in_core, in_cut = np.zeros((3, len(links.pairs)))
    for new, old in zip((evidence, in_core, in_cut), (structure.evidence, structure.core_rows, structure.cut_rows)):
        new[n_hidden:] = old[kept]
    pairs_of_links = np.array(links.pairs, dtype=np.int64).reshape(-1, 2)
    found = structure._replace(cell=basin, links=pairs_of_links, evidence=evidence, core_rows=in_core, cut_rows=in_cut)
    return found, np.array(links.sides[:n_hidden], dtype=np.int8).reshape(-1, len(rows))


def groups_of_basins(rows: Integers, pairs: Integers) -> Integers:
    """Return the group of each basin: the one that has all of its rows, or else the one to which densest saddles lead.

    A basin across the border of two groups may have most of its rows in one of them, and its mode in the other.

    rows (n_basins, n_groups) int: numbers of rows.
    pairs (n_pairs, 2) int: those of `_by_saddle`.
    """
    most = rows.argmax(axis=1)
    found = flood(pairs, np.where(np.count_nonzero(rows, axis=1) == 1, most, -1))
    return np.where(found < 0, most, found)


def _by_saddle(near: Integers, reach: Floats, basin: Integers) -> Integers:
    """Return the pairs of basins with neighbouring rows, those with the densest saddle first, shape (n_pairs, 2)."""
    rows, others = np.repeat(np.arange(len(near)), near.shape[1]), near.ravel()
    ends = np.sort(np.column_stack([basin[rows], basin[others]]), axis=1)
    apart = ends[:, 0] != ends[:, 1]
    ends, saddle = ends[apart], np.maximum(reach[rows], reach[others])[apart]
    order = np.lexsort((ends[:, 1], ends[:, 0], saddle))
    return ends[order][np.sort(np.unique(ends[order], axis=0, return_index=True)[1])]


def _contact(pairs: Integers, group: Integers, rows: Integers, one: int, other: int) -> tuple[int, int]:
    """Return two basins, one of each group, with the densest saddle, or else those with most of their rows."""
    in_one, in_other = group[pairs] == one, group[pairs] == other
    for i in np.flatnonzero((in_one[:, 0] & in_other[:, 1]) | (in_one[:, 1] & in_other[:, 0]))[:1]:
        return int(pairs[i, 0]), int(pairs[i, 1])
    most = rows + rows.max() * (group[:, None] == np.arange(rows.shape[1]))
    return int(most[:, one].argmax()), int(most[:, other].argmax())


def _rows_in_common(basin: Integers, group: Integers) -> Integers:
    """Return the number of rows in each basin and group, shape (n_basins, n_groups)."""
    counts = np.zeros((int(basin.max()) + 1, int(group.max()) + 1), dtype=np.int64)
    np.add.at(counts, (basin, group), 1)
    return counts
