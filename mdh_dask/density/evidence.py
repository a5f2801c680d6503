"""Evidence of valleys in standard errors of the density."""

import numpy as np

from .._typing import Floats
from .kde import kernel_height

ROUGHNESS = 1 / (2 * np.sqrt(np.pi))
"""Integral of the squared Gaussian kernel of unit bandwidth."""

FINE = 8
"""Points per bin at which slopes are compared with their errors: the error of a threshold may be less than a bin."""


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
    5.6
    """
    left, right = density[position <= threshold], density[position > threshold]
    if len(left) == 0 or len(right) == 0 or n_rows <= 0:
        return np.nan
    mode, valley = min(left.max(), right.max()), float(np.interp(threshold, position, density))
    variance = (mode + valley) * ROUGHNESS / (n_rows * bandwidth)
    return float(max(mode - valley, 0.0) / np.sqrt(variance)) if variance > 0 else 0.0


def threshold_error(position: Floats, density: Floats, threshold: float, n_rows: float, bandwidth: float) -> float:
    """Return the standard error of a threshold in a valley, at least an eighth of a bin.

    It is half of the interval around the threshold in which the slope of the density does not exceed its own standard
    error: in a smooth valley the standard error of the minimum, across an empty gap half of its width.

    Parameters
    ----------
    position, density, threshold, n_rows, bandwidth
        As for `valley_evidence`.

    Notes
    -----
    The variance of the slope is about ``density / (4 sqrt(pi) n h^3)``.

    Examples
    --------
    >>> from mdh_dask.density.kde import kernel_density
    >>> counts = np.array([0, 40, 40, *[0] * 12, 90, 0])
    >>> density = kernel_density(counts, np.array(1.0), np.array(1.0))
    >>> 2 < threshold_error(np.arange(17) + 0.5, density, 9.0, 170, 1.0) < 6
    True
    """
    width = (position[-1] - position[0]) / max(len(position) - 1, 1)
    slope = np.gradient(density, width) if len(density) > 1 else np.zeros(1)
    error = np.sqrt(np.maximum(density, kernel_height(np.array(n_rows), np.array(bandwidth))) * ROUGHNESS / 2)
    error /= np.sqrt(max(n_rows, 1) * bandwidth**3)
    fine = np.linspace(position[0], position[-1], FINE * len(position))
    falling, rising = (np.interp(fine, position, sign * slope - error) > 0 for sign in (-1, 1))
    falls, rises = fine[falling & (fine <= threshold)], fine[rising & (fine >= threshold)]
    below = threshold - (falls[-1] if len(falls) else position[0])
    above = (rises[0] if len(rises) else position[-1]) - threshold
    return float(max((below + above) / 2, width / FINE))
