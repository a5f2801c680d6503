"""Values that rows share unevenly: inches in centimetres, middles of brackets that widen, and round numbers.

Between such values lie gaps, or numbers that fewer rows have. Neither is a valley.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .._jit.hashing import NO_JITTER, Jitter, hash_again, independent_jitter
from .._random import uniform_of
from .._storable import storable
from .._typing import AnyArray, Booleans, Floats, Integers
from .passes import Sample

FEWEST_VALUES = 3
"""Fewest values of a lattice. Two values are codes."""

ROWS_FOR_STEPS, ROWS_FOR_VALUES = 2000, 10_000
"""Number of sample rows that show the steps of columns, and whose values are checked."""

SHARED, UNEVEN = 4, 1.5
"""Values are uneven if on average so many rows share one, and if both the mean distance of values and the median
distance of rows to the nearer neighbouring value exceed so many steps of the lattice that holds all values, if there
is one. On a lattice with few holes the former is about one step, and in groups of neighbouring values, which may be
clusters, the latter is. Centimetres that were inches are uneven: spread over steps of a tenth, they would leave gaps.
"""

EVENLY_SPACED = 0.95
"""Values are evenly spaced if at least this share of the rows have those of a lattice. Others are measured otherwise,
or fill in what is missing."""

MOST = 0.9
"""At least this share of the rows have values that count as neighbours of others: the most frequent ones. Densities
along lines are smoothed as wide as the gaps beside this share of the rows need; the others may lie between clusters."""

SMOOTHS_STEPS = 0.6
"""The ripple of normal kernels with this bandwidth, in units of their distance, is ``2 exp(-2 pi^2 0.6^2)``: 0.2 %."""

FEW_SHARED = 0.9
"""In columns with a larger share of different values, rows share too few."""

ROUND, ERRORS = 2, 3.0
"""A number is round if more than so many times as many rows have it as have either neighbouring value, by at least so
many standard errors of the difference."""

FOUND_ON_LATTICE, BETWEEN = 0.9, 0.25
"""At least this share of the rows of round numbers have evenly spaced ones, and at least this share of the rows between
them lie in the middle halves of the gaps. Tight clusters of rounded values have few rows there."""

MOST_COLUMNS = 100
"""In more columns, rows that share a value of one differ enough in the others."""


@storable
class Uneven(NamedTuple):
    """How values of columns are spread."""

    spacing: Jitter
    """Columns of uneven values, and a distance that `MOST` rows do not exceed to their farther neighbouring value."""
    values: Floats
    """The values of these columns, one column after the other, shape (n_values,)."""
    spans: Floats
    """How far rows with each value are spread below and above it, shape (n_values, 2)."""
    start: Integers
    """Where the values of each column begin, and their number, shape (n_columns + 1,)."""
    rounded: Jitter
    """Columns with round numbers, which are spread evenly over their steps; more than one entry for round numbers of
    several steps, the largest one last."""
    places: Floats
    """One of the round numbers of each entry."""
    shares: Floats
    """Shares of the rows with round numbers that are spread: as many as have been rounded."""

    def __bool__(self) -> bool:
        """Return whether any values are spread."""
        return bool(self.spacing) or bool(self.rounded)

    @property
    def columns(self) -> Integers:
        """The columns whose values are spread."""
        return np.union1d(self.spacing.columns, self.rounded.columns)

    def spread(self, rows: AnyArray, found: Floats, hashes: Integers) -> None:
        """Add to `found` what spreads the values of raw rows by their hashes."""
        for j, key, (one, end) in zip(self.spacing.columns, self.spacing.keys, pairwise(self.start)):
            values = self.values[one:end]
            nearest = np.searchsorted((values[:-1] + values[1:]) / 2, rows[:, j])
            below, above = self.spans[one:end][nearest].T
            found[:, j] += _turned(uniform_by(hashes, key, 1), key) * (below + above) - below
        shift = {j: np.zeros(len(rows)) for j in self.rounded.columns.tolist()}
        for j, step, key, place, share in zip(*self.rounded[:3], self.places, self.shares):
            chosen = on_lattice(rows[:, j], step, place) & (uniform_by(hashes, key, 2) < share)
            offset = _turned(uniform_by(hashes, key, 3), key) - 0.5
            shift[int(j)] = np.where(chosen, step * offset, shift[int(j)])
        for j, own in shift.items():
            found[:, j] += own


EVEN = Uneven(
    NO_JITTER, np.empty(0), np.empty((0, 2)), np.zeros(1, dtype=np.int64), NO_JITTER, np.empty(0), np.empty(0)
)


def uneven_in(sample: Sample) -> Uneven:
    """Return which values of raw rows are shared unevenly."""
    some, more = sample.first(ROWS_FOR_STEPS), sample.first(ROWS_FOR_VALUES)
    spaced, rounded = [], []
    n_columns = some.rows.shape[1]
    for j in range(n_columns) if n_columns <= MOST_COLUMNS else ():
        values, number, counts = np.unique(some.rows[:, j], return_inverse=True, return_counts=True)
        if len(values) > FEW_SHARED * len(number):
            continue
        key, values = key_of(some.hashes, number), values.astype(np.float64)
        lattices = round_numbers(more.rows[:, j].astype(np.float64))
        rounded += [(j, key, lattice) for lattice in lattices]
        if not lattices and is_uneven(values, counts):
            spaced.append((j, key, values, gaps_beside(values, counts), counts))
    spacing = jitter_from([(j, _quantile(gaps.max(axis=1), counts, MOST), key) for j, key, _, gaps, counts in spaced])
    places, shares = np.array([(lattice.place, lattice.share) for _, _, lattice in rounded]).reshape(-1, 2).T
    return Uneven(
        spacing=spacing,
        values=np.concatenate([np.empty(0), *(values for _, _, values, _, _ in spaced)]),
        spans=np.concatenate([np.empty((0, 2)), *(gaps / 2 for _, _, _, gaps, _ in spaced)]),
        start=np.cumsum([0, *(len(values) for _, _, values, _, _ in spaced)]),
        rounded=jitter_from([(j, lattice.step, key) for j, key, lattice in rounded]),
        places=places,
        shares=shares,
    )


def jitter_from(entries: list[tuple[int, float, np.uint64]]) -> Jitter:
    """Return columns with their steps and keys as arrays."""
    columns, steps, keys = zip(*entries) if entries else ((), (), ())
    arrays = np.array(columns, dtype=np.int64), np.array(steps, dtype=np.float64), np.array(keys, dtype=np.uint64)
    return independent_jitter(*arrays)


def key_of(hashes: Integers, numbers: Integers) -> np.uint64:
    """Return the key of a column by the numbers of its values, from zero on, whatever its place.

    Columns with the same numbers are spread together, and with the numbers in reverse, as years of birth and ages, in
    opposite directions: spread by themselves, their rows would lie in boxes along a line, with gaps between them. The
    last bit of the key says which way.
    """
    both_ways = numbers, numbers.max(initial=0) - numbers
    up, down = ((hashes * (own + 1).astype(np.uint64)).sum(dtype=np.uint64) for own in both_ways)
    return np.uint64(min(up, down) >> np.uint64(1) << np.uint64(1) | np.uint64(up > down))


def uniform_by(hashes: Integers, key: np.uint64, stream: int) -> Floats:
    """Return a uniform number for each row by the key of a column, the same for its reverse."""
    return uniform_of(hash_again(hashes ^ (key >> np.uint64(1)), stream))


def _turned(uniform: Floats, key: np.uint64) -> Floats:
    return 1 - uniform if key & np.uint64(1) else uniform


def is_uneven(values: Floats, counts: Integers) -> bool:
    """Return whether values, in ascending order, lie unevenly, and enough rows share them."""
    if len(values) < FEWEST_VALUES or counts.sum() < SHARED * len(values):
        return False
    distances, nearer = np.diff(values), gaps_beside(values, counts).min(axis=1)
    shared = values[counts > 1]
    step = float(np.diff(shared).min(initial=np.inf))
    evenly = counts[on_lattice(values, step, values[counts.argmax()])].sum() >= EVENLY_SPACED * counts.sum()
    step = step if evenly else 0.0
    return min(float(distances.mean()), _quantile(nearer, counts, 0.5)) > UNEVEN * step


def _quantile(values: Floats, counts: Integers, share: float) -> float:
    order = np.argsort(values, kind="stable")
    return float(values[order][np.searchsorted(np.cumsum(counts[order]), share * counts.sum())])


def gaps_beside(values: Floats, counts: Integers) -> Floats:
    """Return the distance of each value to its neighbours below and above, at the ends to the only one.

    Values that only a few rows have are no neighbours, but those at the ends. All distances are zero if fewer than
    `FEWEST_VALUES` are left.

    >>> gaps_beside(np.array([9.0, 16, 25, 26, 35]), np.array([40, 40, 40, 2, 40])).tolist()
    [[7.0, 7.0], [7.0, 9.0], [9.0, 10.0], [1.0, 9.0], [10.0, 10.0]]
    """
    ascending = np.sort(counts)
    least = ascending[np.searchsorted(np.cumsum(ascending), (1 - MOST) * counts.sum(), side="right")]
    frequent = values[counts >= least]
    frequent = values[(counts >= least) | (values < frequent[0]) | (values > frequent[-1])]
    if len(frequent) < FEWEST_VALUES:
        return np.zeros((len(values), 2))
    below, above = np.searchsorted(frequent, values) - 1, np.searchsorted(frequent, values, side="right")
    to_low, to_high = values - frequent[np.maximum(below, 0)], frequent[np.minimum(above, len(frequent) - 1)] - values
    to_low = np.where(below < 0, to_high, to_low)
    return np.stack([to_low, np.where(above == len(frequent), to_low, to_high)], axis=1)


class Lattice(NamedTuple):
    """Round numbers of a column."""

    step: float
    place: float
    """One of them."""
    share: float
    """The share of their rows that has been rounded: without these, they would be as frequent as their neighbours."""


def round_numbers(column: Floats) -> list[Lattice]:
    """Return the round numbers of a column, in the order of their steps.

    Round numbers are evenly spaced, and more rows have them than the numbers between them: hundreds among prices, fives
    among ages. Thousands among hundreds are round again.

    Examples
    --------
    >>> ages = np.repeat(np.arange(90.0), 8)
    >>> round_numbers(np.concatenate([ages, ages // 5 * 5]))
    [Lattice(step=5.0, place=5.0, share=0.83...)]
    """
    values, counts = np.unique(column, return_counts=True)
    found: list[Lattice] = []
    while (lattice := _round_among(values, counts)) is not None:
        found.append(lattice)
        chosen = on_lattice(values, lattice.step, lattice.place)
        values, counts = values[chosen], counts[chosen]
    return found


def _round_among(values: Floats, counts: Integers) -> Lattice | None:
    """Return values more frequent than their neighbours, if they are evenly spaced and others lie between them."""
    before, after = np.append(0, counts[:-1]), np.append(counts[1:], 0)
    beside = np.maximum(before, after)
    often = (counts > ROUND * beside) & (counts - beside > ERRORS * np.sqrt(counts + beside))
    often[:1] = often[-1:] = False  # an end of the range may stand for all values beyond it
    if np.count_nonzero(often) < FEWEST_VALUES:
        return None
    step, place = float(np.median(np.diff(values[often]))), float(values[often][counts[often].argmax()])
    chosen = on_lattice(values, step, place)
    on = often & chosen
    if np.count_nonzero(on) < FEWEST_VALUES or counts[on].sum() < FOUND_ON_LATTICE * counts[often].sum():
        return None
    low, high = values[often][[0, -1]]
    others = ~chosen & (values > low) & (values < high)
    middle = others & (np.abs((values - place) / step % 1 - 0.5) <= 0.25)
    if counts[middle].sum() < max(BETWEEN * counts[others].sum(), 1):
        return None
    return Lattice(step, place, 1 - float((before + after)[on].sum() / (2 * counts[on].sum())))


def on_lattice(values: AnyArray, step: float, place: float) -> Booleans:
    """Return which values are so many steps from a place, as tenths in single precision are."""
    exact = (values.astype(np.float64) - place) / step
    found: Booleans = np.abs(exact - np.rint(exact)) <= 1e-3
    return found
