"""The score of a search for directions, from a split rule."""

from dataclasses import dataclass

import numpy as np

from .._typing import Floats
from ..density.bandwidth import BANDWIDTHS, Bandwidth
from ..projections.search import IndexScore, Score
from ..projections.starts import sample_histograms
from .minimum_error import ERRORS
from .rules import SplitRule


@dataclass(frozen=True)
class RuleScore:
    """The score of a split rule, on histograms with bins for their bandwidths.

    Parameters
    ----------
    rule : SplitRule
        The rule; splits have at least the square root of the rows on each side.
    bandwidth : Bandwidth
        Rule for the bandwidth of each direction, as rows spread equally along all in the space of a search.
    """

    rule: SplitRule
    bandwidth: Bandwidth = BANDWIDTHS["normal"]

    def __call__(self, projections: Floats) -> Floats:
        """Return one score for each direction, or zero if none of its thresholds is admissible."""
        histograms = sample_histograms(np.ascontiguousarray(projections), self.bandwidth.free)
        scores = self.rule.score(histograms, float(np.sqrt(projections.shape[1])))
        # A criterion may be negative, but directions are drawn in proportion to their scores.
        low = scores.min(where=np.isfinite(scores), initial=0.0)
        return np.where(np.isfinite(scores), scores - low, 0.0)


def search_score(rule: SplitRule, bandwidth: Bandwidth, n_bins: int) -> Score:
    """Return the score of a search: the index on `n_bins` bins for rules based on J, otherwise that of the rule."""
    if rule.criterion in ERRORS:
        return IndexScore(ERRORS[rule.criterion], n_bins)
    return RuleScore(rule, bandwidth)
