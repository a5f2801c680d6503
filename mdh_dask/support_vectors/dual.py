"""Landmarks, and the dual of support vector clustering: weights of the smallest sphere around them in feature space."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from .._jit.hashing import in_first_half
from .._jit.landmarks import ascend, kernel_totals, lowest_along
from .._typing import Booleans, Floats, Integers, cached_property
from ..growth.passes import Sample
from ..growth.scaling import Standardiser

SPACING = 0.25
"""Largest distance of points on a segment, in units of ``1 / sqrt(width)``: with a larger one, exits are missed."""

SLACK = 1e-4
"""Totals at support vectors equal the level up to the tolerance, and count as inside."""


@dataclass(frozen=True)
class Landmarks:
    """Distinct standardised rows."""

    points: Floats
    """Shape (n, n_features), float64: rows in ascending order of their columns."""
    first: Booleans
    """Shape (n,), bool: whether a row of the first half is at the point."""


def landmarks_of(sample: Sample, frame: Standardiser, n_landmarks: int) -> Landmarks:
    """Return the distinct rows among the sample rows with the smallest hashes."""
    chosen = sample.in_random_order(n_landmarks)
    points, place = np.unique(frame.exactly(chosen.rows), axis=0, return_inverse=True)
    first = np.zeros(len(points), dtype=bool)
    first[np.ravel(place)[in_first_half(chosen.hashes)]] = True
    return Landmarks(points, first)


def points_between(points: Floats, edges: Integers, width: float, n_segment: int | None) -> Integers:
    """Return the number of points to test on each segment: `n_segment`, or the number for `SPACING`."""
    if n_segment is not None:
        return np.full(len(edges), n_segment)
    lengths = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    return np.clip(np.ceil(lengths * np.sqrt(width) / SPACING), 1, 64).astype(np.int64)


def spacing(points: Floats) -> float:
    """Return the median distance of points to their nearest neighbours."""
    return float(np.median(cKDTree(points).query(points, k=2)[0][:, 1])) if len(points) > 1 else 0.0


STEP = 1e-4
"""An ascent ends with a step of this length, in units of ``1 / sqrt(width)``."""


@dataclass(frozen=True)
class Sphere:
    """The sphere around points in the feature space of a Gaussian kernel.

    A point is in the sphere if ``sum_l coefficients_l K(points_l, x)`` is at least its level (paper eq. 13: the squared
    distance from the centre is one minus twice this total plus a constant).
    """

    points: Floats
    """Shape (n, n_features), float64."""
    width: float
    """q of the kernel ``exp(-q |x - y|^2)``."""
    coefficients: Floats
    """Shape (n,): the dual variables beta, which sum to one."""
    bounds: Floats
    """Shape (n,): upper bounds of the dual variables."""

    @property
    def support(self) -> Booleans:
        """Mask of the points with a positive weight."""
        return self.coefficients > 0

    @property
    def bounded(self) -> Booleans:
        """Mask of the points whose weight is at its bound, which are outside."""
        return self.support & (self.coefficients >= self.bounds * (1 - 1e-8))

    @cached_property
    def kernels(self) -> tuple[Floats, Floats, float]:
        """Centres, weights and width of the kernels that have a weight, for compiled loops."""
        return self.points[self.support], self.coefficients[self.support], self.width

    def totals(self, points: Floats) -> Floats:
        """Return the sum of kernels at points."""
        return kernel_totals(np.ascontiguousarray(points), *self.kernels)

    def summits(self, points: Floats) -> Floats:
        """Return the ends of the ascents of the sum of kernels from points."""
        return ascend(points, *self.kernels, STEP / np.sqrt(self.width), 1000)

    def lowest_along(self, edges: Integers, n_segment: int | None = None) -> Floats:
        """Return the lowest total between the ends of each edge; see `points_between` for `n_segment`."""
        between = points_between(self.points, edges, self.width, n_segment)
        return lowest_along(self.points, edges, between, *self.kernels)[0]

    def highest_first(self, edges: Integers, n_segment: int | None = None) -> Integers:
        """Return the edges in descending order of the lowest total on them."""
        lowest = np.minimum(self.lowest_along(edges, n_segment), self.totals(self.points)[edges].min(axis=1))
        return edges[np.argsort(-lowest, kind="stable")]


def smallest_sphere(points: Floats, counts: Floats, width: float, outliers: float) -> Sphere:
    """Return the smallest sphere around points with numbers of rows as weights.

    Maximises ``1 - beta' K beta`` with ``sum beta = 1`` and ``0 <= beta_l <= counts_l / (N p)`` (paper eq. 8-11). That
    is the dual of the one-class support vector machine with nu = p, which libsvm solves.

    points (n, n_features) float64: distinct points, as duplicates would make the solution ambiguous.
    counts (n,): number of rows at each point, at least one.
    width: q of the kernel.
    outliers: p = 1 / (N C), the bound on the share of rows outside. Below one over the number of rows, no row is
        outside. With one, every row has the same weight: the totals are the density of the rows.
    """
    n_rows = float(counts.sum())
    share = max(outliers, 1 / n_rows)
    bounds = counts / (n_rows * share)
    if share >= 1 or len(points) == 1:
        return Sphere(points, width, counts / n_rows, bounds)
    parzen = kernel_totals(points, points, counts / n_rows, width)
    from sklearn.svm import OneClassSVM  # imported late: no other estimator needs it

    tol = 1e-5 * level_of(parzen, counts, max(share, 0.1))  # with libsvm's default, 100 times this, contours leak
    machine = OneClassSVM(kernel="rbf", gamma=width, nu=share, tol=tol, cache_size=500)
    machine.fit(points, sample_weight=bounds)
    coefficients = np.zeros(len(points))
    coefficients[machine.support_] = machine.dual_coef_[0]
    return Sphere(points, width, coefficients / coefficients.sum(), bounds)


def level_of(totals: Floats, counts: Floats, outliers: float) -> float:
    """Return the largest total below which at most a share `outliers` of the rows lies."""
    order = np.argsort(totals, kind="stable")
    under = np.concatenate([[0.0], np.cumsum(counts[order])[:-1]])
    allowed = outliers * counts.sum() * (1 + 1e-12)
    return float(totals[order[np.flatnonzero(under <= allowed)[-1]]])
