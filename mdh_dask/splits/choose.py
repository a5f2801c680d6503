"""From the histograms of a branch's candidate directions to a split, or to the finding that there is none."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from .._typing import AnyArray, Floats
from ..density.bandwidth import Bandwidth
from ..density.histograms import Histograms
from .rules import SplitRule
from .stopping import StopRule

SAME_VALLEY = 0.05
"""A split stays where it is while the density there exceeds the valley's by at most this share of the lower mode."""


@dataclass(frozen=True)
class Candidates:
    """Directions on which a branch's rows are counted, and the bins they are counted in.

    Parameters
    ----------
    directions : array of shape (n_candidates, n_features), float64
        In the coordinates of the rows, the most promising first.
    origin, width : arrays of shape (n_candidates,)
        Of the bins of each direction's histogram.
    resolution : array of shape (n_candidates,)
        Bandwidth that the rounding of the values alone calls for.
    """

    directions: Floats
    origin: Floats
    width: Floats
    resolution: Floats

    def __len__(self) -> int:
        return len(self.width)

    def __getitem__(self, order: "AnyArray | slice") -> Self:
        """Return some of the candidates."""
        return type(self)(self.directions[order], self.origin[order], self.width[order], self.resolution[order])


@dataclass(frozen=True)
class Verdict:
    """What was decided about a branch, on the direction that was accepted or came closest.

    Parameters
    ----------
    accepted : bool
        Whether the branch is split.
    candidate : int
        The direction's place among the candidates.
    threshold : float
        Where along the direction it is, or would have been, split.
    depth : float
        Relative depth there, on all rows that were counted.
    n_left, n_right : int
        Rows on both sides.
    histogram : Histograms of one direction
        Of all rows that were counted.
    """

    accepted: bool
    candidate: int
    threshold: float
    depth: float
    n_left: int
    n_right: int
    histogram: Histograms


@dataclass(frozen=True)
class Chooser:
    """Chooses among measured candidates: score, test, place.

    Parameters
    ----------
    rule : SplitRule
    stop : StopRule
    bandwidth : Bandwidth
    n_tests : int
        Candidates that may be tested one after the other, in the order of their scores.
    n_root : int
        Rows of the whole data.
    min_rows : int
        Rows that a split leaves on both sides at least.
    """

    rule: SplitRule
    stop: StopRule
    bandwidth: Bandwidth
    n_tests: int
    n_root: int
    min_rows: int

    def choose(
        self,
        counts: AnyArray,
        candidates: Candidates,
        rng: np.random.Generator,
        *,
        share: float = 1.0,
        standing: float | None = None,
    ) -> Verdict | None:
        """Choose a split.

        Parameters
        ----------
        counts : integer array of shape (2, n_candidates, n_bins)
            Histograms of the two halves of the branch's rows.
        candidates : Candidates
            Those that were counted.
        rng : Generator
            For simulated null distributions.
        share : float
            Share of the branch's rows that were counted.
        standing : float, optional
            Threshold of a split on the first candidate, found on a sample. It is left where it is if the valley is
            still there.

        Returns
        -------
        Verdict or None
            None if no candidate has a valley with enough rows on both sides.
        """
        both, (choosing, testing) = counts.sum(axis=0), self.stop.halves(counts)
        train, test, whole = (self._histograms(c, candidates) for c in (choosing, testing, both))
        min_rows = self.min_rows * share
        min_train = min_rows * choosing[0].sum() / max(both[0].sum(), 1)
        scores, bins = self.rule.score(train, min_train), self.rule.place(train, min_train)
        order = [c for c in np.argsort(-scores, kind="stable")[: self.n_tests] if scores[c] > -np.inf]
        for c in order:
            if self.stop.accepts(test[int(c)], int(bins[c]), self.n_root, self.n_tests, rng):
                verdict = self._verdict(whole, int(c), min_rows, standing if c == 0 else None, accepted=True)
                if verdict is not None:
                    return verdict
        return self._verdict(whole, int(order[0]), min_rows, None, accepted=False) if order else None

    def _histograms(self, counts: AnyArray, candidates: Candidates) -> Histograms:
        return Histograms(counts, candidates.origin, candidates.width, self.bandwidth, candidates.resolution)

    def _verdict(
        self, whole: Histograms, c: int, min_rows: float, standing: float | None, accepted: bool
    ) -> Verdict | None:
        histogram = whole[c]
        k = int(self.rule.place(histogram, min_rows)[0])
        if k < 0:
            return None
        threshold = float(histogram.threshold[0, k])
        if standing is not None:
            k_standing = histogram.bin_of(standing, 0)
            density = histogram.density[0]
            mode = min(density[: k + 1].max(), density[k:].max())
            allowed = self.rule.admissible(histogram, min_rows)[0, k_standing]
            if density[k_standing] - density[k] <= SAME_VALLEY * mode and allowed:
                k, threshold = k_standing, standing
        n_left = int(histogram.n_left[0, k])
        total = int(histogram.n_left[0, -1])
        depth = float(histogram.depth[0, k])
        return Verdict(accepted, c, threshold, depth, n_left, total - n_left, histogram)
