"""The choice of a split from the histograms of a branch along its candidate directions."""

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from .._typing import AnyArray, Floats, Integers
from ..density.bandwidth import Bandwidth
from ..density.histograms import Extents, Histograms, joint_extremes
from ..projections.directions import Axes
from .rules import SplitRule
from .stop_rule import StopRule, VotingRule


@dataclass(frozen=True)
class Candidates:
    """Directions on which a branch's rows are counted, with parameters of the densities along them.

    Parameters
    ----------
    axes : Axes
        The directions with their bins, the most promising first.
    resolution : array of shape (n_candidates,)
        Least bandwidth that smooths out the rounding of the values.
    bandwidth : Bandwidth
        The rule for the branch's densities.
    suggested : array of shape (n_candidates,), optional
        Threshold that was proposed with each direction; an end of a bin.
    length : array of shape (n_candidates,), optional
        Length of the directions in standardised coordinates.
    known_bandwidth : array of shape (n_candidates,), optional
        Bandwidths to use instead of the rule; see `Histograms`.
    extents : Extents, optional
        Ranges of groups of labelled rows.
    """

    axes: Axes
    resolution: Floats
    bandwidth: Bandwidth
    suggested: Floats | None = None
    length: Floats | float = 1.0
    known_bandwidth: Floats | None = None
    extents: Extents | None = None

    def __len__(self) -> int:
        return len(self.axes)

    def __getitem__(self, order: "AnyArray | slice") -> Self:
        """Return some of the candidates."""
        return replace(
            self,
            axes=self.axes[order],
            resolution=self.resolution[order],
            suggested=None if self.suggested is None else self.suggested[order],
            length=np.broadcast_to(self.length, self.resolution.shape)[order],
            known_bandwidth=None if self.known_bandwidth is None else self.known_bandwidth[order],
            extents=None if self.extents is None else self.extents[order],
        )


class Counts(NamedTuple):
    """Counts of a branch's rows, in two halves, along its candidates."""

    counts: Integers
    """Histograms, shape (n_candidates, 2 halves, n_bins); a third one holds both halves by the values that route them,
    where those are not the values that are counted."""
    extremes: Floats
    """Smallest and largest projection in every bin, (n_candidates, 2 halves, 2, n_bins); without bins if not needed."""

    def of(self, candidates: Candidates, half: int | None = None) -> Histograms:
        """Return the histograms of one half of the rows, or of both."""
        counts, extremes = self.counts.swapaxes(0, 1), self.extremes.swapaxes(0, 1)
        return Histograms(
            counts[:2].sum(axis=0) if half is None else np.ascontiguousarray(counts[half]),
            candidates.axes.origin,
            candidates.axes.width,
            candidates.bandwidth,
            candidates.resolution,
            joint_extremes(*extremes) if half is None else extremes[half],
            candidates.suggested,
            candidates.length,
            candidates.known_bandwidth,
            np.ascontiguousarray(counts[2]) if half is None and len(counts) > 2 else None,
            candidates.extents,
        )


