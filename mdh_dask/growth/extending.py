"""Splits without a test, for a number of clusters that is known."""

import logging
from dataclasses import replace

from ..density.evidence import valley_evidence
from ..splits.choose import Verdict
from .branches import Branch, State
from .settings import GrowthSettings

logger = logging.getLogger(__name__)


def extend(root: Branch, settings: GrowthSettings) -> bool:
    """Split leaves at valleys that failed the test while there are fewer clusters than wanted; return whether any were.

    Of the valleys of all leaves, those with most evidence are taken, as many as clusters are missing. Their sides are
    open, so valleys that only they show are found and tested as usual.

    Parameters
    ----------
    root : Branch
        Without open or waiting branches.
    settings : GrowthSettings
    """
    if settings.n_clusters is None or settings.order is not None:
        return False
    leaves = [branch for branch in root.walk() if branch.state is State.LEAF]
    missing = settings.n_clusters - len(leaves)
    failed = [
        (evidence_of(branch.verdict), branch)
        for branch in leaves
        if branch.verdict is not None
        and branch.verdict.admissible
        and (settings.max_levels is None or branch.level < settings.max_levels)
    ]
    taken = sorted(failed, key=lambda pair: (-pair[0], pair[1].path))[: max(missing, 0)]
    for evidence, branch in taken:
        assert branch.verdict is not None
        logger.info("a valley of %.1f standard errors is split without a test, for n_clusters", evidence)
        branch.verdict = replace(branch.verdict, accepted=True)
        branch.part(counted=True)
        branch.state = State.SPLIT
    return bool(taken)


def evidence_of(verdict: Verdict) -> float:
    """Return the evidence of a split, or of the best rejected one, in standard errors."""
    histogram = verdict.histogram
    k = histogram.bin_of(verdict.threshold, 0)
    return valley_evidence(histogram.density[0], k, float(histogram.spread[0][0]), float(histogram.bandwidth[0]))
