"""Gaussian mixtures of any size as lazy Dask arrays ``(X, y)``: rows and their true clusters.

Nothing but the parameters of a mixture, of size clusters x features, is ever held as a whole.
"""

from .mixtures import bolton_mixture, gaussian_mixture, noisy_axes_mixture, separated_mixture, varied_mixture

__all__ = ["bolton_mixture", "gaussian_mixture", "noisy_axes_mixture", "separated_mixture", "varied_mixture"]
