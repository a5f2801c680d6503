"""Threshold rules: where along a direction a split lies.

A rule says which bins may be split after and scores them; the best one is taken. To add a rule, subclass
`ThresholdRule` and register it in `THRESHOLD_RULES`.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from .._typing import Booleans, Floats
from ..density.histograms import Histograms

SAME_VALLEY = 0.05
"""A split stays where it is while the density there exceeds the valley's by at most this share of the lower mode."""

SAME_MEAN = 0.05
"""A split stays where it is while it is at most this many standard deviations away from the mean."""

ROUNDING = 1e-9
"""Relative depths that the rounding errors of a density may make."""


class ThresholdRule(ABC):
    """Score the bins of each direction as thresholds of a split."""

    needs_extremes: ClassVar[bool] = False
    """Whether it looks at `Histograms.extremes`."""
    needs_thresholds: ClassVar[bool] = False
    """Whether it looks at `Histograms.suggested`."""

    @abstractmethod
    def possible(self, histograms: Histograms, min_relative_depth: float) -> Booleans:
        """Return which bins may be split after, shape (n_directions, n_bins); `min_relative_depth` bounds valleys."""

    @abstractmethod
    def score(self, histograms: Histograms) -> Floats:
        """Return a score of every bin, shape (n_directions, n_bins): larger is better, positive where possible."""

    def threshold(self, histogram: Histograms, k: int) -> float:
        """Return where a split after bin `k` of a single direction lies: no row up to that bin lies beyond."""
        return histogram.last_before(k)

    @abstractmethod
    def kept(self, histogram: Histograms, k: int, standing: float) -> tuple[int, float] | None:
        """Return bin and threshold of a split at `standing` if it is as good as that after bin `k`, else None.

        The same rows lie on its sides. A split that was found on a sample is kept, not moved, when all rows are
        counted: what has been grown under it remains.
        """

    def follow(self, histogram: Histograms, standing: float) -> int:
        """Return the bin after which a split at `standing` of one direction lies when other rows have been counted."""
        return int(self.score(histogram)[0].argmax())


class RelativeDepth(ThresholdRule):
    """The largest relative depth (thesis eq. 6.7)."""

    def possible(self, histograms: Histograms, min_relative_depth: float) -> Booleans:
        """See `ThresholdRule`."""
        return histograms.depth > min_relative_depth

    def score(self, histograms: Histograms) -> Floats:
        """See `ThresholdRule`."""
        return histograms.depth

    def kept(self, histogram: Histograms, k: int, standing: float) -> tuple[int, float] | None:
        """See `ThresholdRule`; `SAME_VALLEY` says how much denser it may be."""
        here = histogram.bin_of(standing, 0)
        density = histogram.density[0]
        mode = min(density[: k + 1].max(), density[k:].max())
        return (here, standing) if density[here] - density[k] <= SAME_VALLEY * mode else None

    def follow(self, histogram: Histograms, standing: float) -> int:
        """See `ThresholdRule`; the bottom of its own valley, though there may be a deeper one now."""
        density, k = histogram.density[0], histogram.bin_of(standing, 0)
        while k > 0 and density[k - 1] < density[k]:
            k -= 1
        while k + 1 < len(density) and density[k + 1] < density[k]:
            k += 1
        return k


class MinimumDensity(RelativeDepth):
    """The lowest density between the outermost modes (dePDDP: Tasoulis et al. 2010; thesis section 4.4).

    Where a threshold is suggested, as by a pursuit that ended in one of several valleys, the nearest local minimum.
    """

    def possible(self, histograms: Histograms, min_relative_depth: float) -> Booleans:
        """See `ThresholdRule`; a bin with a higher density on both sides lies between the outermost modes."""
        return histograms.depth > max(min_relative_depth, ROUNDING)

    def score(self, histograms: Histograms) -> Floats:
        """See `ThresholdRule`."""
        if histograms.suggested is not None:
            return _nearness(histograms, histograms.suggested)
        return histograms.density.max(axis=1, keepdims=True) - histograms.density

    def kept(self, histogram: Histograms, k: int, standing: float) -> tuple[int, float] | None:
        """See `ThresholdRule`; near a suggestion, the minimum is that of all rows."""
        return None if histogram.suggested is not None else super().kept(histogram, k, standing)


