"""Evidence of valleys in standard errors of the density."""

import numpy as np

from .._typing import Floats
from .kde import kernel_height

ROUGHNESS = 1 / (2 * np.sqrt(np.pi))
"""Integral of the squared Gaussian kernel of unit bandwidth."""

FINE = 8
"""Points per bin at which slopes are compared with their errors: the error of a threshold may be less than a bin."""


def valley_evidence(density: Floats, k: int, n_rows: float, bandwidth: float) -> float:
    """Return by how many standard errors the lower of the two modes beside a bin exceeds the density in it.

    Parameters
    ----------
    density : array of shape (n_bins,)
        Kernel density of `n_rows` rows with a Gaussian kernel of this bandwidth.
    k : int
        The bin after which the threshold lies.
    n_rows : float
    bandwidth : float

    Returns
    -------
    float
        At least zero. The modes are chosen, so this is no test.

    Examples
    --------
    >>> from mdh_dask.density.kde import kernel_density
    >>> density = kernel_density(np.array([0, 4, 30, 4, 2, 4, 30, 4, 0]), np.array(1.0), np.array(0.5))
    >>> round(valley_evidence(density, 4, 78, 0.5), 1)
    6.5
    """
    # The square roots of the numbers of rows under a kernel at the valley and at the lower mode each have
    # variance 1/4.
    rows = density * n_rows * bandwidth / ROUGHNESS
    mode = min(rows[: k + 1].max(), rows[k:].max())
    return float(np.sqrt(2) * (np.sqrt(mode) - np.sqrt(rows[k])))


def threshold_error(position: Floats, density: Floats, threshold: float, n_rows: float, bandwidth: float) -> float:
    """Return the standard error of a threshold in a valley, at least an eighth of a bin.

    It is half of the interval around the threshold in which the slope of the density does not exceed its own standard
    error: in a smooth valley the standard error of the minimum, across an empty gap half of its width.

    Parameters
    ----------
    position, density : arrays of shape (n_bins,)
        Kernel density of `n_rows` rows with a Gaussian kernel of this bandwidth, in the units of `position`.
    threshold, n_rows, bandwidth : float

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
