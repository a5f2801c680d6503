"""The tree of merges of cells with the evidence for each."""

from collections.abc import Callable, Iterator
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from .._jit.hashing import hash_again
from .._typing import Booleans, Floats, Integers
from ..splits.dependence import halves_of_parts, parts_in
from ..valleys.balls import FEW_COLUMNS
from ..valleys.merging import merge_cells
from .evidence import RADII, Half
from .graph import communities, neighbourhood
from .linkage import Merges, linkage
from .slabs import NEAREST

FEWEST = 30
"""With fewer rows, there is one cell."""

MOST_SPLITS = 6

ROWS_OF_SPLITS = 24_000
"""Fewer rows are halved repeatedly, at most `MOST_SPLITS` times, until about this many are compared in all.

The evidence of valleys grows with the halvings, that of clouds without clusters does not: of 5000 rows, it was a fifth
larger with four than with one. With more rows, each halving takes longer and adds less."""

COARSE_RESOLUTION = 3.0
"""Resolution of the communities in many columns: their evidence needs larger cells."""

EVIDENCE, BY_ROWS, LEAST_EVIDENCE, MOST_NEEDED = 2.1, 0.37, 2.3, 3.8
"""Evidence that separates clusters of 200 rows, its increase with each doubling of the rows, its minimum and maximum.

Cells are drawn from all rows, and so have borders where the counted rows happen to be sparse. In clouds without
clusters in two columns, one in twenty had evidence above 2.1 (200 rows), 2.4 (500) and 2.8 (1000); without slabs, above
2.7 (2000) and 3.5 (5000). The minimum is for thin curves of few rows, of which ``python -m tests.benchmarks honesty
--kind "thin curves"`` shows how many are divided: with 3.0 for balls, clusters of 240 rows are merged."""

HALVES = 1
"""Key of the hashes whose bits divide the rows, as values of few levels are spread by the bits of the hashes."""

DEPENDENT = 1e-6
"""Columns are dependent if rows spread by less than this across some direction, as a share of their largest spread,
with far rows drawn near. The sums of columns of 32 bits have rounding errors."""

USUAL_LEVEL = 0.05

MOST_EVIDENCE = 1e6

CLEAR = 0.5
"""Share of the threshold up to which dependent rows are merged in the order of cells. Parts of two clusters have little
evidence as long as they are small, and were merged for good: with more, they wait until the pairs with less are merged
(``python -m tests.benchmarks dependence``)."""

SHARED_EVIDENCE = 0.5
"""Correlation of the evidence of several halvings of the same rows, as in `mdh_dask.valleys.merging`."""


Values = tuple[float, float, float]
"""Evidence, rows in the core and rows on the cut."""


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
    """Rows in the balls or slab of the core there, on the side of the least evidence; a mean over halves.
    Zero with more than `FEW_COLUMNS` columns."""
    cut_rows: Floats
    """Rows in as many balls, or in the slab, on the cut."""
    threshold: float
    """Evidence above which a link separates clusters."""
    sides: Integers
    """0 and 1 for cells of the two groups of each link, otherwise -1, shape (n_cells - 1, n_cells), int8. No links with
    more than `FEW_COLUMNS` columns."""
    reach: Floats
    """Distance of each row to its tenth neighbour, small where rows are dense, shape (n_rows,)."""

    @property
    def separates(self) -> bool:
        """Return whether there are clusters."""
        return bool((self.evidence >= self.threshold).any())


