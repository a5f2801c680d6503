"""The further mixtures of the papers: noisy axes, correlated clusters, and columns of two levels among others."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .._random import generator
from .._typing import Floats, RowArray
from .mixtures import STREAMS, ChunkRows, Mixture, check_seed, check_sizes, lazy_mixture, parameter_stream

BOLTON_MEANS: Floats = np.pad(
    [[0.0, 0, 0], [4, 0, 0], [4, 1, 0], [0, 1, 0], [4, 1, 1], [4, 0, 1], [0, 1, 1], [0, 0, 1]], ((0, 0), (0, 5))
)
"""Means (8, 8) of the clusters of `bolton_mixture`."""

BOLTON_COVARIANCE: Floats = 0.3 * np.eye(8)
"""Covariance (8, 8) of every cluster of `bolton_mixture`."""

BOLTON_COVARIANCE[:3, :3] = [[0.8, -0.15, 0.15], [-0.15, 0.05, -0.025], [0.15, -0.025, 0.05]]

ColumnKinds = dict[str, list[int]]
"""Numbers of the columns of each kind, as parameters ``column_types`` take them."""

LEVELS = (STREAMS, 3)
"""The stream of columns of two levels."""


@dataclass(frozen=True)
class MixedMixture(Mixture):
    """A Gaussian mixture with further columns of two levels, independent in every cluster."""

    chances: Floats = field(default_factory=lambda: np.empty((0, 0)))
    """Probability of level 1, shape (n_clusters, n_discrete)."""

    @property
    def n_features(self) -> int:
        return self.centres.shape[1] + self.chances.shape[1]

    def rows(self, block: int) -> Floats:
        """Return the columns of each row of a block, those of two levels last."""
        chances = self.chances[self.labels(block)]
        drawn = generator(self.seed, *LEVELS, block).random(chances.shape)
        return np.concatenate([super().rows(block), drawn < chances], axis=1)


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


def mixed_mixture(
    n_samples: int | None,
    n_continuous: int,
    n_discrete: int,
    n_clusters: int,
    *,
    chunk_rows: ChunkRows = "auto",
    dtype: npt.DTypeLike = np.float32,
    random_state: int = 0,
) -> tuple[RowArray, RowArray, ColumnKinds]:
    """Simulate clusters of different sizes and spreads in continuous columns and columns of two levels.

    Parameters
    ----------
    n_samples : int or None
        Rows; None for 100 times the number of clusters.
    n_continuous, n_discrete, n_clusters : int
        Columns of each kind, either of which may be 0, and clusters.
    chunk_rows, dtype, random_state
        As for `gaussian_mixture`.

    Returns
    -------
    X : dask Array of shape (n_samples, n_continuous + n_discrete)
        Lazy; the columns of two levels, 0 and 1, are the last.
    y : dask Array of shape (n_samples,), int64
        Lazy; the cluster of each row.
    column_types : dict
        Numbers of the ``"continuous"`` and ``"categorical"`` columns.

    Notes
    -----
    With k clusters, centres are uniform in [0, k/3]^d, the variance of each is ``u^2`` for u uniform in [0.1, 1.1], and
    their probabilities are proportional to draws from [1, 2]. In each column of two levels, a cluster has one level,
    either with equal probability, but for a share ``u^2 / 4`` of its rows, which have the other. Source: Yates, PhD
    thesis, Lancaster 2017, sections 3.6.1 and 4.4.3, MixGen2, where ``ceil(100 k s)`` rows are drawn from a cluster of
    the share s; here every row draws its cluster.

    Examples
    --------
    >>> X, y, column_types = mixed_mixture(500, 2, 3, 5)
    >>> X.shape, column_types
    ((500, 5), {'continuous': [0, 1], 'categorical': [2, 3, 4]})
    """
    n_samples = checked_rows(n_samples, n_continuous, n_discrete, n_clusters)
    random = parameter_stream(random_state)
    proportions = random.uniform(1, 2, n_clusters)
    centres = random.uniform(0, n_clusters / 3, (n_clusters, n_continuous))
    scales = random.uniform(0.1, 1.1, (n_clusters, 1))
    levels = random.random((n_clusters, n_discrete)) < 0.5
    chances = np.where(levels, 1 - scales**2 / 4, scales**2 / 4)
    mixture = MixedMixture(
        random_state, n_samples, centres, scales, None, np.cumsum(proportions) / proportions.sum(), chances
    )
    return *lazy_mixture(mixture, chunk_rows, dtype), kinds_of(n_continuous, n_discrete)


def kinds_of(n_continuous: int, n_discrete: int) -> ColumnKinds:
    """Return the numbers of the columns of each kind."""
    numbers = list(range(n_continuous + n_discrete))
    return {"continuous": numbers[:n_continuous], "categorical": numbers[n_continuous:]}


def checked_rows(n_samples: int | None, n_continuous: Any, n_discrete: Any, n_clusters: int) -> int:
    """Return the number of rows, or raise an error."""
    check_sizes(least=0, n_continuous=n_continuous, n_discrete=n_discrete)
    check_sizes(n_clusters=n_clusters, **{"n_continuous + n_discrete": int(n_continuous) + int(n_discrete)})
    n_samples = 100 * n_clusters if n_samples is None else n_samples
    check_sizes(n_samples=n_samples)
    return n_samples
