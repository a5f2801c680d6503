"""The plan of merging: cells of any partition are merged until a valley separates all neighbours."""

from collections.abc import Collection, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from .._blas import one_blas_thread
from .._typing import Floats, Integers
from ..splits.dependence import parts_in
from .graph import Merges, closest
from .known import Known, WithoutLevels, factors_of, without_levels_of
from .lines import FEW_COLUMNS, Bandwidth, n_varying
from .neighbours import smoothed_cells
from .pair_tests import PROMISING, Halves, Pair, PairTests, Values

LEVEL = 0.05
"""Probability that a cloud without clusters is divided."""

EVIDENCE, BY_ROWS = 1.9, 0.4
"""Evidence that separates clusters of 200 rows, and its increase with each doubling of the rows.

Cells are drawn from all rows, and so have borders where the counted rows happen to be sparse. Less than one in twenty
thin curves is divided, and fewer clouds of other kinds: ``python -m tests.benchmarks honesty --kind "thin curves"
--seeds 12 --shape 300x2 --shape 1000x2``."""

IN_FEW_COLUMNS, IN_VIEWS, IN_MANY_COLUMNS = (2.0, 3.0), (2.1, 2.1), (3.0, 3.8)
"""Least and largest evidence that is needed. In few columns and in views the mean of balls and slabs counts, in many
columns the larger. Other rows choose a view than draw cells, so that borders are not sparser in it the more rows there
are: ``python -m tests.benchmarks honesty --kind "thin curves" --seeds 6 --shape 300x5 --shape 1000x5 --shape 5000x4``.
"""

KINDS = 2
"""Kinds of evidence that share the level: balls, and slabs. Balls of several radii rise and fall together, and so do
slabs on several lines. ``python -m tests.benchmarks honesty --kind bent --seeds 100`` checks it for leaves of trees."""

FEWEST = 30
"""With fewer rows, cells are not merged."""


class Merged(NamedTuple):
    """Groups of cells."""

    group: Integers
    """Group of each cell; groups are numbered by their first cells."""
    evidence: tuple[float, ...]
    """For each merge in turn, by how many standard errors the density was lower between the two groups; zero for a cell
    without landmarks, which joins another one first."""
    pairs: tuple[Pair, ...]
    """The groups of each merge, of which the first gives its name to both; cells are the first groups."""
    rows: tuple[tuple[float, float], ...]
    """The rows in the less dense core and on the cut of each merge, zero where they are not known."""
    threshold: float
    """Evidence that keeps groups apart."""
    apart: tuple[tuple[Pair, float], ...] = ()
    """The neighbouring groups that are left, with the evidence between them."""


