"""Directions that divide a branch in two: by 2-means, clusterability, normalised cuts or a second eigenvector."""

from typing import NamedTuple

import numpy as np
import scipy
from scipy.linalg import eigh

from .._blas import degrees_of
from .._jit.affinities import affinity_sums, cut_slopes, least_cut
from .._typing import AnyArray, Booleans, Floats
from .pca import centred_rows, scaled_components, with_fixed_signs

STARTS, MOST_STEPS = 5, 100

RIDGE = 1e-9
"""Share of the mean variance within the sides that is added to all, for columns that depend on others."""


class Cut(NamedTuple):
    """The least normalised cut along a direction, with its gradient by the direction."""

    value: float
    gradient: Floats
    threshold: float


def two_means_direction(rows: AnyArray, rng: np.random.Generator, n_directions: int = 1) -> tuple[Floats, Floats]:
    """Return the direction between the means of two groups, and the threshold halfway, of the best of several starts.

    Returns directions (1, n_features) or (0, n_features) if all rows are equal.
    Returns thresholds (1,) or (0,).
    """
    points = np.asarray(rows, dtype=np.float64)
    groups = [_settled(points, rng) for _ in range(STARTS)] if len(points) and np.ptp(points, axis=0).any() else []
    if not groups:
        return np.empty((0, points.shape[1])), np.empty(0)
    upper = max(groups, key=lambda upper: _between(points, upper))
    low, high = points[~upper].mean(axis=0), points[upper].mean(axis=0)
    direction = (high - low) / np.linalg.norm(high - low)
    return direction[None], np.array([direction @ (low + high) / 2])


def clusterable_direction(rows: AnyArray, rng: np.random.Generator, n_directions: int = 1) -> tuple[Floats, Floats]:
    """Return the direction along which the ratio of the squares between and within two groups is largest.

    Starts between two means; then in turn the direction that separates the groups best (Fisher's), and the groups that
    divide it best, until they stay the same. The ratio never falls. See `two_means_direction` for the arguments.

    Source: D. Hofmeyr and N. Pavlidis, Maximum clusterability divisive clustering, IEEE SSCI 2015.
    """
    points = np.asarray(rows, dtype=np.float64)
    if 0 < len(points) < points.shape[1] and np.ptp(points, axis=0).any():
        # Few rows span few directions, and make a smaller system. Rounding would make equal rows differ there.
        axes = np.linalg.qr((points - points.mean(axis=0)).T)[0].T
        directions, thresholds = clusterable_direction(points @ axes.T, rng)
        return directions @ axes, thresholds
    directions, thresholds = two_means_direction(points, rng)
    for _ in range(MOST_STEPS if len(directions) else 0):
        upper = points @ directions[0] > thresholds[0]
        if upper.all() or not upper.any():
            break
        low, high = points[~upper].mean(axis=0), points[upper].mean(axis=0)
        apart = points - np.where(upper[:, None], high, low)
        within = apart.T @ apart
        spread = float(np.trace(within)) / len(within)
        if spread <= RIDGE * float((high - low) @ (high - low)):
            break  # the rows of either group are alike
        within[np.diag_indices_from(within)] += RIDGE * spread
        v = np.linalg.solve(within, high - low)
        v /= np.linalg.norm(v)
        threshold = _best_threshold(points @ v)
        directions, thresholds = v[None], np.array([threshold])
        if np.array_equal(points @ v > threshold, upper):
            break
    return directions, thresholds


def cutting_direction(rows: AnyArray, rng: np.random.Generator, n_directions: int = 1) -> tuple[Floats, Floats]:
    """Return the direction of the hyperplane of the least normalised cut, pursued from the first principal component.

    Source: D. Hofmeyr, Clustering by minimum cut hyperplanes, IEEE TPAMI 39, 2017. See `two_means_direction` for the
    arguments.
    """
    centred = centred_rows(rows).astype(np.float64)
    components, sd = scaled_components(centred, 1)
    if len(centred) < 2 or not sd[0] > 0:
        return np.empty((0, centred.shape[1])), np.empty(0)
    # Scale in units of ``sd(pc1) n^(-1/5)``: ten bandwidths of the first component.
    scale, least_rows = 9.0 * float(sd[0]) * len(centred) ** -0.2, max(int(np.sqrt(len(centred))), 1)

    def cost(v: Floats) -> tuple[float, Floats]:
        found = cut_along(centred, v, scale, least_rows)
        return found.value, found.gradient

    v = scipy.optimize.minimize(cost, components[0], jac=True, method="L-BFGS-B", options={"maxiter": 50}).x
    v /= np.linalg.norm(v)
    mean = np.asarray(rows, dtype=np.float64)[0] - centred[0]
    return v[None], np.array([cut_along(centred, v, scale, least_rows).threshold + mean @ v])


def cut_along(centred: Floats, vector: Floats, scale: float, least_rows: int) -> Cut:
    """Return the least normalised cut along the direction of a vector, and its gradient by the vector.

    scale: the affinity of two rows is ``exp(-distance / scale)``.
    """
    length = float(np.linalg.norm(vector))
    unit = vector / length
    projections = centred @ unit
    order = np.argsort(projections, kind="stable")
    p = projections[order]
    left, right, slopes = np.empty((3, len(p)))
    affinity_sums(p, scale, left, right)
    found = least_cut(p, left, right, least_rows)
    best, cut, volume, beyond = found
    if best < 0:
        return Cut(2.0, np.zeros(len(vector)), 0.0)
    cut_slopes(p, scale, left, right, found, slopes)
    gradient = slopes @ centred[order]
    value = cut / volume + cut / beyond
    return Cut(value, (gradient - (gradient @ unit) * unit) / length, float(p[best] + p[best + 1]) / 2)


