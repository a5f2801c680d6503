"""Shift and scale of the columns, from the first pass or a sample."""

from dataclasses import dataclass, field, replace
from math import ceil

import numpy as np

from .._blas import one_blas_thread
from .._jit.hashing import Jitter, jitter_rows
from .._jit.rows import few_at_once
from .._levels import LevelFeatures
from .._storable import storable
from .._typing import AnyArray, Floats, Integers
from ..projections.directions import RawDirections, StandardDirections
from ..valleys.graph import NEIGHBOURS, nearest_others
from .bounds import without_far_rows
from .discrete import Discrete, discrete_of
from .passes import Columns, Sample
from .redundant import redundant_columns

MODERATE = 10
"""Columns that are not scaled are all multiplied by one power of two if the largest standard deviation is above
``2^10`` or below ``2^-10``, as powers of densities would overflow and sums lose too many digits."""

ROWS_TO_TRIM = 20
"""With fewer rows, none can be recognised as far from the others."""

NEAR_ROWS, ROUNDS = 2000, 3
"""Rows among which near ones are sought, and how often: other rows are near after columns were scaled."""


@storable
@dataclass(frozen=True)
class Standardiser:
    """Shift and scale of the columns.

    centre, scale (n_features,): rows become ``(x - centre) * scale``; a scale of zero drops a column.
    discrete: columns of few values.
    unit: the power of two by which columns that are not scaled are multiplied; see `MODERATE`.
    """

    centre: Floats
    scale: Floats
    discrete: Discrete = field(default_factory=Discrete)
    unit: float = 1.0

    def __call__(self, rows: AnyArray) -> AnyArray:
        """Return the standardised rows, in float32 if it holds all their digits, else in float64.

        The same integers are standardised alike in any dtype.
        """
        factors = self.scale[self.scale > 0]
        moderate = bool(((factors < 2.0**100) & (factors > 2.0**-100)).all())  # else float32 may overflow
        dtype = np.float32 if moderate and fits_single(rows) else np.float64
        standard: AnyArray = rows.astype(dtype)
        standard -= self.centre.astype(dtype)
        standard *= self.scale.astype(dtype)
        return standard

    def exactly(self, rows: AnyArray) -> Floats:
        """Return the standardised rows in float64, for methods that compare distances."""
        return (rows - self.centre) * self.scale + 0.0  # no negative zeros, so that equal rows have equal bits

    def jittered(self, rows: AnyArray, hashes: Integers) -> AnyArray:
        """Return standardised rows with the values of coarsely rounded columns jittered by the rows' hashes."""
        standard, jitter = self(rows), self.discrete.jitter
        if jitter:
            jitter_rows(standard, hashes, self._standard(jitter))
        return standard

    def _standard(self, jitter: Jitter) -> Jitter:
        """Return a jitter of raw rows for standardised ones."""
        own, by = self.scale[jitter.columns], self.scale[jitter.leaders]
        leaders = np.where((by > 0) & (own > 0), jitter.leaders, -1)  # dropped columns neither lead nor follow
        places = (jitter.places + jitter.slopes * self.centre[jitter.leaders] - self.centre[jitter.columns]) * own
        slopes = jitter.slopes * own / np.where(by > 0, by, 1)
        errors = np.where(own > 0, jitter.errors * own, 1)
        return Jitter(jitter.columns, jitter.steps * own, jitter.keys, leaders, slopes, places, errors)

    def bandwidth_along(self, directions: StandardDirections) -> Floats:
        """Return the least bandwidths along directions that hide the steps and levels of columns of few values."""
        return self.discrete.bandwidth_along(self.raw(directions).vectors)

    def without(self, columns: Integers) -> "Standardiser":
        """Return a standardiser that drops some columns."""
        scale = self.scale.copy()
        scale[columns] = 0.0
        return replace(self, scale=scale)

    @property
    def dropped(self) -> Integers:
        """The columns that are dropped."""
        return np.flatnonzero(self.scale == 0)

    def raw(self, directions: StandardDirections) -> RawDirections:
        """Return the same directions for raw rows, whose projections differ by `shift_along`."""
        return RawDirections(directions.vectors.astype(np.float64) * self.scale)

    def standard(self, directions: RawDirections) -> StandardDirections:
        """Return the same directions for standardised rows, without the dropped columns."""
        used = np.broadcast_to(self.scale > 0, directions.vectors.shape)
        return StandardDirections(
            np.divide(directions.vectors, self.scale, out=np.zeros(directions.vectors.shape), where=used)
        )

    def shift_along(self, directions: RawDirections) -> Floats:
        """Return the difference between projections of raw rows and of standardised rows."""
        return directions.vectors @ self.centre


def fits_single(rows: AnyArray) -> bool:
    """Return whether float32 holds all digits of the rows, by their dtype or as they are integers.

    >>> fits_single(np.array([[1.0, 2.0]])), fits_single(np.array([[1.0, 0.5]])), fits_single(np.array([[2**24 + 1]]))
    (True, False, False)
    """
    if np.can_cast(rows.dtype, np.float32):
        return True
    # Integers below 2^24 are exact in float32. Most rows that are not integers show it among the first.
    return all(bool(((np.rint(part) == part) & (part > -(2**24)) & (part < 2**24)).all()) for part in (rows[:16], rows))


