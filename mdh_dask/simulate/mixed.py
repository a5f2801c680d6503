"""The simulators of mixed columns: each draws the parameters of a mixture, some of whose columns have two levels."""

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from .._random import generator
from .._typing import Floats, RowArray
from .rows import (
    STREAMS,
    ChunkRows,
    Mixture,
    check_sizes,
    lazy_mixture,
    parameter_stream,
)

ColumnKinds = dict[str, list[int]]
"""Numbers of the columns of each kind, as parameters ``column_types`` take them."""

_LEVELS = (STREAMS, 3)


@dataclass(frozen=True)
class MixedMixture(Mixture):
    """A Gaussian mixture with further columns of two levels, independent in every cluster."""

    chances: Floats = field(default_factory=lambda: np.empty((0, 0)))
    """Probability of level 1, shape (n_clusters, n_discrete)."""

    @property
    def n_features(self) -> int:
        """Return the number of columns of both kinds."""
        return self.centres.shape[1] + self.chances.shape[1]

    def rows(self, block: int) -> Floats:
        """Return the columns of each row of a block, those of two levels last."""
        chances = self.chances[self.labels(block)]
        drawn = generator(self.seed, *_LEVELS, block).random(chances.shape)
        return np.concatenate([super().rows(block), drawn < chances], axis=1)


@dataclass(frozen=True)
class LatentMixture(Mixture):
    """Columns of both kinds that depend on a Gaussian mixture of few latent variables."""

    loadings: Floats = field(default_factory=lambda: np.empty((0, 0)))
    """Coefficients of the continuous columns, shape (n_continuous, n_latent)."""
    logits: Floats = field(default_factory=lambda: np.empty((0, 0)))
    """Coefficients of the log odds of level 1, shape (n_discrete, n_latent)."""
    turns: Floats = field(default_factory=lambda: np.empty((0, 0, 0)))
    """Factors of the covariances of the latent variables, shape (n_clusters, n_latent, n_latent)."""
    noise: float = 0.0
    """Standard deviation of the continuous columns about their means."""

    @property
    def n_features(self) -> int:
        """Return the number of columns of both kinds."""
        return len(self.loadings) + len(self.logits)

    def rows(self, block: int) -> Floats:
        """Return the columns of each row of a block, those of two levels last."""
        labels = self.labels(block)
        latent = Mixture.rows(self, block) - self.centres[labels]
        latent = self.centres[labels] + np.einsum("nij,nj->ni", self.turns[labels], latent)
        stream = generator(self.seed, *_LEVELS, block)
        continuous = latent @ self.loadings.T
        continuous += self.noise * stream.standard_normal(continuous.shape)
        odds = latent @ self.logits.T
        return np.concatenate([continuous, stream.logistic(size=odds.shape) < odds], axis=1)


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

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Notes
    -----
    The continuous columns are those of `varied_mixture`: the variance of a cluster is ``u^2`` for u uniform in
    [0.1, 1.1]. In each column of two levels, a cluster has one level, either with equal probability, but for a share
    ``u^2 / 4`` of its rows, which have the other. Source: Yates, PhD thesis, Lancaster 2017, sections 3.6.1 and 4.4.3,
    MixGen2, where ``ceil(100 k s)`` rows are drawn from a cluster of the share s; here every row draws its cluster.

    Examples
    --------
    >>> X, y, column_types = mixed_mixture(500, 2, 3, 5)
    >>> X.shape, column_types
    ((500, 5), {'continuous': [0, 1], 'categorical': [2, 3, 4]})
    """
    n_samples = _checked(n_samples, n_continuous, n_discrete, n_clusters)
    random = parameter_stream(random_state)
    proportions = random.uniform(1, 2, n_clusters)
    centres = random.uniform(0, n_clusters / 3, (n_clusters, n_continuous))
    scales = random.uniform(0.1, 1.1, (n_clusters, 1))
    levels = random.random((n_clusters, n_discrete)) < 0.5
    chances = np.where(levels, 1 - scales**2 / 4, scales**2 / 4)
    mixture = MixedMixture(
        random_state, n_samples, centres, scales, None, np.cumsum(proportions) / proportions.sum(), chances
    )
    return *lazy_mixture(mixture, chunk_rows, dtype), _kinds(n_continuous, n_discrete)


def latent_mixture(
    n_samples: int | None,
    n_continuous: int,
    n_discrete: int,
    n_clusters: int,
    *,
    noise_variance: float = 0.1,
    chunk_rows: ChunkRows = "auto",
    dtype: npt.DTypeLike = np.float32,
    random_state: int = 0,
) -> tuple[RowArray, RowArray, ColumnKinds]:
    """Simulate columns of both kinds that follow from two latent variables, which have small, separate clusters.

    Parameters and results are those of `mixed_mixture`, with one more parameter: `noise_variance`, that of the
    continuous columns about their means.

    Notes
    -----
    Means of the clusters are uniform in [-5, 5]^2, the eigenvalues of their covariances in [0.001, 0.01] along random
    axes. Coefficients of the columns are uniform in [0, 1], of columns of two levels a pair for each. Source: Yates,
    PhD thesis, Lancaster 2017, section 3.6.1, MixGen1, which does not give the variance of the noise nor the sizes.

    Examples
    --------
    >>> X, y, column_types = latent_mixture(None, 5, 5, 10)
    >>> X.shape
    (1000, 10)
    """
    n_samples = _checked(n_samples, n_continuous, n_discrete, n_clusters)
    if not 0 <= noise_variance < np.inf:
        raise ValueError(f"noise_variance must be a finite number of at least 0; got {noise_variance!r}")
    random = parameter_stream(random_state)
    centres = random.uniform(-5, 5, (n_clusters, 2))
    roots = np.sqrt(random.uniform(1e-3, 1e-2, (n_clusters, 2)))
    angle = random.uniform(0, np.pi, n_clusters)
    turns = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]).transpose(2, 0, 1)
    loadings = random.uniform(0, 1, (n_continuous, 2))
    weights = random.uniform(0, 1, (n_discrete, 2, 2))
    mixture = LatentMixture(
        random_state, n_samples, centres, np.ones((1, 1)), loadings=loadings, logits=weights[:, 1] - weights[:, 0],
        turns=turns * roots[:, None, :], noise=float(np.sqrt(noise_variance)),
    )  # fmt: skip
    return *lazy_mixture(mixture, chunk_rows, dtype), _kinds(n_continuous, n_discrete)


def _kinds(n_continuous: int, n_discrete: int) -> ColumnKinds:
    numbers = list(range(n_continuous + n_discrete))
    return {"continuous": numbers[:n_continuous], "categorical": numbers[n_continuous:]}


def _checked(n_samples: int | None, n_continuous: Any, n_discrete: Any, n_clusters: int) -> int:
    """Return the number of rows, or raise an error."""
    for name, size in (("n_continuous", n_continuous), ("n_discrete", n_discrete)):
        if not isinstance(size, Integral) or size < 0:
            raise ValueError(f"{name} must be an integer of at least 0; got {size!r}")
    check_sizes(n_clusters=n_clusters, **{"n_continuous + n_discrete": int(n_continuous) + int(n_discrete)})
    n_samples = 100 * n_clusters if n_samples is None else n_samples
    check_sizes(n_samples=n_samples)
    return n_samples
