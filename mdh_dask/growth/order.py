"""Orders of splits: next the cluster of the largest scatter, best criterion or least second eigenvalue."""

import logging
from collections.abc import Callable
from dataclasses import replace
from heapq import heappop, heappush
from math import inf

import numpy as np

from .._blas import POSITIVE, normalised
from .._typing import Floats
from ..density.kde import valley_evidence
from ..kernels.spectral import by_alignment
from ..projections.bipartition import second_eigenvalue
from ..splits.choose import Decision
from .bounds import near_rows
from .branches import Branch, GrowthSettings, State
from .scaling import Standardiser

logger = logging.getLogger(__name__)

MOST_GROUPS = 20
"""Most clusters to find by eigenvectors."""


def spread_of(branch: Branch, standardise: Standardiser) -> tuple[Floats | None, float]:
    """Return the centroid of a branch's standardised rows, and the sum of their squared distances from it.

    They are exact if the sample holds all rows. Otherwise the mean squared distance of the sample rows estimates that
    of all `n_rows`; the centroid is None without sample rows. Rows far from all others are left out.
    """
    if len(branch.sample) == 0:
        return None, 0.0
    rows = _sample_of(branch, standardise)
    rows = near_rows(rows, rows)[0]
    centroid = rows.mean(axis=0)
    return centroid, branch.n_rows * float(((rows - centroid) ** 2).sum(axis=1).mean())


def _best_first(
    root: Branch,
    key: Callable[[Branch], float],
    most: float,
    examine: Callable[[Branch], object],
    ends: Callable[[float, set[Branch]], bool] = lambda value, split: False,
) -> set[Branch]:
    """Return the branches that are split if that of the least key is always split next.

    examine: examines an open branch, and gives it children if it can be split. Called only for branches whose turn
        comes.
    ends: whether to stop before a branch with this key, after these splits.
    """
    frontier, split = [(key(root), root.node_id, root)], set[Branch]()
    while frontier and len(split) + 1 < most:
        value, _, branch = heappop(frontier)
        if ends(value, split):
            break
        if branch.state is State.OPEN:
            examine(branch)
        if branch.children:
            split.add(branch)
        for child in branch.children or ():
            heappush(frontier, (key(child), child.node_id, child))
    return split


def split_by_scatter(
    root: Branch, max_clusters: int | None, standardise: Standardiser, examine: Callable[[Branch], object]
) -> set[Branch]:
    """Split the cluster with the largest scatter of standardised rows next.

    Without `max_clusters`, stop when the scatter of the centroids, each counted once, exceeds that of the cluster that
    would be split next (D. Boley: Principal direction divisive partitioning. Data Mining and Knowledge Discovery 2,
    1998).
    """
    centroids: dict[Branch, Floats | None] = {}

    def least(branch: Branch) -> float:
        centroids[branch], scatter = spread_of(branch, standardise)
        return -scatter

    def ends(value: float, split: set[Branch]) -> bool:
        if max_clusters is not None:
            return False
        points = np.array([c for branch, c in centroids.items() if branch not in split and c is not None])
        return bool(((points - points.mean(axis=0)) ** 2).sum() > -value)

    return _best_first(root, least, max_clusters or inf, examine, ends)


def split_by_criterion(
    root: Branch, max_clusters: int | None, standardise: Standardiser, examine: Callable[[Branch], object]
) -> set[Branch]:
    """Split the cluster whose direction has the best score next (thesis equation 6.2); all that can be are examined."""

    def least(branch: Branch) -> float:
        if branch.state is State.OPEN:
            examine(branch)
        return -branch.decision.score if branch.children and branch.decision else inf

    return _best_first(root, least, max_clusters or inf, examine)


def split_by_eigenvalue(
    root: Branch, max_clusters: int | None, standardise: Standardiser, examine: Callable[[Branch], object]
) -> set[Branch]:
    """Split the cluster whose own affinities are divided best next.

    That is the least second eigenvalue of the normalised Laplacian (thesis section 7.3), of the sample of a branch;
    inner products of rows are affinities. Without `max_clusters`, there are as many clusters as leading eigenvectors of
    the root that can be rotated until every row has one large entry, at most `MOST_GROUPS`.
    """
    wanted = max_clusters or _number_of_groups(root, standardise)
    return _best_first(root, lambda branch: second_eigenvalue(_sample_of(branch, standardise)), wanted, examine)


def _number_of_groups(root: Branch, standardise: Standardiser) -> int:
    rows = _sample_of(root, standardise)
    if len(rows) < 2:
        return 1
    of = normalised(rows.copy(), rows.sum(axis=0))
    n = min(MOST_GROUPS + 1, int(np.count_nonzero(of.values > POSITIVE)))
    return by_alignment(of.entries(n), MOST_GROUPS)


def _sample_of(branch: Branch, standardise: Standardiser) -> Floats:
    return np.asarray(standardise(branch.sample.load().rows), dtype=np.float64)


def prune(root: Branch, split: set[Branch]) -> None:
    """Turn every branch that is not split into a cluster."""
    for branch in root.walk():
        if branch not in split:
            branch.state, branch.children = State.LEAF, None


ORDERS = {"scatter": split_by_scatter, "criterion": split_by_criterion, "eigenvalue": split_by_eigenvalue}
"""Orders in which clusters are split until there are enough; without an order, all possible splits are made."""


def extend(root: Branch, settings: GrowthSettings) -> bool:
    """Split leaves at valleys that failed the test while there are fewer clusters than wanted; return whether any were.

    Of the valleys of all leaves, those with most evidence are taken, as many as clusters are missing. Their sides are
    open, so valleys that only they show are found and tested as usual.

    root: without open or waiting branches.
    """
    if settings.n_clusters is None or settings.order is not None:
        return False
    leaves = [branch for branch in root.walk() if branch.state is State.LEAF]
    missing = settings.n_clusters - len(leaves)
    failed = [
        (evidence_of(branch.decision), branch)
        for branch in leaves
        if branch.decision is not None
        and branch.decision.admissible
        and (settings.max_levels is None or branch.level < settings.max_levels)
    ]
    taken = sorted(failed, key=lambda pair: (-pair[0], pair[1].node_id))[: max(missing, 0)]
    for evidence, branch in taken:
        assert branch.decision is not None
        logger.info("a valley of %.1f standard errors is split without a test, for n_clusters", evidence)
        branch.decision = replace(branch.decision, accepted=True)
        branch.part(counted=True)
        branch.state = State.SPLIT
    return bool(taken)


def evidence_of(decision: Decision) -> float:
    """Return the evidence of a split, or of the best rejected one, in standard errors."""
    histogram = decision.histogram
    k = histogram.bin_of(decision.threshold)
    return valley_evidence(histogram.density[0], k, float(histogram.spread[0][0]), float(histogram.bandwidth[0]))
