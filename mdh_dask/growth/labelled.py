"""Labelled rows: the pass that finds them, and groups of them that a tree should not cut."""

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from .._jit.hashing import hash_rows
from .._jit.rows import few_at_once
from .._storable import storable
from .._typing import AnyArray, Floats, Integers, cached_property
from ..chunks import Statistic
from ..density.histograms import Extents
from ..tree.structure import Tree
from .passes import Sample
from .scaling import Standardiser

UNLABELLED = -1

MOST_LABELLED, LEAST_LABELLED = 100_000, 10_000
"""Most labelled rows of a tree, and as many if there are too many columns for these in memory."""


@dataclass(frozen=True)
class Groups:
    """Labelled rows in groups.

    rows (n_labelled, n_features): rows as they are read, or standardised.
    group (n_labelled,) int: group of each row, ascending from 0 without gaps.
    labels (n_groups,): label of each group.
    apart (n_pairs, 2) int: pairs of groups that should be separated; by default, all.
    """

    rows: AnyArray
    group: Integers
    labels: AnyArray
    apart: Integers | None = None

    @classmethod
    def of_labels(cls, rows: AnyArray, labels: AnyArray, apart: Integers | None = None) -> Self:
        """Return a group for each label; `apart` holds pairs of labels."""
        known, group = np.unique(labels, return_inverse=True)
        order = np.argsort(group, kind="stable")
        if apart is not None:
            apart = np.searchsorted(known, apart[np.isin(apart, known).all(axis=1)])
        return cls(rows[order], group[order], known, apart)

    def take(self, which: AnyArray) -> "Groups | None":
        """Return the groups of some of the rows, or None if these are none."""
        if not which.any():
            return None
        apart = None if self.apart is None else self.labels[self.apart]
        return Groups.of_labels(self.rows[which], self.labels[self.group[which]], apart)

    def standardised(self, standardise: Standardiser) -> Self:
        """Return the groups of the standardised rows."""
        return replace(self, rows=standardise(self.rows))

    @cached_property
    def first(self) -> Integers:
        """Index of the first row of each group."""
        return np.flatnonzero(np.diff(self.group, prepend=-1))

    def apart_from(self, group: int) -> Integers:
        """Return the groups that should be separated from one."""
        if self.apart is None:
            return np.setdiff1d(np.arange(len(self.first)), [group])
        pairs = np.concatenate([self.apart, self.apart[:, ::-1]])
        return np.unique(pairs[pairs[:, 0] == group, 1])

    def along(self, directions: Floats) -> Extents:
        """Return the ranges of the groups along directions, shape (n_directions, n_features)."""
        low, high = np.empty((2, len(directions), len(self.first)))
        rows = self.rows.astype(np.float64).T
        for part in few_at_once(len(directions), max(2**22 // max(len(self.group), 1), 1)):
            projections = directions[part].astype(np.float64) @ rows
            low[part] = np.minimum.reduceat(projections, self.first, axis=1)
            high[part] = np.maximum.reduceat(projections, self.first, axis=1)
        return Extents(low, high, self.apart)

    def counts(self, tree: Tree) -> Integers:
        """Return the number of labelled rows in each cluster of a tree, shape (n_clusters, n_groups)."""
        counts = np.zeros((tree.n_clusters, len(self.labels)), dtype=np.int64)
        np.add.at(counts, (tree.labels(self.rows), self.group), 1)
        return counts

    def agree(self, tree: Tree, other: Tree) -> bool:
        """Return whether one tree cuts no group that another does not cut."""
        cuts = ((self.counts(each) > 0).sum(axis=0) > 1 for each in (tree, other))
        return bool((next(cuts) <= next(cuts)).all())

    def clusters_apart(self, tree: Tree) -> set[tuple[int, int]]:
        """Return the pairs of clusters with groups that should be separated."""
        counts = self.counts(tree) > 0
        pairs = {
            (int(a), int(b))
            for group in range(len(self.labels))
            for a in np.flatnonzero(counts[:, group])
            for b in np.flatnonzero(counts[:, self.apart_from(group)].any(axis=1))
        }
        return {(a, b) for a, b in pairs if a < b}


@storable
class Labelled(NamedTuple):
    """The value of `LabelledPass`."""

    sample: Sample
    labels: AnyArray
    """Label of each row of the sample."""
    n_labelled: int
    """Number of labelled rows, including those beyond the limit."""


@dataclass(frozen=True)
class LabelledPass(Statistic):
    """The labelled rows: all of them, or those with the smallest hashes."""

    seed: int
    most: int

    def chunk(self, start: int, *blocks: AnyArray) -> Labelled:
        rows, labels = blocks[0], blocks[1]
        known = np.flatnonzero(labels != UNLABELLED)
        hashes = hash_rows(self.seed, start, len(rows))[known]
        return self._kept(Sample(rows[known], hashes, start + known), labels[known], len(known))

    def combine(self, left: Labelled, right: Labelled) -> Labelled:
        labels = np.concatenate([left.labels, right.labels])
        return self._kept(left.sample.joined(right.sample), labels, left.n_labelled + right.n_labelled)

    def _kept(self, sample: Sample, labels: AnyArray, n_labelled: int) -> Labelled:
        kept = sample.first(self.most)
        if len(kept.numbers) < len(labels):
            labels = labels[np.isin(sample.numbers, kept.numbers)]
        return Labelled(kept, labels, n_labelled)
