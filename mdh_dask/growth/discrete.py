"""Columns of few values: their jitter, and the bandwidths that hide the gaps between their values.

The gap between two neighbouring values of a rounded column is no valley, and two levels of one column are not two
clusters. Where projections are counted, values of coarsely rounded columns are jittered, and densities along directions
that finely rounded columns or single levels change are smoothed enough to hide this. Methods that compare distances
jitter both.
"""

from dataclasses import dataclass, field
from math import sqrt

import numpy as np
from scipy.special import ndtr, ndtri

from .._jit.hashing import NO_JITTER, Jitter, hash_again, jitter_rows
from .._jit.rows import loop_ready
from .._levels import LevelFeatures, TwoValued, two_valued
from .._random import normal_of
from .._storable import storable
from .._typing import AnyArray, Floats, Integers, cached_property
from ..valleys.neighbours import distinct
from .bounds import without_far_rows
from .leaders import with_leaders
from .passes import Sample, columns_of
from .uneven import (
    EVEN,
    EVENLY_SPACED,
    FEWEST_VALUES,
    MOST_COLUMNS,
    ROWS_FOR_STEPS,
    ROWS_FOR_VALUES,
    SMOOTHS_STEPS,
    Uneven,
    jitter_from,
    key_of,
    on_lattice,
    uneven_in,
    uniform_by,
)

MOST_VALUES, ROUNDED = 20, 2**24
"""Most values of a coarsely rounded column, and of any rounded column. The steps between more than the former are
smoothed out by the bandwidth without hiding anything else; columns of more than the latter are continuous."""

FEW_COPIES = 0.9
"""With at least this share of different rows in a sample, the others do not matter."""

BETWEEN_STEPS = 0.1
"""Share of the gaps between rounded values that may be smaller than a step: means that fill in missing values are
not rounded."""

MOST_APART, LEAST_VARIED = 0.5, 2.0
"""Two columns take their steps together if one predicts the other with an error of less than the first, and both vary
by more than the second: standard deviations in steps. One of a few values predicts another by chance."""

SMOOTHS_LEVELS = 0.5
"""Two equal normal kernels with this bandwidth, in units of their distance, have a single mode: two levels of one
column are not two clusters, however many rows have either. Valleys remain where several columns change together."""


@storable
@dataclass(frozen=True)
class Discrete:
    """What is known of columns of few values.

    jitter: coarsely rounded columns, such as counts and ratings, whose values are spread evenly over their steps.
    steps (n_features,): steps of finely rounded columns, such as one of 256 grey levels, and between round numbers;
        zero for others. Without any, it may be empty.
    levels: where the levels of single columns lie, if the rows are features of mixed columns; otherwise the two-valued
        columns.
    uneven: values that rows share unevenly.
    """

    jitter: Jitter = NO_JITTER
    steps: Floats = field(default_factory=lambda: np.empty(0))
    levels: LevelFeatures | TwoValued | None = None
    uneven: Uneven = EVEN

    def jittered(self, rows: AnyArray, hashes: Integers) -> AnyArray:
        """Return raw rows with values of columns spread by the rows' hashes.

        Values of coarsely rounded columns are spread over their steps, and uneven ones as `Uneven` says.
        """
        if not self.changes_columns:
            return rows
        found = rows.astype(np.float64)
        jitter_rows(found, hashes, self.jitter)
        self.uneven.spread(rows, found, hashes)
        return found

    def jittered_levels(self, rows: AnyArray, hashes: Integers) -> Floats:
        """Return raw rows in float64, jittered as by `jittered`, and by normal numbers along levels.

        The axes of one column are about as long as the bandwidth that hides its levels; those of several add up.
        """
        found: Floats = self.jittered(rows, hashes).astype(np.float64)
        for axis, key in self._axes:
            used = np.flatnonzero(axis)
            found[:, used] += normal_of(hash_again(hashes, key))[:, None] * axis[used]
        return found

    def bandwidth_along(self, directions: Floats) -> Floats:
        """Return the least bandwidths along directions for raw rows that hide steps and the levels of single columns.

        Rounded values lie on a lattice; with a smaller bandwidth the gaps between its points look like valleys.
        """
        least = np.zeros(len(directions))
        if self.steps.any():
            least = SMOOTHS_STEPS * np.sqrt(directions**2 @ self.steps**2)
        if self.levels is not None:
            least = np.maximum(least, SMOOTHS_LEVELS * self.levels.widths_along(directions))
        return least

    @property
    def changes_columns(self) -> bool:
        """Whether `jittered` changes any row."""
        return bool(self.jitter) or bool(self.uneven)

    @property
    def changes_rows(self) -> bool:
        """Whether `jittered_levels` changes any row."""
        return self.changes_columns or len(self._axes) > 0

    @cached_property
    def _axes(self) -> list[tuple[Floats, int]]:
        """Return the displacements along levels by one standard deviation, and their keys."""
        if self.levels is None:
            return []
        axes, keys = self.levels.axes()
        return list(zip(SMOOTHS_LEVELS * axes, keys.tolist()))


