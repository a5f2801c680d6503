"""The settings of growing a tree, its branches, and the statistic that counts these."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any, Self

import numpy as np

from .._jit.branches import Routes, goes_left
from .._jit.hashing import NO_JITTER, Jitter, in_first_half
from .._jit.rows import loop_ready
from .._levels import LevelFeatures
from .._typing import AnyArray, Booleans, Floats, Integers
from ..density.histograms import Histograms
from ..density.kde import Bandwidth
from ..projections.directions import KeyedDirections, Proposal
from ..splits.choose import TWO_HALVES, Decision, SplitSelector
from ..splits.dependence import halves_of_parts, parts_in
from .labelled import Groups
from .passes import Sample, sample_limit
from .sweeps import BranchPass

Proposer = Callable[[Any, np.random.Generator, Integers, float], Proposal]
"""A function ``(rows, rng, coarse, min_rows) -> proposal`` of the standardised rows of a branch, of the columns whose
values were spread, and of the least number of these rows on each side of a split."""


@dataclass(frozen=True)
class GrowthSettings:
    """The settings for growing one tree.

    propose: proposes the directions of a branch; see `Proposer`.
    n_candidates: number of directions of a branch to count on all rows, if directions are scored on a sample.
    sample_size: number of rows on which the directions of a branch are scored; None to score every direction on all
        rows.
    order: a name in `ORDERS`: clusters are split in this order until there are enough. None to make all possible
        splits.
    max_clusters: number of clusters that is enough for an order; None to let the order decide.
    n_clusters: number of clusters to reach: if fewer pass the test, leaves are split at their best valleys without it.
    family: family of random directions that `propose` draws independently of the rows, so that workers can make them.
    levels: where the levels of single columns lie, if the rows are features; None to look for two-valued columns.
    parts_at: index of the array with the part of every row among those of a pass, if rows depend on each other.
    nearby: most sample rows that a cluster must have where clusters are so many that only their neighbourhoods show
        them; zero does not look for them.
    from_origin: whether rows are not centred before directions are proposed, as their inner products are affinities.
    columns: whether single columns are directions, too.
    direction_seed: seed of random directions that are the same in all branches; None if each branch draws its own.
    sample_seed: seed of the hashes that choose the first sample, shared by trees that grow together; None for `seed`,
        from whose hashes everything else comes.
    """

    propose: Proposer
    selector: SplitSelector
    bandwidth: Bandwidth
    n_candidates: int
    sample_size: int | None
    scale: bool
    max_levels: int | None
    seed: int
    order: str | None = None
    max_clusters: int | None = None
    n_clusters: int | None = None
    family: str | None = None
    levels: LevelFeatures | None = None
    sample_seed: int | None = None
    direction_seed: int | None = None
    from_origin: bool = False
    columns: bool = False
    parts_at: int | None = None
    nearby: float = 0.0

    def stream_of(self, node_id: int) -> tuple[int, int]:
        """Return the key of the random directions of a branch."""
        return (self.seed, node_id) if self.direction_seed is None else (self.direction_seed, 0)


class State(Enum):
    """The remaining work on a branch."""

    OPEN = auto()
    """Its sample has not been examined."""
    WAITING = auto()
    """Its candidates wait to be counted on all rows; children, if any, grow ahead on the sample."""
    UNSURE = auto()
    """Its sample is too small for a decision; it needs a fresh one."""
    SPLIT = auto()
    """Split for good, by the counts of all its rows."""
    LEAF = auto()
    """A cluster."""


@dataclass(frozen=True)
class SampleRows:
    """Some rows of a sample by their indices, so that all branches of a tree share one copy of the rows."""

    drawn: Sample
    indices: Integers

    @classmethod
    def of_all(cls, sample: Sample) -> "SampleRows":
        """Return all rows of the sample."""
        return cls(sample, np.arange(len(sample.hashes)))

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.drawn.rows.shape[1])

    def take(self, which: AnyArray) -> "SampleRows":
        """Return some of these rows, in the same order."""
        return SampleRows(self.drawn, self.indices[which])

    def load(self) -> Sample:
        """Return the rows, copied unless they are the whole sample."""
        return self.drawn if len(self) == len(self.drawn.hashes) else self.drawn.take(self.indices)


@dataclass(eq=False)
class Branch:
    """A branch of a growing tree.

    node_id: 1 for the root, ``2 p`` and ``2 p + 1`` for the children of ``p``; keys the branch's random streams.
    sample: sample rows of the branch, which may be all its rows.
    n_rows: number of rows; exact if `counted`, otherwise estimated from the sample.
    """

    node_id: int
    sample: SampleRows
    n_rows: float
    counted: bool
    state: State = State.OPEN
    candidates: Histograms | None = None
    keyed: KeyedDirections | None = None
    """Keys of the directions of all candidates, if workers can make them."""
    decision: Decision | None = None
    children: "tuple[Branch, Branch] | None" = None
    cluster: int | None = None
    """Of a tree whose leaves were merged: that of the leaf, or the largest under a split."""
    deviation: Floats | None = None
    """Standard deviations of the columns, if known without a sample."""
    groups: Groups | None = None
    """Labelled rows of the branch, if there are any."""
    voted: bool = False
    """Whether groups of dependent rows in the sample voted for the split, which all rows need not test again."""
    halved_at: int | None = None
    """Level whose halves choose and test the split of the branch, if not its own."""

    @property
    def level(self) -> int:
        """Number of splits above the branch."""
        return self.node_id.bit_length() - 1

    @property
    def complete(self) -> bool:
        """Whether the sample holds all rows of the branch."""
        return self.counted and len(self.sample) >= self.n_rows

    @property
    def plane(self) -> Floats | None:
        """Direction of the split, or of the best rejected one, for raw rows."""
        if self.decision is None or self.decision.histogram.directions is None:
            return None
        return self.decision.histogram.directions[0]

    @property
    def measured(self) -> Histograms | None:
        """Candidates to count in a pass: only that of the split if the sample suggests one, otherwise all."""
        if self.state is not State.WAITING or self.candidates is None:
            return None
        return self.candidates[:1] if self.children else self.candidates

    def waiting_for(self, candidates: Histograms) -> Self:
        """Return the branch without what grew from it, as it waits for the counts of candidates."""
        return replace(self, state=State.WAITING, candidates=candidates, keyed=None, children=None)

    def walk(self) -> "Iterator[Branch]":
        """Yield the branch and its descendants, parents before children, left before right."""
        stack = [self]
        while stack:
            branch = stack.pop()
            yield branch
            stack += reversed(branch.children or ())

    @property
    def leaves(self) -> "list[Branch]":
        """The descendants without children, from left to right; the branch itself if it has none."""
        return [branch for branch in self.walk() if not branch.children]

    def lead_with_chosen(self) -> None:
        """Put the chosen candidate before the others."""
        assert self.decision is not None
        assert self.candidates is not None
        chosen = self.decision.candidate
        order = np.argsort(np.arange(len(self.candidates)) != chosen, kind="stable")
        self.candidates = self.candidates[order]
        self.decision = replace(self.decision, candidate=0)

    def part(self, counted: bool) -> None:
        """Make the children of the chosen split, with their sample rows.

        counted: whether the decision counted all rows of the branch.
        """
        assert self.decision is not None
        sizes = np.array([self.decision.n_left, self.decision.n_right], dtype=float)
        if not counted:
            sizes *= self.n_rows / sizes.sum()
        parts = self.sides()
        left, right = (Branch(2 * self.node_id + side, parts[side], sizes[side], counted) for side in (0, 1))
        if self.groups is not None:
            goes = self._left(self.groups.rows, np.arange(len(self.groups.rows)))
            left.groups, right.groups = self.groups.take(goes), self.groups.take(~goes)
        self.children = left, right

    def sides(self) -> tuple[SampleRows, SampleRows]:
        """Return the sample rows on both sides of the chosen split."""
        goes = self._left(self.sample.drawn.rows, self.sample.indices)
        return self.sample.take(goes), self.sample.take(~goes)

    def _left(self, rows: AnyArray, which: Integers) -> Booleans:
        """Return which of some of the rows go left at the chosen split."""
        assert self.decision is not None
        assert self.plane is not None
        return np.asarray(goes_left(loop_ready(rows), which, self.plane, self.decision.threshold))


def hash_bit(branch: Branch) -> int:
    """Return the bit of a row's hash that sets its half in a branch, a different one at each of 32 levels."""
    return (branch.level if branch.halved_at is None else branch.halved_at) % 32