@dataclass(frozen=True)
class Verdict:
    """The decision about a branch, with the accepted direction or the best rejected one.

    Parameters
    ----------
    accepted : bool
        Whether the branch is split.
    candidate : int
        Index of the direction among the candidates.
    threshold : float
        Threshold of the accepted or rejected split.
    depth : float
        Relative depth at the threshold, on all counted rows.
    n_left, n_right : int
        Number of rows on each side.
    histogram : Histograms of one direction
        Histogram of all counted rows.
    moved : bool
        Whether the split divides the rows differently from the earlier split, if there was one.
    score : float
        Score of the direction, on all counted rows.
    admissible : bool
        Whether the rule for splits admits it; otherwise its valley is too shallow.
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


@dataclass(frozen=True)
class Chooser:
    """Chooses among measured candidates: scores them, sets a threshold and tests it.

    Parameters
    ----------
    rule : SplitRule
    stop : StopRule
    n_tests : int
        Number of candidates to test one after another, in the order of their scores.
    n_root : int
        Number of rows of the whole data.
    min_rows : int
        Least number of rows on each side of a split.
    """

    rule: SplitRule
    stop: StopRule
    n_tests: int
    n_root: int
    min_rows: int

    def choose(
        self,
        counts: Counts,
        candidates: Candidates,
        rng: np.random.Generator,
        *,
        share: float = 1.0,
        existing: float | None = None,
        settle: bool = False,
    ) -> Verdict | None:
        """Choose a split.

        Parameters
        ----------
        counts : Counts
        candidates : Candidates
            All candidates of the branch, even if only the first was counted. The tests share their level among all.
        rng : Generator
            For simulated null distributions.
        share : float
            Share of the branch's rows that were counted.
        existing : float, optional
            Threshold of a split on the first candidate, found on a sample. It does not move if it is as good as the
            best one; see `ThresholdRule.unmoved`.
        settle : bool
            Whether the existing threshold does not move either if it is worse, but admissible.

        Returns
        -------
        Verdict or None
            None if no candidate has a valley of any depth.
        """
        n_tests = min(self.n_tests, len(candidates))
        candidates = candidates[: len(counts.counts)]
        train = test = whole = counts.of(candidates)
        if self.stop.holds_out:
            train, test = counts.of(candidates, half=0), counts.of(candidates, half=1)
        min_rows = self.min_rows * share
        min_train = min_rows * train.counts[0].sum() / max(whole.counts[0].sum(), 1)
        scores, bins = self.rule.score(train, min_train), self.rule.locate(train, min_train)
        order = [c for c in np.argsort(-scores, kind="stable")[:n_tests] if scores[c] > -np.inf and bins[c] >= 0]
        for c in order:
            tested = self._tested(train[int(c)], int(bins[c]))
            by_labels = self._separates(whole[int(c)], min_rows)
            if by_labels or self.stop.accepts(test[int(c)], tested, self.n_root, n_tests, rng):
                verdict = self._verdict(whole, int(c), min_rows, existing if c == 0 else None, True, settle)
                if verdict is not None:
                    return verdict
        rejected = self._verdict(whole, int(order[0]), min_rows, None, accepted=False) if order else None
        return rejected or self.too_shallow(counts, candidates, share)

    def too_shallow(self, counts: Counts, candidates: Candidates, share: float = 1.0) -> Verdict | None:
        """Return the best valley of candidates that have none deep enough, or None if they have none at all.

        Its depth is that among the rows that choose, where it fails; in an empty gap, more rows make it deeper.
        """
        if not self.rule.limits_depth:
            return None
        candidates, rule = candidates[: len(counts.counts)], self.rule.at_any_depth
        train, whole = counts.of(candidates, half=0 if self.stop.holds_out else None), counts.of(candidates)
        min_train = self.min_rows * share * train.counts[0].sum() / max(whole.counts[0].sum(), 1)
        best = int(rule.score(train, min_train).argmax())
        k = int(rule.locate(train, min_train)[best])
        verdict = replace(self, rule=rule)._verdict(whole, best, self.min_rows * share, None, accepted=False)
        if k < 0 or verdict is None:
            return None
        return replace(verdict, admissible=False, depth=min(verdict.depth, float(train.depth[best, k])))

    def _separates(self, whole: Histograms, min_rows: float) -> bool:
        """Return whether the best split of one direction separates labelled groups, which then need no test."""
        if whole.separating is None:
            return False
        k = int(self.rule.locate(whole, min_rows)[0])
        return k >= 0 and bool(whole.separating[0, k])

    def tested(self, counts: Counts, candidates: Candidates, rng: np.random.Generator) -> tuple[float, Verdict] | None:
        """Return the p-value of the one candidate's split on the half that tests, and the split on all rows.

        Parameters
        ----------
        counts, candidates, rng
            As for `choose`, of one candidate.

        Returns
        -------
        tuple or None
            The verdict is not accepted yet. None if no split is admissible on the half that chooses, or on all rows.
        """
        train, test, whole = (counts.of(candidates, half) for half in (0, 1, None))
        min_train = self.min_rows * train.counts[0].sum() / max(whole.counts[0].sum(), 1)
        k = int(self.rule.locate(train, min_train)[0])
        verdict = self._verdict(whole, 0, self.min_rows, None, accepted=False)
        if k < 0 or verdict is None:
            return None
        assert isinstance(self.stop, VotingRule)
        return self.stop.p_value(test, self._tested(train, k), rng), verdict

    def follow(self, counts: Counts, candidates: Candidates, existing: float, rng: np.random.Generator) -> Verdict:
        """Decide whether an existing split still holds for newly counted rows, and at which threshold.

        Parameters
        ----------
        counts : Counts
        candidates : Candidates
            Only the split's direction.
        existing : float
            Threshold of the existing split.
        rng : Generator
            For simulated null distributions.

        Returns
        -------
        Verdict
            Accepted if all rows, with none held out, show the split. The threshold does not move if it is as good as
            the best one; otherwise it moves within its valley, so that the branches under it remain.
        """
        histogram = counts.of(candidates)
        k = self.rule.at.follow(histogram, existing)
        unmoved = self.rule.at.unmoved(histogram, k, existing)
        k, threshold = unmoved or (k, self.rule.at.threshold(histogram, k))
        admissible = bool(self.rule.admissible(histogram, self.min_rows)[0, k])
        accepted = admissible and self.stop.accepts(histogram, self._tested(histogram, k), self.n_root, 1, rng)
        n_left, n_rows, depth = int(histogram.n_left[0, k]), int(histogram.n_left[0, -1]), float(histogram.depth[0, k])
        score = float(self.rule.score(histogram, self.min_rows)[0])
        return Verdict(accepted, 0, threshold, depth, n_left, n_rows - n_left, histogram, unmoved is None, score)

    def _tested(self, chosen: Histograms, k: int) -> int:
        """Return the bin to test for a split after bin `k`, by the rows that chose the split."""
        return self.rule.at.valley(chosen, k) if self.stop.tests_depth else k

    def _verdict(
        self,
        whole: Histograms,
        c: int,
        min_rows: float,
        existing: float | None,
        accepted: bool,
        settle: bool = False,
    ) -> Verdict | None:
        histogram = whole[c]
        k = int(self.rule.locate(histogram, min_rows)[0])
        if k < 0:
            return None
        threshold = self.rule.at.threshold(histogram, k)
        unmoved = None if existing is None else self.rule.at.unmoved(histogram, k, existing)
        if unmoved is None and existing is not None and settle and not self.rule.at.needs_extremes:
            # Those of extremes lie within a bin, and the rows beside them are not known.
            unmoved = histogram.bin_of(existing, 0), existing
        moved = unmoved is None or not self.rule.admissible(histogram, min_rows)[0, unmoved[0]]
        if unmoved is not None and not moved:
            k, threshold = unmoved
        n_left = int(histogram.n_left[0, k])
        total = int(histogram.n_left[0, -1])
        depth = float(histogram.depth[0, k])
        score = float(self.rule.score(histogram, min_rows)[0])
        return Verdict(accepted, c, threshold, depth, n_left, total - n_left, histogram, moved, score)
