"""Means and standard deviations of the columns in every cluster, with the same bits for all chunkings."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._jit.rows import few_at_once, loop_ready
from .._jit.sums import N_SLICES, ROWS_AT_ONCE, SLICE, add_slices, largest_deviations
from .._storable import storable
from .._typing import AnyArray, Floats, Integers
from ..chunks import Statistic

LARGEST = 1e150
"""The square of a larger value overflows."""


class SlicedSums(NamedTuple):
    """Sums of ``x - shift`` and of its square, for every cluster and column."""

    n_rows: Integers
    """Number of rows, shape (n_clusters,)."""
    top: Integers
    """The highest slice of each column, shape (2, n_features): every value is under ``2 ** (SLICE * top - 1)``."""
    sums: Integers
    """Sums of the slices from the highest down, shape (n_clusters, 2, N_SLICES, n_features)."""
    n_missing: Integers
    """Number of missing values, shape (n_clusters, n_features)."""


@storable
class Moments(NamedTuple):
    """The value of `MomentPass`."""

    n_rows: Integers
    """Number of rows, shape (n_clusters,)."""
    mean: Floats
    """Means, shape (n_clusters, n_features); NaN for a cluster without rows."""
    sd: Floats
    """Standard deviations, of the same shape."""
    mean_of_others: Floats
    """Means of all rows outside the cluster, of the same shape."""
    sd_of_others: Floats
    """Standard deviations of all rows outside the cluster, of the same shape."""


@dataclass(frozen=True)
class MomentPass(Statistic):
    """Number of rows, means and standard deviations of the columns in every cluster.

    The blocks are labels and rows.

    Every value is cut into three slices of 30 bits, multiples of fixed powers of two, whose sums are exact for up to
    2^34 rows (reproducible summation: J. Demmel and H. D. Nguyen, Parallel reproducible summation, 2015). In each
    column, slices more than 60 bits below the largest value are dropped.
    """

    n_clusters: int
    shift: Floats
    """Shape (n_features,): any one of the rows. It is subtracted from all rows so that squares keep their digits.
    Further columns of the rows are ignored."""
    lowest: int = 0
    """The lowest label: -1 if rows may be in no cluster; these count as the first of `n_clusters`."""
    missing: bool = False
    """Whether values may be missing (NaN); they are left out."""
    top: Integers | None = None
    """The highest slices of each column, from `tops_of`, if they are known; otherwise those that a block needs."""

    def chunk(self, start: int, *blocks: AnyArray) -> SlicedSums:
        labels, rows = np.asarray(blocks[0], dtype=np.intp) - self.lowest, loop_ready(blocks[1][:, : len(self.shift)])
        n_missing = np.zeros((self.n_clusters, rows.shape[1]), dtype=np.int64)
        if self.missing:
            rows = self._without_missing(rows, labels, n_missing)
        top = tops_of(largest_of(rows, self.shift)) if self.top is None else self.top
        scale = np.ldexp(1.0, -SLICE * (top - 1))
        shape = (self.n_clusters, 2, N_SLICES, rows.shape[1])
        sums = np.zeros(shape, dtype=np.int64)
        for part in few_at_once(len(rows), ROWS_AT_ONCE):
            slices = np.zeros(shape)
            add_slices(rows[part], labels[part], self.shift, scale, slices)
            sums += slices.astype(np.int64)
        return SlicedSums(np.bincount(labels, minlength=self.n_clusters), top, sums, n_missing)

    def combine(self, left: SlicedSums, right: SlicedSums) -> SlicedSums:
        """Add the sums of the same slices."""
        top = np.maximum(left.top, right.top)
        sums = sum(_lowered(part.sums, top - part.top) for part in (left, right))
        return SlicedSums(left.n_rows + right.n_rows, top, np.asarray(sums), left.n_missing + right.n_missing)

    def finalise(self, state: SlicedSums) -> Moments:
        sums, n = _joined(state.sums), state.n_rows[:, None] - state.n_missing
        own = self._moments(n, sums, state.top)
        return Moments(state.n_rows, *own, *self._moments(n.sum(axis=0) - n, sums.sum(axis=0) - sums, state.top))

    def _without_missing(self, rows: AnyArray, labels: Integers, n_missing: Integers) -> AnyArray:
        """Return rows with the shift in place of missing values, which adds nothing, and count these."""
        if rows.dtype.kind != "f" or not (missing := np.isnan(rows)).any():
            return rows
        for j in np.flatnonzero(missing.any(axis=0)):
            n_missing[:, j] = np.bincount(labels[missing[:, j]], minlength=self.n_clusters)
        return np.where(missing, self.shift.astype(rows.dtype), rows)

    def _moments(self, n_values: Integers, sums: AnyArray, top: Integers) -> tuple[Floats, Floats]:
        """Return means and standard deviations from sums as Python integers in units of the lowest slices."""
        n = np.maximum(n_values, 1).astype(object)
        unit, unit_of_squares = SLICE * (top - N_SLICES)
        mean = self.shift + np.ldexp((sums[:, 0] / n).astype(np.float64), unit)
        least = np.minimum(2 * unit, unit_of_squares)
        squares = n * sums[:, 1] << (unit_of_squares - least).astype(object)
        spread = squares - (sums[:, 0] ** 2 << (2 * unit - least).astype(object))
        spread = np.where(spread << 50 > squares, spread, 0)  # less may be rounding
        # Half of the exponent is applied before and half after the root, as squares may exceed the range of float64.
        sd = np.sqrt((spread / n**2).astype(np.float64) * 2.0 ** (least % 2)) * np.ldexp(1.0, least // 2)
        empty = n_values == 0
        return np.where(empty, np.nan, mean), np.where(empty, np.nan, sd)


def largest_of(rows: AnyArray, shift: Floats) -> Floats:
    """Return the largest absolute difference from a shift in each column."""
    largest = np.zeros(rows.shape[1])
    largest_deviations(rows, shift, largest)
    return largest


def tops_of(largest: Floats) -> Integers:
    """Return the highest slices for values and squares up to these sizes, shape (2, n_features).

    Raises a ValueError if a square would overflow.
    """
    if not (largest <= LARGEST).all():
        raise ValueError(
            f"expected finite values up to {LARGEST:g}; got NaN or {largest.max():g}: drop these rows, or "
            "scale the columns first"
        )
    both = np.stack([largest, largest**2])
    top = -(-(np.frexp(both)[1].astype(np.int64) + 1) // SLICE)
    return np.where(both > 0, np.maximum(top, -33), -33)  # scales stay finite, and smaller values count as zero


def means_of(n_rows: Integers, sums: Integers, top: Integers) -> Floats:
    """Return the means of clusters with rows by their `SlicedSums`, a few at a time: Python integers are large."""
    means = np.zeros((len(n_rows), sums.shape[3]))
    for part in few_at_once(len(means), 2**14):
        joined = _joined(sums[part, :1])[:, 0] / n_rows[part, None].astype(object)
        means[part] = np.ldexp(joined.astype(np.float64), SLICE * (top[0] - N_SLICES))
    return means


def _lowered(sums: Integers, by: Integers) -> Integers:
    """Return the sums in slices below a top that is higher by `by` slices in each column."""
    source = np.arange(N_SLICES)[:, None] - by[:, None, :]
    moved = np.take_along_axis(sums, np.maximum(source, 0)[None], axis=2)
    return np.where(source >= 0, moved, 0)


def _joined(sums: Integers) -> Any:
    """Return sums of all slices as Python integers in units of the lowest, shape (n_clusters, n_powers, n_features)."""
    joined = np.zeros((*sums.shape[:2], sums.shape[3]), dtype=object)
    for i in range(N_SLICES):
        joined = (joined << SLICE) + sums[:, :, i].astype(object)
    return joined
