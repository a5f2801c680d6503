"""The dip statistic: how far a distribution function is from the nearest unimodal one (Hartigan and Hartigan 1985).

For a sample it equals `dip` of the R package diptest. For a histogram, each bin's rows are spread evenly
over the bin: with all of them at its centre every bin would look like a mode, and the dip could not fall
below half of the second largest bin, which with many rows is significant.
"""

import numpy as np

from .._jit.dip import dip_of_masses, dips_of_histograms
from .._typing import AnyArray, Floats


def dip_of_sample(x: AnyArray, weights: AnyArray | None = None) -> float:
    """Return the dip statistic of a sample.

    Parameters
    ----------
    x : array of shape (n_rows,)
        Finite values in any order, ties allowed.
    weights : array of shape (n_rows,), optional
        How often each value was observed, not negative; once each by default.

    Returns
    -------
    float
        The largest distance between the empirical distribution function and the nearest unimodal one, between 1/(2n)
        and 1/4 for n > 1 observations; 1/(2n) for a sample without any sign of a second mode.

    Raises
    ------
    ValueError
        If `x` is not one-dimensional, is empty or is not finite, or if `weights` has another shape.

    Notes
    -----
    Equivalent to ``dip(x)`` of the R package diptest.

    References
    ----------
    J. A. Hartigan, P. M. Hartigan: The dip test of unimodality. Annals of Statistics 13 (1985), 70-84, section 4.

    Examples
    --------
    >>> dip_of_sample([1, 2, 3, 4])
    0.125
    >>> dip_of_sample([0, 0, 1, 1])
    0.25
    """
    values = np.asarray(x, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"x must be one-dimensional, got shape {values.shape}; pass one projection at a time")
    masses = np.ones(len(values)) if weights is None else _non_negative(weights, "weights")
    if masses.shape != values.shape:
        raise ValueError(f"weights must have the shape of x, {values.shape}, got {masses.shape}")
    if not np.isfinite(values).all():
        raise ValueError(f"x must be finite, got {(~np.isfinite(values)).sum()} NaN or infinite values; remove them")
    values, masses = values[masses > 0], masses[masses > 0]
    if len(values) == 0:
        raise ValueError("x must hold at least one observation, got none")
    positions, place = np.unique(values, return_inverse=True)
    dip = dip_of_masses(positions, np.bincount(place, weights=masses))
    return max(float(dip), 0.5 / float(masses.sum()))


def dip_of_counts(counts: AnyArray) -> Floats:
    """Return the dip of each of a stack of histograms.

    Parameters
    ----------
    counts : array of shape (..., n_bins)
        Integer or float counts in bins of equal width, finite and non-negative. Leave out outermost bins that count
        all rows beyond the range: a tail squeezed into one bin looks like a mode.

    Returns
    -------
    array of shape (...), float64
        The dip of the distribution with the histogram as its density, from 0 (unimodal, or empty) to 1/4. It does
        not depend on the bin width or the unit of the counts. It never exceeds the dip of the rows themselves,
        and falls short of it by at most the largest bin's share of the rows.

    Raises
    ------
    ValueError
        If there is no bin, or a count is negative or not finite.

    References
    ----------
    J. A. Hartigan, P. M. Hartigan: The dip test of unimodality. Annals of Statistics 13 (1985), 70-84.

    Examples
    --------
    >>> dip_of_counts([[1, 5, 3, 2], [5, 0, 0, 5]]).round(4)
    array([0.    , 0.1667])
    """
    stack = _non_negative(counts, "counts")
    if stack.ndim == 0 or stack.shape[-1] == 0:
        raise ValueError(f"counts must have shape (..., n_bins) with at least one bin, got {stack.shape}")
    dips = dips_of_histograms(stack.reshape(-1, stack.shape[-1]))
    return dips.reshape(stack.shape[:-1])[()]


def _non_negative(values: AnyArray, name: str) -> Floats:
    array = np.ascontiguousarray(values, dtype=np.float64)
    # Written so that NaN fails too.
    if not (array.min(initial=0.0) >= 0.0 and array.max(initial=0.0) < np.inf):
        raise ValueError(f"{name} must be finite and not negative, got values from {array.min()} to {array.max()}")
    return array.reshape(np.shape(values))
