"""The score by which a search ranks directions, from a rule that scores histograms."""

from dataclasses import dataclass

import numpy as np

from .._typing import Floats
from ..density.bandwidth import BANDWIDTHS, Bandwidth
from ..projections.searching import IndexScore, Score
from ..projections.starts import sample_histograms
from .minimum_error import ERRORS
from .rules import SplitRule


@dataclass(frozen=True)
class RuleScore:
    """Scores projections as a split rule does, on histograms with bins for their bandwidths.

    Parameters
    ----------
    rule : SplitRule
        Splits leave the square root of the rows on both sides.
    bandwidth : Bandwidth
        Each direction has its own, as in no unit of the search the rows spread along one more than along another.
    """

    rule: SplitRule
    bandwidth: Bandwidth = BANDWIDTHS["normal"]

    def __call__(self, projections: Floats) -> Floats:
        """Return one score for each direction; zero where none of its thresholds is admissible."""
        histograms = sample_histograms(np.ascontiguousarray(projections), self.bandwidth.free)
        scores = self.rule.score(histograms, float(np.sqrt(projections.shape[1])))
        # Scores rank, and a criterion may be negative: what is drawn in proportion to them must not.
        low = scores.min(where=np.isfinite(scores), initial=0.0)
        return np.where(np.isfinite(scores), scores - low, 0.0)


def search_score(rule: SplitRule, bandwidth: Bandwidth, n_bins: int) -> Score:
    """Return what ranks the directions of a search: the index on `n_bins` bins for what rests on J, else the rule."""
    if rule.criterion in ERRORS:
        return IndexScore(ERRORS[rule.criterion], n_bins)
    return RuleScore(rule, bandwidth)
