"""Stop rules and a threshold rule that reproduce the letter of a paper; other rules are safer.

Those of hierarchical projection pursuit (TR-2003009, section 3.3) are for any criterion and threshold rule. The gap
rule of Peña and Prieto (thesis section 8.2.3) takes spacings that are too wide for normal rows.
"""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
from scipy.special import gammaln, ndtr

from .._typing import Booleans, Floats
from ..density.histograms import Histograms
from ..density.indices import MinimumError
from ..density.kde import lower_mode
from .null import Search, best_score_quantile, single_score_quantile
from .rules import SplitRule
from .stopping import STOP_RULES, NoTest, StopRule
from .thresholds import THRESHOLD_RULES, Gap

TAIL = 0.01
"""Share of normal rows at either end whose spacings do not count: in long tails, all of them are wide."""


@dataclass(frozen=True)
class KnownNumber(NoTest):
    """Make every split, and prune to the deepest splits for `max_clusters` (section 3.3.1)."""

    of_any_hyperplane: ClassVar[bool] = False
    needs: ClassVar[str | None] = "max_clusters"


@dataclass(frozen=True)
class KnownLevels(NoTest):
    """Make every split down to `max_levels` (section 3.3.1)."""

    of_any_hyperplane: ClassVar[bool] = False
    needs: ClassVar[str | None] = "max_levels"


@dataclass(frozen=True)
class UnimodalDensity(StopRule):
    """Accept if the slope of the density changes its sign on both sides of the split (section 3.3.2)."""

    def accepts(self, test: Histograms, k: int, n_root: int, n_tests: int, rng: np.random.Generator) -> bool:
        density = test.density[0]
        slope = np.diff(density)
        slope[np.abs(slope) <= 1e-9 * density.max()] = 0.0  # rounding errors of its transform
        return _changes_sign(slope[:k]) and _changes_sign(slope[k:])


@dataclass(frozen=True)
class ErrorMinimum(StopRule):
    """Accept if the least error of all thresholds is not at an end (section 3.3.3)."""

    def accepts(self, test: Histograms, k: int, n_root: int, n_tests: int, rng: np.random.Generator) -> bool:
        errors = MinimumError().of(test.counts)
        return bool(errors.depth[0, errors.criterion[0].argmin()] > 0)


@dataclass(frozen=True)
class _OfRule(StopRule):
    """A stop rule that depends on the score of directions."""

    rule: SplitRule = field(default_factory=lambda: SplitRule("minimum_error", threshold_rule="minimum_error"))

    def knowing(self, search: Search) -> Self:
        return replace(self, rule=search.rule)


@dataclass(frozen=True)
class HeightRatio(_OfRule):
    """Accept if the lower peak exceeds the valley by at least `min_relative_depth` of it (section 3.3.4).

    The valley is the mean of the density within half a bandwidth of the split.
    """

    def accepts(self, test: Histograms, k: int, n_root: int, n_tests: int, rng: np.random.Generator) -> bool:
        density = test.density[0]
        reach = int(test.bandwidth[0] / test.width[0] / 2)
        valley = float(density[max(k - reach, 0) : k + reach + 1].mean())
        return lower_mode(density, k) - valley > self.rule.min_relative_depth * valley


@dataclass(frozen=True)
class IntegralRatio(_OfRule):
    """Accept if the area of the basin is at least `min_relative_depth` of the area below it (section 3.3.5).

    The basin is the area above the density in the valley, up to the lower peak.
    """

    def accepts(self, test: Histograms, k: int, n_root: int, n_tests: int, rng: np.random.Generator) -> bool:
        density = test.density[0]
        level = lower_mode(density, k)
        higher = np.flatnonzero(density >= level)
        low, high = higher[higher <= k].max(initial=-1) + 1, higher[higher >= k].min(initial=len(density))
        valley = density[low:high]
        return bool((level - valley).sum() > self.rule.min_relative_depth * valley.sum())


