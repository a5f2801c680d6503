"""The choice of a split from the histograms of a branch along its candidate directions."""

from dataclasses import dataclass, replace
from functools import reduce
from math import sqrt
from typing import NamedTuple, Self

import numpy as np
from scipy.special import ndtri

from .._typing import Booleans, Floats, Integers
from ..density.histograms import Histograms, joint_extremes
from ..density.kde import rows_at
from .dependence import p_value_of_parts
from .null import unimodal_p_value
from .rules import SplitRule
from .stopping import HoldOut, StopRule

TWO_HALVES = np.array([True, False])


class Counts(NamedTuple):
    """Counts of a branch's rows, in two halves or more parts, along its candidates."""

    counts: Integers
    """Histograms, shape (n_candidates, n_parts, n_bins); one more holds all parts by the values that route them, where
    those are not the values that are counted."""
    extremes: Floats
    """Smallest and largest projection in every bin, (n_candidates, n_parts, 2, n_bins); without bins if not needed."""
    first: Booleans = TWO_HALVES
    """Which parts are the half that chooses, shape (n_parts,); more than two are those of dependent rows."""

    def of(self, candidates: slice) -> "Counts":
        """Return the counts along some of the candidates."""
        return Counts(self.counts[candidates], self.extremes[candidates], self.first)

    def less(self, others: "Counts") -> "Counts":
        """Return the counts without those of some of the rows; the extremes of the bins are not known then."""
        return Counts(self.counts - others.counts, self.extremes, self.first)

    @property
    def are_of_groups(self) -> bool:
        """Whether the parts are those of groups of dependent rows."""
        return len(self.first) > len(TWO_HALVES)

    def along(self, candidates: Histograms, half: int | None = None) -> Histograms:
        """Return candidates with the counts of one half of the rows, or of both."""
        chosen = slice(None) if half is None else self.first if half == 0 else ~self.first
        n_parts = len(self.first)
        counts = self.counts[:, :n_parts][:, chosen].sum(axis=1)
        extremes = reduce(joint_extremes, self.extremes[:, chosen].swapaxes(0, 1))
        routed = self.counts[:, n_parts] if half is None and self.counts.shape[1] > n_parts else None
        return replace(candidates, counts=counts, extremes=extremes, routed=routed)

    @property
    def n_testing(self) -> float:
        """Number of rows that test, or of parts with rows."""
        tests = self.of_test(0).sum(axis=1)
        return float(np.count_nonzero(tests) if self.are_of_groups else tests.sum())

    def of_test(self, candidate: int) -> Integers:
        """Return the counts of the parts that test along one candidate, shape (n_parts, n_bins)."""
        return self.counts[candidate, : len(self.first)][~self.first]


@dataclass(frozen=True)
class Decision:
    """The decision about a branch, with the accepted direction or the best rejected one.

    depth: relative depth at the threshold, on all counted rows.
    moved: whether the split divides the rows differently from the earlier split, if there was one.
    score: score of the direction, on all counted rows.
    admissible: whether the rule for splits admits it; otherwise its valley is too shallow.
    p_value: the least p-value of the tests of the branch, times their number; NaN if nothing was tested.
    n_tested: number of rows that tested, or of parts of dependent rows; NaN if nothing was.
    """

    accepted: bool
    candidate: int
    threshold: float
    depth: float
    n_left: int
    n_right: int
    histogram: Histograms
    moved: bool
    score: float = -np.inf
    admissible: bool = True
    p_value: float = np.nan
    n_tested: float = np.nan

    def tested_as(self, other: "Decision | None") -> Self:
        """Return the decision with the test of another one about the same branch."""
        return self if other is None else replace(self, p_value=other.p_value, n_tested=other.n_tested)