def discrete_of(
    sample: Sample, levels: LevelFeatures | TwoValued | None = None, most_values: int = MOST_VALUES
) -> Discrete:
    """Return what a sample of raw rows shows of columns of few values; two-valued ones unless `levels` are known.

    Columns of at most `most_values` evenly spaced values are jittered.
    """
    jitter, steps, uneven = _few_valued(sample, most_values)
    np.maximum.at(steps, uneven.rounded.columns, uneven.rounded.steps)
    steps[jitter.columns] = 0.0
    np.maximum.at(steps, uneven.spacing.columns, uneven.spacing.steps)
    steps *= np.sqrt(_n_alike(sample.first(ROWS_FOR_STEPS), steps))
    some = sample.first(ROWS_FOR_VALUES)
    return Discrete(jitter, steps, two_valued(some.rows, some.hashes) if levels is None else levels)


def _n_alike(sample: Sample, steps: Floats) -> Integers:
    """Return how many columns take each step together, as the colours of a grey picture do, shape (n_features,).

    Along some direction their steps add up, as if each were longer by the square root of this number. One column
    predicts another to less than a step where both are one value that was rounded.
    """
    n_alike, n_steps = np.ones(len(steps), dtype=np.int64), _steps_in_range(sample.rows, steps)
    stepped = np.flatnonzero((n_steps > 0) & (n_steps < ROUNDED))
    if len(stepped) <= MOST_COLUMNS:
        columns = sample.rows[:, stepped] / steps[stepped]
        columns -= columns.mean(axis=0)
        products = columns.T @ columns / max(len(columns), 1)
        variances = products.diagonal()
        varied = variances > LEAST_VARIED**2
        predicts = (variances - products**2 / variances[:, None] < MOST_APART**2) & varied & varied[:, None]
        n_alike[stepped] = np.maximum((predicts | predicts.T).sum(axis=0), 1)
    return n_alike


def spread(sample: Sample, most_values: int = MOST_VALUES) -> Discrete:
    """Return what spreads columns of few values where distances are compared.

    These are columns of at most `most_values` evenly spaced values, and those of uneven values. Rows that are far from
    the others do not hide them.
    """
    _, near = without_far_rows(columns_of(loop_ready(sample.rows)), sample)
    jitter, _, uneven = _few_valued(near, most_values)
    return Discrete(jitter, uneven=uneven)


def _few_valued(sample: Sample, most_values: int) -> tuple[Jitter, Floats, Uneven]:
    """Return what `jitter_of` does, with leaders and without columns of uneven values; and these."""
    jitter, steps = jitter_of(sample, most_values)
    uneven = uneven_in(sample)
    even = ~np.isin(jitter.columns, uneven.spacing.columns)
    jitter = Jitter._make(of_columns[even] for of_columns in jitter)
    if jitter and len(steps) <= MOST_COLUMNS:
        jitter = with_leaders(jitter, sample.first(ROWS_FOR_STEPS), MOST_VALUES)
    return jitter, steps, uneven


def jitter_of(sample: Sample, most_values: int) -> tuple[Jitter, Floats]:
    """Return the columns of a few evenly spaced values, and the steps of those of more values, zero for others.

    Spread evenly over its steps, a coarse column has a density with the modes of its counts, and its variance grows
    only by ``step**2 / 12``: less than a quarter of the increase by a bandwidth that smooths out the steps, which also
    hides clusters in many coarse columns. The key of a column depends on its values, so that permuted columns are
    jittered in the same way.
    """
    steps, sample = _steps_of(sample.first(ROWS_FOR_STEPS).rows), sample.first(ROWS_FOR_VALUES)
    found = []
    n_steps = _steps_in_range(sample.rows, steps)
    for j in np.flatnonzero((n_steps > FEWEST_VALUES - 1.5) & (n_steps < most_values - 0.5)).tolist():
        values, step = sample.rows[:, j].astype(np.float64), float(steps[j])
        different, number, counts = np.unique(values, return_inverse=True, return_counts=True)
        if on_lattice(values, step, different[counts.argmax()]).mean() >= EVENLY_SPACED:
            # Odd values would be on the lattice of one column by chance, and not on that of its copy.
            own = (counts > 1)[number] if (counts > 1).any() else slice(None)
            numbers = np.rint((values[own] - values[own].min()) / step)
            found.append((j, step, key_of(sample.hashes[own], numbers)))
    jitter = jitter_from(found)
    steps[n_steps < most_values] = 0.0
    steps[jitter.columns] = 0.0
    return jitter, steps


