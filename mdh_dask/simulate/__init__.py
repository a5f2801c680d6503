"""Mixtures of any size as lazy Dask arrays ``(X, y)`` of rows and their true clusters.

Only the parameters of a mixture, of shape (n_clusters, n_features), are held in memory.
"""

from .mixtures import gaussian_mixture, separated_mixture
from .published import bolton_mixture, mixed_mixture, noisy_axes_mixture

__all__ = ["bolton_mixture", "gaussian_mixture", "mixed_mixture", "noisy_axes_mixture", "separated_mixture"]
