"""Mergeable central moments up to the fourth; merging is exact but for rounding.

A `Moments` has one entry per column; ``merge_moments(moments_of(A), moments_of(B))`` are the moments of A
followed by B. Only deviations are raised to powers, so a large mean costs no digits.
"""

from typing import NamedTuple

import numpy as np

from .._typing import AnyArray, Floats

SLAB_VALUES = 2**15
"""Values centred at a time: 256 kB, which stay in the processor's cache."""


class Moments(NamedTuple):
    """Number of rows, mean and sums of powers of deviations from the mean, per column.

    Parameters
    ----------
    n : array of shape (n_columns,)
        Number of rows, int64 (float64 from histograms with float counts).
    mean : array of shape (n_columns,), float64
        Zero where there are no rows.
    m2, m3, m4 : arrays of shape (n_columns,), float64
        Sums over the rows of ``(x - mean) ** p``; they are not divided by `n`.
    """

    n: AnyArray
    mean: Floats
    m2: Floats
    m3: Floats
    m4: Floats


def moments_of(X: AnyArray) -> Moments:
    """Return the moments of each column of a block of rows.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns), real
        Finite values; may be empty. Sums are float64 for every dtype.

    Returns
    -------
    Moments
        Arrays of shape (n_columns,).

    Raises
    ------
    ValueError
        If `X` is not two-dimensional.

    Notes
    -----
    The block is read once, in slabs of 256 kB that are centred on their own means and merged.

    Examples
    --------
    >>> import numpy as np
    >>> moments = moments_of(np.array([[0.0], [1.0], [5.0]]))
    >>> moments.mean, moments.m2
    (array([2.]), array([14.]))
    """
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have shape (n_rows, n_columns), got {X.shape}; reshape one column to (-1, 1)")
    n_rows, n_columns = X.shape
    moments = _no_rows(n_columns)
    if n_rows == 0:
        return moments
    # Subtracting one of the rows keeps the digits that a large mean would cost, and makes a constant column exact.
    origin = X[0].astype(np.float64)
    step = max(1, SLAB_VALUES // max(1, n_columns))
    for start in range(0, n_rows, step):
        moments = merge_moments(moments, _moments_of_slab(X[start : start + step] - origin))
    return moments._replace(mean=origin + moments.mean)


def moments_of_counts(counts: AnyArray, origin: float | Floats, width: float | Floats) -> Moments:
    """Return the moments of each of a stack of histograms, as if all rows of a bin lay at its centre.

    Parameters
    ----------
    counts : array of shape (n_directions, n_bins)
        Rows per bin, not negative; bin k spans ``[origin + k * width, origin + (k + 1) * width)``.
    origin, width : float or array of shape (n_directions,)
        Lower end of the first bin and width of a bin, in the unit of the projections.

    Returns
    -------
    Moments
        Arrays of shape (n_directions,).

    Raises
    ------
    ValueError
        If `counts` is not two-dimensional.

    Examples
    --------
    >>> moments = moments_of_counts([[1, 0, 1]], origin=0.0, width=2.0)
    >>> moments.mean, moments.m2
    (array([3.]), array([8.]))
    """
    counts = np.asarray(counts)
    if counts.ndim != 2:
        raise ValueError(
            f"counts must have shape (n_directions, n_bins), got {counts.shape}; one histogram is [counts]"
        )
    n = counts.sum(axis=1)
    weights = counts.astype(np.float64)
    centres = np.arange(counts.shape[1]) + 0.5
    centre = _ratio(weights @ centres, n, otherwise=0.0)
    deviations = centres - centre[:, None]
    sums = []
    for _ in range(3):
        weights *= deviations
        sums.append(np.einsum("ij,ij->i", weights, deviations))
    mean = np.where(n > 0, origin + width * centre, 0.0)
    return Moments(n, mean, sums[0] * width**2, sums[1] * width**3, sums[2] * width**4)


def merge_moments(a: Moments, b: Moments) -> Moments:
    """Return the moments of the rows of `a` and `b` together.

    Parameters
    ----------
    a, b : Moments
        Moments of the same columns; either may have no rows in some columns.

    Returns
    -------
    Moments

    References
    ----------
    T. F. Chan, G. H. Golub, R. J. LeVeque: Updating formulae and a pairwise algorithm for computing sample variances
    (1979). P. Pébay: Formulas for robust, one-pass parallel computation of covariances and arbitrary-order
    statistical moments. Sandia report SAND2008-6212, section 1.4.

    Examples
    --------
    >>> import numpy as np
    >>> left, right = moments_of(np.array([[1.0], [2.0]])), moments_of(np.array([[6.0]]))
    >>> merge_moments(left, right).mean
    array([3.])
    """
    n = a.n + b.n
    p, q = _ratio(a.n, n, otherwise=0.0), _ratio(b.n, n, otherwise=0.0)
    delta = np.where((a.n > 0) & (b.n > 0), b.mean - a.mean, 0.0)
    between = n * p * q * delta**2
    mean = np.where(a.n > 0, a.mean + q * delta, b.mean)
    m2 = a.m2 + b.m2 + between
    m3 = a.m3 + b.m3 + delta * (3.0 * (p * b.m2 - q * a.m2) + between * (p - q))
    m4 = a.m4 + b.m4 + delta * 4.0 * (p * b.m3 - q * a.m3)
    m4 = m4 + delta**2 * (6.0 * (p**2 * b.m2 + q**2 * a.m2) + between * (p**2 - p * q + q**2))
    return Moments(n, mean, m2, m3, m4)


def variance(moments: Moments, ddof: int = 0) -> Floats:
    """Return the variance of each column, ``m2 / (n - ddof)``; NaN where there are at most `ddof` rows.

    Examples
    --------
    >>> import numpy as np
    >>> variance(moments_of(np.array([[0.0], [2.0]])))
    array([1.])
    """
    return _ratio(moments.m2, moments.n - ddof)


def kurtosis(moments: Moments) -> Floats:
    """Return the plain kurtosis of each column, ``n * m4 / m2 ** 2``: 3 for a Gaussian, 1.8 for a uniform distribution.

    It is at least 1; NaN for a constant column and where there are no rows.

    Examples
    --------
    >>> import numpy as np
    >>> kurtosis(moments_of(np.array([[-1.0], [1.0], [-1.0], [1.0]])))
    array([1.])
    """
    # Two divisions, as the square of a tiny m2 underflows to zero.
    return _ratio(_ratio(moments.m4, moments.m2) * moments.n, moments.m2)


def _no_rows(n_columns: int) -> Moments:
    zeros = np.zeros(n_columns)
    return Moments(np.zeros(n_columns, dtype=np.int64), zeros, zeros, zeros, zeros)


def _moments_of_slab(slab: Floats) -> Moments:
    n = np.full(slab.shape[1], len(slab))
    mean = slab.mean(axis=0)
    slab -= mean
    squares = slab * slab
    m3, m4 = (np.einsum("ij,ij->j", squares, factor) for factor in (slab, squares))
    return Moments(n, mean, squares.sum(axis=0), m3, m4)


def _ratio(numerator: AnyArray, denominator: AnyArray, otherwise: float = np.nan) -> Floats:
    out = np.full(np.broadcast_shapes(np.shape(numerator), np.shape(denominator)), otherwise)
    return np.divide(numerator, denominator, out=out, where=np.asarray(denominator) > 0)
