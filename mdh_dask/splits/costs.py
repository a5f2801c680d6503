"""Criteria and threshold rules that divide rows in two at the least cost, be there a valley or not.

Two means and normalised cuts (thesis section 7.2.3); the error of two normal distributions (TR-2003009, section 3.1).
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._typing import Booleans, Floats
from ..density.histograms import Histograms
from ..density.indices import MinimumError, connectivity, cuts_of, two_means
from .thresholds import THRESHOLD_RULES, ThresholdRule, deepest_between_means, descended


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
        return np.isfinite(self.cost(histograms))

    def score(self, histograms: Histograms) -> Floats:
        return 1 / (1 + self.cost(histograms))

    def unmoved(self, histogram: Histograms, k: int, existing: float) -> tuple[int, float] | None:
        """See `ThresholdRule`; the cost may exceed the least one by a twentieth."""
        cost, here = self.cost(histogram)[0], histogram.bin_of(existing)
        return (here, existing) if cost[here] <= 1.05 * cost[k] else None

    def follow(self, histogram: Histograms, existing: float) -> int:
        """See `ThresholdRule`; descends from the earlier threshold."""
        return descended(self.cost(histogram)[0], histogram.bin_of(existing))

    def valley(self, histogram: Histograms, k: int) -> int:
        """See `ThresholdRule`; the threshold need not be at the bottom of a valley."""
        return deepest_between_means(histogram, k)


class TwoMeans(LeastCost):
    """The threshold between two means: the least sum of squared distances from the mean of the own side."""

    def cost(self, histograms: Histograms) -> Floats:
        """See `LeastCost`; sums of squares within the sides, as a share of those between them."""
        within, between = two_means(histograms.counts)
        return np.divide(within, between, out=np.full(between.shape, np.inf), where=between > 0)


class NormalisedCut(LeastCost):
    """The threshold of the least normalised cut."""

    reach: ClassVar[float] = 10.0  # with one bandwidth, the least eigenvalue is that of a few rows far out
    """The affinity of two rows is ``exp(-distance / s)`` with `s` this many bandwidths."""

    def cost(self, histograms: Histograms) -> Floats:
        """See `LeastCost`; less than 2."""
        return cuts_of(histograms.counts, self.bins(histograms))

    def bins(self, histograms: Histograms) -> Floats:
        """Return the scale of the affinity in bins, shape (n_directions,)."""
        return self.reach * histograms.bandwidth / histograms.width


TWO_MEANS, CUT = TwoMeans(), NormalisedCut()


def sse(histograms: Histograms, admissible: Booleans) -> Floats:
    """Return minus the least sum of squares within two groups, along directions of length one."""
    within = two_means(histograms.counts)[0].min(axis=1, where=admissible, initial=np.inf)
    return -within * (histograms.width / histograms.length) ** 2


def clusterability(histograms: Histograms, admissible: Booleans) -> Floats:
    """Return the largest ratio of the sums of squares between and within two groups."""
    return 1 / TWO_MEANS.least(histograms, admissible)


def normalised_cut(histograms: Histograms, admissible: Booleans) -> Floats:
    """Return minus the least normalised cut."""
    return -CUT.least(histograms, admissible)


def eigenvalue(histograms: Histograms, admissible: Booleans) -> Floats:
    """Return minus the second eigenvalue of the normalised Laplacian of the affinities of cuts."""
    reach = CUT.bins(histograms)
    return -np.array([connectivity(counts, bins) for counts, bins in zip(histograms.counts, reach)])


def separation_depth(error: MinimumError, histograms: Histograms, admissible: Booleans) -> Floats:
    """Return the separation of the sides of the best threshold times the depth of J there (TR-2003009, 3.1).

    Zero where J has no admissible minimum.
    """
    return error.of(histograms.counts).best_index(admissible)


@dataclass(frozen=True)
class MinimumErrorThreshold(LeastCost):
    """The lowest local minimum of J with enough rows on both sides; relative depth does not count."""

    error: MinimumError
    never_ends: ClassVar[bool] = False

    def cost(self, histograms: Histograms) -> Floats:
        """See `LeastCost`; J."""
        return self.error.of(histograms.counts).criterion

    def possible(self, histograms: Histograms, min_relative_depth: float) -> Booleans:
        """See `ThresholdRule`; no end of the bins is a minimum."""
        return self.error.of(histograms.counts).depth > 0

    def score(self, histograms: Histograms) -> Floats:
        criterion = self.cost(histograms)
        known = np.isfinite(criterion)
        highest = criterion.max(axis=1, keepdims=True, where=known, initial=-np.inf)
        return np.where(known, 1 + np.subtract(highest, criterion, where=known, out=np.zeros(known.shape)), 0.0)

    def unmoved(self, histogram: Histograms, k: int, existing: float) -> tuple[int, float] | None:
        """See `ThresholdRule`; J may exceed its minimum by a twentieth of the depth of this."""
        errors, here = self.error.of(histogram.counts), histogram.bin_of(existing)
        j = errors.criterion[0]
        return (here, existing) if j[here] - j[k] <= 0.05 * errors.depth[0, k] else None


ERRORS = {"minimum_error": MinimumError(), "minimum_error_corrected": MinimumError(corrected=True)}
"""Names of the criteria and threshold rules based on J."""

THRESHOLD_RULES |= {"two_means": TWO_MEANS, "normalised_cut": CUT}
THRESHOLD_RULES |= {name: MinimumErrorThreshold(error) for name, error in ERRORS.items()}