def standardiser(
    columns: Columns,
    sample: Sample,
    scale: bool,
    *,
    discrete: bool = False,
    levels: LevelFeatures | None = None,
    least_share: float | None = None,
) -> Standardiser:
    """Return the shift and scale of the columns from their moments.

    Shift and scale are rounded to a few bits, as the last bits of sums depend on the chunking, but the tree must not.
    Constant columns are dropped. With `discrete`, as for trees, columns of few values are found, unless their `levels`
    are known, and those that others tell are dropped, see `redundant_columns`; jittered columns are scaled by the
    deviation of the jittered values, which is much larger in a column that is nearly always zero; and columns that are
    not scaled are multiplied as in `MODERATE`. Far rows are excluded, as by `without_far_rows` for that `least_share`.
    """
    columns, sample = without_far_rows(columns, sample, least_share)
    sd = np.sqrt(columns.deviations / max(columns.n, 1))
    constant = ~(columns.high > columns.low) | (sd <= 1e-12 * np.maximum(np.abs(columns.low), np.abs(columns.high)))
    told = redundant_columns(sample) if discrete and levels is None else np.empty(0, dtype=np.int64)
    found = discrete_of(sample.without(told), levels) if discrete else Discrete()
    sd[found.jitter.columns] = np.hypot(sd[found.jitter.columns], found.jitter.steps / np.sqrt(12))
    sd = np.where(constant, 1.0, to_few_bits(sd))
    centre = np.rint(columns.mean / sd * 16) / 16 * sd
    unit = _moderate_unit(sd[~constant]) if discrete and not scale else 1.0
    return Standardiser(centre, np.where(constant, 0.0, 1 / sd if scale else unit), found, unit).without(told)


def robust_standardiser(rows: AnyArray, scale: bool) -> Standardiser:
    """Return the shift and scale of the columns of a sample, which a single far row does not change.

    A constant column has scale zero. If `scale` is False, all others have scale one.
    """
    ordered = np.sort(rows.astype(np.float64), axis=0)
    clipped = _trimmed(ordered, ordered)
    sd = np.where(clipped.std(axis=0) > 0, clipped.std(axis=0), ordered.std(axis=0))
    constant = sd <= 1e-12 * np.abs(clipped).max(axis=0)
    sd = np.where(constant, 1.0, to_few_bits(sd))
    centre = np.rint(clipped.mean(axis=0) / sd * 16) / 16 * sd
    return Standardiser(centre, np.where(constant, 0.0, 1 / sd if scale else 1.0))


@one_blas_thread()  # the last bits of distances decide which rows are near
def near_standardiser(sample: Sample, scale: bool) -> Standardiser:
    """Return a `robust_standardiser` whose columns are also scaled by how far near rows are apart in them.

    Near rows are mostly of one cluster, while the standard deviation of a column includes the distances between
    clusters: a column would count the less, the farther it tells clusters apart. Columns in which most near rows are
    equal keep their standard deviation, as levels have no density. Columns that others tell are dropped.

    Source: D. Art, R. Gnanadesikan and J. Kettenring, Data-based metrics for cluster analysis, Utilitas Mathematica 21A
    (1982), here for single columns.
    """
    rows = sample.rows
    frame = robust_standardiser(rows, scale).without(redundant_columns(sample))
    used = frame.scale > 0
    if not scale or len(rows) < ROWS_TO_TRIM or np.count_nonzero(used) < 2:
        return frame
    points = frame.exactly(rows[:NEAR_ROWS])[:, used]
    points = _trimmed(points, np.sort(points, axis=0))
    factors = np.ones(points.shape[1])
    for _ in range(ROUNDS):
        apart, equal = _near_differences(points * factors)
        free = (equal < 0.5) & (apart > 0)
        if not free.any():
            return frame
        factors /= np.where(free, apart / np.median(apart[free]), 1.0)
    scales = frame.scale.copy()
    scales[used] *= to_few_bits(factors)
    return replace(frame, scale=scales)


def _near_differences(points: Floats) -> tuple[Floats, Floats]:
    """Return the root mean square by which near rows differ in each column, and the share that does not."""
    near, _ = nearest_others(points, min(NEIGHBOURS, len(points) - 1))
    squares, equal = np.zeros((2, points.shape[1]))
    for part in few_at_once(points.shape[1], 64):  # of more columns, differences would not stay in the cache
        own = np.ascontiguousarray(points[:, part])
        for others in near.T:
            apart = own - own[others]
            squares[part] += np.square(apart).sum(axis=0)
            equal[part] += np.count_nonzero(apart == 0, axis=0)
    return np.sqrt(squares / near.size), equal / near.size


def _trimmed(rows: Floats, ordered: Floats) -> Floats:
    """Return rows with the values at either end of a column clipped to the next, by the ordered columns."""
    # Half a percent at either end, none of few rows: no row of these can be recognised as far from the others.
    n = len(ordered)
    trimmed = ceil(0.005 * n) if n >= ROWS_TO_TRIM else 0
    return rows.clip(ordered[trimmed], ordered[n - 1 - trimmed])


def _moderate_unit(sd: Floats) -> float:
    exponent = int(np.frexp(sd.max(initial=0.0))[1])
    return float(np.ldexp(1.0, -exponent)) if abs(exponent) > MODERATE else 1.0


FEW_BITS = 12


def to_few_bits(x: Floats) -> Floats:
    """Return numbers rounded to `FEW_BITS` bits of their mantissas."""
    mantissa, exponent = np.frexp(x)
    return np.ldexp(np.rint(np.ldexp(mantissa, FEW_BITS)), exponent - FEW_BITS)
