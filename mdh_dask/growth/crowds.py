"""The look at neighbourhoods before a tree grows: so many clusters that no other line shows them are sought by it."""

import logging
from dataclasses import replace

import numpy as np

from .._random import generator
from ..chunks import Plan
from .branches import Branch, SampleRows
from .examine import Examiner
from .passes import draw, rows_in_memory

logger = logging.getLogger(__name__)

FEWEST_ROWS = 4000
"""With fewer sample rows, a ball would hold the rows of several of a few clusters."""

BALL, FEWEST_IN_BALL = 1 / 40, 500
"""Share of the rows in a ball, and least number of them."""

CROWDED, IN_VAIN = 2, 3
"""Number of balls that must show several clusters, and of those without that end the look."""

LEAST_IN_BALL = 10
"""Rows of a ball that a cluster, or several together, need in it: the sample may hold few of each."""

BALLS = 4
"""Key of the random stream that chooses their centres."""

SEVERAL, SEEDS = 4, 32
"""Clusters that a ball must show, and number of its rows whose neighbourhoods are looked at."""


def crowd(root: Branch, shape: tuple[int, int], examiner: Examiner) -> Plan[tuple[Branch, Examiner]]:
    """Plan the root and the examiner of a tree, after a look at the neighbourhoods of its sample rows.

    Where these show many clusters, all are sought in the largest sample that is held, as if it were all rows. Otherwise
    the root is examined as usual.
    """
    settings, selector = examiner.settings, examiner.settings.selector
    alone = settings.order is None and settings.parts_at is None and root.groups is None
    if not (settings.nearby and alone):
        return root, examiner

    def near(n: int, most: float) -> Examiner:
        """Return the examiner of a sample of `n` rows, as if it were all, and of clusters of at most as many rows."""
        least = max(round(min(selector.min_rows * n / shape[0], most)), 1)
        own = replace(settings, selector=replace(selector, n_root=n, min_rows=least))
        return replace(examiner, settings=own, near=True)

    examiner.examine_open(root)
    if not _is_crowded(root, near(len(root.sample), min(settings.nearby, LEAST_IN_BALL))):
        return root, examiner
    sample = root.sample.load()
    if not root.complete:
        logger.info("neighbourhoods show that clusters are many: as many rows as can be held are drawn")
        sample = yield from draw(settings.seed, rows_in_memory(shape[0], shape[1], len(sample.rows)), shape[0])
    n = len(sample.rows)
    return Branch(1, SampleRows.of_all(sample), n, counted=True), near(n, settings.nearby)


def warn_of_crowd(n_found: int) -> None:
    """Warn if fewer clusters were found than balls of rows show."""
    if n_found * BALL < 1:
        logger.warning(
            "balls of rows show more clusters than the %s found: no line through all rows separates the others, as in "
            "few columns or much noise. DensityTree compares neighbourhoods", n_found
        )  # fmt: skip


def _is_crowded(root: Branch, examiner: Examiner) -> bool:
    """Return whether balls of rows show many clusters in the sample of a root, or of a branch that is not split."""
    looked = (own for own in root.walk() if own is root or not own.children)
    return any(_has_crowded_balls(own, examiner) for own in looked if len(own.sample) >= FEWEST_ROWS)


def _has_crowded_balls(branch: Branch, examiner: Examiner) -> bool:
    """Return whether several clusters are in as many balls as have to show them.

    A ball is convex, so a density of one mode and convex levels has one mode within it, too.
    """
    rows = np.asarray(examiner.standardise(branch.sample.load().rows), dtype=np.float32)
    n, crowded = max(round(BALL * len(rows)), FEWEST_IN_BALL), 0
    rng = generator(*examiner.settings.stream_of(branch.node_id), BALLS)
    for i, centre in enumerate(rng.choice(len(rows), CROWDED + IN_VAIN - 1, replace=False)):
        if crowded == CROWDED or i - crowded == IN_VAIN:
            break
        near = np.sort(np.argpartition(np.square(rows - rows[centre]).sum(axis=1), n)[:n])
        ball = replace(branch, sample=branch.sample.take(near), n_rows=n, counted=True, children=None)
        crowded += examiner.shave(ball, SEVERAL, SEEDS) == SEVERAL
    return crowded == CROWDED
