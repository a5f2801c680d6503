"""Evidence of valleys in standard errors of the density."""

import numpy as np

from .._typing import Floats

ROUGHNESS = 1 / (2 * np.sqrt(np.pi))
"""Integral of the squared Gaussian kernel of unit bandwidth."""


def valley_evidence(position: Floats, density: Floats, threshold: float, n_rows: float, bandwidth: float) -> float:
    """Return by how many standard errors the lower of the two modes beside a threshold exceeds the density there.

    Parameters
    ----------
    position, density : arrays of shape (n_bins,)
        Kernel density of `n_rows` rows with a Gaussian kernel of this bandwidth, in the units of `position`.
    threshold : float
    n_rows : float
    bandwidth : float

    Returns
    -------
    float
        At least zero; NaN without rows or bins on one side. The modes are chosen, so this is no test.

    Notes
    -----
    The variance of the density is about ``density / (2 sqrt(pi) n h)`` (Silverman 1986, equation 3.18).

    Examples
    --------
    >>> from mdh_dask.density.kde import kernel_density
    >>> counts = np.array([0, 4, 30, 4, 2, 4, 30, 4, 0])
    >>> position = np.arange(9) + 0.5
    >>> density = kernel_density(counts, np.array(1.0), np.array(0.5))
    >>> round(valley_evidence(position, density, 4.5, 78, 0.5), 1)
    5.2
    """
    left, right = density[position <= threshold], density[position > threshold]
    if len(left) == 0 or len(right) == 0 or n_rows <= 0:
        return np.nan
    mode, valley = min(left.max(), right.max()), float(np.interp(threshold, position, density))
    variance = (mode + valley) * ROUGHNESS / (n_rows * bandwidth)
    return float(max(mode - valley, 0.0) / np.sqrt(variance)) if variance > 0 else 0.0
