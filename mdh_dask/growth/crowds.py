"""The look at neighbourhoods before a tree grows: so many clusters that no other line shows them are sought by it."""

import logging
from dataclasses import replace

import numpy as np

from .._blas import product
from .._random import generator
from .._typing import AnyArray, Booleans
from ..chunks import Plan
from ..projections.neighbourhoods import NEAR_ROWS, SEEDS
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

BALLS, GAPS = 4, 5
"""Keys of the random streams that choose their centres, and the rows whose nearest rows are looked at."""

SEVERAL = 4
"""Clusters that a ball must show."""

NEAREST = 64
"""Nearest rows among which a gap is looked for: a cluster with more of the sample shows in balls."""

LOOKED_AT = 50
"""Number of rows whose nearest rows are looked at; where half of them have gaps, clusters are many."""

LEVEL = 0.05
"""Probability of a gap among the nearest rows of one row in a cloud."""


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
            "neighbourhoods of rows show more clusters than the %s found: no line through all rows separates the "
            "others, as in few columns or much noise. DensityTree compares neighbourhoods", n_found
        )  # fmt: skip


def _is_crowded(root: Branch, examiner: Examiner) -> bool:
    """Return whether balls of rows show many clusters in the sample of a root, or of a branch that is not split."""
    looked = (own for own in root.walk() if own is root or not own.children)
    large = [own for own in looked if len(own.sample) >= FEWEST_ROWS]
    return any(_has_gaps(own, examiner) or _has_crowded_balls(own, examiner) for own in large)


def _has_gaps(branch: Branch, examiner: Examiner) -> bool:
    """Return whether most sample rows are in small groups that are apart from all others.

    A sample may hold too few rows of each of thousands of clusters for any test between two of them.
    """
    sample = branch.sample.load()
    rng = generator(*examiner.settings.stream_of(branch.node_id), GAPS)
    found = gaps_of(examiner.standardise.jittered(sample.rows, sample.hashes), rng)
    return bool(2 * np.count_nonzero(found) > len(found))


def gaps_of(rows: AnyArray, rng: np.random.Generator) -> Booleans:
    """Return for some rows whether there is a gap between their nearest rows and the next ones.

    Of the rows around a place of nearly constant density, the logarithm of the volume of the ball through the next
    nearest row over that through the j-th nearest is exponential with mean 1 / j. Their number of dimensions is
    that with which half of all such logarithms are what the law says.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> groups = np.repeat(rng.normal(size=(500, 9)), 10, axis=0)
    >>> gaps_of(groups + 0.01 * rng.normal(size=groups.shape), rng).mean() > 0.9
    np.True_
    >>> gaps_of(rng.normal(size=(5000, 9)), rng).mean() < 0.2
    np.True_
    """
    centred = np.asarray(rows - rows.mean(axis=0), dtype=np.float32)
    squares = np.square(centred).sum(axis=1)
    seeds = rng.choice(len(rows), LOOKED_AT, replace=False)
    distances = squares[seeds, None] - 2 * product(centred[seeds], centred.T) + squares
    distances[np.arange(LOOKED_AT), seeds] = np.inf
    nearest = np.sort(np.partition(distances, NEAREST, axis=1)[:, :NEAREST], axis=1).astype(np.float64)
    low, high = nearest[:, :-1], nearest[:, 1:]
    rounding = 4 * np.finfo(np.float32).eps * squares[seeds, None]
    further = (high - low > rounding) & (low > rounding)  # copies of a row count once
    j = np.cumsum(further, axis=1)
    used = further & (j >= min(NEAR_ROWS))
    logs = np.where(used, j * np.log(np.divide(high, low, out=np.ones(low.shape), where=further)), 0.0)
    usual = np.median(logs[used]) / np.log(2) if used.any() else np.inf
    return logs.max(axis=1) > usual * np.log(NEAREST / LEVEL)


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
