"""Bounds of far rows, which are excluded from the scale of columns, from directions and from bins."""

import logging
from typing import NamedTuple

import numpy as np

from .._jit.rows import count_beyond, loop_ready
from .._typing import AnyArray, Booleans, Floats
from .._words import full_count
from .passes import Columns, Sample, columns_of

logger = logging.getLogger(__name__)

WIDTHS = 3.0
"""Distance of the bounds of a column from its bulk, in ranges of the bulk. Much farther bounds would let a few far
rows hide clusters; `tests/growth/test_far_rows.py` has such rows."""

FARTHEST = 1000.0
"""The same for methods that compare distances. Beyond it, the squares of fill values leave nothing of the differences
of other rows. A cluster that is not so far keeps its shape, however few rows it has."""

LARGEST = 2.0**27
"""Largest value of a standardised row. Where larger ones, as fill values, are many rows of a branch, the variance of
projections on combinations of rows, with the fourth power of values, overflows in float32."""

SLACK = 1e-4
"""Share of its distance by which a bound is farther away. Integers often lie exactly at a bound, and rounding errors,
which differ between float32 and float64, would decide about them."""


class Bounds(NamedTuple):
    """Smallest and largest values of near rows in each column; infinite without a bound."""

    low: Floats
    high: Floats

    def contain(self, rows: AnyArray) -> Booleans:
        """Return a mask of the rows within all bounds, shape (n,); all if most are beyond one of many."""
        within = np.asarray(((rows >= self.low) & (rows <= self.high)).all(axis=1))
        return within if 2 * np.count_nonzero(within) >= len(rows) else np.ones(len(rows), dtype=bool)


def bounds_of(rows: AnyArray, share: float | None = None, widths: float = WIDTHS) -> Bounds:
    """Return the bounds, some `widths` of the bulk of rows away from it, beyond which rows are far from the others.

    The bulk of a column lies between order statistics, which no single row can move, however far it is. Columns whose
    bulk is a single value, as for rare events, have no bounds. Outside the bulk is a `share` of the rows at either end:
    with that of the smallest cluster, by default of the square root of the number of rows, they are too few to be one.
    """
    n, d = rows.shape
    left_out = _left_out(n, share)
    if n <= 2 * left_out:
        return Bounds(np.full(d, -np.inf), np.full(d, np.inf))
    ordered = np.partition(rows, (left_out, n - 1 - left_out), axis=0)
    low, high = ordered[[left_out, n - 1 - left_out]].astype(np.float64)
    return _around(low, high, widths)


def _left_out(n: int, share: float | None) -> int:
    """Return the number of rows outside the bulk at either end."""
    return max(1, int(np.ceil(n * min(np.sqrt(n) / n if share is None else share, 0.1)))) if n else 0


def _around(low: Floats, high: Floats, widths: float = WIDTHS) -> Bounds:
    """Return the bounds of columns with these ends of the bulk."""
    wide = np.where(high > low, (1 + SLACK) * widths * (high - low), np.inf)
    return Bounds(low - wide, high + wide)


def clipped(rows: AnyArray, scaled: bool) -> AnyArray:
    """Return rows with values that are very far from the bulk of their column moved to `FARTHEST` ranges from it.

    Columns whose bulk is a single value have the widest range of all, unless they are `scaled` afterwards.
    """
    low, high = bounds_of(rows, widths=FARTHEST)
    wide = np.isfinite(high)
    if wide.any() and not (scaled or wide.all()):
        middle, reach = np.median(rows[:, ~wide], axis=0), (high - low)[wide].max() / 2
        low[~wide], high[~wide] = middle - reach, middle + reach
    far = (rows < low).any() or (rows > high).any()
    return rows.astype(np.float64).clip(low, high) if far else rows


def without_overflow(rows: AnyArray) -> AnyArray:
    """Return standardised rows within `LARGEST`, without a copy if all are."""
    return rows.clip(-LARGEST, LARGEST) if len(rows) and max(rows.max(), -rows.min()) > LARGEST else rows


def near_rows(rows: AnyArray, scoring: AnyArray, share: float | None = None) -> tuple[AnyArray, AnyArray]:
    """Return the rows, and some of them, that are within the bounds of the latter, without a copy if all are.

    `share` is that of `bounds_of`.
    """
    doubtful = np.flatnonzero(~_certainly_near(columns_of(loop_ready(rows)), scoring, share))
    if len(doubtful) == 0:
        return rows, scoring
    # Order statistics take much longer than the sums that make them unnecessary for most columns.
    bounds = bounds_of(scoring[:, doubtful], share)
    within, scores = bounds.contain(rows[:, doubtful]), bounds.contain(scoring[:, doubtful])
    return (rows if within.all() else rows[within]), (scoring if scores.all() else scoring[scores])


def _certainly_near(columns: Columns, scoring: AnyArray, share: float | None) -> Booleans:
    """Return a mask of the columns whose bounds certainly contain their range, shape (n_features,).

    Where enough rows lie beyond two inner values, the bulk reaches at least as far as these, and so do its bounds.
    """
    if len(scoring) == 0:
        return np.ones(scoring.shape[1], dtype=bool)
    with np.errstate(invalid="ignore", over="ignore"):
        # Beyond, in most columns, lies a tenth of the rows on either side.
        inner = 0.8 * np.sqrt(columns.deviations / columns.n)
        low, high = columns.mean - inner, columns.mean + inner
        bounds = _around(low, high)
    below, above = np.zeros((2, scoring.shape[1]), dtype=np.int64)
    count_beyond(loop_ready(scoring), low, high, below, above)
    reached = (high > low) & (np.minimum(below, above) > _left_out(len(scoring), share))
    near = reached & (columns.low >= bounds.low) & (columns.high <= bounds.high)
    return np.asarray(near | (columns.low == columns.high))


def least_share(min_rows: int, n_rows: float) -> float | None:
    """Return the share of the smallest cluster among `n_rows`, or None if a single row may be a cluster."""
    return min_rows / n_rows if min_rows > 1 and n_rows else None


def without_far_rows(columns: Columns, sample: Sample, share: float | None = None) -> tuple[Columns, Sample]:
    """Return the columns of all rows and the sample without the rows that are far from the bulk of the sample.

    Columns without far rows stay unchanged, to the last bit. The others are estimated from the near rows of the sample,
    as measuring them on all rows would take another pass. `share` is that of `bounds_of`.
    """
    some = sample.first(10_000).rows
    doubtful = np.flatnonzero(~_certainly_near(columns, some, share))
    bounds = bounds_of(some[:, doubtful], share)
    far = np.zeros(len(columns.low), dtype=bool)
    far[doubtful] = (columns.low[doubtful] < bounds.low) | (columns.high[doubtful] > bounds.high)
    if not far.any():
        return columns, sample
    near = sample.take(np.flatnonzero(bounds.contain(sample.rows[:, doubtful])))
    n, n_far = len(sample.hashes), len(sample.hashes) - len(near.hashes)
    in_columns = full_count(int(far.sum()), "column")
    logger.info("values far from all others in %s and %s of %s sampled rows", in_columns, n_far, n)
    bulk = columns_of(near.rows)
    if bulk.n == 0:
        return columns, sample
    return Columns(
        columns.n,
        np.where(far, bulk.mean, columns.mean),
        np.where(far, bulk.deviations * (columns.n / bulk.n), columns.deviations),
        np.where(far, bulk.low, columns.low),
        np.where(far, bulk.high, columns.high),
    ), near
