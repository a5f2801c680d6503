"""Trees of partly labelled rows: their plans, and the pass that finds the labelled rows."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .._jit.hashing import hash_rows
from .._storable import storable
from .._typing import AnyArray, Floats, Integers
from ..chunks import Pass, Plan, Statistic, Together
from ..projections.directions import Proposal, StandardDirections
from ..projections.pursuit import MDHResult
from ..tree.structure import Tree
from .bounds import near_rows
from .groups import Groups
from .growth import Grown, first_pass, first_sample, grow_from
from .passes import FirstLook, Sample, smallest_hashes
from .settings import GrowthSettings

logger = logging.getLogger(__name__)

UNLABELLED = -1

MOST_LABELLED = 100_000
"""Most labelled rows of a tree."""


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
    """The labelled rows: all of them, or those with the smallest hashes.

    Parameters
    ----------
    seed : int
        Seed of the rows' hashes.
    most : int
        Most labelled rows to return.
    """

    seed: int
    most: int

    def chunk(self, start: int, *blocks: AnyArray) -> Labelled:
        """Return the labelled rows of a block."""
        rows, labels = blocks[0], blocks[1]
        known = np.flatnonzero(labels != UNLABELLED)
        hashes = hash_rows(self.seed, start, len(rows))[known]
        return self._kept(Sample(rows[known], hashes, start + known), labels[known], len(known))

    def combine(self, left: Labelled, right: Labelled) -> Labelled:
        """Concatenate the labelled rows of two blocks."""
        labels = np.concatenate([left.labels, right.labels])
        return self._kept(left.sample.joined(right.sample), labels, left.n_labelled + right.n_labelled)

    def _kept(self, sample: Sample, labels: AnyArray, n_labelled: int) -> Labelled:
        kept = smallest_hashes(sample, self.most)
        if len(kept.numbers) < len(labels):
            labels = labels[np.isin(sample.numbers, kept.numbers)]
        return Labelled(kept, labels, n_labelled)


class Guides(NamedTuple):
    """The labelled rows of a tree in groups, the label of each group, and the number of all labelled rows."""

    groups: Groups
    labels: Integers
    n_labelled: int

    def counts(self, tree: Tree) -> Integers:
        """Return the number of labelled rows in each cluster of a tree, shape (n_clusters, n_groups)."""
        counts = np.zeros((tree.n_clusters, len(self.labels)), dtype=np.int64)
        np.add.at(counts, (tree.labels(self.groups.rows), self.groups.group), 1)
        return counts

    def agree(self, tree: Tree, other: Tree) -> bool:
        """Return whether one tree cuts no group that another does not cut."""
        cuts = ((self.counts(each) > 0).sum(axis=0) > 1 for each in (tree, other))
        return bool((next(cuts) <= next(cuts)).all())

    def apart(self, tree: Tree) -> set[tuple[int, int]]:
        """Return the pairs of clusters with groups that should be separated."""
        counts = self.counts(tree) > 0
        pairs = {
            (int(a), int(b))
            for group in range(len(self.labels))
            for a in np.flatnonzero(counts[:, group])
            for b in np.flatnonzero(counts[:, self.groups.apart_from(group)].any(axis=1))
        }
        return {(a, b) for a, b in pairs if a < b}


def grow_by_labels(
    settings: GrowthSettings, shape: tuple[int, int], check: Callable[[FirstLook], None], apart: Integers | None = None
) -> Plan[tuple[Grown, Guides | None]]:
    """Plan a tree that does not cut labelled classes, and separates them where the density has a valley.

    Parameters
    ----------
    settings, shape, check
        As for `grow`.
    apart : array of shape (n_pairs, 2), optional
        Pairs of labels to be separated; by default, all.

    Returns
    -------
    generator
        A plan for rows and their labels; its result is a `Grown` and a `Guides`. This is None, and the tree is that of
        `grow`, if no row has a label or all rows have one.

    Notes
    -----
    As many passes as `grow`.
    """
    look, labelled = yield Pass(
        "reading", Together((first_pass(settings, shape), LabelledPass(settings.seed, MOST_LABELLED)))
    )
    check(look)
    if not 0 < labelled.n_labelled < shape[0]:
        logger.info("labels of %s of %s rows are ignored: they are not partial", labelled.n_labelled, shape[0])
        return (yield from grow_from(settings, shape, look)), None
    groups = Groups.of_labels(labelled.sample.rows, labelled.labels, apart)
    grown = yield from grow_from(settings, shape, look, groups)
    return grown, Guides(groups, np.unique(labelled.labels), labelled.n_labelled)


Pursue = Callable[[AnyArray, AnyArray, Floats], MDHResult]
"""A function of standardised rows, the labelled ones among them and their signs, that returns a hyperplane."""


def split_by_labels(
    settings: GrowthSettings,
    shape: tuple[int, int],
    check: Callable[[FirstLook], None],
    most_labelled: int,
    classes: Callable[[AnyArray], AnyArray],
    pursue: Pursue,
) -> Plan[Grown]:
    """Plan a tree of one split, pursued on a sample and on all labelled rows.

    Parameters
    ----------
    settings : GrowthSettings
        Settings with the threshold rule ``"proposed"``.
    shape : (n_rows, n_features)
    check : callable
        Raises an error if the first pass shows that the rows cannot be clustered.
    most_labelled : int
        Most labelled rows to use; among more, those with the smallest hashes.
    classes : callable
        Returns the two labels of an array of labels, that of the lower side first, or raises an error.
    pursue : callable
        See `Pursue`.

    Returns
    -------
    generator
        A plan for rows and their labels; its result is a `Grown`.

    Notes
    -----
    One pass to draw a sample and find the labelled rows; a second counts all rows if the sample does not hold them.
    """
    look, (labelled, labels, _) = yield Pass(
        "reading", Together((first_pass(settings, shape), LabelledPass(settings.seed, most_labelled)))
    )
    check(look)
    _, upper = classes(labels)
    sample, standardise = first_sample(settings, shape, look)
    sample = smallest_hashes(sample, settings.sample_size or len(sample.rows))
    others = labelled.take(np.flatnonzero(~np.isin(labelled.numbers, sample.numbers)))
    both = sample.joined(others)
    rows = standardise.spread(both.rows, both.hashes)
    rows = near_rows(rows, rows)[0]
    result = pursue(rows, standardise(labelled.rows), np.where(labels == upper, 1.0, -1.0))

    def propose(*_: Any) -> Proposal:
        return Proposal(StandardDirections(result.direction[None]), np.array([result.offset]))

    return (yield from grow_from(replace(settings, propose=propose), shape, look))
