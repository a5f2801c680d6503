"""Criteria and threshold rules of two means and of normalised cuts, which need no valley (thesis section 7.2.3)."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._typing import Booleans, Floats
from ..density.histograms import Histograms
from ..density.indices import connectivity, cuts_of, two_means
from .thresholds import ThresholdRule, deepest_between_means, descended

SAME_COST = 0.05
"""An existing threshold stays while its cost exceeds the least one by at most this share."""

REACH = 10.0
"""Scale of affinities in bandwidths. With one bandwidth, the least eigenvalue is that of a few rows far out."""


class LeastCost(ThresholdRule):
    """The threshold of least cost of dividing the rows in two, be there a valley or not."""

    never_ends: ClassVar[bool] = True

    @abstractmethod
    def cost(self, histograms: Histograms) -> Floats:
        """Return the cost of a split after each bin, shape (n_directions, n_bins), infinite if a side has no rows."""

    def least(self, histograms: Histograms, admissible: Booleans) -> Floats:
        """Return the least cost of an admissible split of each direction, infinite without one."""
        return self.cost(histograms).min(axis=1, where=admissible, initial=np.inf)

    def possible(self, histograms: Histograms, min_relative_depth: float) -> Booleans:
        """See `ThresholdRule`."""
        return np.isfinite(self.cost(histograms))

    def score(self, histograms: Histograms) -> Floats:
        """See `ThresholdRule`."""
        return 1 / (1 + self.cost(histograms))

    def unmoved(self, histogram: Histograms, k: int, existing: float) -> tuple[int, float] | None:
        """See `ThresholdRule`; `SAME_COST` bounds the excess of the cost."""
        cost, here = self.cost(histogram)[0], histogram.bin_of(existing, 0)
        return (here, existing) if cost[here] <= (1 + SAME_COST) * cost[k] else None

    def follow(self, histogram: Histograms, existing: float) -> int:
        """See `ThresholdRule`; descends from the earlier threshold."""
        return descended(self.cost(histogram)[0], histogram.bin_of(existing, 0))

    def valley(self, histogram: Histograms, k: int) -> int:
        """See `ThresholdRule`; the threshold need not be at the bottom of a valley."""
        return deepest_between_means(histogram, k)


class TwoMeans(LeastCost):
    """The threshold between two means: the least sum of squared distances from the mean of the own side."""

    def cost(self, histograms: Histograms) -> Floats:
        """See `LeastCost`; sums of squares within the sides, as a share of those between them."""
        sums = two_means(histograms.counts)
        return np.divide(sums.within, sums.between, out=np.full(sums.between.shape, np.inf), where=sums.between > 0)


@dataclass(frozen=True)
class NormalisedCut(LeastCost):
    """The threshold of the least normalised cut.

    Parameters
    ----------
    reach : float
        The affinity of two rows is ``exp(-distance / s)`` with `s` this many bandwidths.
    """

    reach: float = REACH

    def cost(self, histograms: Histograms) -> Floats:
        """See `LeastCost`; less than 2."""
        return cuts_of(histograms.counts, self.bins(histograms))

    def bins(self, histograms: Histograms) -> Floats:
        """Return the scale of the affinity in bins, shape (n_directions,)."""
        return self.reach * histograms.bandwidth / histograms.width


TWO_MEANS, CUT = TwoMeans(), NormalisedCut()


def _sse(histograms: Histograms, admissible: Booleans) -> Floats:
    within = two_means(histograms.counts).within.min(axis=1, where=admissible, initial=np.inf)
    return -within * (histograms.width / histograms.length) ** 2


def _clusterability(histograms: Histograms, admissible: Booleans) -> Floats:
    return 1 / TWO_MEANS.least(histograms, admissible)


def _normalised_cut(histograms: Histograms, admissible: Booleans) -> Floats:
    return -CUT.least(histograms, admissible)


def _eigenvalue(histograms: Histograms, admissible: Booleans) -> Floats:
    reach = CUT.bins(histograms)
    return -np.array([connectivity(counts, bins) for counts, bins in zip(histograms.counts, reach)])


COST_CRITERIA = {
    "sse": _sse,
    "clusterability": _clusterability,
    "normalised_cut": _normalised_cut,
    "eigenvalue": _eigenvalue,
}
"""Least sum of squares within two groups (along directions of length one); largest ratio of the sums of squares between
and within them; least normalised cut; least second eigenvalue of the normalised Laplacian of the same affinities."""

COST_RULES: dict[str, ThresholdRule] = {"two_means": TWO_MEANS, "normalised_cut": CUT}
