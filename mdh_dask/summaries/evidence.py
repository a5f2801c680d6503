"""The evidence for every split and merge of a model as a table, with p-values adjusted over the tree."""

from typing import Any

import numpy as np
from numpy.lib.recfunctions import structured_to_unstructured, unstructured_to_structured
from scipy.special import ndtr, ndtri

from .._typing import AnyArray, Floats, Integers
from ..density.kde import rows_at
from ..growth.merging import Merges
from ..tree.structure import Tree
from ..valleys.merging import KINDS
from ..valleys.structure import MOST_EVIDENCE
from .tables import Records, plain

COLUMNS = {
    "kind": "U5", "node": "i8", "first": "i8", "second": "i8", "separates": "?", "statistic": "f8", "effect": "f8",
    "effect_low": "f8", "effect_high": "f8", "rows_first": "i8", "rows_second": "i8", "rows_valley": "f8",
    "n_tested": "f8", "p_value": "f8", "p_family": "f8", "p_fdr": "f8",
}  # fmt: skip
"""Columns of the table, and their dtypes."""

MERGES_DTYPE = np.dtype(
    [("first", "i8"), ("second", "i8"), ("evidence", "f8"), ("core", "f8"), ("cut", "f8"), ("separates", "?"),
     ("rows_first", "i8"), ("rows_second", "i8"), ("p_value", "f8")]
)  # fmt: skip
"""Columns of the merges of a model: pairs of cells with the evidence of a valley between their groups."""

REACH = ndtri(0.975) / 8**0.5
"""By how much the square roots of the rows at the mode and in the valley may be wrong, each with the variance 1/4, for
their difference to be so by the usual 1.96 standard errors."""


class Evidence(Records, dict[str, AnyArray]):
    """The evidence for splits and merges, arrays by their names; see `ClusterEstimator.evidence`."""

    def to_records(self) -> list[dict[str, Any]]:
        columns = [self[name].tolist() for name in COLUMNS]
        return [dict(zip(COLUMNS, values)) for values in zip(*columns)]

    def to_dict(self) -> dict[str, list[Any]]:
        """Return lists that `json` can write; None replaces NaN and infinity."""
        return {name: plain(self[name].tolist()) for name in COLUMNS}


def evidence_of(tree: Tree | None, merges: AnyArray | None, independent: bool = True) -> Evidence:
    """Return the evidence of a model.

    independent: whether rows are independent, so that their numbers tell how certain an effect is.
    """
    rows: list[tuple[Any, ...]] = []
    if tree is not None:
        nodes = np.flatnonzero((tree.left >= 0) | ~np.isnan(tree.p_value) | (np.diff(tree.first_bin) > 0))
        rows += [_split(tree, node, independent) for node in nodes.tolist()]
    rows += [_merge(merge) for merge in (() if merges is None else merges)]
    table = np.array([(*row, np.nan, np.nan) for row in rows], dtype=[*COLUMNS.items()])
    carried = table["p_value"].copy()
    if tree is not None:
        carried[: len(nodes)] = _carried(tree)[nodes]
    if merges is not None:
        # Of leaves that merging united, the merges are the evidence.
        united = (table["kind"] == "split") & ~table["separates"]
        table["p_value"][united] = carried[united] = np.nan
    table["p_family"], table["p_fdr"] = adjusted(carried)
    return Evidence({name: table[name].copy() for name in COLUMNS})


def adjusted(p_values: Floats) -> tuple[Floats, Floats]:
    """Return p-values adjusted for the family-wise error rate (Holm) and for the false discovery rate; NaN stays.

    S. Holm, Scandinavian Journal of Statistics 6, 1979. Y. Benjamini and Y. Hochberg, Journal of the Royal Statistical
    Society B 57, 1995.
    """
    known = np.flatnonzero(~np.isnan(p_values))
    order = known[np.argsort(p_values[known], kind="stable")]
    n, ranked = len(order), p_values[order]
    family, discoveries = np.full((2, len(p_values)), np.nan)
    family[order] = np.minimum(np.maximum.accumulate(ranked * np.arange(n, 0, -1)), 1.0)
    discoveries[order] = np.minimum.accumulate((ranked * n / np.arange(1, n + 1))[::-1])[::-1]
    return family, discoveries


def p_values_of_merges(evidence: Floats, threshold: float, level: float) -> Floats:
    """Return the p-values of merges from their evidence, of which the threshold is significant among all at a level.

    Evidence is the largest of several kinds. In proportion to the threshold it is that of a normal distribution, as
    counts are up to about 7.
    """
    if not len(evidence):
        return np.empty(0)
    needed = ndtri(1 - level / (len(evidence) * KINDS))
    return np.asarray(np.minimum(KINDS * ndtr(-np.clip(evidence * needed / threshold, 0, 7.0)), 1.0))


