"""Threshold rules, which place a split along a direction.

A rule selects the bins after which a split is possible and scores them; the best one is used. To add a rule, subclass
`ThresholdRule` and register it in `THRESHOLD_RULES`.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from .._typing import Booleans, Floats
from ..density.histograms import Histograms
from ..density.kde import lower_mode

SAME_VALLEY = 0.05
"""An existing threshold stays while its density exceeds the valley's by at most this share of the lower mode."""


class ThresholdRule(ABC):
    """Score the bins of each direction as thresholds of a split."""

    needs_extremes: ClassVar[bool] = False
    """Whether the rule needs `Histograms.extremes`."""
    needs_thresholds: ClassVar[bool] = False
    """Whether the rule needs `Histograms.suggested`."""
    limits_depth: ClassVar[bool] = False
    """Whether a split must have more than the least relative depth."""
    never_ends: ClassVar[bool] = False
    """Whether nearly all rows can be split, so that without a test the number of clusters must be given."""

    @abstractmethod
    def possible(self, histograms: Histograms, min_relative_depth: float) -> Booleans:
        """Return a mask of the bins after which a split is possible; `min_relative_depth` applies to valleys."""

    @abstractmethod
    def score(self, histograms: Histograms) -> Floats:
        """Return a score of every bin, shape (n_directions, n_bins): larger is better, positive where possible."""

    def threshold(self, histogram: Histograms, k: int) -> float:
        """Return the threshold of a split after bin `k` of a single direction; no row up to that bin lies beyond it."""
        return histogram.last_before(k)

    @abstractmethod
    def unmoved(self, histogram: Histograms, k: int, existing: float) -> tuple[int, float] | None:
        """Return bin and threshold of a split at `existing` if it is as good as the split after bin `k`, else None.

        The result has the same rows on its sides as `existing`. A split found on a sample thus need not move when all
        rows are counted, and the branches grown under it remain.
        """

    def follow(self, histogram: Histograms, existing: float) -> int:
        """Return the bin of a split that was at the threshold `existing` before other rows were counted."""
        return int(self.score(histogram)[0].argmax())

    def valley(self, histogram: Histograms, k: int) -> int:
        """Return the bin whose relative depth shows whether there is a valley between the sides of a split."""
        return k


class RelativeDepth(ThresholdRule):
    """The largest relative depth (thesis eq. 6.7), of a sample the largest that all rows have for certain."""

    limits_depth = True

    def possible(self, histograms: Histograms, min_relative_depth: float) -> Booleans:
        return histograms.depth > min_relative_depth

    def score(self, histograms: Histograms) -> Floats:
        return histograms.lower_ratio

    def unmoved(self, histogram: Histograms, k: int, existing: float) -> tuple[int, float] | None:
        """See `ThresholdRule`; `SAME_VALLEY` bounds the excess of the density."""
        here = histogram.bin_of(existing)
        density = histogram.density[0]
        return (here, existing) if density[here] - density[k] <= SAME_VALLEY * lower_mode(density, k) else None

    def follow(self, histogram: Histograms, existing: float) -> int:
        """See `ThresholdRule`; the bottom of its own valley, even if there is a deeper one now."""
        return descended(histogram.density[0], histogram.bin_of(existing))


def descended(cost: Floats, k: int) -> int:
    """Return the local minimum that is reached from a bin by steps downwards."""
    while k > 0 and cost[k - 1] < cost[k]:
        k -= 1
    while k + 1 < len(cost) and cost[k + 1] < cost[k]:
        k += 1
    return k


def deepest_between_means(histogram: Histograms, k: int) -> int:
    """Return the bin with the deepest valley between the means of both sides of bin `k`, or `k` if there is none.

    A split beside a much larger group is on the slope of that group, where the density is higher than at the bottom of
    the valley, and may be higher than that of the smaller group.
    """
    counts = histogram.counts[0]
    bins = np.arange(len(counts))
    sides = np.average(bins[: k + 1], weights=counts[: k + 1]), np.average(bins[k + 1 :], weights=counts[k + 1 :])
    first, last = int(np.ceil(sides[0])), int(sides[1])
    between = histogram.depth[0, first : last + 1]
    return first + int(between.argmax()) if between.max(initial=0.0) > 0 else k


class MinimumDensity(RelativeDepth):
    """The lowest density between the outermost modes (dePDDP: Tasoulis et al. 2010; thesis section 4.4).

    If a threshold is suggested, as by a pursuit that ended in one of several valleys, the nearest local minimum.
    """

    def possible(self, histograms: Histograms, min_relative_depth: float) -> Booleans:
        """See `ThresholdRule`; a bin with a higher density on both sides lies between the outermost modes."""
        return histograms.depth > max(min_relative_depth, 1e-9)  # up to this, depths may be rounding errors

    def score(self, histograms: Histograms) -> Floats:
        if histograms.suggested is not None:
            return _nearness(histograms, histograms.suggested)
        return histograms.density.max(axis=1, keepdims=True) - histograms.density

    def unmoved(self, histogram: Histograms, k: int, existing: float) -> tuple[int, float] | None:
        """See `ThresholdRule`; near a suggestion, the minimum of all rows counts."""
        return None if histogram.suggested is not None else super().unmoved(histogram, k, existing)


