"""The look at neighbourhoods before a tree grows: so many clusters that no other line shows them are sought by it."""

import logging
from dataclasses import replace

from ..chunks import Plan
from .branches import Branch, SampleRows
from .examine import Examiner
from .passes import draw, rows_in_memory

logger = logging.getLogger(__name__)

FIRST_SEEDS = 32
"""Number of rows whose neighbourhoods are looked at first. Where they show nothing, no more time is spent."""

MANY, SEVERAL = 30, 8
"""Clusters that neighbourhoods must show before they are sought everywhere: in rows that other lines divide, too, and
in those in which no other line shows a valley."""


def crowd(root: Branch, shape: tuple[int, int], examiner: Examiner) -> Plan[tuple[Branch, Examiner]]:
    """Plan the root and the examiner of a tree, after a look at the neighbourhoods of its sample rows.

    Where these show many clusters, all are sought in the largest sample that is held, as if it were all rows. Otherwise
    the root is examined as usual.
    """
    settings, selector = examiner.settings, examiner.settings.selector
    if not settings.nearby or settings.order is not None or root.groups is not None:
        return root, examiner

    def near(n: int) -> Examiner:
        """Return the examiner of a sample of `n` rows, as if it were all rows."""
        least = max(round(min(selector.min_rows * n / shape[0], settings.nearby)), 1)
        own = replace(settings, selector=replace(selector, n_root=n, min_rows=least))
        return replace(examiner, settings=own, near=True)

    examiner.examine_open(root)
    if not _is_crowded(root, near(len(root.sample))):
        return root, examiner
    sample = root.sample.load()
    if not root.complete:
        logger.info("neighbourhoods show that clusters are many: as many rows as can be held are drawn")
        sample = yield from draw(settings.seed, rows_in_memory(shape[0], shape[1], len(sample.rows)), shape[0])
    n = len(sample.rows)
    return Branch(1, SampleRows.of_all(sample), n, counted=True), near(n)


def _is_crowded(root: Branch, examiner: Examiner) -> bool:
    """Return whether neighbourhoods show many clusters in the sample of a root, or of a branch that is not split."""
    for own in root.walk():
        if own is root or not own.children:
            first, whole = (replace(own, n_rows=len(own.sample), counted=True, children=None) for _ in range(2))
            most = MANY if own.children else SEVERAL
            if examiner.shave(first, 1, FIRST_SEEDS) and examiner.shave(whole, most) == most:
                return True
    return False