def table_of_cells(merges: Merges | None) -> AnyArray | None:
    """Return the table of merges, and of the pairs of groups that are left; None without merges."""
    if merges is None:
        return None
    found, rows, level, n_tried = merges
    pairs = np.array([*found.pairs, *(pair for pair, _ in found.apart)], dtype=np.int64).reshape(-1, 2)
    evidence = np.array([*found.evidence, *(left for _, left in found.apart)], dtype=np.float64)
    evidence = np.minimum(evidence, MOST_EVIDENCE)  # of groups that are apart, and are united by force, it is infinite
    sides = rows_of_sides(pairs, rows, len(found.pairs))
    p_values = np.minimum(n_tried * p_values_of_merges(evidence, found.threshold, level), 1.0)
    table = np.zeros(len(pairs), dtype=MERGES_DTYPE)
    for name, values in zip(("first", "second", "rows_first", "rows_second"), (*pairs.T, *sides.T)):
        table[name] = values
    table["evidence"], table["p_value"] = evidence, p_values
    table["separates"] = np.arange(len(pairs)) >= len(found.pairs)
    return table


def stored_merges(merges: AnyArray | None) -> Floats | None:
    """Return merges as one array of numbers, as files hold them."""
    return None if merges is None else np.asarray(structured_to_unstructured(merges, dtype=np.float64))


def restored_merges(stored: AnyArray | None) -> AnyArray | None:
    """Return stored merges, of which numbers alone are shown."""
    if stored is None:
        return None
    wide = (len(MERGES_DTYPE.names or ()),)
    if stored.dtype != np.float64 or stored.shape[1:] != wide or np.isnan(stored).any():
        raise ValueError(f"expected (n, {wide[0]}) merges, none NaN; got {stored.dtype} of shape {stored.shape}")
    merges: AnyArray = unstructured_to_structured(stored, MERGES_DTYPE)
    return merges


def rows_of_sides(pairs: Integers, rows: Integers, n_united: int) -> Integers:
    """Return the rows of the groups of both cells of each pair, of which the first so many are united in turn.

    Examples
    --------
    >>> rows_of_sides(np.array([[0, 1], [1, 2]]), np.array([5, 4, 3]), 1).tolist()
    [[5, 4], [9, 3]]
    """
    group, found = np.arange(len(rows)), []
    for i, (one, other) in enumerate(pairs):
        sides = group == group[one], group == group[other]
        found.append([int(rows[side].sum()) for side in sides])
        if i < n_united:
            group[sides[1]] = group[one]
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def _carried(tree: Tree) -> Floats:
    """Return the p-values of nodes, at least as large as those above them: a split stands on those before it."""
    carried = tree.p_value.copy()
    for node, parent in enumerate(tree.parent):
        if parent >= 0:
            carried[node] = np.fmax(carried[node], carried[parent])
    return np.where(np.isnan(tree.p_value), np.nan, carried)  # a split by labels has none, but those below stand on all


def _split(tree: Tree, node: int, independent: bool) -> tuple[Any, ...]:
    left, right = int(tree.left[node]), int(tree.right[node])
    statistic, low, high, in_valley, n_left = _valley(tree, node)
    sides = (
        (int(tree.n_rows[left]), int(tree.n_rows[right])) if left >= 0 else (n_left, int(tree.n_rows[node]) - n_left)
    )
    certain = (statistic, low, high) if independent else (np.nan, np.nan, np.nan)
    return (
        "split", node, left, right, left >= 0, certain[0], float(tree.relative_depth[node]), *certain[1:], *sides,
        in_valley, float(tree.n_tested[node]), float(tree.p_value[node]),
    )  # fmt: skip


def _valley(tree: Tree, node: int) -> tuple[float, float, float, float, int]:
    """Return the evidence of a valley, the interval of its relative depth, its rows and those left of it."""
    found = tree.density(node)
    if found is None or np.isnan(found.threshold):
        return np.nan, np.nan, np.nan, np.nan, 0
    counts, k = tree.histogram(node), found.bin
    in_valley, at_mode = rows_at(found.density, k, float(counts[1:-1].sum()), float(tree.bandwidth[node]))
    low, high = _interval(at_mode + 2**0.5, in_valley + 2**0.5)  # rows under a kernel at an isolated row
    return tree.evidence(node), low, high, in_valley, int(counts[: k + 1].sum())


def _interval(mode: float, valley: float) -> tuple[float, float]:
    """Return the limits of a relative depth from the rows under a kernel at the mode and in the valley."""
    high, low = np.sqrt(mode), np.sqrt(valley)
    return (
        max(float(((high - REACH) / (low + REACH)) ** 2 - 1), 0.0) if high > REACH else 0.0,
        float(((high + REACH) / (low - REACH)) ** 2 - 1) if low > REACH else np.inf,
    )


def _merge(merge: AnyArray) -> tuple[Any, ...]:
    core, cut = float(merge["core"]), float(merge["cut"])
    known = core > 0 or cut > 0  # in many columns, neither is
    effect = (core / cut - 1 if cut else np.inf) if known else np.nan
    low, high = _interval(core, cut) if known else (np.nan, np.nan)
    sides = (int(merge[name]) for name in ("rows_first", "rows_second"))
    return (
        "merge", -1, int(merge["first"]), int(merge["second"]), bool(merge["separates"]), float(merge["evidence"]),
        effect, low, high, *sides, cut if known else np.nan, core + cut if known else np.nan, float(merge["p_value"]),
    )  # fmt: skip
