"""Votes over divisions of the same rows into two halves, each of which chooses a split that the other tests."""

from collections.abc import Sequence

from scipy.special import ndtr, ndtri

from .null import MOST_SIMULATED

N_DIVISIONS = 11

LEAD = 4
"""Lead in votes at which the vote ends. A smaller one lets single halves decide, a larger one takes longer where
there are no clusters. Compare with ``python -m tests.benchmarks power``."""

LEAST, MOST = 1 / (1 + MOST_SIMULATED), 0.9
"""Bounds on p-values, so that one half can compensate for another that shows nothing by bad luck."""


def joint_p_value(first: float, second: float) -> float:
    """Return the combined p-value of two independent tests (Stouffer's sum of normal quantiles).

    The split that one half chooses is independent of the rows of the other half, on which it is tested. So each p-value
    is valid for any choosing half, and both are nearly independent.

    Examples
    --------
    >>> round(joint_p_value(0.05, 0.05), 3), round(joint_p_value(0.01, 1.0), 3)
    (0.01, 0.23)
    """
    score = sum(-ndtri(min(max(p, LEAST), MOST)) for p in (first, second))
    return float(ndtr(-score / 2**0.5))


def decided(votes: Sequence[bool]) -> bool | None:
    """Return the majority of `N_DIVISIONS` votes, or None if more votes are needed.

    Examples
    --------
    >>> decided([True, True]), decided([True] * 4), decided([False, True] * 5 + [False])
    (None, True, False)
    """
    yes, no = sum(votes), len(votes) - sum(votes)
    if abs(yes - no) >= LEAD or max(yes, no) > N_DIVISIONS // 2:
        return yes > no
    return None
