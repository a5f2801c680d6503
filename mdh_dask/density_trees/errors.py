"""Differences between the rows in the core of a group and on a cut, or in slabs, in standard errors."""

from collections.abc import Sequence

import numpy as np

from .._typing import Floats, Integers
from ..splits.dependence import errors_of_parts


def errors_in_balls(sums: Integers, n_core: int, n_cut: int) -> Floats:
    """Return by how many standard errors a ball of the core holds more rows than one on the cut, and the rows of both.

    Parameters
    ----------
    sums : array of shape (n_radii, 5), int
        Sums of `mdh_dask._jit.communities.rows_by_radius`.
    n_core, n_cut : int
        Numbers of balls.

    Returns
    -------
    array of shape (n_radii, 3)
        The standard errors, the rows in as many balls of the core as are on the cut, and those on the cut.

    Notes
    -----
    The standard error is that of equal densities: a cut without rows would seem certain of them. A row in several balls
    counts once for each, by which the variance of a sum exceeds that of a Poisson distribution; if a row is in balls of
    both, the difference is the more certain.

    Examples
    --------
    >>> errors_in_balls(np.array([[12, 4, 12, 0, 4]]), n_core=1, n_cut=1)
    array([[ 2., 12.,  4.]])
    """
    core, cut, core_squares, both, cut_squares = sums.T.astype(np.float64)
    of_ball = (core + cut) / (n_core + n_cut)
    repeated = core_squares / np.maximum(core, 1), np.maximum(cut_squares / np.maximum(cut, 1), 1)
    variance = of_ball * (repeated[0] / n_core + repeated[1] / n_cut) - 2 * both / (n_core * n_cut)
    # One row in one ball is the least difference.
    errors = (core / n_core - cut / n_cut) / np.sqrt(np.maximum(variance, 1 / (n_core * n_cut) ** 2))
    return np.column_stack([errors, core * (n_cut / n_core), cut])


def errors_among_parts(sums: Sequence[Integers], n_core: int, n_cut: int) -> Floats:
    """Return what `errors_in_balls` does for dependent rows, of which there are sums for each part.

    Examples
    --------
    >>> sums = [np.array([[n, 1, n, 0, 1]]) for n in (3, 4, 5, 4)]
    >>> errors_among_parts(sums, n_core=1, n_cut=1).round(1).tolist()
    [[2.8, 16.0, 4.0]]
    """
    core, cut = np.moveaxis(np.array(sums, dtype=np.float64)[..., :2], -1, 0)
    errors = errors_of_parts(core / n_core - cut / n_cut)
    return np.column_stack([errors, core.sum(axis=0) * (n_cut / n_core), cut.sum(axis=0)])


def errors_in_slabs(sums: Integers) -> Floats:
    """Return by how many standard errors slabs in groups hold more rows than those between, and the rows of both."""
    more, total, *rows = np.moveaxis(sums.astype(np.float64), -1, 0)
    return np.stack([more / np.sqrt(np.maximum(total, 1)), *rows], axis=-1)