def _steps_of(rows: AnyArray) -> Floats:
    """Return the smallest difference between values of each column, without values of single rows if these are few."""
    steps, ordered = smallest_gaps(rows), np.sort(rows, axis=0)
    differ = np.ones((len(rows) + 1, rows.shape[1]), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=differ[1:-1])
    alone = differ[1:] & differ[:-1]
    n_alone = np.count_nonzero(alone, axis=0)
    for j in np.flatnonzero((n_alone > 0) & (n_alone <= (1 - EVENLY_SPACED) * len(rows))):
        steps[j] = smallest_gaps(ordered[~alone[:, j], j : j + 1])[0]
    return steps


def smallest_gaps(rows: AnyArray, share: float = 0.0) -> Floats:
    """Return the smallest difference between values of each column, zero for a constant one, shape (n_features,).

    share: share of the differences that may be smaller, of at least two rows.
    """
    gaps = np.diff(np.sort(rows, axis=0).astype(np.float64), axis=0)
    gaps[gaps <= 0] = np.inf
    smallest = gaps.min(axis=0, initial=np.inf)
    if share > 0:
        at = np.floor(share * np.count_nonzero(np.isfinite(gaps), axis=0)).astype(np.int64)
        smallest = np.sort(gaps, axis=0)[at, np.arange(gaps.shape[1])]
    return np.where(np.isfinite(smallest), smallest, 0.0)


def _steps_in_range(rows: AnyArray, steps: Floats) -> Floats:
    """Return the number of steps between the extremes of each column, zero for constant ones."""
    if len(rows) == 0:
        return np.zeros(len(steps))
    ranges = rows.max(axis=0).astype(np.float64) - rows.min(axis=0)
    return np.divide(ranges, steps, out=np.zeros(len(steps)), where=steps > 0)


def without_ties(sample: Sample) -> Sample:
    """Return a sample whose points are compared, without copies of rows and without a lattice.

    Bounded scales are drawn, and other counts and ratings are spread evenly over their steps. Where many rows are
    equal, rounded values of any number are spread. Spread columns keep their means and standard deviations.
    """
    sample, many_equal = without_copies(sample)
    sample = with_drawn_scales(sample)
    discrete = spread(sample, ROUNDED if many_equal else MOST_VALUES)
    if not discrete.changes_columns:
        return sample
    rows = discrete.jittered(sample.rows, sample.hashes)
    columns = np.union1d(discrete.jitter.columns, discrete.uneven.columns)
    found, mean = rows[:, columns], sample.rows[:, columns].mean(axis=0, dtype=np.float64)
    shrunk = sample.rows[:, columns].std(axis=0, dtype=np.float64) / found.std(axis=0)
    rows[:, columns] = mean + (found - mean) * shrunk
    return sample._replace(rows=rows)


def atom_in(sample: Sample, n_rows: int, min_rows: float) -> float:
    """Return how many equal sample rows are a cluster by themselves: as many as any cluster has, and as is usual."""
    return max(min_rows, sqrt(n_rows)) * len(sample.rows) / n_rows


def without_copies(sample: Sample, atom: float = np.inf) -> tuple[Sample, bool]:
    """Return a sample without copies of rows, and whether many of its rows are equal as they are rounded.

    Copies of a row say nothing more than the row: the first one is kept. Rounded rows are equal where there are many,
    so all of them count.

    atom: as many equal rows are a cluster by themselves, and are all kept.
    """
    if _certainly_different(sample.rows) >= FEW_COPIES * len(sample.rows):
        return sample, False
    _, first, place, times = np.unique(sample.rows, axis=0, return_index=True, return_inverse=True, return_counts=True)
    if len(first) >= FEW_COPIES * len(sample.rows):
        return sample, False
    repeated, gaps = sample.rows[first[times > 1]].astype(np.float64), smallest_gaps(sample.rows, BETWEEN_STEPS)
    columns, steps, *_ = uneven_in(sample).rounded
    np.maximum.at(gaps, columns, steps)
    pairs_of_values = np.floor((repeated - sample.rows.min(axis=0)) / np.where(gaps > 0, 2 * gaps, 1) + 1e-6)
    # Rounding makes rows equal where other rows are only a step away. Rows that occur more than once are copies
    # if at least this share of them stay different when every two neighbouring values are joined.
    if len(distinct(pairs_of_values)) < 0.75 * len(repeated):
        return sample, True
    kept = times[place.ravel()] >= atom
    kept[first] = True
    return (sample if kept.all() else sample.take(np.flatnonzero(kept))), False


