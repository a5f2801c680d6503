"""The gap rule of Peña and Prieto: spacings that are too wide for normal rows (thesis section 8.2.3)."""

import numpy as np
from scipy.special import gammaln, ndtr

from .._typing import Booleans, Floats
from ..density.histograms import Histograms
from .thresholds import Gap

TAIL = 0.01
"""Share of normal rows at either end whose spacings do not count: in long tails, all of them are wide."""

CERTAIN = 20.0
"""With as many spacings expected beyond a width, the widest is beyond it but for rounding errors."""


class Spacing(Gap):
    """The widest spacing of the projections after the normal distribution function of their mean and deviation.

    The function makes normal projections uniform, so that gaps in the tails count less than those in the middle.
    """

    def possible(self, histograms: Histograms, min_relative_depth: float) -> Booleans:
        """See `ThresholdRule`; gaps within a bin are not known."""
        return self.score(histograms) > 0

    def score(self, histograms: Histograms) -> Floats:
        """See `ThresholdRule`."""
        return spacings(histograms)

    def follow(self, histogram: Histograms, existing: float) -> int:
        """See `ThresholdRule`; its own gap, unless this has closed."""
        k = histogram.bin_of(existing, 0)
        return k if histogram.gaps[0][0, k] > 0 else int(self.score(histogram)[0].argmax())


def spacings(histograms: Histograms) -> Floats:
    """Return the spacing around the end of each bin, shape (n_directions, n_bins), zero in tails and within rows."""
    gap, middle = histograms.gaps
    sd = np.where(histograms.spread[1] > 0, histograms.spread[1], 1.0)[:, None]
    low, high = (ndtr((middle + by * gap - histograms.mean[:, None]) / sd) for by in (-0.5, 0.5))
    inner = (gap > 0) & (low > TAIL) & (high < 1 - TAIL)  # the middle is NaN where a side has no rows
    return np.where(inner, high - low, 0.0)


def widest_exceeds(x: float, n: int) -> float:
    """Return the probability that the widest of the spacings of `n` uniform rows, and of the ends, exceeds `x`.

    Notes
    -----
    The sum over j of ``(-1)^(j + 1) C(n + 1, j) (1 - j x)^n`` for ``j x < 1`` (Fisher 1929).

    Examples
    --------
    >>> widest_exceeds(0.75, 1), round(widest_exceeds(0.5, 2), 12)
    (0.5, 0.75)
    """
    if not 0 < x < 1:
        return float(x <= 0)
    if (n + 1) * (1 - x) ** n > CERTAIN:
        return 1.0
    j = np.arange(1, min(int(np.ceil(1 / x)), n + 2))
    j = j[j * x < 1]
    logs = gammaln(n + 2) - gammaln(j + 1) - gammaln(n + 2 - j) + n * np.log1p(-j * x)
    return float(np.clip(-np.sum((-1.0) ** j * np.exp(logs)), 0, 1))
