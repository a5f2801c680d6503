"""Repeated divisions of few rows into halves, so that the chance of a single division does not decide."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from .._jit.hashing import hash_again
from .._random import generator
from .._typing import AnyArray, Booleans, Integers
from ..density.bandwidth import Bandwidth
from ..density.histograms import joint_extremes
from ..projections.directions import Proposal
from ..splits.choose import Candidates, Counts, Verdict
from ..splits.null import MOST_SIMULATED
from .bounds import least_share, near_rows
from .branches import Branch, GrowthSettings, State, branch_pass, hash_bit
from .passes import Sample
from .scaling import Standardiser
from .scoring import bandwidth_of, candidates_for
from .sweeps import BranchPass

FEW_ROWS = 1000
"""Most rows of the whole data for repeated divisions of branches.

With more rows, the first halves suffice: 1000 rows in ten columns show clusters four standard deviations apart. The
small branches of 10,000 rows with 20 clusters would take longer than all others."""

HAS_A_SAY = 0.1
"""Splits with at most this p-value take part in the choice of the split."""

NO_TESTS: Mapping[int, float] = MappingProxyType({})
"""P-values of a half that did not choose."""

Screened = Callable[[Branch, AnyArray, Bandwidth, np.random.Generator], Proposal]
"""A function that returns the best direction of each family for a branch on some of its rows, or none."""


class Trial(NamedTuple):
    """A split that one half of the rows chose, counted on all rows, and its p-value on the other half."""

    p_value: float
    family: int
    candidates: Candidates
    verdict: Verdict


@dataclass(frozen=True)
class Divisions:
    """Repeated divisions into halves of the rows of a branch whose sample holds all of them.

    Parameters
    ----------
    settings : GrowthSettings
    standardise : Standardiser
    screened : callable
        See `Screened`.
    """

    settings: GrowthSettings
    standardise: Standardiser
    screened: Screened

    def split_of(self, branch: Branch, sample: Sample) -> Trial | None:
        """Return the split by the majority of the divisions, or None if the majority is against a split.

        Each half of a division chooses a split of each family of directions, which the other half tests. The tests of
        both halves are combined for each family, and the families share the level. If one is significant, the division
        votes for a split. Of the nearly significant splits of one family, the one that agrees most with the others is
        made. As this choice comes after the vote, it does not change the probability of a false split.

        Parameters
        ----------
        branch : Branch
        sample : Sample
            All rows of the branch.
        """
        rows = self.standardise.jittered(sample.rows, sample.hashes)
        chooser = self.settings.chooser
        level = 1 - chooser.stop.quantile
        trials: list[Trial] = []
        votes: list[bool] = []
        own: Counter[int] = Counter()
        while (verdict := decided(votes)) is None:
            hashes = hash_again(sample.hashes, branch.level * N_DIVISIONS + len(votes) + 1)
            first = (hashes >> np.uint64(hash_bit(branch))) & np.uint64(1) == 0
            halves: list[dict[int, float]] = []
            for way, choosing in enumerate((first, ~first)):
                # If the combined tests can no longer be significant, the other half need not choose.
                if way == 0 or shared_p_value(joint_p_value(p, LEAST) for p in halves[0].values()) <= level:
                    tested = self._trials(branch, sample, rows, choosing, (branch.path, 3, len(votes), way))
                    halves.append({family: trial.p_value if trial else 1.0 for family, trial in tested.items()})
                    trials += [trial for trial in tested.values() if trial]
            p_values = joint_p_values(*halves)
            votes.append(shared_p_value(p_values.values()) <= level)
            own.update(family for family, p_value in p_values.items() if p_value <= level)
        return medoid(with_a_say(trials, own, len(votes)), sample.rows) if verdict else None

    def _trials(
        self, branch: Branch, sample: Sample, rows: AnyArray, choosing: Booleans, key: tuple[int, ...]
    ) -> dict[int, Trial | None]:
        """Return the split of each family that some of the rows choose, tested on the others; None without a split."""
        scoring = rows[choosing]
        rows, scoring = near_rows(rows, scoring, least_share(self.settings.chooser.min_rows, branch.n_rows))
        bandwidth = bandwidth_of(self.settings.bandwidth, scoring)
        proposal = self.screened(branch, scoring, bandwidth, generator(self.settings.seed, *key))
        if len(proposal) == 0:
            return {}
        candidates = candidates_for(rows, proposal, self.standardise, bandwidth, branch.n_rows, branch.groups)
        waiting = replace(branch, state=State.WAITING, candidates=candidates, children=None, keyed=None)
        chooser, jitter = self.settings.chooser, self.standardise.discrete.jitter
        sweep = branch_pass([waiting], self.settings.seed, None, chooser.rule.at.needs_extremes, jitter)
        counts = counts_of_halves(sweep, sample, choosing)
        families = np.zeros(len(proposal), dtype=int) if proposal.family is None else proposal.family
        trials: dict[int, Trial | None] = {}
        for i, family in enumerate(families.tolist()):
            one, rng = slice(i, i + 1), generator(self.settings.seed, *key, 1 + family)
            tested = chooser.tested(Counts(counts.counts[one], counts.extremes[one]), candidates[one], rng)
            trials[family] = None if tested is None else Trial(tested[0], family, candidates[one], tested[1])
        return trials


def joint_p_values(first: Mapping[int, float], second: Mapping[int, float] = NO_TESTS) -> dict[int, float]:
    """Return the combined p-value of both halves for each family; a half without a family has the p-value 1 of it."""
    return {family: joint_p_value(first.get(family, 1.0), second.get(family, 1.0)) for family in {**first, **second}}


def shared_p_value(p_values: Iterable[float]) -> float:
    """Return the p-value of all families together, 1 without any.

    Families often find the same split. Their p-values times the number of families, divided by their ranks, lose less
    power than without ranks (Simes, Biometrika 73, 1986), and a family without a cluster costs no more.
    """
    ascending = sorted(p_values)
    return min((len(ascending) * p_value / rank for rank, p_value in enumerate(ascending, 1)), default=1.0)


def with_a_say(trials: Sequence[Trial], own: Mapping[int, int], n_votes: int) -> list[Trial]:
    """Return the significant trials of one family, which take part in the choice of the split.

    Where several families find a split, chance would choose between them. So it is the first, which is least noisy,
    that alone would win the majority of the votes, or that with most votes if none would.

    Parameters
    ----------
    trials : sequence of Trial
    own : mapping
        Number of divisions in which a family alone is significant.
    n_votes : int
        Number of divisions.
    """
    families = sorted({trial.family for trial in trials})
    won = (family for family in families if 2 * own.get(family, 0) > n_votes)
    chosen = next(won, max(families, key=lambda family: own.get(family, 0)))
    trials = [trial for trial in trials if trial.family == chosen]
    most = max(HAS_A_SAY, min(trial.p_value for trial in trials))
    return [trial for trial in trials if trial.p_value <= most]


def counts_of_halves(sweep: BranchPass, sample: Sample, first: Booleans) -> Counts:
    """Return the counts of rows in halves that are not set by their hashes."""
    halves = [sweep.sweep(*sample.take(np.flatnonzero(half))) for half in (first, ~first)]
    counts = [half.counts[:, :2].sum(axis=1) for half in halves]
    # Counts that are kept for the raw rows belong to both halves together.
    routed = [sum(half.counts[:, 2] for half in halves)] if halves[0].counts.shape[1] > 2 else []
    extremes = [joint_extremes(half.extremes[:, 0], half.extremes[:, 1]) for half in halves]
    return Counts(np.stack([*counts, *routed], axis=1), np.stack(extremes, axis=1))


def medoid(trials: list[Trial], rows: AnyArray) -> Trial:
    """Return the split whose sides agree most with those of the others, the first among several."""
    sides = np.array([_sides(trial, rows) for trial in trials])
    agreement = np.abs(sides @ sides.T).sum(axis=1)
    return trials[int(agreement.argmax())]


def _sides(trial: Trial, rows: AnyArray) -> Integers:
    direction = trial.candidates.axes.directions.vectors[0]
    return np.where(rows.astype(np.float64) @ direction <= trial.verdict.threshold, 1, -1)


N_DIVISIONS = 11

LEAD = 4
"""Lead in votes at which the vote ends. A smaller one lets single halves decide, a larger one takes longer where
there are no clusters. Compare with ``python -m tests.benchmarks power``."""

LEAST, MOST = 1 / (1 + MOST_SIMULATED), 0.9
"""Bounds on p-values, so that one half can compensate for another that shows nothing by bad luck."""


def joint_p_value(first: float, second: float) -> float:
    """Return the combined p-value of two independent tests (Stouffer's sum of normal quantiles).

    The split that one half chooses is independent of the rows of the other half, on which it is tested. So each p-value
    is valid for any choosing half, and both are nearly independent.

    Examples
    --------
    >>> round(joint_p_value(0.05, 0.05), 3), round(joint_p_value(0.01, 1.0), 3)
    (0.01, 0.23)
    """
    score = sum(-ndtri(min(max(p, LEAST), MOST)) for p in (first, second))
    return float(ndtr(-score / 2**0.5))


def decided(votes: Sequence[bool]) -> bool | None:
    """Return the majority of `N_DIVISIONS` votes, or None if more votes are needed.

    Examples
    --------
    >>> decided([True, True]), decided([True] * 4), decided([False, True] * 5 + [False])
    (None, True, False)
    """
    yes, no = sum(votes), len(votes) - sum(votes)
    if abs(yes - no) >= LEAD or max(yes, no) > N_DIVISIONS // 2:
        return yes > no
    return None
