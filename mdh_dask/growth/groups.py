"""Groups of labelled rows that a tree should not cut, and pairs of them that it should separate."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from .._random import any_rows
from .._typing import AnyArray, Floats, Integers
from ..density.extents import Extents
from ..projections.directions import Proposal, StandardDirections
from ..projections.labelled import labelled_hyperplane
from .scaling import Standardiser

AT_ONCE = 2**22
"""Projections in memory at once."""

MOST_PURSUITS = 4
"""Number of groups of a branch that propose a hyperplane each, the largest ones."""

ROWS_OF_PURSUITS = 1000
"""Rows whose density these pursuits see: they only add directions to those that are scored on all sample rows."""


@dataclass(frozen=True)
class Groups:
    """Labelled rows in groups.

    Parameters
    ----------
    rows : array of shape (n_labelled, n_features)
        Rows as they are read, or standardised.
    group : integer array of shape (n_labelled,)
        Group of each row, ascending from 0 without gaps.
    apart : integer array of shape (n_pairs, 2), optional
        Pairs of groups that should be separated; by default, all.
    """

    rows: AnyArray
    group: Integers
    apart: Integers | None = None

    @classmethod
    def of_labels(cls, rows: AnyArray, labels: AnyArray, apart: Integers | None = None) -> Self:
        """Return a group for each label; `apart` holds pairs of labels."""
        known, group = np.unique(labels, return_inverse=True)
        order = np.argsort(group, kind="stable")
        if apart is not None:
            apart = np.searchsorted(known, apart[np.isin(apart, known).all(axis=1)])
        return cls(rows[order], group[order], apart)

    def take(self, which: AnyArray) -> "Groups | None":
        """Return the groups of some of the rows, or None if these are none."""
        if not which.any():
            return None
        return Groups.of_labels(self.rows[which], self.group[which], self.apart)

    def standardised(self, standardise: Standardiser) -> Self:
        """Return the groups of the standardised rows."""
        return type(self)(standardise(self.rows), self.group, self.apart)

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
        step = max(AT_ONCE // max(len(self.group), 1), 1)
        for i in range(0, len(directions), step):
            projections = directions[i : i + step].astype(np.float64) @ rows
            low[i : i + step] = np.minimum.reduceat(projections, self.first, axis=1)
            high[i : i + step] = np.maximum.reduceat(projections, self.first, axis=1)
        return Extents(low, high, self.apart)


def proposed_by(groups: Groups, rows: AnyArray) -> Proposal:
    """Return hyperplanes of low density that separate groups of labelled rows from those to be separated from them.

    Parameters
    ----------
    groups : Groups
        Of standardised rows.
    rows : array of shape (n, n_features)
        Standardised sample rows.
    """
    some = any_rows(rows, ROWS_OF_PURSUITS)
    largest = np.argsort(-np.bincount(groups.group), kind="stable").tolist()
    wanted = [g for g in largest if len(groups.apart_from(g))][:MOST_PURSUITS]
    ends = []
    for g in wanted[1:] if len(wanted) == 2 else wanted:
        ours, others = groups.group == g, np.isin(groups.group, groups.apart_from(g))
        both = ours | others
        signs = np.where(ours[both], 1.0, -1.0)
        between = groups.rows[ours].mean(axis=0) - groups.rows[others].mean(axis=0)
        if between.any() and some.std(axis=0).any():
            ends.append(labelled_hyperplane(some, groups.rows[both], signs, starts=(between.astype(np.float64),)))
    directions = np.array([end.direction for end in ends]).reshape(-1, rows.shape[1])
    return Proposal(StandardDirections(directions), np.array([end.offset for end in ends]))


def joined(proposal: Proposal, more: Proposal) -> Proposal:
    """Return two proposals as one, with thresholds if the first has any, and equal families together."""
    vectors = np.concatenate([proposal.directions.vectors, more.directions.vectors])
    both = proposal, more
    family = None
    if any(one.family is not None for one in both):
        family = np.concatenate([np.zeros(len(one), dtype=int) if one.family is None else one.family for one in both])
    if proposal.thresholds is None or more.thresholds is None:
        return Proposal(StandardDirections(vectors), family=family)
    return Proposal(StandardDirections(vectors), np.concatenate([proposal.thresholds, more.thresholds]), family)