def first_parts(branch: Branch, parts_at: int | None) -> Booleans:
    """Return which parts of the rows choose the split of a branch."""
    return TWO_HALVES if parts_at is None else halves_of_parts(branch.level)


def is_choosing(branch: Branch, hashes: Integers, parts_at: int | None) -> Booleans:
    """Return which rows choose the split of a branch, by their hashes."""
    if parts_at is None:
        return in_first_half(hashes, hash_bit(branch))
    return first_parts(branch, parts_at)[parts_in(hashes)]


def branch_pass(
    branches: list[Branch],
    seed: int,
    fresh: "dict[Branch, float] | None" = None,
    extremes: bool = False,
    jitter: Jitter = NO_JITTER,
    parts_at: int | None = None,
) -> BranchPass:
    """Return the statistic that counts the waiting branches among some on the rows that reach them.

    branches: a branch and its descendants, parents first.
    fresh: leaves to sample anew, with the number of rows to draw.
    """
    place = {branch: i for i, branch in enumerate(branches)}
    d = branches[0].sample.n_columns
    planes, thresholds = np.zeros((len(branches), d)), np.full(len(branches), np.nan)
    left, right = np.full((2, len(branches)), -1, dtype=np.int32)
    limit = np.zeros(len(branches), dtype=np.uint64)
    for branch, i in place.items():
        if branch.children and branch.decision:
            planes[i], thresholds[i] = branch.plane, branch.decision.threshold
            left[i], right[i] = (place[child] for child in branch.children)
    for branch, wanted in (fresh or {}).items():
        limit[place[branch]] = sample_limit(wanted, branch.n_rows)
    measured = [branch.measured for branch in branches]
    none = np.empty(0)
    return BranchPass(
        seed=seed, routes=Routes(left, right, planes, thresholds),
        first=np.cumsum([0, *(len(c) if c else 0 for c in measured)]),
        directions=tuple(b.keyed or np.asarray(c.directions) for b, c in zip(branches, measured) if c),
        origin=np.concatenate([none, *(c.origin for c in measured if c)]),
        width=np.concatenate([none, *(c.width for c in measured if c)]),
        n_bins=max((c.counts.shape[1] for c in measured if c), default=0),
        bit=np.array([0 if parts_at is not None else hash_bit(b) for b in branches]), limit=limit,
        extremes=extremes, jitter=jitter, parts_at=parts_at,
    )  # fmt: skip
