"""The mixtures of the thesis that only its tables need."""

from dataclasses import dataclass, field

import numpy as np

from mdh_dask._random import generator
from mdh_dask.simulate.mixtures import Mixture, lazy_mixture, parameter_stream
from mdh_dask.simulate.published import LEVELS, checked_rows, kinds_of


def varied_mixture(n_samples, n_features, n_clusters, *, chunk_rows="auto", dtype=np.float32, random_state=0):
    """Simulate spherical clusters of different sizes and spreads (section 4.4.3, the continuous features).

    Parameters and results are those of `gaussian_mixture`. With k clusters, centres are uniform in [0, k/3]^d, the
    standard deviation of each is uniform in [0.1, 1.1], and their probabilities are proportional to draws from [1, 2].
    """
    random = parameter_stream(random_state)
    weights = random.uniform(1, 2, n_clusters)
    centres = random.uniform(0, n_clusters / 3, (n_clusters, n_features))
    scales = random.uniform(0.1, 1.1, (n_clusters, 1))
    proportions = np.cumsum(weights) / weights.sum()
    return lazy_mixture(Mixture(random_state, n_samples, centres, scales, proportions=proportions), chunk_rows, dtype)


@dataclass(frozen=True)
class LatentMixture(Mixture):
    """Columns of both kinds that depend on a Gaussian mixture of few latent variables."""

    loadings: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    """Coefficients of the continuous columns, shape (n_continuous, n_latent)."""
    logits: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    """Coefficients of the log odds of level 1, shape (n_discrete, n_latent)."""
    turns: np.ndarray = field(default_factory=lambda: np.empty((0, 0, 0)))
    """Factors of the covariances of the latent variables, shape (n_clusters, n_latent, n_latent)."""
    noise: float = 0.0
    """Standard deviation of the continuous columns about their means."""

    @property
    def n_features(self):
        """Return the number of columns of both kinds."""
        return len(self.loadings) + len(self.logits)

    def rows(self, block):
        """Return the columns of each row of a block, those of two levels last."""
        labels = self.labels(block)
        latent = Mixture.rows(self, block) - self.centres[labels]
        latent = self.centres[labels] + np.einsum("nij,nj->ni", self.turns[labels], latent)
        stream = generator(self.seed, *LEVELS, block)
        continuous = latent @ self.loadings.T
        continuous += self.noise * stream.standard_normal(continuous.shape)
        odds = latent @ self.logits.T
        return np.concatenate([continuous, stream.logistic(size=odds.shape) < odds], axis=1)


def latent_mixture(
    n_samples, n_continuous, n_discrete, n_clusters, *, noise_variance=0.1, chunk_rows="auto", dtype=np.float32,
    random_state=0,
):  # fmt: skip
    """Simulate columns of both kinds that follow from two latent variables, which have small, separate clusters.

    Parameters and results are those of `mixed_mixture`, with one more parameter: `noise_variance`, that of the
    continuous columns about their means. Means of the clusters are uniform in [-5, 5]^2, the eigenvalues of their
    covariances in [0.001, 0.01] along random axes. Coefficients of the columns are uniform in [0, 1], of columns of
    two levels a pair for each (section 3.6.1, MixGen1, which does not give the variance of the noise nor the sizes).
    """
    n_samples = checked_rows(n_samples, n_continuous, n_discrete, n_clusters)
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
    return *lazy_mixture(mixture, chunk_rows, dtype), kinds_of(n_continuous, n_discrete)