def _certainly_different(rows: AnyArray) -> int:
    """Return a number of rows that differ, in less time than sorting them takes: equal ones have the same sum."""
    rng, sums = np.random.default_rng(0), np.zeros(len(rows))
    with np.errstate(over="ignore", invalid="ignore"):
        for column in rows.T:  # a product may differ in the last bits for equal rows
            sums += column * rng.normal()
    return len(np.unique(sums))


def with_drawn_scales(sample: Sample) -> Sample:
    """Return a sample with the values of bounded scales drawn from what could have been rounded to them.

    The coarsely rounded columns whose counts have one mode, which is not at an end, are the scales. Their values are
    drawn from a normal distribution of all scales, given the level of each value (data augmentation by Gibbs sampling,
    as in Albert and Chib, Bayesian analysis of binary and polychotomous response data, JASA 88, 1993). No value leaves
    its step, except beyond the ends. A sample with fewer than two scales is returned as it is.
    """
    jitter, _ = jitter_of(sample, MOST_VALUES)
    scales = [i for i, j in enumerate(jitter.columns) if _is_scale(sample.rows[:, j], float(jitter.steps[i]))]
    if len(scales) < 2:
        return sample
    scales.sort(key=lambda i: int(jitter.keys[i]))  # the same draws for permuted columns
    rows = sample.rows.astype(np.float64)
    # More scales are drawn in parts: the covariance of as many scales as rows fits noise, so that the ends of
    # 500 were two clusters of 600 rows, and takes memory with their square. So many ratings tell where a row
    # lies without the others.
    for part in np.array_split(scales, -(-len(scales) // 100)):
        own = Jitter._make(of_columns[part] for of_columns in jitter)
        rows[:, own.columns] = _drawn(rows[:, own.columns], sample.hashes, own)
    return sample._replace(rows=rows)


def _is_scale(values: Floats, step: float) -> bool:
    values = values.astype(np.float64)  # differences of small integers wrap
    counts = np.bincount(np.rint((values - values.min()) / step).astype(np.int64))
    mode = int(counts.argmax())
    if mode in (0, len(counts) - 1):
        return False
    rises, errors = np.diff(counts), 4.0 * np.sqrt(counts[1:] + counts[:-1])  # in standard errors
    return bool((rises[:mode] >= -errors[:mode]).all() and (rises[mode:] <= errors[mode:]).all())


def _drawn(values: Floats, hashes: Integers, scales: Jitter) -> Floats:
    """Return values of scales, drawn column by column."""
    low = np.where(values == values.min(axis=0), -np.inf, values - scales.steps / 2)
    high = np.where(values == values.max(axis=0), np.inf, values + scales.steps / 2)
    drawn = values.copy()
    # Draws of every column given all others. After 8, more than half of clouds of 2000 correlated ratings were
    # split.
    for sweep in range(30):
        mean, covariance = drawn.mean(axis=0), np.atleast_2d(np.cov(drawn.T))
        precision = np.linalg.inv(covariance + 1e-3 * np.diag(np.diag(covariance)))  # columns may be collinear
        for j in range(values.shape[1]):
            weights = -precision[j] / precision[j, j]
            weights[j] = 0
            given = mean[j] + (drawn - mean) @ weights
            at = uniform_by(hashes, scales.keys[j], sweep)
            drawn[:, j] = _between(given, precision[j, j] ** -0.5, low[:, j], high[:, j], at)
    return drawn


def _between(mean: Floats, deviation: float, low: Floats, high: Floats, at: Floats) -> Floats:
    """Return the values of normal distributions between bounds that have a share `at` of them on their outer side.

    That is the side of the bound farther from the mean: reflected bounds have reflected values.
    """
    # The upper half of a distribution is drawn as the lower one of its reflection, where shares are exact.
    sign = np.where((low + high) / 2 > mean, -1, 1)
    ends = np.sort(np.stack([(low - mean) * sign, (high - mean) * sign]) / deviation, axis=0)
    shares = ndtr(ends)
    share = shares[0] + at * (shares[1] - shares[0])
    # Logarithms of smaller shares overflow.
    return np.clip(mean + sign * deviation * ndtri(np.maximum(share, 1e-12)), low, high)