@one_blas_thread()  # several threads take longer for so small products
def merge_cells(
    rows: Floats,
    hashes: Integers,
    cell: Integers,
    n_cells: int,
    most_groups: int | None = None,
    fewest_groups: int = 1,
    apart: Collection[Pair] = (),
    smooth: bool = True,
    bandwidth: Bandwidth | None = None,
    in_groups: bool = False,
    slabs: bool = True,
    order: Merges | None = None,
    level: float = LEVEL,
    halves: Sequence[Halves] = (),
) -> Merged:
    """Merge cells of rows until a valley separates each group from its neighbours.

    Two groups have a valley between them if balls around the densest points of each group hold more rows than balls
    around the densest points of their border, and if slabs in both groups hold more than that between. In up to three
    columns the mean of both differences in standard errors must be larger than chance makes it; in more, one of them
    must be. In four to eight columns, cells that are merged in the order of their contact are compared as in the plane,
    in a view of each pair. Half of the rows choose the places and the view, the other half is counted, and vice versa.
    Few rows are halved repeatedly and their evidence is averaged. Where two groups may be levels of a two-valued
    column, or of a category with indicators, the valley must also be there without it, and where they may be
    combinations of many levels, with these smoothed out. This is looked at where a merge would otherwise end.

    Cells are merged in the order of their contact in a neighbour graph, if that is known: small cells of different
    clusters have little evidence between them, as they have few rows. The remaining groups, two of which may both be in
    contact with a third one that came later, are merged next, the pair with the least evidence first. Cells of
    dependent rows are all merged in this order: parts of two clusters have little evidence as long as they are small,
    and would be merged for good (``python -m tests.benchmarks dependence``). They need more evidence the more pairs of
    them meet.

    Source: peaks and bottlenecks of a neighbour graph as in Chazal, Guibas, Oudot and Skraba, Persistence-based
    clustering in Riemannian manifolds (2013), here with counts of rows that did not choose the peaks.

    rows (n_rows, n_columns) float64: points whose distances are compared.
    hashes (n_rows,) uint64: their order decides the landmarks, their bits the halves.
    cell (n_rows,) int: cell of each row, from 0 to ``n_cells - 1``.
    most_groups: largest number of groups: of those that evidence keeps apart, the ones with the least are joined at
        last, and groups that are not neighbours after all others.
    fewest_groups: number of groups at which merging stops, whatever the evidence. If merges in an order leave no more,
        the evidence between these is not counted, and they are not joined.
    apart: cells that are joined at last only, or merged because one has no rows.
    smooth: whether the borders of cells follow the majority of their neighbours, as those of leaves have to.
    bandwidth: returns how far single columns change a projection on a direction, shape (n_columns,). For many columns
        only.
    in_groups: whether rows depend on each other, and the last bits of the hashes are their parts, which are halved and
        compared; see `mdh_dask.splits.dependence`.
    slabs: whether rows are also counted in slabs along lines.
    order: the cells in the order of their contact.
    level: probability that a cloud without clusters is divided.
    halves: masks of the rows that choose the places, and of those that are counted, if others than these drew the
        cells; the mean of the evidence counts.

    >>> rng = np.random.default_rng(0)
    >>> x = np.sort(np.concatenate([rng.normal(0, 1, 300), rng.normal(8, 1, 300)]))
    >>> hashes = rng.integers(2**64, size=600, dtype=np.uint64)
    >>> merge_cells(x[:, None], hashes, np.arange(600) // 100, n_cells=6).group
    array([0, 0, 0, 1, 1, 1])
    """
    if n_cells == 1 or (len(rows) < FEWEST and most_groups is None):
        return _numbered(np.arange(n_cells), {}, np.inf)
    if in_groups and len(np.unique(parts_in(hashes))) < 2:  # nothing can be compared
        group = np.maximum(np.arange(n_cells) - max(n_cells - fewest_groups, 0), 0)
        return _numbered(
            group, {(0, gone): (0.0, 0.0, 0.0) for gone in np.flatnonzero(group == 0)[1:].tolist()}, np.inf
        )
    ranks = np.argsort(hashes, kind="stable")
    rows, hashes, cell = rows[ranks], hashes[ranks], cell[ranks]
    smoothed = smoothed_cells(rows, cell, n_cells) if smooth else cell
    ranked = [(choosing[ranks], counted[ranks]) for choosing, counted in halves]
    # Views know less of many small leaves, and few parts of dependent rows have rows in any.
    views = order is not None and not in_groups
    tests = PairTests(rows, hashes, smoothed, in_groups, slabs, ranked, views=views)
    factors = None if bandwidth is not None else factors_of(rows, cell, n_cells)
    without_levels = without_levels_of(tests, bandwidth, factors)
    every = bandwidth is not None or factors is not None  # levels of a category may be far from each other
    group = _swallowed(cell, smoothed, n_cells, tests.seen())
    lost = np.flatnonzero(group != np.arange(n_cells)).tolist()
    merged: dict[Pair, Values] = {(int(group[cell]), cell): (0.0, 0.0, 0.0) for cell in lost}
    enough = 0.0
    if order is not None:
        enough = evidence_needed(rows, level, n_cells - 1, tests.views)
    if order is None or in_groups:
        enough = max(enough, ndtri(1 - level / (KINDS * max(len(tests.meeting(group)), 2))))
    if order is not None and not in_groups:
        merged |= _merged_in_order(tests, without_levels, group, order, enough, fewest_groups)
        if len(np.unique(group)) <= fewest_groups:
            return _numbered(group, merged, enough)
    pairs = np.array([*combinations(np.unique(group).tolist(), 2)]) if every else tests.meeting(group)
    known = Known(tests, without_levels, group, pairs.reshape(-1, 2).astype(np.int64), {*apart}, enough)
    merged |= _merged_least_first(known, fewest_groups)
    joined, left = known.joined(n_cells if most_groups is None else most_groups)
    return _numbered(group, merged | joined, enough)._replace(apart=left)


