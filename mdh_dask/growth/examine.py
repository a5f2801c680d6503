"""Examination of the samples of branches: directions are proposed, screened and tested on the sample."""

from dataclasses import dataclass, replace
from functools import reduce
from typing import ClassVar

import numpy as np

from .._levels import LevelFeatures
from .._random import generator
from .._typing import AnyArray
from ..chunks import work_through
from ..density.bandwidth import Bandwidth
from ..projections.directions import Proposal, StandardDirections
from ..projections.random import KeyedDirections, row_combinations
from ..splits.choose import Counts
from ..splits.stop_rule import VotingRule
from .bounds import least_share, near_rows
from .branches import Branch, GrowthSettings, State, branch_pass, hash_bit
from .cross_fitting import FEW_ROWS, Divisions
from .labelled import joined, proposed_by
from .order import ORDERS
from .passes import Sample
from .sampling import INFORMATIVE_ROWS, PILOT_ROWS
from .scaling import Standardiser
from .scoring import bandwidth_of, candidates_for, promising, screen
from .trees import of_all_rows

N_COMBINED = 100
"""Number of random combinations of rows beside the ends of pursuits where levels of single columns are smoothed out."""


@dataclass(frozen=True)
class Examiner:
    """Examines branches.

    Parameters
    ----------
    settings : GrowthSettings
    standardise : Standardiser
        Shift and scale of the columns; directions are proposed for standardised rows.
    """

    settings: GrowthSettings
    standardise: Standardiser
    least_rows: ClassVar[int] = INFORMATIVE_ROWS
    """Fewest sample rows for a split of a branch."""

    @property
    def extremes(self) -> bool:
        """Whether to find the smallest and the largest projection in every bin."""
        return self.settings.chooser.rule.at.needs_extremes

    def examine_open(self, root: Branch) -> set[Branch] | None:
        """Examine the open branches under a root and their new children.

        With an order, examine only branches whose turn comes, and return those to split.
        """
        if self.settings.order is None:
            work_through(self.examine, [branch for branch in root.walk() if branch.state is State.OPEN])
            return None
        split: set[Branch] = set()
        order = ORDERS[self.settings.order]

        def examine_in_order(root: Branch) -> tuple[()]:
            split.update(order(root, self.settings.max_clusters, self.standardise, self.examine))
            return ()

        # A single item of work, so that BLAS is limited to one thread.
        work_through(examine_in_order, [root])
        return split

    def examine(self, branch: Branch) -> list[Branch]:
        """Examine the sample of an open branch and return its children, which are examined next."""
        too_deep = self.settings.max_levels is not None and branch.level >= self.settings.max_levels
        if too_deep or branch.n_rows < 2 * self.settings.chooser.min_rows or len(branch.sample) < 2:
            branch.state = State.LEAF
        elif branch.complete or self.settings.sample_size is not None:
            self.split_sample(branch)
        else:
            self._await_all_directions(branch)
        return list(branch.children or ())

    def _await_all_directions(self, branch: Branch) -> None:
        """Let every proposed direction be counted on all rows."""
        rows, scoring = self._rows(branch, branch.sample.load().first(PILOT_ROWS))
        bandwidth = bandwidth_of(self.settings.bandwidth, scoring)
        proposal = self._propose(branch, scoring, generator(*self.settings.stream_of(branch.path)))
        branch.state = State.WAITING if len(proposal) else State.LEAF
        if len(proposal):
            branch.candidates = candidates_for(
                rows, proposal, self.standardise, bandwidth, branch.n_rows, branch.groups
            )
            if self.settings.family is not None and branch.groups is None and not bandwidth.principal:
                key = self.settings.stream_of(branch.path)
                branch.keyed = KeyedDirections(self.settings.family, key, len(proposal), self.standardise.scale)

    def split_sample(self, branch: Branch) -> None:
        """Split the branch by its sample: for good if the sample holds all rows, else until they are counted."""
        size = self.settings.sample_size or PILOT_ROWS
        # Most rows of a branch decide, however few: a fresh sample could hardly be larger.
        scarce = 2 * len(branch.sample) < branch.n_rows and len(branch.sample) < min(self.least_rows, size)
        if scarce:
            branch.state = State.UNSURE
            return
        whole = branch.sample.load()
        self._split_by_one_half(branch, whole, whole.first(size))
        few = branch.complete and self.settings.chooser.n_root <= min(FEW_ROWS, size)
        if few and isinstance(self.settings.chooser.stop, VotingRule):
            self._split_by_vote(branch, whole)

    def _split_by_one_half(self, branch: Branch, whole: Sample, sample: Sample) -> None:
        """Split the branch if the half of its sample that tests splits accepts one of those that the other chooses."""
        rows, scoring = self._rows(branch, sample)
        bandwidth = bandwidth_of(self.settings.bandwidth, scoring)
        rng = generator(*self.settings.stream_of(branch.path))
        proposed = self._promising(branch, scoring, bandwidth, self._propose(branch, scoring, rng))
        proposal = self._screened(branch, scoring, bandwidth, proposed, self.settings.n_candidates)
        counted, admissible = whole if branch.complete else sample, len(proposal) > 0
        if admissible:
            counts, share = self._counted(branch, rows, bandwidth, proposal, counted)
            self._decide(branch, counts, share)
        elif branch.verdict is None and self.settings.chooser.rule.limits_depth:
            proposal = self._screened(branch, scoring, bandwidth, proposed, 1, at_any_depth=True)
            if len(proposal):
                counts, share = self._counted(branch, rows, bandwidth, proposal, counted)
                assert branch.candidates is not None
                shallow = self.settings.chooser.too_shallow(counts, branch.candidates, share)
                branch.verdict = shallow and of_all_rows(shallow, branch.n_rows)
        found = branch.verdict is not None and branch.verdict.accepted
        if found:
            branch.lead_with_chosen()
            branch.part(counted=branch.complete)
        if branch.complete or not admissible:
            branch.state = State.SPLIT if found else State.LEAF

    def _counted(
        self, branch: Branch, rows: AnyArray, bandwidth: Bandwidth, proposal: Proposal, sample: Sample
    ) -> tuple[Counts, float]:
        """Make directions the candidates of a branch; return the counts of its sample, and its share of the rows."""
        branch.candidates = candidates_for(rows, proposal, self.standardise, bandwidth, branch.n_rows, branch.groups)
        branch.state = State.WAITING
        sweep = branch_pass(
            [branch], self.settings.seed, extremes=self.extremes, jitter=self.standardise.discrete.jitter
        )
        return sweep.sweep(*sample).along(slice(None)), len(sample.hashes) / branch.n_rows

    def _split_by_vote(self, branch: Branch, whole: Sample) -> None:
        """Split the branch if a majority of divisions of all its rows into halves wants it.

        A branch that one half has split already is split where most halves do, not where the first happened to.
        """
        divisions = Divisions(self.settings, self.standardise, self._best_of_families)
        trial = divisions.split_of(branch, whole)
        if trial is not None:
            branch.candidates, branch.verdict = trial.candidates, replace(trial.verdict, accepted=True)
            branch.part(counted=True)
            branch.state = State.SPLIT

    def _best_of_families(
        self, branch: Branch, scoring: AnyArray, bandwidth: Bandwidth, rng: np.random.Generator
    ) -> Proposal:
        """Return the proposed direction of each family with the best score on some rows of a branch."""
        families = self._propose(branch, scoring, rng).families()
        return reduce(joined, (self._screened(branch, scoring, bandwidth, family, 1) for family in families))

    def _rows(self, branch: Branch, sample: Sample) -> tuple[AnyArray, AnyArray]:
        """Return the standardised sample rows, and those that score directions, without the half that tests them."""
        rows = self.standardise.jittered(sample.rows, sample.hashes)
        scoring = rows
        if self.settings.chooser.stop.holds_out:
            half = (sample.hashes >> np.uint64(hash_bit(branch))) & np.uint64(1)
            scoring = rows[half == 0]
        if self.settings.from_origin:
            return rows, scoring  # without some rows, the degrees of others would be wrong
        return near_rows(rows, scoring, least_share(self.settings.chooser.min_rows, branch.n_rows))

    def _least_of(self, scoring: AnyArray, branch: Branch) -> float:
        """Return the least number of the rows that score directions on each side of a split."""
        return self.settings.chooser.min_rows * len(scoring) / branch.n_rows

    def _propose(self, branch: Branch, scoring: AnyArray, rng: np.random.Generator) -> Proposal:
        """Return directions for the rows that score them, or none if all rows are equal.

        Of a branch with labelled groups to separate, also directions that these propose.
        """
        if len(scoring) < 2:
            return Proposal(StandardDirections(np.empty((0, scoring.shape[1]))))
        propose, coarse = self.settings.propose, self.standardise.discrete.jitter.columns
        min_rows = self._least_of(scoring, branch)
        proposal = propose(scoring, rng, coarse, min_rows)
        in_valleys = proposal.thresholds is None or self.settings.chooser.rule.at.limits_depth
        if in_valleys and (others := self._without_levels(scoring)) is not None:
            # The smoothing of levels would hide clusters that only the other directions show.
            proposal = joined(proposal, propose(others, rng, coarse, min_rows))
        levels = self.standardise.discrete.levels
        if proposal.family is not None and isinstance(levels, LevelFeatures) and len(levels.starts):
            # Pursuits end at the deepest valleys, which may be those of single columns, and are smoothed out.
            proposal = joined(proposal, Proposal(StandardDirections(row_combinations(rng, N_COMBINED, scoring))))
        if branch.groups is not None:
            proposal = joined(proposal, proposed_by(branch.groups.standardised(self.standardise), scoring))
        proposal = proposal[proposal.directions.vectors.any(axis=1)]
        # A bandwidth shared by all directions is for unit directions.
        return proposal.of_length_one() if self.settings.bandwidth.principal else proposal

    def _without_levels(self, scoring: AnyArray) -> AnyArray | None:
        """Return the rows without what single columns of few values change, or None if that is nothing or all.

        None for directions that do not depend on the rows, which workers draw again.
        """
        levels = self.standardise.discrete.levels
        if self.settings.family is not None or levels is None:
            return None
        return levels.without(scoring, self.standardise.scale)

    def _promising(self, branch: Branch, scoring: AnyArray, bandwidth: Bandwidth, proposal: Proposal) -> Proposal:
        """Return the proposed directions with the best scores on some rows of the sample."""
        min_rows, rule = self._least_of(scoring, branch), self.settings.chooser.rule
        return promising(scoring, proposal, rule, bandwidth, min_rows, self.standardise, branch.groups)

    def _screened(
        self,
        branch: Branch,
        scoring: AnyArray,
        bandwidth: Bandwidth,
        proposal: Proposal,
        n_kept: int,
        at_any_depth: bool = False,
    ) -> Proposal:
        """Return the proposed directions with the best scores on the sample."""
        min_rows = self._least_of(scoring, branch)
        rule = self.settings.chooser.rule.at_any_depth if at_any_depth else self.settings.chooser.rule
        return screen(scoring, proposal, n_kept, rule, bandwidth, min_rows, self.standardise, branch.groups)

    def confirm(self, branch: Branch, counts: Counts, again: bool, settle: bool) -> None:
        """Decide by the counts of all rows; examine a branch without a valley again if it has a fresh sample.

        To settle, a split found on a sample keeps its threshold if all rows admit it, so that the branches grown under
        it remain.
        """
        before = branch.verdict if branch.children else None
        self._decide(branch, counts, existing=before.threshold if before else None, settle=settle)
        verdict = branch.verdict
        if verdict is not None and verdict.accepted:
            branch.state = State.SPLIT
            if before is None or verdict.moved:
                branch.part(counted=True)
        elif before is not None:
            # The other candidates have not been counted yet.
            branch.state, branch.children = State.WAITING, None
        else:
            branch.state = State.OPEN if again else State.LEAF

    def _decide(
        self, branch: Branch, counts: Counts, share: float = 1.0, existing: float | None = None, settle: bool = False
    ) -> None:
        assert branch.candidates is not None
        rng, chooser = generator(self.settings.seed, branch.path, 1), self.settings.chooser
        branch.verdict = chooser.choose(counts, branch.candidates, rng, share=share, existing=existing, settle=settle)
