"""Shift, scale and resolution of the columns, from the first pass."""

from dataclasses import dataclass

import numpy as np

from .._jit.lattices import NO_LATTICES, Lattices, spread_rows
from .._levels import LevelFeatures, TwoValued
from .._storable import storable
from .._typing import AnyArray, Floats, Integers
from ..projections.directions import RawDirections, StandardDirections
from .bounds import without_far_rows
from .lattices import MOST_LEVELS, lattices_in
from .passes import Columns, Sample
from .two_valued import two_valued_in

ROWS_FOR_RESOLUTION = 2000

SMOOTHS_A_LATTICE = 0.6
"""A Gaussian kernel of this many lattice constants leaves a ripple of ``2 exp(-2 pi^2 0.6^2)``, 0.2 %."""

SMOOTHS_LEVELS = 0.5
"""Two equal normal kernels with this bandwidth, in units of their distance, have a single mode: two levels of one
column are not two clusters, however many rows have either. Valleys remain where several columns change together."""

MODERATE = 10
"""Columns that are not scaled are all multiplied by one power of two if the largest standard deviation is above
``2^10`` or below ``2^-10``, as powers of densities would overflow and sums lose too many digits."""

FIRST_ROWS = 16
"""Number of rows that are checked for integers before all rows are."""

LARGEST_INTEGER = 2**24
"""Integers below this are exact in float32."""

SINGLE = 2.0**100
"""Rows are standardised in float32 only by factors between this and its inverse."""


@storable
@dataclass(frozen=True)
class Standardiser:
    """Shift, scale and resolution of the columns.

    Parameters
    ----------
    centre, scale : arrays of shape (n_features,)
        Rows become ``(x - centre) * scale``; a scale of zero drops a column.
    resolution : array of shape (n_features,)
        Step between neighbouring values of a finely rounded column, such as one of 256 grey levels; otherwise zero.
    unit : float
        The power of two by which columns that are not scaled are multiplied; see `MODERATE`.
    lattices : Lattices
        Coarsely rounded columns, such as counts and ratings, whose values are spread to score and count rows.
    levels : LevelFeatures, TwoValued or None
        Where the levels of single columns lie, if the rows are features of mixed columns; otherwise the two-valued
        columns.
    """

    centre: Floats
    scale: Floats
    resolution: Floats
    unit: float = 1.0
    lattices: Lattices = NO_LATTICES
    levels: LevelFeatures | TwoValued | None = None

    def __call__(self, rows: AnyArray) -> AnyArray:
        """Return the standardised rows, in float32 if it holds all their digits, else in float64.

        The same integers are standardised alike in any dtype.
        """
        factors = self.scale[self.scale > 0]
        moderate = bool(((factors < SINGLE) & (factors > 1 / SINGLE)).all())
        dtype = np.float32 if moderate and fits_single(rows) else np.float64
        standard: AnyArray = rows.astype(dtype)
        standard -= self.centre.astype(dtype)
        standard *= self.scale.astype(dtype)
        return standard

    def spread(self, rows: AnyArray, hashes: Integers) -> AnyArray:
        """Return standardised rows with the values of `lattices` spread over their steps by the rows' hashes."""
        standard = self(rows)
        if self.lattices:
            scaled = self.lattices._replace(steps=self.lattices.steps * self.scale[self.lattices.columns])
            spread_rows(standard, hashes, scaled)
        return standard

    @property
    def steps(self) -> Floats:
        """Steps of the columns of `lattices`, zero for all others, shape (n_features,)."""
        steps = np.zeros(len(self.scale))
        steps[self.lattices.columns] = self.lattices.steps
        return steps

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

    def resolution_of(self, directions: RawDirections) -> Floats:
        """Return the least bandwidth along directions that smooths out the rounding of the columns and single levels.

        Rounded values lie on a lattice; with a smaller bandwidth the gaps between its points look like valleys.
        """
        rounding = SMOOTHS_A_LATTICE * np.sqrt(directions.vectors**2 @ self.resolution**2)
        if self.levels is None:
            return rounding
        return np.maximum(rounding, SMOOTHS_LEVELS * self.levels.widths_along(directions.vectors))


def fits_single(rows: AnyArray) -> bool:
    """Return whether float32 holds all digits of the rows, by their dtype or as they are integers.

    Examples
    --------
    >>> fits_single(np.array([[1.0, 2.0]])), fits_single(np.array([[1.0, 0.5]])), fits_single(np.array([[2**24 + 1]]))
    (True, False, False)
    """
    if np.can_cast(rows.dtype, np.float32):
        return True
    # Most rows that are not integers show it at once.
    return all(
        bool(((np.rint(part) == part) & (part > -LARGEST_INTEGER) & (part < LARGEST_INTEGER)).all())
        for part in (rows[:FIRST_ROWS], rows)
    )


def standardiser(
    columns: Columns,
    sample: Sample,
    scale: bool,
    *,
    moderate: bool = False,
    spread: bool = False,
    least_share: float | None = None,
) -> Standardiser:
    """Return the shift, scale and resolution of the columns.

    Shift and scale are rounded to a few bits, as the last bits of sums depend on the chunking, but the tree must not.
    Constant columns are dropped. With `moderate`, columns that are not scaled are multiplied as in `MODERATE`.
    With `spread`, two-valued columns and coarse lattices are found; lattices are scaled by the deviation of the spread
    values, which is much larger in a column that is nearly always zero. Far rows are excluded, as by `without_far_rows`
    for that `least_share`.
    """
    columns, sample = without_far_rows(columns, sample, least_share)
    sd = np.sqrt(columns.deviations / max(columns.n, 1))
    constant = ~(columns.high > columns.low) | (sd <= 1e-12 * np.maximum(np.abs(columns.low), np.abs(columns.high)))
    step = smallest_gaps(sample.rows[np.argsort(sample.hashes, kind="stable")[:ROWS_FOR_RESOLUTION]])
    lattices = lattices_in(sample, np.where(constant, 0.0, step)) if spread else NO_LATTICES
    sd[lattices.columns] = np.hypot(sd[lattices.columns], lattices.steps / np.sqrt(12))
    sd = np.where(constant, 1.0, rounded(sd))
    centre = np.rint(columns.mean / sd * 16) / 16 * sd
    step[columns.high - columns.low < MOST_LEVELS * step] = 0.0
    step[lattices.columns] = 0.0
    unit = _moderate_unit(sd[~constant]) if moderate and not scale else 1.0
    levels = two_valued_in(sample) if spread else None
    return Standardiser(centre, np.where(constant, 0.0, 1 / sd if scale else unit), step, unit, lattices, levels)


def _moderate_unit(sd: Floats) -> float:
    exponent = int(np.frexp(sd.max(initial=0.0))[1])
    return float(np.ldexp(1.0, -exponent)) if abs(exponent) > MODERATE else 1.0


def rounded(x: Floats, bits: int = 12) -> Floats:
    """Return numbers rounded to `bits` bits of their mantissas."""
    mantissa, exponent = np.frexp(x)
    return np.ldexp(np.rint(np.ldexp(mantissa, bits)), exponent - bits)


def smallest_gaps(rows: AnyArray) -> Floats:
    """Return the smallest difference between values of each column, zero for a constant one, shape (n_features,)."""
    gaps = np.diff(np.sort(rows, axis=0).astype(np.float64), axis=0)
    gaps[gaps <= 0] = np.inf
    smallest = gaps.min(axis=0, initial=np.inf)
    return np.where(np.isfinite(smallest), smallest, 0.0)
