"""Thresholds between two normal distributions, and the index that ranks directions by them."""

from dataclasses import dataclass, field

import numpy as np

from .._typing import Booleans, Floats
from ..density.histograms import Histograms
from ..density.indices import MinimumError
from .thresholds import ThresholdRule, deepest_between_means, descended

SAME_ERROR = 0.05
"""An existing threshold stays while J there exceeds its minimum by at most this share of the minimum's depth."""


@dataclass(frozen=True)
class SeparationDepth:
    """The criterion: separation of the sides of the best threshold times the depth of J there (TR-2003009, 3.1)."""

    error: MinimumError = field(default_factory=MinimumError)

    def __call__(self, histograms: Histograms, admissible: Booleans) -> Floats:
        """Return one score per direction; zero where J has no admissible minimum."""
        return self.error.of(histograms.counts).best_index(admissible)


@dataclass(frozen=True)
class MinimumErrorThreshold(ThresholdRule):
    """The lowest local minimum of J with enough rows on both sides; relative depth does not count.

    Parameters
    ----------
    error : MinimumError
    """

    error: MinimumError = field(default_factory=MinimumError)

    def possible(self, histograms: Histograms, min_relative_depth: float) -> Booleans:
        """See `ThresholdRule`; no end of the bins is a minimum."""
        return self.error.of(histograms.counts).depth > 0

    def score(self, histograms: Histograms) -> Floats:
        """See `ThresholdRule`."""
        criterion = self.error.of(histograms.counts).criterion
        known = np.isfinite(criterion)
        highest = criterion.max(axis=1, keepdims=True, where=known, initial=-np.inf)
        return np.where(known, 1 + np.subtract(highest, criterion, where=known, out=np.zeros(known.shape)), 0.0)

    def unmoved(self, histogram: Histograms, k: int, existing: float) -> tuple[int, float] | None:
        """See `ThresholdRule`; `SAME_ERROR` bounds the excess of J."""
        errors, here = self.error.of(histogram.counts), histogram.bin_of(existing, 0)
        j = errors.criterion[0]
        return (here, existing) if j[here] - j[k] <= SAME_ERROR * errors.depth[0, k] else None

    def follow(self, histogram: Histograms, existing: float) -> int:
        """See `ThresholdRule`; descends from the earlier threshold."""
        return descended(self.error.of(histogram.counts).criterion[0], histogram.bin_of(existing, 0))

    def valley(self, histogram: Histograms, k: int) -> int:
        """See `ThresholdRule`; the least error beside a much larger group is on the slope of that group."""
        return deepest_between_means(histogram, k)


PLAIN, CORRECTED = MinimumError(), MinimumError(corrected=True)

ERRORS = {"minimum_error": PLAIN, "minimum_error_corrected": CORRECTED}
"""Names of the criteria and threshold rules based on J."""