def _nearness(histograms: Histograms, suggested: Floats) -> Floats:
    """Score local minima of the density by their nearness to thresholds, and other bins below them."""
    padded = np.pad(histograms.density, ((0, 0), (1, 1)), constant_values=np.inf)
    lowest = (padded[:, 1:-1] <= padded[:, :-2]) & (padded[:, 1:-1] <= padded[:, 2:])
    away = np.abs(histograms.threshold - suggested[:, None]) / histograms.width[:, None]
    # A minimum is known to a bin: a suggestion in the bin beside it may be the exact one, and stays.
    beside = lowest.copy()
    beside[:, 1:] |= lowest[:, :-1]
    beside[:, :-1] |= lowest[:, 1:]
    exact = beside & (away < 0.5)
    return 1 / (1 + away) + lowest + 2.0 * exact


class Mean(ThresholdRule):
    """The end of a bin that is nearest to the mean, be there a valley or not (PDDP: Boley 1998)."""

    def possible(self, histograms: Histograms, min_relative_depth: float) -> Booleans:
        """See `ThresholdRule`."""
        return np.ones(histograms.counts.shape, dtype=bool)

    def score(self, histograms: Histograms) -> Floats:
        """See `ThresholdRule`."""
        away = np.abs(histograms.threshold - histograms.mean[:, None])
        return 1 / (1 + away / histograms.width[:, None])

    def kept(self, histogram: Histograms, k: int, standing: float) -> tuple[int, float] | None:
        """See `ThresholdRule`; `SAME_MEAN` says how far from the mean it may be."""
        near = abs(standing - histogram.mean[0]) <= SAME_MEAN * histogram.spread[1][0]
        return (histogram.bin_of(standing, 0), standing) if near else None


class Gap(ThresholdRule):
    """The middle of the widest gap between consecutive projections (iPDDP: Tasoulis et al. 2010; thesis 2.2.1).

    Gaps are known exactly, from the smallest and the largest projection in every bin, but for those within a bin. A
    split needs a gap as wide as a bin, a fifth of a bandwidth: a narrower one separates nothing, and none that wide is
    overlooked. Rows beyond all bins, of which the sample showed none, count as one bin.
    """

    needs_extremes = True

    def possible(self, histograms: Histograms, min_relative_depth: float) -> Booleans:
        """See `ThresholdRule`."""
        return histograms.gaps[0] >= histograms.width[:, None]

    def score(self, histograms: Histograms) -> Floats:
        """See `ThresholdRule`."""
        return histograms.gaps[0]

    def threshold(self, histogram: Histograms, k: int) -> float:
        """See `ThresholdRule`; the end of the bin, in the gap, too, if rows are routed by values not counted."""
        return histogram.last_before(k) if histogram.routed is not None else float(histogram.gaps[1][0, k])

    def kept(self, histogram: Histograms, k: int, standing: float) -> tuple[int, float] | None:
        """See `ThresholdRule`; within the same gap, which all rows may make narrower, the middle is taken anew."""
        gap, middle = (part[0, k] for part in histogram.gaps)
        return (k, self.threshold(histogram, k)) if abs(standing - middle) < gap / 2 else None

    def follow(self, histogram: Histograms, standing: float) -> int:
        """See `ThresholdRule`; its own gap, unless that has closed."""
        gap, k = histogram.gaps[0][0], histogram.bin_of(standing, 0)
        return k if gap[k] >= histogram.width[0] else super().follow(histogram, standing)


class Proposed(ThresholdRule):
    """The threshold that came with the direction, be there a valley or not: of two means, of labels, of a hand."""

    needs_thresholds = True

    def possible(self, histograms: Histograms, min_relative_depth: float) -> Booleans:
        """See `ThresholdRule`; the bin that ends nearest to the threshold, if that lies among the bins."""
        return self._away(histograms) <= 0.5

    def score(self, histograms: Histograms) -> Floats:
        """See `ThresholdRule`."""
        return 1 / (1 + self._away(histograms))

    def kept(self, histogram: Histograms, k: int, standing: float) -> tuple[int, float] | None:
        """See `ThresholdRule`; nothing moves it."""
        return k, standing

    def follow(self, histogram: Histograms, standing: float) -> int:
        """See `ThresholdRule`; nothing moves it."""
        return histogram.bin_of(standing, 0)

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
"""The splitting rules of PDDP (``mean``) and of its two extensions, that of the thesis, and that of the projection."""
