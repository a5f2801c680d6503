"""Cross-fitting of few rows: repeated divisions into halves vote, so that the chance of one does not decide."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from .._jit.hashing import hash_again, in_first_half
from .._random import generator
from .._typing import AnyArray, Booleans, Floats, Integers
from ..density.histograms import Histograms, joint_extremes
from ..splits.choose import Counts, Decision
from ..splits.dependence import halves_of_parts, parts_in
from ..splits.null import MOST_SIMULATED
from .branches import Branch, GrowthSettings, branch_pass, hash_bit
from .passes import Sample
from .propose import propose
from .scaling import Standardiser
from .scoring import candidates_for, rows_and_scorer
from .sweeps import BranchPass

FEW_ROWS = 1000
"""Most rows of the whole data for repeated divisions of branches, unless rows depend on others of their groups.

With more rows, the first halves suffice: 1000 rows in ten columns show clusters four standard deviations apart. The
small branches of 10,000 rows with 20 clusters would take longer than all others."""

N_DIVISIONS = 11

LEAD = 4
"""Lead in votes at which the vote ends. A smaller one lets single halves decide, a larger one takes longer where
there are no clusters. Compare with ``python -m tests.benchmarks power``."""

LEAST, MOST = 1 / (1 + MOST_SIMULATED), 0.9
"""Bounds on p-values, so that one half can compensate for another that shows nothing by bad luck."""


class Fold(NamedTuple):
    """A split that one half of the rows chose, counted on all rows, and its p-value on the other half."""

    p_value: float
    family: int
    candidates: Histograms
    decision: Decision


def _division(branch: Branch, sample: Sample, number: int, settings: GrowthSettings) -> Booleans:
    """Return which rows of a branch choose in one of the repeated divisions, or which parts of dependent rows."""
    if settings.parts_at is not None:
        return halves_of_parts(number)
    return in_first_half(hash_again(sample.hashes, number), hash_bit(branch))


def cross_fitted(
    branch: Branch, sample: Sample, settings: GrowthSettings, standardise: Standardiser
) -> tuple[Fold | None, float]:
    """Return the split by the majority of repeated divisions into halves, or None if the majority is against a split.

    Each half of a division chooses a split of each family of directions, which the other half tests. The tests of both
    halves are combined for each family, and the families share the level. If one is significant, the division votes for
    a split. Of the nearly significant splits of one family, the one that agrees most with the others is made. As this
    choice comes after the vote, it does not change the probability of a false split.

    sample: all rows of the branch, or many of those in groups.
    Returns the p-value of the branch: twice the median of those of the divisions, which is valid however these depend
        on each other (Rueger, Metrika 25, 1978).
    """
    rows = standardise.jittered(sample.rows, sample.hashes)
    level = 1 - settings.selector.stop.quantile
    folds: list[Fold] = []
    votes: list[bool] = []
    shared: list[float] = []
    own: Counter[int] = Counter()
    while (majority := decided(votes)) is None:
        first = _division(branch, sample, branch.level * N_DIVISIONS + len(votes) + 1, settings)
        halves: list[dict[int, float]] = [{}, {}]
        for way, choosing in enumerate((first, ~first)):
            # If the combined tests can no longer be significant, the other half need not choose.
            if way == 0 or shared_p_value(joint_p_value(p, LEAST) for p in halves[0].values()) <= level:
                key = settings.seed, branch.node_id, 3, len(votes), way
                tested = _folds(branch, sample, rows, choosing, key, settings, standardise)
                halves[way] = {family: fold.p_value if fold else 1.0 for family, fold in tested.items()}
                folds += [fold for fold in tested.values() if fold]
        p_values = joint_p_values(*halves)
        shared.append(shared_p_value(p_values.values()))
        votes.append(shared[-1] <= level)
        own.update(family for family, p_value in p_values.items() if p_value <= level)
    fold = medoid(with_a_say(folds, own, len(votes)), sample.rows) if majority else None
    return fold, min(2 * float(np.median(shared)), 1.0)


def _folds(
    branch: Branch,
    sample: Sample,
    rows: AnyArray,
    choosing: Booleans,
    key: tuple[int, ...],
    settings: GrowthSettings,
    standardise: Standardiser,
) -> dict[int, Fold | None]:
    """Return the split of each family that some of the rows choose, tested on the others; None without a split.

    choosing: those rows, or the parts of dependent ones.
    """
    in_groups = settings.parts_at is not None
    scoring = rows[choosing[parts_in(sample.hashes)] if in_groups else choosing]
    rows, scorer = rows_and_scorer(branch, rows, scoring, settings, standardise)
    proposal = scorer.best_of_families(propose(settings, scorer, generator(*key)))
    if len(proposal) == 0:
        return {}
    candidates = candidates_for(rows, proposal, scorer, branch.n_rows)
    extremes = settings.selector.rule.at.needs_extremes
    jitter = standardise.discrete.jitter
    sweep = branch_pass([branch.waiting_for(candidates)], settings.seed, None, extremes, jitter, settings.parts_at)
    if in_groups:
        counts = sweep.sweep(*sample).along(slice(None), choosing)
    else:
        counts = counts_of_halves(sweep, sample, choosing)
    families = np.zeros(len(proposal), dtype=int) if proposal.family is None else proposal.family
    folds: dict[int, Fold | None] = {}
    for i, family in enumerate(families.tolist()):
        one, rng = slice(i, i + 1), generator(*key, 1 + family)
        tested = settings.selector.tested(counts.of(one), candidates[one], rng, len(sample.hashes) / branch.n_rows)
        folds[family] = None if tested is None else Fold(tested[0], family, candidates[one], tested[1])
    return folds


def joint_p_values(first: Mapping[int, float], second: Mapping[int, float]) -> dict[int, float]:
    """Return the combined p-value of both halves for each family; a half without a family has the p-value 1 of it."""
    return {family: joint_p_value(first.get(family, 1.0), second.get(family, 1.0)) for family in {**first, **second}}


def shared_p_value(p_values: Iterable[float]) -> float:
    """Return the p-value of all families together, 1 without any.

    Families often find the same split. Their p-values times the number of families, divided by their ranks, lose less
    power than without ranks (Simes, Biometrika 73, 1986), and a family without a cluster costs no more.
    """
    ascending = sorted(p_values)
    return min((len(ascending) * p_value / rank for rank, p_value in enumerate(ascending, 1)), default=1.0)


def with_a_say(folds: Sequence[Fold], own: Mapping[int, int], n_votes: int) -> list[Fold]:
    """Return the significant folds of one family, which take part in the choice of the split.

    Where several families find a split, chance would choose between them. So it is the first, which is least noisy,
    that alone would win the majority of the votes, or that with most votes if none would.

    own: number of divisions in which a family alone is significant.
    """
    families = sorted({fold.family for fold in folds})
    won = (family for family in families if 2 * own.get(family, 0) > n_votes)
    chosen = next(won, max(families, key=lambda family: own.get(family, 0)))
    folds = [fold for fold in folds if fold.family == chosen]
    most = max(0.1, min(fold.p_value for fold in folds))
    return [fold for fold in folds if fold.p_value <= most]


def counts_of_halves(sweep: BranchPass, sample: Sample, first: Booleans) -> Counts:
    """Return the counts of rows in halves that are not set by their hashes."""
    halves = [sweep.sweep(*sample.take(np.flatnonzero(half))) for half in (first, ~first)]
    counts = [half.counts[:, :2].sum(axis=1) for half in halves]
    # Counts that are kept for the raw rows belong to both halves together.
    routed = [sum(half.counts[:, 2] for half in halves)] if halves[0].counts.shape[1] > 2 else []
    extremes = [joint_extremes(half.extremes[:, 0], half.extremes[:, 1]) for half in halves]
    return Counts(np.stack([*counts, *routed], axis=1), np.stack(extremes, axis=1))


def medoid(folds: list[Fold], rows: AnyArray) -> Fold:
    """Return the split whose sides agree most with those of the others, the first among several."""
    sides = np.array([_sides(fold, rows.astype(np.float64)) for fold in folds])
    agreement = np.abs(sides @ sides.T).sum(axis=1)
    return folds[int(agreement.argmax())]


def _sides(fold: Fold, rows: Floats) -> Integers:
    """Return 1 for the rows on the lower side of a split, and -1 for the others."""
    assert fold.candidates.directions is not None
    return np.where(rows @ fold.candidates.directions[0] <= fold.decision.threshold, 1, -1)


def joint_p_value(first: float, second: float) -> float:
    """Return the combined p-value of two independent tests (Stouffer's sum of normal quantiles).

    The split that one half chooses is independent of the rows of the other half, on which it is tested. So each p-value
    is valid for any choosing half, and both are nearly independent.
    """
    score = sum(-ndtri(min(max(p, LEAST), MOST)) for p in (first, second))
    return float(ndtr(-score / 2**0.5))


def decided(votes: Sequence[bool]) -> bool | None:
    """Return the majority of `N_DIVISIONS` votes, or None if more votes are needed."""
    yes, no = sum(votes), len(votes) - sum(votes)
    if abs(yes - no) >= LEAD or max(yes, no) > N_DIVISIONS // 2:
        return yes > no
    return None