def _settled(points: Floats, rng: np.random.Generator) -> Booleans:
    """Return the groups of two means from two rows, the second drawn by its squared distance to the first."""
    first = points[rng.integers(len(points))]
    squares = np.square(points - first).sum(axis=1)
    second = points[rng.choice(len(points), p=squares / squares.sum())] if squares.any() else first
    upper = np.square(points - second).sum(axis=1) < squares
    for _ in range(MOST_STEPS):
        if upper.all() or not upper.any():
            break
        low, high = points[~upper].mean(axis=0), points[upper].mean(axis=0)
        moved = points @ (high - low) > (high @ high - low @ low) / 2
        if np.array_equal(moved, upper):
            break
        upper = moved
    return upper


def _between(points: Floats, upper: Booleans) -> float:
    """Return the sum of squares between two groups, minus infinity if one has no rows."""
    n_upper = int(upper.sum())
    if n_upper in (0, len(upper)):
        return -np.inf
    apart = points[upper].mean(axis=0) - points[~upper].mean(axis=0)
    return float(n_upper * (len(upper) - n_upper) * (apart @ apart))


def _best_threshold(projections: Floats) -> float:
    """Return the threshold of one-dimensional 2-means, between different values."""
    p = np.sort(projections)
    n, left = len(p), np.arange(1, len(p))
    sums = np.cumsum(p - p.mean())[:-1]
    between = np.where(p[1:] > p[:-1], sums**2 / (left * (n - left)), -np.inf)
    k = int(between.argmax())
    return float(p[k] + (p[k + 1] - p[k]) / 2)


def spectral_direction(
    rows: AnyArray, rng: np.random.Generator, n_directions: int = 1, min_rows: float | None = None
) -> tuple[Floats, Floats]:
    """Return the hyperplane through the origin of the least normalised cut along the second eigenvector of affinities.

    The entry of a row ``f`` in the second eigenvector ``w`` of the random walk is ``f @ w / (f @ s)``, where ``s`` is
    the sum of all rows. So a threshold ``t`` on entries is the hyperplane ``f @ (w - t s) = 0`` for any row. Source: J.
    Shi and J. Malik, Normalized cuts and image segmentation, IEEE TPAMI 22, 2000.

    rows (n, n_features): not centred: the inner products of rows are their affinities, hardly any of them negative.
    min_rows: least number of rows on each side; their square root by default.
    Returns directions (1, n_features) or (0, n_features) if no threshold leaves enough rows on each side.
    Returns thresholds (1,) or (0,): zero.
    """
    points = np.array(rows, dtype=np.float64)
    nothing = np.empty((0, points.shape[1])), np.empty(0)
    if len(points) < 2 or points.shape[1] < 2:
        return nothing
    _, w, degrees = _second(points)
    t = _threshold(points, degrees, points @ w / degrees, np.sqrt(len(points)) if min_rows is None else min_rows)
    if t is None:
        return nothing
    v = w - t * points.sum(axis=0)
    return with_fixed_signs(v[None] / np.linalg.norm(v)), np.zeros(1)


def second_eigenvalue(rows: AnyArray) -> float:
    """Return the second eigenvalue of the normalised Laplacian of affinities that are inner products of rows.

    Infinite for less than two rows, and one for rows in one direction.
    """
    points = np.array(rows, dtype=np.float64)
    if len(points) < 2 or points.shape[1] < 2:
        return np.inf
    return 1 - _second(points)[0]


def _second(points: Floats) -> tuple[float, Floats, Floats]:
    """Return the second eigenvalue of the normalised affinities, the weights of its eigenvector, and the degrees.

    The first eigenvector is known from the degrees; it is left out, as the affinities of separate groups have several
    eigenvalues of one, whose eigenvectors are any rotation of theirs.
    """
    total = points.sum(axis=0)
    degrees = degrees_of(points, total)
    even = points / np.sqrt(degrees)[:, None]
    first = total / max(float(np.linalg.norm(total)), np.finfo(np.float64).tiny)
    even -= np.outer(even @ first, first)
    n = points.shape[1]
    values, vectors = eigh(even.T @ even, subset_by_index=(n - 1, n - 1))
    return float(values[0]), vectors[:, 0], degrees


def _threshold(points: Floats, degrees: Floats, entries: Floats, min_rows: float) -> float | None:
    """Return the threshold on the entries with the least normalised cut, or None without an admissible one."""
    order = np.argsort(entries, kind="stable")
    sums = np.cumsum(points[order], axis=0)
    volume = np.cumsum(degrees[order])
    ordered, n_left = entries[order], np.arange(1, len(order) + 1)
    cut = sums @ sums[-1] - np.square(sums).sum(axis=1)
    apart = np.diff(ordered) > 1e-9 * (ordered[-1] - ordered[0])  # may be rounding errors of equal rows
    allowed = apart & (np.minimum(n_left, len(order) - n_left) >= min_rows)[:-1]
    if not allowed.any():
        return None
    # Approximate affinities may make the cut between separate groups slightly negative.
    costs = cut[:-1].clip(0) * (1 / volume[:-1] + 1 / (volume[-1] - volume[:-1]))
    k = int(np.where(allowed, costs, np.inf).argmin())
    return float(ordered[k] + ordered[k + 1]) / 2
