"""Gaussian mixtures as lazy Dask arrays, whose rows are generated inside the tasks.

The rows are cut into blocks whose length depends only on the number of features, and every block has its own random
streams, so the values depend on the seed but not on the chunks, the scheduler or the machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, Literal

import dask.array as da
import numpy as np
import numpy.typing as npt

from .._random import generator
from .._typing import AnyArray, Floats, Integers, RowArray
from ..chunks import map_rows

CHUNK_BYTES = 2**26
"""Bytes of a chunk of X when ``chunk_rows="auto"``."""

BLOCK_ROWS = 8192
"""Most rows per block."""

STREAMS = 0x53494D
"""Keeps the streams of simulators apart from those of an estimator with the same seed."""

_PARAMETERS, _LABELS, _NOISE = (STREAMS, 0), (STREAMS, 1), (STREAMS, 2)

ChunkRows = int | Literal["auto"]


@dataclass(frozen=True)
class Mixture:
    """A Gaussian mixture and the number of its rows."""

    seed: int
    n_rows: int
    centres: Floats  # (k, d)
    scales: Floats  # (k or 1, d or 1): standard deviations of each cluster and feature
    loading: Floats | None = None  # (d, d): a factor of the covariance that all clusters share
    proportions: Floats | None = None  # (k,): cumulative; None for clusters of equal size

    @property
    def n_features(self) -> int:
        """Return the number of columns."""
        return self.centres.shape[1]

    @property
    def block_rows(self) -> int:
        """Rows per block; the last block may have fewer."""
        return min(max(2**17 // self.n_features, 1), BLOCK_ROWS)  # enough to outweigh the start of a stream

    def labels(self, block: int) -> Integers:
        """Return the cluster of each row of a block."""
        first = block * self.block_rows
        rows = np.arange(first, min(first + self.block_rows, self.n_rows))
        random = generator(self.seed, *_LABELS, block)
        if self.proportions is None:
            return random.permutation(rows % len(self.centres))
        return np.searchsorted(self.proportions[:-1], random.random(len(rows)), side="right")

    def rows(self, block: int) -> Floats:
        """Return the features of each row of a block."""
        labels = self.labels(block)
        values = generator(self.seed, *_NOISE, block).standard_normal((len(labels), self.centres.shape[1]))
        if self.loading is not None:
            values = values @ self.loading.T
        values *= self.scales[labels] if len(self.scales) > 1 else self.scales
        values += self.centres[labels]
        return values


def lazy_mixture(mixture: Mixture, chunk_rows: ChunkRows, dtype: npt.DTypeLike) -> tuple[RowArray, RowArray]:
    """Return the rows and the labels of a mixture as Dask arrays in the same row chunks."""
    n_features = mixture.n_features
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64; got {dtype}")
    if chunk_rows == "auto":
        blocks = CHUNK_BYTES // (n_features * dtype.itemsize * mixture.block_rows)
        chunk_rows = max(1, blocks) * mixture.block_rows
    check_sizes(chunk_rows=chunk_rows)
    rows = da.arange(mixture.n_rows, chunks=min(chunk_rows, mixture.n_rows))
    X = map_rows(partial(_drawn, "rows", dtype), rows, dtype=dtype, n_columns=n_features, shared=mixture)
    return X, map_rows(partial(_drawn, "labels", np.int64), rows, dtype=np.int64, shared=mixture)


def _drawn(method: str, dtype: npt.DTypeLike, mixture: Mixture, rows: Integers) -> AnyArray:
    """Return the labels or features of consecutive rows, each cut from the block that holds it."""
    draw, size = getattr(mixture, method), mixture.block_rows
    start, stop = int(rows[0]), int(rows[-1]) + 1
    blocks = range(start // size, (stop - 1) // size + 1)
    return np.concatenate([draw(i)[max(start - i * size, 0) : stop - i * size].astype(dtype) for i in blocks])


def parameter_stream(random_state: int) -> np.random.Generator:
    """Return the random stream for the parameters of a mixture."""
    return generator(check_seed(random_state), *_PARAMETERS)


def check_seed(random_state: int) -> int:
    """Return the seed as an integer, or raise an error."""
    if not isinstance(random_state, Integral) or random_state < 0:
        raise ValueError(f"random_state must be an integer of at least 0, the seed; got {random_state!r}")
    return int(random_state)


def check_sizes(least: int = 1, **sizes: Any) -> None:
    """Raise an error that names a size which is not an integer of at least `least`."""
    for name, size in sizes.items():
        if not isinstance(size, Integral) or size < least:
            remedy = ' or "auto"' if name == "chunk_rows" else ""
            raise ValueError(f"{name} must be an integer of at least {least}{remedy}; got {size!r}")


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


def _cumulate(weights: Any, n_clusters: int) -> Floats:
    weights = np.asarray(weights, dtype=float)
    if weights.shape != (n_clusters,):
        raise ValueError(f"weights must have shape ({n_clusters},), one for each cluster; got {weights.shape}")
    if not (np.isfinite(weights).all() and (weights > 0).all()):
        raise ValueError(f"weights must be positive and finite; got {weights.tolist()}: leave out empty clusters")
    return np.cumsum(weights) / weights.sum()
