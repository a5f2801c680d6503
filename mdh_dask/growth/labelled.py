"""A tree of one split that leaves labelled rows on their sides: its plan, and the pass that finds these rows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._jit.hashing import hash_rows
from .._typing import AnyArray, Floats
from ..chunks import Pass, Plan, Statistic, Together
from ..projections.directions import Proposal, StandardDirections
from ..projections.pursuit import MDHResult
from .bounds import bounds_of
from .growth import Grown, first_pass, first_sample, grow_from
from .passes import FirstLook, Sample, smallest_hashes
from .settings import GrowthSettings

UNLABELLED = -1


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

    def chunk(self, start: int, *blocks: AnyArray) -> tuple[Sample, AnyArray]:
        """Return the labelled rows of a block, and their labels."""
        rows, labels = blocks[0], blocks[1]
        known = np.flatnonzero(labels != UNLABELLED)
        hashes = hash_rows(self.seed, start, len(rows))[known]
        return self._kept(Sample(rows[known], hashes, start + known), labels[known])

    def combine(self, left: tuple[Sample, AnyArray], right: tuple[Sample, AnyArray]) -> tuple[Sample, AnyArray]:
        """Concatenate the labelled rows of two blocks."""
        return self._kept(left[0].joined(right[0]), np.concatenate([left[1], right[1]]))

    def _kept(self, sample: Sample, labels: AnyArray) -> tuple[Sample, AnyArray]:
        kept = smallest_hashes(sample, self.most)
        return kept, labels[np.isin(sample.numbers, kept.numbers)] if len(kept.numbers) < len(labels) else labels


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
    look, (labelled, labels) = yield Pass(
        "reading", Together((first_pass(settings, shape), LabelledPass(settings.seed, most_labelled)))
    )
    check(look)
    _, upper = classes(labels)
    sample, standardise = first_sample(settings, shape, look)
    sample = smallest_hashes(sample, settings.sample_size or len(sample.rows))
    others = labelled.take(np.flatnonzero(~np.isin(labelled.numbers, sample.numbers)))
    both = sample.joined(others)
    rows = standardise.spread(both.rows, both.hashes)
    rows = bounds_of(rows).near(rows)
    result = pursue(rows, standardise(labelled.rows), np.where(labels == upper, 1.0, -1.0))

    def propose(*_: Any) -> Proposal:
        return Proposal(StandardDirections(result.direction[None]), np.array([result.offset]))

    return (yield from grow_from(replace(settings, propose=propose), shape, look))
