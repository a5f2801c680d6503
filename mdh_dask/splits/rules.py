"""Criteria that score directions, and the rule for admissible splits.

To add a criterion, add a `Criterion` to `CRITERIA`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np

from .._fields import nearest
from .._typing import AnyArray, Booleans, Floats
from ..density.histograms import Histograms
from ..density.indices import dip_of_counts, kurtosis_of_counts
from .costs import ERRORS, clusterability, eigenvalue, normalised_cut, separation_depth, sse
from .thresholds import THRESHOLD_RULES, ThresholdRule


@dataclass(frozen=True)
class Criterion:
    """A criterion that scores directions.

    score: return one score per direction, larger is better, from `Histograms` and a mask of the admissible splits.
    depends_on_length: whether the score changes with the unit of the projections.
    """

    score: Callable[[Histograms, Booleans], Floats]
    depends_on_length: bool = False


CRITERIA: dict[str, Criterion] = {
    "relative_depth": Criterion(lambda h, admissible: h.lower_ratio.max(axis=1, where=admissible, initial=0.0) - 1),
    "dip": Criterion(lambda h, _: dip_of_counts(h.counts[:, 1:-1])),
    "variance": Criterion(lambda h, _: (h.spread[1] / h.length) ** 2, depends_on_length=True),
    "kurtosis": Criterion(lambda h, _: np.nan_to_num(-kurtosis_of_counts(h.counts[:, 1:-1]), nan=-np.inf)),
    "sse": Criterion(sse, depends_on_length=True),
    "clusterability": Criterion(clusterability),
    "normalised_cut": Criterion(normalised_cut),
    "eigenvalue": Criterion(eigenvalue),
    **{name: Criterion(partial(separation_depth, error)) for name, error in ERRORS.items()},
}
"""The criteria of thesis section 6.2.6: largest relative depth, dip and variance (along directions of length one),
smallest kurtosis; those of section 7.2.3; the index of hierarchical projection pursuit (TR-2003009, section 3.1)."""


def criteria_named(names: Sequence[Any]) -> tuple[str, ...]:
    """Return several different names of criteria, or raise an error."""
    known = ", ".join(CRITERIA)
    if not names or len({*names}) < len(names) or any(name not in CRITERIA for name in names):
        meant = next(filter(None, (nearest(name, CRITERIA) for name in names if name not in CRITERIA)), "")
        raise ValueError(
            f"expected different names of criteria for criterion, from {known}; got {list(names)!r}{meant}"
        )
    return tuple(names)


@dataclass(frozen=True)
class SplitRule:
    """Score directions by a criterion and split them by a threshold rule.

    criterion: a name in `CRITERIA`, or several: directions are then scored by their mean rank among all that are
        scored.
    alpha: splits farther than `alpha` standard deviations from the mean are not admissible.
    min_relative_depth: for thresholds in valleys, a relative depth of at most this is not admissible either.
    criterion_first: whether directions without an admissible split are scored, too; if one has the best score, there is
        no split.
    """

    criterion: str | tuple[str, ...] = "relative_depth"
    alpha: float | None = None
    min_relative_depth: float = 0.0
    threshold_rule: str = field(default="relative_depth", kw_only=True)
    criterion_first: bool = field(default=False, kw_only=True)

    @property
    def criteria(self) -> tuple[str, ...]:
        """The names of the criteria."""
        return (self.criterion,) if isinstance(self.criterion, str) else self.criterion

    @property
    def at(self) -> ThresholdRule:
        """The threshold rule."""
        return THRESHOLD_RULES[self.threshold_rule]

    @property
    def scores_depth(self) -> bool:
        """Whether directions are scored by the relative depth of their split, and only by this."""
        return self.criterion == self.threshold_rule == "relative_depth" and not self.criterion_first

    @property
    def limits_depth(self) -> bool:
        """Whether a valley may be too shallow for a split."""
        return self.at.limits_depth and self.min_relative_depth > 0

    @property
    def at_any_depth(self) -> Self:
        """The rule with valleys of any relative depth as admissible."""
        return replace(self, min_relative_depth=0.0)

    def admissible(self, histograms: Histograms, min_rows: float) -> Booleans:
        """Return a mask of the bins after which a split is admissible, shape (n_directions, n_bins)."""
        allowed = histograms.leaves_rows(max(min_rows, 1)) & self.at.possible(histograms, self.min_relative_depth)
        if self.alpha is not None:
            allowed &= histograms.within(self.alpha)
        return allowed if histograms.of_groups is None else allowed & ~histograms.of_groups[0]

    def _preferred(self, histograms: Histograms, min_rows: float) -> Booleans:
        """Return the admissible bins; along a direction with any that separate labelled groups, only these."""
        allowed = self.admissible(histograms, min_rows)
        if histograms.of_groups is None:
            return allowed
        separating = allowed & histograms.of_groups[1]
        return np.where(separating.any(axis=1, keepdims=True), separating, allowed)

    def score(self, histograms: Histograms, min_rows: float) -> Floats:
        """Return one score per direction, minus infinity where no split is admissible.

        Directions that separate labelled groups have higher scores than all others.
        """
        return self.combined(self.scores(histograms, min_rows))

    def combined(self, scores: Floats) -> Floats:
        """Return one score per direction from those by each criterion, shape (n_criteria, n_directions)."""
        if len(scores) == 1:
            return scores[0]
        from scipy.stats import rankdata  # imported late: half a second

        ranks: Floats = rankdata(scores, axis=1).mean(axis=0)
        return np.where((scores == -np.inf).all(axis=0), -np.inf, ranks)

    def scores(self, histograms: Histograms, min_rows: float) -> Floats:
        """Return the scores by each criterion, shape (n_criteria, n_directions)."""
        allowed = self._preferred(histograms, min_rows)
        scores = np.array([CRITERIA[name].score(histograms, allowed) for name in self.criteria])
        if histograms.of_groups is not None:
            # In the same order, but between -1 and 1.
            scores = scores / (1 + np.abs(scores)) + 2.0 * (allowed & histograms.of_groups[1]).any(axis=1)
        return scores if self.criterion_first else np.where(allowed.any(axis=1), scores, -np.inf)

    def locate(self, histograms: Histograms, min_rows: float) -> AnyArray:
        """Return the best admissible bin of each direction, -1 for none.

        If several bins share the best score, as in an empty gap, the middle one is returned.
        """
        score = np.where(self._preferred(histograms, min_rows), self.at.score(histograms), 0.0)
        best = score.max(axis=1)
        tied = score >= best[:, None] * (1 - 1e-9)
        first = tied.argmax(axis=1)
        # The end of the first run of tied bins.
        run = np.logical_and.accumulate(tied | (np.arange(score.shape[1]) < first[:, None]), axis=1).sum(axis=1)
        return np.where(best > 0, (first + run - 1) // 2, -1)
