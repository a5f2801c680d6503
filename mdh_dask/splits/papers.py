"""Stop rules that reproduce the letter of a paper; other rules are safer.

Those of hierarchical projection pursuit (TR-2003009, section 3.3) are for any criterion and threshold rule.
"""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from .._typing import Floats
from ..density.histograms import Histograms
from ..density.indices import MinimumError
from .rules import SplitRule
from .search_null import Search, best_score_quantile, single_score_quantile
from .stopping import STOP_RULES, NoTest, StopRule

FLAT = 1e-9
"""Differences of a density below this share of its height are rounding errors of its transform."""


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
        """See `StopRule`."""
        density = test.density[0]
        slope = np.diff(density)
        slope[np.abs(slope) <= FLAT * density.max()] = 0.0
        return _changes_sign(slope[:k]) and _changes_sign(slope[k:])


@dataclass(frozen=True)
class ErrorMinimum(StopRule):
    """Accept if the least error of all thresholds is not at an end (section 3.3.3)."""

    def accepts(self, test: Histograms, k: int, n_root: int, n_tests: int, rng: np.random.Generator) -> bool:
        """See `StopRule`."""
        errors = MinimumError().of(test.counts)
        return bool(errors.depth[0, errors.criterion[0].argmin()] > 0)


@dataclass(frozen=True)
class _OfRule(StopRule):
    """A stop rule that depends on the score of directions."""

    rule: SplitRule = field(default_factory=lambda: SplitRule("minimum_error", threshold_rule="minimum_error"))

    def knowing(self, search: Search) -> Self:
        """See `StopRule`."""
        return replace(self, rule=search.rule)


@dataclass(frozen=True)
class HeightRatio(_OfRule):
    """Accept if the lower peak exceeds the valley by at least `min_relative_depth` of it (section 3.3.4).

    The valley is the mean of the density within half a bandwidth of the split.
    """

    def accepts(self, test: Histograms, k: int, n_root: int, n_tests: int, rng: np.random.Generator) -> bool:
        """See `StopRule`."""
        density = test.density[0]
        reach = int(test.bandwidth[0] / test.width[0] / 2)
        valley = float(density[max(k - reach, 0) : k + reach + 1].mean())
        return _lower_peak(density, k) - valley > self.rule.min_relative_depth * valley


@dataclass(frozen=True)
class IntegralRatio(_OfRule):
    """Accept if the area of the basin is at least `min_relative_depth` of the area below it (section 3.3.5).

    The basin is the area above the density in the valley, up to the lower peak.
    """

    def accepts(self, test: Histograms, k: int, n_root: int, n_tests: int, rng: np.random.Generator) -> bool:
        """See `StopRule`."""
        density = test.density[0]
        level = _lower_peak(density, k)
        higher = np.flatnonzero(density >= level)
        low, high = higher[higher <= k].max(initial=-1) + 1, higher[higher >= k].min(initial=len(density))
        valley = density[low:high]
        return bool((level - valley).sum() > self.rule.min_relative_depth * valley.sum())


@dataclass(frozen=True)
class Null(_OfRule):
    """Accept a score above a quantile for a single direction and as many normal rows (section 3.3.6).

    As the split is along the best of many directions, this test as published splits nearly every cloud of rows.
    """

    def knowing(self, search: Search) -> Self:
        """See `StopRule`."""
        if search.rule.at.needs_extremes or search.rule.at.needs_thresholds:
            raise ValueError(
                "expected a threshold rule that needs histograms only for stop_rule='null'; got "
                f"threshold_rule={search.rule.threshold_rule!r}: take another, as 'minimum_error', or 'hold-out'"
            )
        return super().knowing(search)

    def accepts(self, test: Histograms, k: int, n_root: int, n_tests: int, rng: np.random.Generator) -> bool:
        """See `StopRule`."""
        n = float(test.n_left[0, -1])
        return _score(test, self.rule) > single_score_quantile(n, self.rule, test.bandwidth_rule, self.quantile)


@dataclass(frozen=True)
class SearchNull(Null):
    """Accept a score above a quantile of the best score of the same search in as many normal rows."""

    search: Search | None = None
    """The search; None before it is known."""

    def knowing(self, search: Search) -> Self:
        """See `StopRule`."""
        return replace(super().knowing(search), search=search)

    def accepts(self, test: Histograms, k: int, n_root: int, n_tests: int, rng: np.random.Generator) -> bool:
        """See `StopRule`."""
        if self.search is None:
            raise ValueError("expected a method that searches each branch for stop_rule='search-null'; take 'hold-out'")
        return _score(test, self.rule) > best_score_quantile(float(test.n_left[0, -1]), self.search, self.quantile)


def _score(test: Histograms, rule: SplitRule) -> float:
    return float(rule.score(test, float(np.sqrt(test.n_left[0, -1])))[0])


def _changes_sign(slope: Floats) -> bool:
    return bool((slope > 0).any() and (slope < 0).any())


def _lower_peak(density: Floats, k: int) -> float:
    return float(min(density[: k + 1].max(), density[k:].max()))


STOP_RULES |= {
    "known-number": KnownNumber,
    "known-levels": KnownLevels,
    "unimodal-density": UnimodalDensity,
    "criterion": ErrorMinimum,
    "height-ratio": HeightRatio,
    "integral-ratio": IntegralRatio,
    "null": Null,
    "search-null": SearchNull,
}