def evidence_needed(rows: Floats, level: float, n_merges: int, views: bool) -> float:
    """Return the evidence that keeps communities apart if a share of clouds without clusters may be divided."""
    bounds = IN_MANY_COLUMNS if n_varying(rows) > FEW_COLUMNS else IN_VIEWS if views else IN_FEW_COLUMNS
    needed = np.clip(EVIDENCE + BY_ROWS * np.log2(len(rows) / 200), *bounds)
    usual, wanted = (ndtri(1 - share / (n_merges * KINDS)) for share in (LEVEL, level))
    return float(max(needed * wanted / usual, 1e-3))


def _swallowed(cell: Integers, smoothed: Integers, n_cells: int, seen: Integers) -> Integers:
    """Return the initial groups: a cell without landmarks joins the cell to which most of its rows were moved."""
    group = np.arange(n_cells)
    for lost in np.setdiff1d(group, seen):
        counts = np.bincount(smoothed[cell == lost], minlength=n_cells)[seen]
        # A cell without rows in the sample joins its neighbour in the tree.
        group[lost] = seen[counts.argmax()] if counts.any() else seen[np.searchsorted(seen[1:], lost)]
    return group


def _merged_in_order(
    tests: PairTests,
    without_levels: WithoutLevels,
    group: Integers,
    order: Merges,
    enough: float,
    fewest_groups: int,
) -> dict[Pair, Values]:
    """Merge groups in the order of their contact unless they have so much evidence; return the merges."""
    merged, n_groups = dict[Pair, Values](), len(np.unique(group))
    members = [np.array([cell]) for cell in range(len(group))]
    for kept, gone in zip(order.kept.tolist(), order.gone.tolist()):
        if n_groups - len(merged) <= fewest_groups:
            break
        # In its order, a merge is tested between the two groups in closest contact.
        first, second = sorted(group[[*closest(order.contact, members[kept], members[gone])]].tolist())
        if first != second:
            evidence, core, cut = tests.counted(group, np.array([[first, second]]), promising=PROMISING).values(0)
            if evidence >= enough:
                evidence = min(evidence, without_levels(group, (first, second), PROMISING))
            if evidence < enough:
                merged[first, second] = evidence, core, cut
                group[group == second] = first
        members[kept] = np.concatenate([members[kept], members[gone]])
    return merged


def _merged_least_first(known: Known, fewest_groups: int) -> dict[Pair, Values]:
    """Merge groups, the pair with the least evidence first, until all that are neighbours have enough."""
    merged = dict[Pair, Values]()
    while len(known.pairs) and len(np.unique(known.group)) > fewest_groups:
        pair, values = known.weakest()
        if values[0] >= known.enough:
            break
        merged[pair] = values
        known.merge(pair)
    return merged


def _numbered(group: Integers, merged: dict[Pair, Values], threshold: float) -> Merged:
    _, first, number = np.unique(group, return_index=True, return_inverse=True)
    evidence = tuple(value for value, *_ in merged.values())
    rows = tuple((core, cut) for _, core, cut in merged.values())
    return Merged(np.argsort(np.argsort(first))[number], evidence, tuple(merged), rows, threshold)
