"""Drift between the rows that a tree was grown on and new rows, at each of its splits and clusters; novel rows."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Real
from typing import NamedTuple

import numpy as np

from .._typing import Floats, cached_property
from .._words import listed
from ..tree.export import columns_of
from ..tree.structure import NodeDensity, Tree
from .changes import Change, LevelDrift, ValleyChange, distance, total_variation, valley_change
from .tables import Table, dict_of, parts_of, records_of, text_of

Pair = tuple[float, float]
"""A number for the old rows and one for the new rows."""


@dataclass(frozen=True)
class SplitDrift:
    """A comparison of old and new rows at a split.

    left: shares of the node's rows that go left; NaN without rows.
    valley: none where the tree holds no histogram.
    distance: distance of old and new rows along the direction of the split, from 0 to 1.
    """

    node: int
    rows: tuple[int, int]
    left: Pair
    valley: ValleyChange | None
    distance: Change


@dataclass(frozen=True)
class ClusterDrift:
    """A comparison of old and new rows in a cluster.

    distance: distance of old and new rows along the direction of the best rejected split, from 0 to 1; NaN if there is
        none.
    """

    label: int
    node: int
    rows: tuple[int, int]
    share: Pair
    distance: Change


@dataclass(frozen=True, repr=False)
class Drift(Table):
    """Differences between the rows that a tree was grown on and new rows.

    old, new: the same tree with the counts of the old and of the new rows.
    threshold: a distance along the direction of a node, or between the shares of the clusters, is drift if it exceeds
        this: if more than this share of the rows would have to move.
    filled: a valley that is filled in by more than this share is drift.
    false_alarms: probability of reporting drift where there is none. It is divided among all comparisons, and a change
        counts by its lower confidence bound.
    of_levels: the levels of every column that has some; see `levels`.
    design_effect: how many times as much the counts of dependent rows vary as those of independent ones, from 1: bounds
        take as many fewer rows.
    """

    old: Tree
    new: Tree
    threshold: float = 0.1
    filled: float = 0.5
    false_alarms: float = 1e-3
    of_levels: tuple[LevelDrift, ...] = ()
    design_effect: float = 1.0

    def __post_init__(self) -> None:
        """Raise an error if a limit is out of its range."""
        for name, most in (("threshold", 1.0), ("filled", 1.0), ("false_alarms", 0.5)):
            value: float = getattr(self, name)
            if not (isinstance(value, Real) and 0 < value <= most):
                raise ValueError(f"{name} must be over 0 and at most {most:g}; got {value!r}")

    @property
    def n_rows(self) -> tuple[int, int]:
        """Numbers of old and new rows."""
        return self._rows(0)

    @cached_property
    def splits(self) -> tuple[SplitDrift, ...]:
        """All splits, parents before children."""
        return tuple(
            SplitDrift(node, self._rows(node), self._shares(left, node), self._valley(node), self._distance(node))
            for node, left in enumerate(self.old.left.tolist())
            if left >= 0
        )

    @cached_property
    def clusters(self) -> tuple[ClusterDrift, ...]:
        """All leaves by the labels of their clusters, and each part of those that were merged."""
        return tuple(
            ClusterDrift(
                int(self.old.cluster[node]), node, self._rows(node), self._shares(node, 0), self._distance(node)
            )
            for node in sorted(self.old.leaves.tolist(), key=lambda node: self.old.cluster[node])
        )

    @cached_property
    def levels(self) -> tuple[LevelDrift, ...]:
        """The levels of every column that has some; empty for columns of numbers."""
        return tuple(
            replace(of_column, chance=self._chance, design_effect=self.design_effect) for of_column in self.of_levels
        )

    @cached_property
    def shares(self) -> Change:
        """Total variation distance between the shares of the clusters."""
        old, new = (tree.cluster_rows / self.design_effect for tree in (self.old, self.new))
        return total_variation(old, new, self._chance)

    @property
    def found(self) -> bool:
        """Whether any drift was found."""
        return bool(self.alarms)

    @cached_property
    def alarms(self) -> tuple[str, ...]:
        """A sentence for each drift that was found."""
        return tuple(self._alarms())

    def at(self, node: int) -> SplitDrift | ClusterDrift:
        """Return the comparison at a node."""
        return self._by_node[node]

    def densities(self, node: int) -> tuple[NodeDensity, NodeDensity] | None:
        """Return the densities of old and new rows at a node, with one bandwidth, or None without a histogram."""
        alike = np.where(np.arange(self.old.n_nodes) == node, self.bandwidth(node), np.nan)
        old, new = (replace(tree, bandwidth=alike).density(node) for tree in (self.old, self.new))
        return None if old is None or new is None else (old, new)

    def bandwidth(self, node: int) -> float:
        """Return the bandwidth of both densities: that of the tree, or a larger one if there are fewer new rows."""
        n_old, n_new = (max(int(tree.histogram(node).sum()), 1) for tree in (self.old, self.new))
        return float(self.old.bandwidth[node] * max(n_old / n_new, 1.0) ** 0.2)

    to_dict, to_records, to_text, _parts = dict_of, records_of, text_of, parts_of

    @cached_property
    def _by_node(self) -> dict[int, SplitDrift | ClusterDrift]:
        changes: list[SplitDrift | ClusterDrift] = [*self.splits, *self.clusters]
        return {change.node: change for change in changes}

    @cached_property
    def _chance(self) -> float:
        """Probability of a false alarm for each comparison, so that all together have `false_alarms`."""
        known = np.diff(self.old.first_bin) > 0
        return self.false_alarms / (1 + known.sum() + known[self.old.left >= 0].sum() + 2 * len(self.of_levels))

    def _rows(self, node: int) -> tuple[int, int]:
        return int(self.old.n_rows[node]), int(self.new.n_rows[node])

    def _shares(self, node: int, of: int) -> Pair:
        old, new = (float(t.n_rows[node] / t.n_rows[of]) if t.n_rows[of] else np.nan for t in (self.old, self.new))
        return old, new

    def _distance(self, node: int) -> Change:
        return distance(*self._histograms(node), self._chance)

    def _histograms(self, node: int) -> tuple[Floats, Floats]:
        """Return the counts of old and new rows, divided by the design effect."""
        old, new = (tree.histogram(node) / self.design_effect for tree in (self.old, self.new))
        return old, new

    def _valley(self, node: int) -> ValleyChange | None:
        tree, (old, new) = self.old, self._histograms(node)
        if len(old) == 0:
            return None
        position = tree.origin[node] + tree.width[node] * (np.arange(len(old)) + 0.5)
        return valley_change(
            old, new, position, tree.width[node], self.bandwidth(node), tree.thresholds[node],
            self._chance,
        )  # fmt: skip

    def _alarms(self) -> Iterator[str]:
        for split in self.splits:
            valley = split.valley
            if valley is not None and valley.filled.exceeds(self.filled):
                yield (
                    f"split {split.node}: its valley is filled in by {valley.filled.value:.0%}, from relative depth "
                    f"{valley.depth[0]:.3g} to {valley.depth[1]:.3g}"
                )
            if split.distance.exceeds(self.threshold):
                yield f"split {split.node}: {self._elsewhere(split, 'its direction')}"
        for cluster in self.clusters:
            if cluster.distance.exceeds(self.threshold):
                yield f"cluster {cluster.label}: {self._elsewhere(cluster, 'one direction')}"
        if self.shares.exceeds(self.threshold):
            yield f"shares of the clusters: {self.shares.value:.0%} of the rows are in others"
        for of_column in self.levels:
            yield from of_column.alarms(self.threshold)

    def _elsewhere(self, change: SplitDrift | ClusterDrift, unnamed: str) -> str:
        """Return where rows lie elsewhere: the tree counts them along one line only, not in each of its columns."""
        names = columns_of(self.old, change.node)
        along = f"a line through {listed(names)}, not all of which need have moved" if len(names) > 1 else listed(names)
        return f"{change.distance.value:.0%} of its rows lie elsewhere along {along or unnamed}"


class Novelty(NamedTuple):
    """The node of a tree at which most new rows are novel."""

    share: float
    """Share of all new rows."""
    bound: float
    """A lower confidence bound of it."""
    node: int


def novelty_of(found: Drift) -> Novelty:
    """Return the largest share of new rows, among all nodes of a tree, that lie where the old rows were sparse.

    A scene may lack a cluster of its model, or hold nothing else, and has not drifted: only rows in valleys, between
    and beyond the clusters are new. `Drift` asks whether the shares are the same, too.

    found: counts of old and new rows at the nodes of a tree.
    """
    n_rows, most = found.n_rows[1], Novelty(0.0, 0.0, 0)
    for node in range(found.old.n_nodes):
        old, new = found.old.histogram(node), found.new.histogram(node)
        if not (total := int(new.sum())) or not old.any():
            continue
        bandwidth = found.old.bandwidth[node] / found.old.width[node]
        reach = max(1, round(float(bandwidth))) if np.isfinite(bandwidth) else 1
        around = np.convolve(old, np.ones(2 * reach + 1, old.dtype))[reach : reach + len(old)]
        order = np.argsort(around, kind="stable")
        n_below = np.cumsum(old[order])
        # Where old rows are so few, new rows are novel.
        sparse = around < around[order[np.searchsorted(n_below, 1e-3 * n_below[-1], "right")]]
        share = float(new[sparse].sum()) / total
        n = total / found.design_effect
        error = math.sqrt(math.log(found.old.n_nodes / found.false_alarms) / (2 * n))  # Hoeffding's bound
        here = int(found.new.n_rows[node]) / n_rows
        most = max(most, Novelty(share * here, max(share - error, 0.0) * here, node), key=lambda one: one.bound)
    return most