def structure_of(
    points: Floats,
    hashes: Integers,
    level: float,
    slabs: bool = True,
    bandwidth: Callable[[Floats], float] | None = None,
    in_groups: bool = False,
) -> Structure:
    """Return the cells of rows and the evidence between them.

    Parameters
    ----------
    points : array of shape (n_rows, n_columns), float64
        In ascending order of the hashes.
    hashes : array of shape (n_rows,), uint64
        Their bits divide the rows into halves.
    level : float
        Probability of a false separation, shared among the merges, the radii and the slabs.
    slabs : bool, default=True
        Whether rows are also counted in slabs, in two to `FEW_COLUMNS` columns. In one column, balls are slabs, and
        both together split too many clouds. A pass that tests the clusters again counts balls only.
    bandwidth : callable, optional
        Returns how far single columns of few levels change a projection on a direction, shape (n_columns,). For more
        than `FEW_COLUMNS` columns, as the rows of fewer are displaced.
    in_groups : bool, default=False
        Whether rows depend on each other, and the last bits of the hashes are their parts; see
        `mdh_dask.splits.dependence`. Then halves are those of the parts, whose counts are compared, in balls only.
    """
    n = len(points)
    if n < FEWEST or not (varying := np.ptp(points, axis=0) > 0).any():
        return _one_cell(n)
    points = spanned(points)
    graph = neighbourhood(points)
    if points.shape[1] > FEW_COLUMNS:  # the middle of two rows is nearer to others than both
        cell = communities(graph.shared, COARSE_RESOLUTION)
        own = None if bandwidth is None else lambda direction: bandwidth(_placed(direction, varying))
        return _as_leaves(points, hashes, cell, level, graph.reach, own, in_groups)
    cell = communities(graph.shared)
    if cell.max() == 0:
        return _one_cell(n)._replace(reach=graph.reach)
    merges, slabs = linkage(graph.dense, cell), slabs and points.shape[1] > 1 and not in_groups
    parts = parts_in(hashes) if in_groups else None
    n_splits = max(min(ROWS_OF_SPLITS // n, MOST_SPLITS), 1)
    bits = [_half(hashes, number, parts) for number in range(n_splits)]
    halvings = [[Half(points, half, slabs=slabs, parts=parts) for half in (bit, ~bit)] for bit in bits]
    least = LEAST_EVIDENCE
    if not in_groups:
        least = np.clip(EVIDENCE + BY_ROWS * np.log2(n / 200), LEAST_EVIDENCE, MOST_NEEDED)
    threshold = _at_level(least, level, len(merges.kept) * (len(RADII) + slabs * len(NEAREST)))
    structure = _tested(cell, merges, halvings, threshold * CLEAR if in_groups else threshold)
    return structure._replace(threshold=threshold, reach=graph.reach)


def _half(hashes: Integers, number: int, parts: Integers | None) -> Booleans:
    """Return the rows of the first half in one of several ways to halve rows, or the parts of dependent rows."""
    if parts is not None:
        return halves_of_parts(number)[parts]
    return np.asarray((hash_again(hashes, HALVES) >> np.uint64(number)) & np.uint64(1) == 0)


def spanned(points: Floats) -> Floats:
    """Return points in as many columns as they span, at the same distances: others would pass for dimensions.

    Rows are not spread across the dimensions of constant columns, and of sums or copies of others in few columns.
    """
    points = np.compress(np.ptp(points, axis=0) > 0, points, axis=1)
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


def _as_leaves(
    points: Floats,
    hashes: Integers,
    cell: Integers,
    level: float,
    reach: Floats,
    bandwidth: Callable[[Floats], float] | None,
    in_groups: bool,
) -> Structure:
    """Return the structure of cells that are merged by `mdh_dask.valleys.merging.merge_cells`."""
    n_cells = int(cell.max()) + 1
    if n_cells == 1:
        return _one_cell(len(points))._replace(reach=reach)
    # Communities end where few neighbours are shared, which is a better border than that of most neighbours.
    how: dict[str, Any] = {"smooth": False, "bandwidth": bandwidth, "in_groups": in_groups}
    merged = merge_cells(points, hashes, cell, n_cells, most_groups=1, **how)
    # Of groups that are apart, later merges have no less evidence. Those that are not neighbours have an infinite one,
    # which no file holds.
    evidence = np.minimum(np.maximum.accumulate(merged.evidence), MOST_EVIDENCE)
    unknown = np.zeros(n_cells - 1)
    threshold = _at_level(merged.threshold, level, n_cells)
    return Structure(cell, np.array(merged.pairs), evidence, unknown, unknown, threshold, _no_sides(n_cells), reach)


def _at_level(threshold: float, level: float, n_tests: int) -> float:
    """Return the threshold for another level than the usual one, at which it was found."""
    usual, wanted = (NormalDist().inv_cdf(1 - share / n_tests) for share in (USUAL_LEVEL, level))
    return float(max(threshold * wanted / usual, 1e-3))


def _one_cell(n: int) -> Structure:
    none = np.empty(0)
    cell, links = np.zeros(n, dtype=np.int64), np.empty((0, 2), dtype=np.int64)
    # Nothing is compared with the threshold; JSON of saved models has no infinite numbers.
    return Structure(cell, links, none, none, none, float(np.finfo(np.float64).max), _no_sides(1), np.zeros(n))


def _no_sides(n_cells: int) -> Integers:
    return np.empty((0, n_cells), dtype=np.int8)


def _sides(group: Integers, pair: tuple[int, int]) -> Integers:
    """Return 0 for the cells of the first group of a pair, 1 for those of the second, and -1 for the others."""
    return np.where(group == pair[0], 0, np.where(group == pair[1], 1, -1)).astype(np.int8)


def _tested(cell: Integers, merges: Merges, halvings: list[list[Half]], threshold: float) -> Structure:
    """Merge cells without so much evidence in their order, then the remaining groups, the least evidence first.

    In its order, a merge is tested between the two groups in closest contact. Two of the remaining groups may both be
    connected with a third one that came later, so these are tested again. When two of these are merged, all have at
    least their evidence, so the next merge has no less, even if the third group hides a valley.
    """
    n_cells = len(merges.kept) + 1
    group, merged = np.arange(n_cells), [np.array([c]) for c in range(n_cells)]
    links, found, sides = [], [], []
    for kept, gone in zip(merges.kept, merges.gone):
        link = _closest(merges.contact, merged[kept], merged[gone])
        a, b = sorted(group[list(link)])
        values = evidence(halvings, group[cell], (a, b))
        if values[0] < threshold:
            sides.append(_sides(group, (a, b)))
            group[group == b] = a
            links.append(link)
            found.append(values)
        merged[kept] = np.concatenate([merged[kept], merged[gone]])
    least = 0.0
    for pair, values in _least_first(group, cell, merges.contact, halvings):
        a, b = pair
        least = max(least, values[0])
        links.append(_closest(merges.contact, np.flatnonzero(group == a), np.flatnonzero(group == b)))
        found.append((least, *values[1:]))
        sides.append(_sides(group, pair))
        group[group == b] = a
    strength, in_core, in_cut = np.array(found).T
    return Structure(cell, np.array(links), strength, in_core, in_cut, threshold, np.array(sides), np.empty(0))


def _closest(contact: Floats, one: Integers, other: Integers) -> tuple[int, int]:
    """Return the two cells in closest contact, one of each group."""
    i, j = np.unravel_index(contact[np.ix_(one, other)].argmax(), (len(one), len(other)))
    return int(one[i]), int(other[j])


def _least_first(
    group: Integers, cell: Integers, contact: Floats, halvings: list[list[Half]]
) -> Iterator[tuple[tuple[int, int], Values]]:
    """Yield the pair of neighbouring groups of the least evidence; the caller merges it, the second into the first."""
    first, second = np.nonzero(contact > 0)
    met = {(int(a), int(b)) for a, b in zip(group[first], group[second]) if a < b}
    known = {pair: evidence(halvings, group[cell], pair) for pair in sorted(met)}
    while known:
        pair = min(known, key=lambda p: (known[p][0], p))
        yield pair, known[pair]
        others = {g for both in known if set(both) & set(pair) for g in both} - set(pair)
        changed = {(min(pair[0], g), max(pair[0], g)) for g in others}
        known = {both: value for both, value in known.items() if not set(both) & set(pair)}
        known |= {both: evidence(halvings, group[cell], both) for both in sorted(changed)}


def evidence(halvings: list[list[Half]], group: Integers, pair: tuple[int, int]) -> Values:
    """Return the evidence that a valley is between two groups, and the rows in the core and on the cut."""
    found = [[known for half in both if (known := half.errors(group, pair)) is not None] for both in halvings]
    found = [both for both in found if both]
    if not found:
        return 0.0, 0.0, 0.0
    standard_error = (SHARED_EVIDENCE + (1 - SHARED_EVIDENCE) / len(found)) ** 0.5
    errors = [sum(half[..., 0] for half in both) / len(both) ** 0.5 for both in found]
    by_side = np.mean(errors, axis=0) / standard_error
    weaker = by_side.min(axis=0)
    best = int(weaker.argmax())
    side = int(by_side[:, best].argmin())
    rows = np.mean([half[side, best, 1:] for both in found for half in both], axis=0)
    return float(weaker[best]), float(rows[0]), float(rows[1])
