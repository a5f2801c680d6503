"""Modes and valleys of densities on a grid, and the relative depth of a valley."""

import numpy as np
from scipy.optimize import isotonic_regression

from .._typing import AnyArray, Floats

CERTAIN_DEPTH = 10.0
"""Relative depth beyond which a valley is beyond doubt: a search that has found one need not go on for a deeper one."""


def relative_depth(density: AnyArray, floor: AnyArray | float = 0.0) -> Floats:
    """Return the relative depth of a split at every grid point.

    Parameters
    ----------
    density : array of shape (..., n_bins)
        Densities on a grid.
    floor : array of shape (...), optional
        Added to the density in the denominator. With the height of one row's kernel (`kernel_height`) the depth is
        finite in an empty gap and still reflects the modes on both sides.

    Returns
    -------
    ndarray of shape (..., n_bins), float64
        ``(min(highest density on the left, highest on the right) - p) / (p + floor)``: JMLR 17(156), eq. 30; thesis,
        eq. 6.8. Zero where one side has no mode.

    Examples
    --------
    >>> relative_depth(np.array([1.0, 4.0, 2.0, 3.0, 0.0]))
    array([0. , 0. , 0.5, 0. , 0. ])
    """
    density = np.asarray(density, dtype=np.float64)
    left, right = (np.maximum.accumulate(side, axis=-1) for side in (density, density[..., ::-1]))
    gain = np.minimum(left, right[..., ::-1]) - density
    # An empty gap without a floor has a huge, but finite depth.
    least = np.finfo(float).tiny * np.maximum(gain, 1.0)
    depth: Floats = gain / np.maximum(density + np.asarray(floor)[..., None], least)
    return depth


def modes(density: AnyArray) -> AnyArray:
    """Return the positions of the local maxima of one density; a plateau counts once, at its middle.

    Examples
    --------
    >>> modes(np.array([0.0, 2.0, 1.0, 3.0, 3.0, 3.0, 0.0]))
    array([1, 4])
    """
    density = np.asarray(density, dtype=np.float64)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(density)) + 1])
    ends = np.concatenate([starts[1:], [len(density)]]) - 1
    heights = np.concatenate([[-np.inf], density[starts], [-np.inf]])
    is_mode = (heights[1:-1] > heights[:-2]) & (heights[1:-1] > heights[2:]) & (density[starts] > 0)
    return (starts[is_mode] + ends[is_mode]) // 2


def unimodal_fit(counts: AnyArray, mode: int) -> Floats:
    """Return the least-squares unimodal histogram with its mode in bin `mode`, scaled to sum one.

    Between two modes the fit pools the lower mode and the valley before it into a plateau, which is the unimodal
    distribution hardest to distinguish from the data there.

    Examples
    --------
    >>> unimodal_fit(np.array([1.0, 3.0, 1.0, 2.0, 1.0]), mode=1).round(3).tolist()
    [0.125, 0.375, 0.188, 0.188, 0.125]
    """
    counts = np.asarray(counts, dtype=np.float64)
    rising, falling = counts[:mode], counts[mode + 1 :]
    fit = np.empty_like(counts)
    fit[:mode] = isotonic_regression(rising).x if len(rising) else rising
    fit[mode + 1 :] = isotonic_regression(falling, increasing=False).x if len(falling) else falling
    # The mode pools with the highest bins of both sides: an isotonic regression in order of height.
    fit[mode] = np.inf
    order = np.argsort(fit, kind="stable")
    fit[mode] = counts[mode]
    fit[order] = isotonic_regression(fit[order]).x
    return fit / fit.sum()
