"""How many rows of which branches are sampled."""

from .branches import Branch, State

PILOT_ROWS = 1024
"""Rows of a branch that lay out its histograms when every direction is scored on all rows."""

RESERVOIR = 4
"""The root's sample, and all fresh samples of one pass together, hold this many times `sample_size` rows."""

INFORMATIVE_ROWS = 500
"""A branch is not grown ahead on fewer rows of its sample."""

FRESH_ROWS = 2500
"""A fresh sample holds at least this many rows; the largest branches come first, the others wait for a later pass."""


def fresh_samples(root: Branch, sample_size: int | None) -> dict[Branch, float]:
    """Choose the leaves whose samples the next pass renews, the largest first; close the unsure ones it cannot.

    Parameters
    ----------
    root : Branch
    sample_size : int or None
        Rows on which the directions of a branch are scored; None if all directions are scored on all rows.

    Returns
    -------
    dict
        The number of rows wanted of each leaf.
    """
    leaves = [b for b in root.walk() if b.state in (State.UNSURE, State.WAITING) and not b.children]
    if sample_size is None:
        return dict.fromkeys(leaves, PILOT_ROWS)
    budget = RESERVOIR * sample_size
    wanted = min(sample_size, max(budget / max(len(leaves), 1), FRESH_ROWS))
    fresh: dict[Branch, float] = {}
    for branch in sorted(leaves, key=lambda b: (-b.n_rows, b.path)):
        if min(wanted, branch.n_rows) < 2 * len(branch.sample.hashes):
            branch.state = State.LEAF if branch.state is State.UNSURE else branch.state
        elif len(fresh) < max(budget / wanted, 1):
            fresh[branch] = wanted
    return fresh