def least_among(min_rows: float, share: float, n: float) -> float:
    """Return how many of `n` sample rows each side of a split needs, if all rows need `min_rows` on each side.

    share: share of all rows that the sample holds. A cluster of just `min_rows` has fewer than this share of them in
        half of the samples, so two standard errors fewer are enough. But the square root of `n` is not undercut where
        all rows need more, as gaps before few rows are many.
    """
    expected = min_rows * share
    return max(expected - 2 * sqrt(expected * max(1 - share, 0)), min(expected, sqrt(n)))


@dataclass(frozen=True)
class SplitSelector:
    """Chooses among measured candidates: scores them, sets a threshold and tests it.

    n_tests: number of candidates to test one after another, in the order of their scores.
    """

    rule: SplitRule
    stop: StopRule
    n_tests: int
    n_root: int
    min_rows: int

    def least_among(self, share: float) -> float:
        """Return the least rows on each side of a split of a random share of a branch's rows."""
        return least_among(self.min_rows, share, self.n_root * share)

    def choose(
        self,
        counts: Counts,
        candidates: Histograms,
        rng: np.random.Generator,
        *,
        share: float = 1.0,
        existing: float | None = None,
        settle: bool = False,
        looks: int = 1,
    ) -> Decision | None:
        """Choose a split.

        candidates: all candidates of the branch, even if only the first was counted. The tests share their level among
            all.
        share: share of the branch's rows that were counted.
        existing: threshold of a split on the first candidate, found on a sample. It does not move if it is as good as
            the best one; see `ThresholdRule.unmoved`.
        settle: whether the existing threshold does not move either if it is worse, but admissible.
        looks: number of looks at the branch, of which this one has an equal part of the level.
        Returns none if no candidate has a valley of any depth.
        """
        n_tests = min(self.n_tests, len(candidates))
        min_rows = self.least_among(share)
        train, test, whole, min_train = self.halves(counts, candidates, share)
        scores, bins = self.rule.score(train, min_train), self.rule.locate(train, min_train)
        order = [c for c in np.argsort(-scores, kind="stable")[:n_tests] if scores[c] > -np.inf and bins[c] >= 0]
        least, n_tested = np.nan, np.nan
        for c in order:
            tested = self._tested(train[int(c)], int(bins[c]))
            accepted, p_value = self._separates(whole[int(c)], min_rows), np.nan
            if not accepted:
                accepted, p_value = self.test(counts, int(c), train, test, tested, looks * n_tests, rng)
                n_tested = counts.n_testing if p_value == p_value else n_tested
            least = np.fmin(least, p_value)
            if accepted:
                decision = self._decision(whole, int(c), min_rows, existing if c == 0 else None, True, settle)
                if decision is not None:
                    return replace(decision, p_value=p_value, n_tested=n_tested)
        rejected = self._decision(whole, int(order[0]), min_rows, None, accepted=False) if order else None
        rejected = rejected or self.deepest(counts, candidates, share)
        return rejected and replace(rejected, p_value=float(least), n_tested=n_tested)

    def deepest(self, counts: Counts, candidates: Histograms, share: float = 1.0) -> Decision | None:
        """Return the deepest valley that all counted rows show, as a rejected split, or None without any valley."""
        if not self.rule.limits_depth:
            return None
        of_any_depth = replace(self, rule=self.rule.at_any_depth)
        whole, least = self.halves(counts, candidates, share)[2], self.least_among(share)
        best = int(of_any_depth.rule.score(whole, least).argmax())
        decision = of_any_depth._decision(whole, best, least, None, accepted=False)
        return decision and replace(decision, admissible=decision.depth > self.rule.min_relative_depth)

    def halves(
        self, counts: Counts, candidates: Histograms, share: float = 1.0
    ) -> tuple[Histograms, Histograms, Histograms, float]:
        """Return the histograms that choose, test and count all rows, and the least rows on a side where one chooses.

        Rows do all three unless the stop rule holds some out.
        """
        candidates = replace(candidates[: len(counts.counts)], share=share)
        train = test = whole = counts.along(candidates)
        if self.stop.holds_out:
            train, test = counts.along(candidates, half=0), counts.along(candidates, half=1)
        chosen = share * train.counts[0].sum() / max(whole.counts[0].sum(), 1)
        return train, test, whole, self.least_among(chosen)

    def test(
        self,
        counts: Counts,
        c: int,
        train: Histograms,
        test: Histograms,
        k: int,
        n_tests: int,
        rng: np.random.Generator,
    ) -> tuple[bool, float]:
        """Return whether a split after bin `k` of one candidate passes the test, of groups if rows depend on others.

        And the p-value times the number of tests; NaN of a rule without p-values.
        """
        level = self.stop.level(n_tests)
        if counts.are_of_groups and self.stop.holds_out:
            p_value = p_value_of_parts(train[c], counts.of_test(c), k)
        elif isinstance(self.stop, HoldOut):
            p_value = unimodal_p_value(test[c], k, rng, level)
        else:
            return self.stop.accepts(test[c], k, self.n_root, n_tests, rng), np.nan
        return p_value <= level, min(n_tests * p_value, 1.0)

    def _separates(self, whole: Histograms, min_rows: float) -> bool:
        """Return whether the best split of one direction separates labelled groups, which then need no test."""
        if whole.of_groups is None:
            return False
        k = int(self.rule.locate(whole, min_rows)[0])
        return k >= 0 and bool(whole.of_groups[1][0, k])

    def counted(self, counts: Counts, candidates: Histograms, earlier: Decision, settle: bool) -> Decision | None:
        """Return an earlier split along the one candidate, by the counts of all rows; None if they do not admit it."""
        whole = self.halves(counts, candidates)[2]
        decision = self._decision(whole, 0, self.min_rows, earlier.threshold, True, settle)
        return decision and decision.tested_as(earlier)

    def tested(
        self, counts: Counts, candidates: Histograms, rng: np.random.Generator, share: float
    ) -> tuple[float, Decision] | None:
        """Return the p-value of the one candidate's split on the half that tests, and the split on all counted rows.

        Only for `HoldOut`, as no other rule divides rows repeatedly.
        Returns the decision, not accepted yet; None if no split is admissible on the half that chooses, or on all rows.
        """
        train, test, whole, min_train = self.halves(counts, candidates, share)
        k = int(self.rule.locate(train, min_train)[0])
        decision = self._decision(whole, 0, self.least_among(share), None, accepted=False)
        if k < 0 or decision is None:
            return None
        tested = self._tested(train, k)
        if counts.are_of_groups:
            return p_value_of_parts(train, counts.of_test(0), tested), decision
        return unimodal_p_value(test, tested, rng), decision

    def suggested(self, whole: Histograms) -> Decision | None:
        """Return the split at the threshold suggested with the one direction; None if a side has too few rows."""
        anywhere = replace(self, rule=SplitRule(threshold_rule="proposed"))
        return anywhere._decision(whole, 0, self.min_rows, None, accepted=True)

    def follow(
        self, counts: Counts, candidates: Histograms, earlier: Decision, n_splits: int, rng: np.random.Generator
    ) -> Decision:
        """Decide whether an earlier split still holds after other rows were counted, and at which threshold.

        counts: the second half is the rows that are new.
        candidates: only the split's direction.
        n_splits: number of splits of the tree, of any of which chance might fill the valley.
        Returns an accepted decision if all rows, with none held out, still have a valley there, of any depth: the rows
            that chose a split show it deeper than others do, and that it is shallow now is no evidence against it. The
            threshold does not move if it is as good as the best one; otherwise it moves within its valley, so that the
            branches under it remain. Where the new rows have no valley, one that they show nearby by themselves counts;
            if they show none, the split is rejected if they fill the valley of the old ones, by more than chance would
            in any split of the tree. A split that was made without a valley stays where it is.
        """
        old, new, whole = (counts.along(candidates, half) for half in (0, 1, None))
        has_valley = self.rule.at.limits_depth
        if has_valley and earlier.depth == 0:
            k = whole.bin_of(earlier.threshold)
            accepted = bool(whole.leaves_rows(max(self.min_rows, 1))[0, k])
            return self._split(accepted, 0, k, earlier.threshold, whole, False, self.min_rows)
        k, threshold, moved, accepted = self._followed(whole, earlier.threshold, self.min_rows, rng)
        if has_valley:
            accepted = bool(self.rule.at_any_depth.admissible(whole, self.min_rows)[0, k])
        if accepted and has_valley:
            least = self.min_rows * new.counts.sum() / max(whole.counts.sum(), 1)
            place, better, elsewhere, shown = self._followed(new, threshold, least, rng)
            if shown and elsewhere:
                k, threshold, moved = place, better, True
            elif not shown and new.leaves_rows(max(least, 1))[0, k]:
                accepted = not _filled(old, new, k, self.stop.level(n_splits))
        return self._split(accepted, 0, k, threshold, whole, moved, self.min_rows)

    def _followed(
        self, histogram: Histograms, existing: float, min_rows: float, rng: np.random.Generator
    ) -> tuple[int, float, bool, bool]:
        """Return bin and threshold of the valley at an existing threshold, whether that is another, and accepted."""
        k = self.rule.at.follow(histogram, existing)
        unmoved = self.rule.at.unmoved(histogram, k, existing)
        k, threshold = unmoved or (k, self.rule.at.threshold(histogram, k))
        admissible = bool(self.rule.admissible(histogram, min_rows)[0, k])
        accepted = admissible and self.stop.accepts(histogram, self._tested(histogram, k), self.n_root, 1, rng)
        return k, threshold, unmoved is None, accepted

    def _tested(self, chosen: Histograms, k: int) -> int:
        """Return the bin to test for a split after bin `k`, by the rows that chose the split."""
        return self.rule.at.valley(chosen, k) if self.stop.tests_depth else k

    def _decision(
        self, whole: Histograms, c: int, min_rows: float, existing: float | None, accepted: bool, settle: bool = False
    ) -> Decision | None:
        """Return the decision for the best split of one direction, or for its existing one; None without a split."""
        histogram = whole[c]
        k = int(self.rule.locate(histogram, min_rows)[0])
        if k < 0:
            return None
        threshold = self.rule.at.threshold(histogram, k)
        unmoved = None if existing is None else self.rule.at.unmoved(histogram, k, existing)
        if unmoved is None and existing is not None and settle and not self.rule.at.needs_extremes:
            # Those of extremes lie within a bin, and the rows beside them are not known.
            unmoved = histogram.bin_of(existing), existing
        moved = unmoved is None or not self.rule.admissible(histogram, min_rows)[0, unmoved[0]]
        if unmoved is not None and not moved:
            k, threshold = unmoved
        return self._split(accepted, c, k, threshold, histogram, moved, min_rows)

    def _split(
        self, accepted: bool, c: int, k: int, threshold: float, histogram: Histograms, moved: bool, min_rows: float
    ) -> Decision:
        """Return the decision about a split after bin `k`, described by all counted rows."""
        n_left, n_rows, depth = int(histogram.n_left[0, k]), int(histogram.n_left[0, -1]), float(histogram.depth[0, k])
        score = float(self.rule.score(histogram, min_rows)[0])
        return Decision(accepted, c, threshold, depth, n_left, n_rows - n_left, histogram, moved, score)


def _filled(old: Histograms, new: Histograms, k: int, level: float) -> bool:
    """Return whether new rows have more of their lower mode in a bin than old ones, by more than chance would."""
    share = 1 / (1 + float(old.depth[0, k]))
    (here, mode), (_, before) = (rows_at(h.density[0], k, h.spread[0][0], h.bandwidth[0]) for h in (new, old))
    # The square roots of rows under a kernel have the variance 1/4. The share is of the old rows, which are few, too.
    excess, variance = np.sqrt(here) - np.sqrt(mode * share), (1 + share) * (before + mode) / 4
    return bool(np.sqrt(before) * excess > ndtri(1 - level) * np.sqrt(variance))
