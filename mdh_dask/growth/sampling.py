"""Sizes of the samples of branches."""

from .branches import Branch, State
from .passes import rows_in_memory

PILOT_ROWS = 1024
"""Sample rows of a branch that set the bins of its histograms if every direction is scored on all rows."""

RESERVOIR = 4
"""The root's sample, and all fresh samples of one pass together, hold this many times `sample_size` rows."""

INFORMATIVE_ROWS = 500
"""Fewest sample rows on which a branch is grown ahead."""

FRESH_ROWS = 2500
"""Fewest rows of a fresh sample; the largest branches come first, the others wait for a later pass."""


def rows_held(sample_size: int, n_columns: int) -> int:
    """Return the number of rows in the root's sample, and in all fresh samples of one pass together."""
    return rows_in_memory(RESERVOIR * sample_size, n_columns, least=sample_size)


def fresh_samples(root: Branch, sample_size: int | None) -> dict[Branch, float]:
    """Choose the leaves whose samples the next pass renews, the largest first, and close uncertain ones that it cannot.

    sample_size: rows on which the directions of a branch are scored; None if all directions are scored on all rows.
    Returns the number of rows to sample in each leaf.
    """
    leaves = [b for b in root.walk() if b.state in (State.UNSURE, State.WAITING) and not b.children]
    if sample_size is None:
        return dict.fromkeys(leaves, PILOT_ROWS)
    budget = rows_held(sample_size, root.sample.n_columns)
    wanted = min(sample_size, max(budget / max(len(leaves), 1), FRESH_ROWS))
    fresh: dict[Branch, float] = {}
    for branch in sorted(leaves, key=lambda b: (-b.n_rows, b.node_id)):
        if min(wanted, branch.n_rows) < 2 * len(branch.sample):
            branch.state = State.LEAF if branch.state is State.UNSURE else branch.state
        elif len(fresh) < max(budget / wanted, 1):
            fresh[branch] = wanted
    return fresh
