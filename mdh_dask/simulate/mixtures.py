"""The simulators: each draws the parameters of a mixture; `lazy_mixture` draws the rows."""

from collections.abc import Sequence
from numbers import Real
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .._typing import Floats, RowArray
from .rows import ChunkRows, Mixture, check_seed, check_sizes, lazy_mixture, parameter_stream

BOLTON_MEANS: Floats = np.pad(
    [[0.0, 0, 0], [4, 0, 0], [4, 1, 0], [0, 1, 0], [4, 1, 1], [4, 0, 1], [0, 1, 1], [0, 0, 1]], ((0, 0), (0, 5))
)
"""Means (8, 8) of the clusters of `bolton_mixture`."""

BOLTON_COVARIANCE: Floats = 0.3 * np.eye(8)
"""Covariance (8, 8) of every cluster of `bolton_mixture`."""
BOLTON_COVARIANCE[:3, :3] = [[0.8, -0.15, 0.15], [-0.15, 0.05, -0.025], [0.15, -0.025, 0.05]]


def gaussian_mixture(
    n_samples: int,
    n_features: int,
    n_clusters: int,
    *,
    centre_range: tuple[float, float] = (-10.0, 10.0),
    sd: float = 2.5,
    weights: Sequence[float] | Floats | None = None,
    chunk_rows: ChunkRows = "auto",
    dtype: npt.DTypeLike = np.float32,
    random_state: int = 0,
) -> tuple[RowArray, RowArray]:
    """Simulate spherical clusters of one size around uniformly distributed centres.

    Parameters
    ----------
    n_samples, n_features, n_clusters : int
        Rows, columns and components, each at least 1.
    centre_range : (float, float)
        Every coordinate of every centre is uniform between these.
    sd : float
        Standard deviation of every cluster in every feature.
    weights : array-like of shape (n_clusters,), optional
        Relative probabilities with which each row draws its cluster. By default the sizes are equal, up to one
        row.
    chunk_rows : int or "auto"
        Rows per chunk; "auto" makes chunks of about `CHUNK_BYTES`. The values do not depend on it.
    dtype : float32 or float64
        The dtype of X. Values are drawn in float64 and rounded.
    random_state : int
        Non-negative seed.

    Returns
    -------
    X : dask Array of shape (n_samples, n_features)
        Lazy, with one block of columns.
    y : dask Array of shape (n_samples,), int64
        Lazy; the cluster of each row, 0 to n_clusters - 1.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> X, y = gaussian_mixture(1_000_000_000, 20, 3)
    >>> X.shape, X[:2].compute().shape
    ((1000000000, 20), (2, 20))
    """
    check_sizes(n_samples=n_samples, n_features=n_features, n_clusters=n_clusters)
    low, high = centre_range
    if not (np.isfinite([low, high]).all() and low <= high):
        raise ValueError(f"centre_range must be two finite numbers (low, high) with low <= high; got {centre_range!r}")
    if not (isinstance(sd, Real) and 0 < sd < np.inf):
        raise ValueError(f"sd must be a positive number; got {sd!r}")
    centres = parameter_stream(random_state).uniform(low, high, (n_clusters, n_features))
    proportions = None if weights is None else _cumulate(weights, n_clusters)
    mixture = Mixture(random_state, n_samples, centres, np.full((1, 1), float(sd)), proportions=proportions)
    return lazy_mixture(mixture, chunk_rows, dtype)


def varied_mixture(
    n_samples: int,
    n_features: int,
    n_clusters: int,
    *,
    chunk_rows: ChunkRows = "auto",
    dtype: npt.DTypeLike = np.float32,
    random_state: int = 0,
) -> tuple[RowArray, RowArray]:
    """Simulate spherical clusters of different sizes and spreads.

    Parameters and results are those of `gaussian_mixture`. With k clusters, centres are uniform in [0, k/3]^d, the
    standard deviation of each is uniform in [0.1, 1.1], and their probabilities are proportional to draws from
    [1, 2].

    Notes
    -----
    Source: Yates, PhD thesis, Lancaster 2017, section 4.4.3, the continuous features; there about 100 k rows.

    Examples
    --------
    >>> X, y = varied_mixture(500, 4, 5)
    >>> X.dtype, y.max().compute()
    (dtype('float32'), np.int64(4))
    """
    check_sizes(n_samples=n_samples, n_features=n_features, n_clusters=n_clusters)
    random = parameter_stream(random_state)
    proportions = _cumulate(random.uniform(1, 2, n_clusters), n_clusters)
    centres = random.uniform(0, n_clusters / 3, (n_clusters, n_features))
    scales = random.uniform(0.1, 1.1, (n_clusters, 1))
    return lazy_mixture(Mixture(random_state, n_samples, centres, scales, proportions=proportions), chunk_rows, dtype)


