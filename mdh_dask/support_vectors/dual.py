"""The dual of support vector clustering: the weights of the rows whose sphere in feature space is the smallest."""

from dataclasses import dataclass

import numpy as np
from sklearn.svm import OneClassSVM

from .._jit.contours import kernel_totals
from .._typing import Booleans, Floats

TOLERANCE = 1e-5
"""Of the totals at support vectors, as a share of the level. With libsvm's own, a hundred times this, contours leak."""

SLACK = 1e-4
"""Totals at support vectors equal the level but for the tolerance: they are inside."""

BOUND = 1e-8
"""A weight within this share of its bound is at the bound."""


@dataclass(frozen=True)
class Sphere:
    """The sphere around points in the feature space of a Gaussian kernel.

    Parameters
    ----------
    points : array of shape (n, n_features), float64
    width : float
        q of the kernel ``exp(-q |x - y|^2)``.
    coefficients : array of shape (n,)
        The dual variables beta, which sum to one.
    bounds : array of shape (n,)
        Their upper bounds.

    Notes
    -----
    A point is in the sphere where ``sum_l coefficients_l K(points_l, x)`` is at least its level (paper eq. 13: the
    squared distance from the centre is one minus twice this total, and a constant).
    """

    points: Floats
    width: float
    coefficients: Floats
    bounds: Floats

    @property
    def support(self) -> Booleans:
        """Points with a weight."""
        return self.coefficients > 0

    @property
    def bounded(self) -> Booleans:
        """Points whose weight is at its bound: they are outside."""
        return self.support & (self.coefficients >= self.bounds * (1 - BOUND))

    def totals(self, points: Floats) -> Floats:
        """Return the sum of kernels at points."""
        inner = self.support
        return kernel_totals(np.ascontiguousarray(points), self.points[inner], self.coefficients[inner], self.width)


def smallest_sphere(points: Floats, counts: Floats, width: float, outliers: float) -> Sphere:
    """Return the smallest sphere around points, each of which stands for a number of rows.

    Parameters
    ----------
    points : array of shape (n, n_features), float64
        All different: with duplicates the solution would not be unique.
    counts : array of shape (n,)
        Rows at each point, at least one.
    width : float
        q of the kernel.
    outliers : float
        p = 1 / (N C): the bound on the share of rows outside. Under one over the number of rows nothing is outside.

    Notes
    -----
    Maximises ``1 - beta' K beta`` with ``sum beta = 1`` and ``0 <= beta_l <= counts_l / (N p)`` (paper eq. 8-11). That
    is the dual of the one-class support vector machine with nu = p: libsvm solves it.
    """
    n_rows = float(counts.sum())
    share = max(outliers, 1 / n_rows)
    bounds = counts / (n_rows * share)
    if share >= 1 or len(points) == 1:
        return Sphere(points, width, counts / n_rows, bounds)
    parzen = kernel_totals(points, points, counts / n_rows, width)
    machine = OneClassSVM(
        kernel="rbf", gamma=width, nu=share, tol=TOLERANCE * level_of(parzen, counts, max(share, 0.1)), cache_size=500
    ).fit(points, sample_weight=bounds)
    coefficients = np.zeros(len(points))
    coefficients[machine.support_] = machine.dual_coef_[0]
    return Sphere(points, width, coefficients / coefficients.sum(), bounds)


def level_of(totals: Floats, counts: Floats, outliers: float) -> float:
    """Return the largest of the totals under which at most a share `outliers` of the rows lies.

    Examples
    --------
    >>> level_of(np.array([0.3, 0.1, 0.2, 0.4]), np.ones(4), 0.25)
    0.2
    """
    order = np.argsort(totals, kind="stable")
    under = np.concatenate([[0.0], np.cumsum(counts[order])[:-1]])
    allowed = outliers * counts.sum() * (1 + 1e-12)
    return float(totals[order[np.flatnonzero(under <= allowed)[-1]]])
