"""Examination of the samples of branches: directions are proposed, screened and tested on the sample."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from .._blas import one_blas_thread
from .._levels import TwoValued
from .._random import generator
from .._typing import AnyArray, Floats
from ..chunks import work_through
from ..density.histograms import Histograms
from ..projections.directions import KeyedDirections, Proposal, StandardDirections, single_columns
from ..projections.pca import principal_components
from ..splits.choose import Counts
from ..splits.dependence import parts_in
from ..splits.stopping import HoldOut
from .branches import Branch, GrowthSettings, State, branch_pass, first_parts, hash_bit, is_choosing
from .cross_fitting import FEW_ROWS, cross_fitted
from .order import ORDERS
from .passes import PILOT_ROWS, Sample
from .propose import FEWEST_ROWS, propose, shaves
from .scaling import Standardiser
from .scoring import Scorer, candidates_for, rows_and_scorer
from .sweeps import BranchPass
from .trees import scaled_to

FINER = {4: 6, 16: 24}
"""Further looks at a branch: how many times smaller the bandwidth is, and for how many clusters there must be room.

A wider one shows the valleys between fewer: of k clusters in a row at distances g, the usual bandwidth is about
``g k n ** -0.2 / 3``, and only one above ``g / 2.3`` makes their valleys shallower than a tenth.
"""

N_COMPONENTS = 8
"""Number of principal components along which finer densities are looked at, too, beside single columns: pursuits leave
the direction of many clusters in a row, which look like one by the usual density. Only scaled columns have these
directions: the tree of features made beforehand, without scaling, is that of their map."""


@dataclass(frozen=True)
class Examiner:
    """Examines branches.

    standardise: shift and scale of the columns; directions are proposed for standardised rows.
    near: whether the first splits are those that the neighbourhoods of rows propose; see `shaves`.
    """

    settings: GrowthSettings
    standardise: Standardiser
    near: bool = False
    least_rows: ClassVar[int] = 500
    """Fewest sample rows for a split of a branch."""

    @property
    def extremes(self) -> bool:
        """Whether to find the smallest and the largest projection in every bin."""
        return self.settings.selector.rule.at.needs_extremes

    def without_levels(self) -> "Examiner":
        """Return an examiner without two-valued columns, if others vary: combinations of them look like clusters."""
        discrete = self.standardise.discrete
        if not isinstance(discrete.levels, TwoValued):
            return self
        others = self.standardise.without(discrete.levels.columns)
        if not others.scale.any():
            return self
        return replace(self, standardise=replace(others, discrete=replace(discrete, levels=None)))

    def examine_open(self, root: Branch) -> set[Branch] | None:
        """Examine the open branches under a root and their new children.

        With an order, examine only branches whose turn comes, and return those to split.
        """
        if self.settings.order is None:
            work_through(self.examine, [branch for branch in root.walk() if branch.state is State.OPEN])
            return None
        with one_blas_thread():
            return ORDERS[self.settings.order](root, self.settings.max_clusters, self.standardise, self.examine)

    def examine(self, branch: Branch) -> list[Branch]:
        """Examine the sample of an open branch and return its children, which are examined next."""
        too_deep = self.settings.max_levels is not None and branch.level >= self.settings.max_levels
        if too_deep or branch.n_rows < 2 * self.settings.selector.min_rows or len(branch.sample) < 2:
            branch.state = State.LEAF
        elif self.near and len(branch.sample) >= FEWEST_ROWS and self.shave(branch):
            return [own for own in branch.walk() if own.state is State.OPEN]
        elif branch.complete or self.settings.sample_size is not None:
            self.split_sample(branch)
        else:
            self._await_all_directions(branch)
        return list(branch.children or ())

    def _await_all_directions(self, branch: Branch) -> None:
        """Let every proposed direction be counted on all rows."""
        rows, scorer = self._look(branch, branch.sample.load().first(PILOT_ROWS))
        proposal = propose(self.settings, scorer, generator(*self.settings.stream_of(branch.node_id)))
        branch.state = State.WAITING if len(proposal) else State.LEAF
        if len(proposal):
            branch.candidates = candidates_for(rows, proposal, scorer, branch.n_rows)
            if self.settings.family is not None and branch.groups is None and not scorer.bandwidth.principal:
                key = self.settings.stream_of(branch.node_id)
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
        few = branch.complete and self.settings.selector.n_root <= min(FEW_ROWS, size)
        in_groups = self.settings.parts_at is not None  # which are few, and in the sample, however many rows they have
        if (few or in_groups) and isinstance(self.settings.selector.stop, HoldOut):
            self._split_by_vote(branch, whole)

    def _split_by_vote(self, branch: Branch, whole: Sample) -> None:
        """Split the branch if a majority of divisions of its sample into halves wants it.

        A branch that one half has split already is split where most halves do, not where the first happened to.
        """
        fold, p_value = cross_fitted(branch, whole, self.settings, self.standardise)
        before = branch.decision
        if fold is not None:
            branch.candidates, branch.decision = fold.candidates, replace(fold.decision, accepted=True)
            branch.part(counted=branch.complete)
            branch.state, branch.voted = State.SPLIT if branch.complete else State.WAITING, True
        if branch.decision is not None:
            # Either test may split the branch.
            both = p_value if before is None else float(np.fmin(before.p_value, p_value))
            # Of rows that depend on each other, the parts count. All rows, or parts, test in turn.
            voting = whole.hashes if self.settings.parts_at is None else np.unique(parts_in(whole.hashes))
            branch.decision = replace(branch.decision, p_value=min(2 * both, 1.0), n_tested=len(voting))

    def _split_by_one_half(self, branch: Branch, whole: Sample, sample: Sample) -> None:
        """Split the branch if the half of its sample that tests splits accepts one of those that the other chooses."""
        rows, scorer = self._look(branch, sample)
        rng = generator(*self.settings.stream_of(branch.node_id))
        every = propose(self.settings, scorer, rng)
        proposed = scorer.promising(every)
        proposal = scorer.best(proposed, self.settings.n_candidates)
        counted, admissible = whole if branch.complete else sample, len(proposal) > 0
        if admissible:
            self._decide(branch, *self._counted(branch, rows, scorer, proposal, counted))
        found = branch.decision is not None and branch.decision.accepted
        if not found:
            found = self._split_by_finer(branch, rows, scorer, every, counted)
        if found:
            branch.lead_with_chosen()
            branch.part(counted=branch.complete)
        elif scorer.rule.limits_depth and (admissible or branch.decision is None):
            proposal = proposal if admissible else scorer.at_any_depth.best(proposed, 1)
            proposal = proposal.joined(self._column(branch, rows, scorer))
            if len(proposal):
                self._take_deepest(branch, *self._counted(branch, rows, scorer, proposal, counted))
        if branch.complete or not (admissible or found):
            branch.state = State.SPLIT if found else State.LEAF

    def _split_by_finer(
        self, branch: Branch, rows: AnyArray, scorer: Scorer, proposal: Proposal, sample: Sample
    ) -> bool:
        """Split the branch at a valley that a finer density shows, and return whether there is one.

        The usual bandwidth is that of one cluster with the spread of all rows, and hides the valleys between many.
        Parts of dependent rows and rules of papers are not looked at so closely. Nor are values that are rounded by
        more than the bandwidth: valleys between them are gaps of the rounding, as between the colours of a JPEG
        picture.
        """
        settings = self.settings
        closer = [times for times, fewest in FINER.items() if branch.n_rows >= fewest * settings.selector.min_rows]
        if not closer or not isinstance(settings.selector.stop, HoldOut) or settings.parts_at is not None:
            return False
        before = branch.candidates, branch.decision, branch.state
        if settings.columns and settings.scale:
            axes = np.concatenate([self._columns(rows), principal_components(scorer.rows, N_COMPONENTS)])
            proposal = proposal.joined(Proposal(StandardDirections(axes)))
        for times in closer:
            finer = replace(scorer, bandwidth=scorer.bandwidth.finer(times))
            best = finer.resolved(finer.best(proposal, settings.n_candidates), branch.n_rows)
            if len(best):
                self._decide(branch, *self._counted(branch, rows, finer, best, sample))
                if branch.decision is not None and branch.decision.accepted:
                    return True
        branch.candidates, branch.decision, branch.state = before
        return False

    def _take_deepest(self, branch: Branch, counts: Counts, share: float = 1.0) -> None:
        """Describe a branch that is not split by the deepest valley of its candidates.

        With a number of clusters, branches may be split at the valley that failed, which the test ranked first.
        """
        if branch.decision is None or self.settings.n_clusters is None:
            assert branch.candidates is not None
            deepest = self.settings.selector.deepest(counts, branch.candidates, share)
            tested = branch.decision
            branch.decision = scaled_to(deepest, branch.n_rows).tested_as(tested) if deepest else tested

    def _column(self, branch: Branch, rows: AnyArray, scorer: Scorer) -> Proposal:
        """Return the single column with the deepest valley, or none: users compare with it what `why` says."""
        columns = Proposal(StandardDirections(self._columns(rows)))
        min_rows = self.settings.selector.min_rows * len(rows) / branch.n_rows
        return replace(scorer.at_any_depth, rows=rows, min_rows=min_rows).best(columns, 1)

    def _columns(self, rows: AnyArray) -> AnyArray:
        """Return the unit vectors of the single columns that are directions."""
        coarse = self.standardise.discrete.jitter.columns
        return single_columns(rows, coarse) if self.settings.columns else np.empty((0, rows.shape[1]))

    def shave(self, branch: Branch) -> int:
        """Split off clusters that their neighbourhoods show, and return their number.

        All are proposed by one half of the rows of the branch. Each is tested on the rest of the other half, at the
        level of a candidate, until as many in turn fail as a branch has candidates.
        """
        selector, halves = self.settings.selector, hash_bit(branch)
        rows, scorer = self._look(branch, branch.sample.load())
        rng = generator(*self.settings.stream_of(branch.node_id), 2)  # a stream of its own
        proposal = shaves(scorer, rng)
        if not len(proposal):
            return 0
        candidates = candidates_for(rows, proposal, scorer, branch.n_rows)
        rest, found, failed = branch, 0, 0
        counts = self._counts_of(rest, candidates, rest.sample.load())
        for i in range(len(proposal)):
            if failed == selector.n_tests:
                break
            decision = selector.choose(
                counts.of(slice(i, i + 1)), candidates[[i] * min(selector.n_tests, len(proposal))], rng
            )
            if decision is None or not decision.accepted:
                failed += 1
                continue
            rest.candidates, rest.decision, rest.state = candidates[i : i + 1], decision, State.SPLIT
            rest.part(counted=True)
            assert rest.children is not None
            above = rest
            taken, rest = sorted(rest.children, key=lambda child: len(child.sample))
            found, failed, taken.halved_at, rest.halved_at = found + 1, 0, halves, halves
            # Few rows leave: to count them is faster than to count the others again, which extremes need.
            again = rest if self.extremes else taken
            left = self._counts_of(again, candidates, again.sample.load())
            counts = left if self.extremes else counts.less(left)
            taken.halved_at = None
            if above is not branch:  # thousands of branches in a chain would hold as many rows each
                above.sample = above.sample.take(np.empty(0, dtype=np.int64))
        # What is left is looked at afresh.
        rest.halved_at = None
        return found

    def rows_of(self, branch: Branch) -> AnyArray:
        """Return the standardised sample rows of a branch."""
        sample = branch.sample.load()
        return self.standardise.jittered(sample.rows, sample.hashes)

    def split_at(
        self, branch: Branch, direction: Floats, threshold: float, p_value: float, n_tested: float
    ) -> tuple[Branch, ...]:
        """Split a branch at a hyperplane that needs no valley; return the children, none if one had too few rows.

        direction, threshold: for standardised rows.
        p_value, n_tested: of the test of the split, and the number of rows that tested it.
        """
        rows = self.rows_of(branch)
        rows, scorer = rows_and_scorer(branch, rows, rows, self.settings, self.standardise)
        proposal = Proposal(StandardDirections(direction[None]), np.array([threshold]))
        candidates = candidates_for(rows, proposal, scorer, branch.n_rows)
        counts = self._counts_of(branch, candidates, branch.sample.load())
        decision = self.settings.selector.suggested(counts.along(candidates))
        branch.state = State.LEAF
        if decision is not None:
            decision = replace(decision, p_value=p_value, n_tested=n_tested)
            branch.candidates, branch.decision, branch.state = candidates, decision, State.SPLIT
            branch.part(counted=True)
        return branch.children or ()

    def _counts_of(self, branch: Branch, candidates: Histograms, sample: Sample) -> Counts:
        """Return the counts of sample rows of a branch along candidates."""
        counts = self.sweep([branch.waiting_for(candidates)]).sweep(*sample)
        return counts.along(slice(None), first_parts(branch, self.settings.parts_at))

    def _look(self, branch: Branch, sample: Sample) -> tuple[AnyArray, Scorer]:
        """Return the standardised sample rows, and the scorer of directions by those that do not test them."""
        rows = scoring = self.standardise.jittered(sample.rows, sample.hashes)
        if self.settings.selector.stop.holds_out:
            scoring = rows[is_choosing(branch, sample.hashes, self.settings.parts_at)]
        return rows_and_scorer(branch, rows, scoring, self.settings, self.standardise)

    def _counted(
        self, branch: Branch, rows: AnyArray, scorer: Scorer, proposal: Proposal, sample: Sample
    ) -> tuple[Counts, float]:
        """Make directions the candidates of a branch; return the counts of its sample, and its share of the rows."""
        branch.candidates = candidates_for(rows, proposal, scorer, branch.n_rows)
        branch.state = State.WAITING
        return self._counts_of(branch, branch.candidates, sample), len(sample.hashes) / branch.n_rows

    def sweep(self, branches: list[Branch], fresh: dict[Branch, float] | None = None) -> BranchPass:
        """Return the statistic that counts waiting branches, and samples fresh ones; see `branch_pass`."""
        jitter = self.standardise.discrete.jitter
        return branch_pass(branches, self.settings.seed, fresh, self.extremes, jitter, self.settings.parts_at)

    def confirm(self, branch: Branch, counts: Counts, again: bool, settle: bool) -> None:
        """Decide by the counts of all rows; examine a branch without a valley again if it has a fresh sample.

        To settle, a split found on a sample keeps its threshold if all rows admit it, so that the branches grown under
        it remain.
        """
        before = branch.decision if branch.children else None
        if before is not None and branch.voted:
            assert branch.candidates is not None
            branch.decision = self.settings.selector.counted(counts, branch.candidates, before, settle)
        else:
            self._decide(branch, counts, existing=before.threshold if before else None, settle=settle)
        decision = branch.decision
        if decision is not None and decision.accepted:
            branch.state = State.SPLIT
            if before is None or decision.moved:
                branch.part(counted=True)
        elif before is not None:
            # The other candidates have not been counted yet.
            branch.state, branch.children = State.WAITING, None
        else:
            branch.state = State.OPEN if again else State.LEAF
            self._take_deepest(branch, counts)

    def _decide(self, branch: Branch, counts: Counts, share: float = 1.0, **known: Any) -> None:
        """Decide about a branch by the counts of its candidates; see `SplitSelector.choose` for what else is known."""
        assert branch.candidates is not None
        rng = generator(self.settings.seed, branch.node_id, 1)
        closer = branch.candidates.bandwidth_rule.factor < self.settings.bandwidth.factor
        looks = 1 + len(FINER) if closer else 1  # the usual one has the whole level
        branch.decision = self.settings.selector.choose(
            counts, branch.candidates, rng, share=share, looks=looks, **known
        )