def separated_mixture(
    n_samples: int,
    n_features: int,
    n_clusters: int,
    *,
    separation: float = 12.0,
    chunk_rows: ChunkRows = "auto",
    dtype: npt.DTypeLike = np.float32,
    random_state: int = 0,
) -> tuple[RowArray, RowArray]:
    """Simulate clusters of equal size and unit variance that are very well separated.

    Parameters and results are those of `gaussian_mixture`, with one more parameter: along every feature the centres are
    0, 1, ..., k - 1 times `separation`, in random order, so that each single feature separates all clusters.

    Notes
    -----
    Source: Yates, PhD thesis, Lancaster 2017, section 6.3.2, for timings; the thesis does not say how its clusters
    were placed.

    Examples
    --------
    >>> X, y = separated_mixture(600, 2, 3)
    >>> np.bincount(y.compute())
    array([200, 200, 200])
    """
    check_sizes(n_samples=n_samples, n_features=n_features, n_clusters=n_clusters)
    if not (isinstance(separation, Real) and 0 < separation < np.inf):
        raise ValueError(f"separation must be a positive number of standard deviations; got {separation!r}")
    grid = np.tile(separation * np.arange(n_clusters)[:, None], n_features)
    centres = parameter_stream(random_state).permuted(grid, axis=0)
    return lazy_mixture(Mixture(random_state, n_samples, centres, np.ones((1, 1))), chunk_rows, dtype)


def noisy_axes_mixture(
    n_samples: int,
    n_features: int,
    n_clusters: int,
    *,
    chunk_rows: ChunkRows = "auto",
    dtype: npt.DTypeLike = np.float32,
    random_state: int = 0,
) -> tuple[RowArray, RowArray]:
    """Simulate clusters of equal size that about half of the features hide in noise.

    Parameters and results are those of `gaussian_mixture`. Centres are uniform in [0, 2]^d; the variance of a
    feature, the same in all clusters, is 0.05 or 1 with equal probability.

    Notes
    -----
    Source: Yates, PhD thesis, Lancaster 2017, section 6.3.3; there 100 k rows for 10, 30 and 50 clusters k in 1000,
    10,000 and 19,000 features.

    Examples
    --------
    >>> X, y = noisy_axes_mixture(1000, 19_000, 10, chunk_rows=500)
    >>> X.numblocks
    (2, 1)
    """
    check_sizes(n_samples=n_samples, n_features=n_features, n_clusters=n_clusters)
    random = parameter_stream(random_state)
    centres = random.uniform(0, 2, (n_clusters, n_features))
    scales = np.sqrt(random.choice([0.05, 1.0], (1, n_features)))
    return lazy_mixture(Mixture(random_state, n_samples, centres, scales), chunk_rows, dtype)


def bolton_mixture(
    n_clusters: Literal[2, 4, 8],
    n_samples: int | None = None,
    *,
    chunk_rows: ChunkRows = "auto",
    dtype: npt.DTypeLike = np.float32,
    random_state: int = 0,
) -> tuple[RowArray, RowArray]:
    """Simulate the mixture ``bolton_2``, ``bolton_4`` or ``bolton_8``: correlated clusters in eight features.

    Parameters and results are those of `gaussian_mixture`; `n_samples` is 300 per cluster by default, as in the
    source. The clusters are equally large; means and covariance are fixed, only the rows are random.

    Notes
    -----
    Source: Rome, Miasnikov and Haralick, CUNY TR-2003009, section 5.1, after Bolton and Krzanowski (2003).

    Examples
    --------
    >>> X, y = bolton_mixture(4)
    >>> X.shape
    (1200, 8)
    """
    if n_clusters not in (2, 4, 8):
        raise ValueError(f"n_clusters must be 2, 4 or 8, the mixtures of the source; got {n_clusters!r}")
    n_samples = 300 * n_clusters if n_samples is None else n_samples
    check_sizes(n_samples=n_samples)
    loading = np.linalg.cholesky(BOLTON_COVARIANCE)
    mixture = Mixture(check_seed(random_state), n_samples, BOLTON_MEANS[:n_clusters], np.ones((1, 1)), loading)
    return lazy_mixture(mixture, chunk_rows, dtype)


def _cumulate(weights: Any, n_clusters: int) -> Floats:
    weights = np.asarray(weights, dtype=float)
    if weights.shape != (n_clusters,):
        raise ValueError(f"weights must have shape ({n_clusters},), one for each cluster; got {weights.shape}")
    if not (np.isfinite(weights).all() and (weights > 0).all()):
        raise ValueError(f"weights must be positive and finite; got {weights.tolist()}: leave out empty clusters")
    return np.cumsum(weights) / weights.sum()