def _nearness(histograms: Histograms, suggested: Floats) -> Floats:
    """Score local minima of the density by their nearness to thresholds, and other bins below them."""
    padded = np.pad(histograms.density, ((0, 0), (1, 1)), constant_values=np.inf)
    lowest = (padded[:, 1:-1] <= padded[:, :-2]) & (padded[:, 1:-1] <= padded[:, 2:])
    away = np.abs(histograms.threshold - suggested[:, None]) / histograms.width[:, None]
    # A minimum is only known up to a bin, so a suggestion in a neighbouring bin may be exact and is kept.
    beside = lowest.copy()
    beside[:, 1:] |= lowest[:, :-1]
    beside[:, :-1] |= lowest[:, 1:]
    exact = beside & (away < 0.5)
    return 1 / (1 + away) + lowest + 2.0 * exact


class Mean(ThresholdRule):
    """The end of a bin that is nearest to the mean, with or without a valley (PDDP: Boley 1998)."""

    def possible(self, histograms: Histograms, min_relative_depth: float) -> Booleans:
        return np.ones(histograms.counts.shape, dtype=bool)

    def score(self, histograms: Histograms) -> Floats:
        away = np.abs(histograms.threshold - histograms.mean[:, None])
        return 1 / (1 + away / histograms.width[:, None])

    def unmoved(self, histogram: Histograms, k: int, existing: float) -> tuple[int, float] | None:
        """See `ThresholdRule`; it may be a twentieth of a standard deviation from the mean."""
        near = abs(existing - histogram.mean[0]) <= 0.05 * histogram.spread[1][0]
        return (histogram.bin_of(existing), existing) if near else None


class Gap(ThresholdRule):
    """The middle of the widest gap between consecutive projections (iPDDP: Tasoulis et al. 2010; thesis 2.2.1).

    Gaps are known exactly from the smallest and the largest projection in every bin, except those within a bin. A
    split needs a gap as wide as a bin, a fifth of a bandwidth: a narrower one separates nothing, and wider ones are
    never missed. Rows beyond all bins, of which the sample had none, count as one bin.
    """

    needs_extremes = True

    def possible(self, histograms: Histograms, min_relative_depth: float) -> Booleans:
        return histograms.gaps[0] >= histograms.width[:, None]

    def score(self, histograms: Histograms) -> Floats:
        return histograms.gaps[0]

    def threshold(self, histogram: Histograms, k: int) -> float:
        """See `ThresholdRule`; the end of the bin, in the gap, too, if rows are routed by values not counted."""
        return histogram.last_before(k) if histogram.routed is not None else float(histogram.gaps[1][0, k])

    def unmoved(self, histogram: Histograms, k: int, existing: float) -> tuple[int, float] | None:
        """See `ThresholdRule`; the new middle of the same gap, which may be narrower with all rows."""
        gap, middle = (part[0, k] for part in histogram.gaps)
        return (k, self.threshold(histogram, k)) if abs(existing - middle) < gap / 2 else None

    def follow(self, histogram: Histograms, existing: float) -> int:
        """See `ThresholdRule`; its own gap, unless this has closed."""
        gap, k = histogram.gaps[0][0], histogram.bin_of(existing)
        return k if gap[k] >= histogram.width[0] else super().follow(histogram, existing)


class Proposed(ThresholdRule):
    """The threshold proposed with the direction, with or without a valley: from two means, from labels, or by hand."""

    needs_thresholds = True

    def possible(self, histograms: Histograms, min_relative_depth: float) -> Booleans:
        """See `ThresholdRule`; the bin that ends nearest to the threshold, if it lies among the bins."""
        return self._away(histograms) <= 0.5

    def score(self, histograms: Histograms) -> Floats:
        return 1 / (1 + self._away(histograms))

    def unmoved(self, histogram: Histograms, k: int, existing: float) -> tuple[int, float] | None:
        """See `ThresholdRule`; the threshold never moves."""
        return k, existing

    def follow(self, histogram: Histograms, existing: float) -> int:
        """See `ThresholdRule`; the threshold never moves."""
        return histogram.bin_of(existing)

    @staticmethod
    def _away(histograms: Histograms) -> Floats:
        """Return the distance of each bin's end from the threshold, in bins, shape (n_directions, n_bins)."""
        assert histograms.suggested is not None
        return np.abs(histograms.threshold - histograms.suggested[:, None]) / histograms.width[:, None]


THRESHOLD_RULES: dict[str, ThresholdRule] = {
    "relative_depth": RelativeDepth(),
    "minimum_density": MinimumDensity(),
    "mean": Mean(),
    "gap": Gap(),
    "proposed": Proposed(),
}
"""The threshold rules of PDDP (``mean``), of its two extensions, of the thesis and of the projection."""