@dataclass(frozen=True)
class Null(_OfRule):
    """Accept a score above a quantile for a single direction and as many normal rows (section 3.3.6).

    As the split is along the best of many directions, this test as published splits nearly every cloud of rows.
    """

    compares_scores: ClassVar[bool] = True

    def knowing(self, search: Search) -> Self:
        if search.rule.at.needs_extremes or search.rule.at.needs_thresholds:
            raise ValueError(
                "expected a threshold rule that needs histograms only for stop_rule='null'; got "
                f"threshold_rule={search.rule.threshold_rule!r}: take another, as 'minimum_error', or 'hold-out'"
            )
        return super().knowing(search)

    def accepts(self, test: Histograms, k: int, n_root: int, n_tests: int, rng: np.random.Generator) -> bool:
        n = float(test.n_left[0, -1])
        return _score(test, self.rule) > single_score_quantile(n, self.rule, test.bandwidth_rule, self.quantile)


@dataclass(frozen=True)
class SearchNull(Null):
    """Accept a score above a quantile of the best score of the same search in as many normal rows."""

    search: Search | None = None
    """The search; None before it is known."""

    def knowing(self, search: Search) -> Self:
        return replace(super().knowing(search), search=search)

    def accepts(self, test: Histograms, k: int, n_root: int, n_tests: int, rng: np.random.Generator) -> bool:
        if self.search is None:
            raise ValueError("expected a method that searches each branch for stop_rule='search-null'; take 'hold-out'")
        return _score(test, self.rule) > best_score_quantile(float(test.n_left[0, -1]), self.search, self.quantile)


def _score(test: Histograms, rule: SplitRule) -> float:
    return float(rule.score(test, float(np.sqrt(test.n_left[0, -1])))[0])


def _changes_sign(slope: Floats) -> bool:
    return bool((slope > 0).any() and (slope < 0).any())


class Spacing(Gap):
    """The widest spacing of the projections after the normal distribution function of their mean and deviation.

    The function makes normal projections uniform, so that gaps in the tails count less than those in the middle.
    """

    def possible(self, histograms: Histograms, min_relative_depth: float) -> Booleans:
        """See `ThresholdRule`; gaps within a bin are not known."""
        return self.score(histograms) > 0

    def score(self, histograms: Histograms) -> Floats:
        return spacings(histograms)

    def follow(self, histogram: Histograms, existing: float) -> int:
        """See `ThresholdRule`; its own gap, unless this has closed."""
        k = histogram.bin_of(existing)
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

    The sum over j of ``(-1)^(j + 1) C(n + 1, j) (1 - j x)^n`` for ``j x < 1`` (Fisher 1929).
    """
    if not 0 < x < 1:
        return float(x <= 0)
    if (n + 1) * (1 - x) ** n > 20.0:
        return 1.0
    j = np.arange(1, min(int(np.ceil(1 / x)), n + 2))
    j = j[j * x < 1]
    logs = gammaln(n + 2) - gammaln(j + 1) - gammaln(n + 2 - j) + n * np.log1p(-j * x)
    return float(np.clip(-np.sum((-1.0) ** j * np.exp(logs)), 0, 1))


@dataclass(frozen=True)
class SpacingTest(StopRule):
    """Accept a spacing that is wider than a quantile of the widest spacing of normal rows.

    All rows choose the split and test it. The level is shared by the directions of a branch that are tested, not by all
    that were scored or searched: it is for projections that propose few directions, and false splits are more frequent
    than the level where these were found by a search in many columns.
    """

    def accepts(self, test: Histograms, k: int, n_root: int, n_tests: int, rng: np.random.Generator) -> bool:
        if test.extremes is None or test.extremes.shape[-1] != test.counts.shape[-1]:
            raise ValueError("expected threshold_rule='spacing' or 'gap' for stop_rule='spacing'; got another")
        return widest_exceeds(float(spacings(test)[0, k]), int(test.n_left[0, -1])) < (1 - self.quantile) / n_tests


STOP_RULES |= {
    "known-number": KnownNumber,
    "known-levels": KnownLevels,
    "unimodal-density": UnimodalDensity,
    "criterion": ErrorMinimum,
    "height-ratio": HeightRatio,
    "integral-ratio": IntegralRatio,
    "null": Null,
    "search-null": SearchNull,
    "spacing": SpacingTest,
}
THRESHOLD_RULES |= {"spacing": Spacing()}
