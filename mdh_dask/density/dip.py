"""The dip statistic: how far a distribution function is from the nearest unimodal one (Hartigan and Hartigan 1985).

For a sample it equals `dip` of the R package diptest. For a histogram, each bin's rows are spread evenly
over the bin: with all of them at its centre every bin would look like a mode, and the dip could not fall
below half of the second largest bin, which with many rows is significant.
"""

from functools import lru_cache

import numpy as np

from .._jit.dip import dip_of_masses, dips_of_histograms, dips_of_spacings
from .._random import generator
from .._typing import AnyArray, Floats

REPEATS = 4000
"""Uniform samples behind a p-value; its standard error is 0.0035 at 0.05."""

EXACT_UP_TO, LARGEST_SIMULATED = 64, 1024
"""Sample sizes up to the first are simulated exactly; none larger than the second is simulated."""

SIMULATED_TOGETHER = 256


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


def dip_p_value(dip: float | Floats, n: int, repeats: int = REPEATS, seed: int = 0) -> Floats:
    """Return the probability that `n` values from a uniform distribution have a dip at least this large.

    Parameters
    ----------
    dip : float or array
        Observed dips. For the dip of a histogram the probability is an upper bound, as binning lowers the dip.
    n : int
        Number of observations, at least 1.
    repeats : int
        Number of simulated samples; the smallest p-value is ``1 / (repeats + 1)``.
    seed : int
        Seed of the simulation; the same seed gives the same p-values.

    Returns
    -------
    array of the shape of `dip`, float64

    Raises
    ------
    ValueError
        If `n` or `repeats` is less than 1.

    Notes
    -----
    The uniform distribution is asymptotically the least favourable unimodal one. The simulated dips are cached.
    Samples of more than 64 observations share the rescaled simulation of a nearby size, at most 1024.

    References
    ----------
    J. A. Hartigan, P. M. Hartigan: The dip test of unimodality. Annals of Statistics 13 (1985), 70-84, section 5.

    Examples
    --------
    >>> bool(dip_p_value(0.08, n=100) < 0.01 < 0.5 < dip_p_value(0.03, n=100))
    True
    """
    null = _null_dips(n, repeats, seed)
    # Small samples have few distinct dips; equal ones may differ in the last bit.
    below = np.searchsorted(null, np.asarray(dip, dtype=np.float64) * (1.0 - 1e-12), side="left")
    return (repeats - below + 1.0) / (repeats + 1.0)


def dip_quantile(probability: float | Floats, n: int, repeats: int = REPEATS, seed: int = 0) -> Floats:
    """Return a quantile of the dip of `n` values from a uniform distribution.

    Parameters
    ----------
    probability : float or array
        Between 0 and 1.
    n, repeats, seed : int
        As for `dip_p_value`.

    Returns
    -------
    array of the shape of `probability`, float64

    Raises
    ------
    ValueError
        If `n` or `repeats` is less than 1, or `probability` is not between 0 and 1.

    Examples
    --------
    >>> round(float(dip_quantile(0.95, n=100)), 3)
    0.051
    """
    return np.asarray(np.quantile(_null_dips(n, repeats, seed), probability))[()]


def _non_negative(values: AnyArray, name: str) -> Floats:
    array = np.ascontiguousarray(values, dtype=np.float64)
    # Written so that NaN fails too.
    if not (array.min(initial=0.0) >= 0.0 and array.max(initial=0.0) < np.inf):
        raise ValueError(f"{name} must be finite and not negative, got values from {array.min()} to {array.max()}")
    return array.reshape(np.shape(values))


def _null_dips(n: int, repeats: int, seed: int) -> Floats:
    if n < 1 or repeats < 1:
        raise ValueError(f"n and repeats must be at least 1, got n={n} and repeats={repeats}")
    size = n
    if n > EXACT_UP_TO:
        size = min(round(2.0 ** (round(4.0 * np.log2(n)) / 4.0)), LARGEST_SIMULATED)
    # All quantiles fall as 1 / (sqrt(n) + 0.64) beyond EXACT_UP_TO, to half a percent up to n = 72000.
    rescaled = 1.0 if size == n else (np.sqrt(size) + 0.64) / (np.sqrt(n) + 0.64)
    return _simulated_dips(size, repeats, seed) * rescaled


@lru_cache(maxsize=128)
def _simulated_dips(n: int, repeats: int, seed: int) -> Floats:
    stream = generator(seed, n)
    dips = [
        # Sorted uniform values have exponential spacings; the dip does not depend on location and scale.
        dips_of_spacings(
            np.maximum(stream.standard_exponential((min(SIMULATED_TOGETHER, repeats - done), n - 1)), 1e-9)
        )
        for done in range(0, repeats, SIMULATED_TOGETHER)
    ]
    return np.sort(np.maximum(np.concatenate(dips), 0.5 / n))
