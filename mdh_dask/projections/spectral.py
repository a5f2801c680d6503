"""Directions of features whose inner products are affinities, by the second eigenvector of a branch."""

import numpy as np
from scipy.linalg import eigh

from .._eigenvectors import degrees_of
from .._typing import AnyArray, Floats

SAME = 1e-9
"""Differences of entries up to this share of their range may be rounding errors of equal rows."""


def spectral_direction(
    rows: AnyArray, rng: np.random.Generator, n_directions: int = 1, min_rows: float | None = None
) -> tuple[Floats, Floats]:
    """Return the hyperplane through the origin of the least normalised cut along the second eigenvector of affinities.

    Parameters
    ----------
    rows : array of shape (n, n_features)
        Not centred: the inner products of rows are their affinities, hardly any of them negative.
    rng : Generator
        Not used.
    n_directions : int
        Not used: there is one.
    min_rows : float, optional
        Least number of rows on each side; their square root by default.

    Returns
    -------
    directions : ndarray of shape (1, n_features), or (0, n_features) if no threshold leaves enough rows on each side
    thresholds : ndarray of shape (1,) or (0,)
        Zero.

    Notes
    -----
    The entry of a row ``f`` in the second eigenvector ``w`` of the random walk is ``f @ w / (f @ s)``, where ``s`` is
    the sum of all rows. So a threshold ``t`` on entries is the hyperplane ``f @ (w - t s) = 0`` for any row. Source: J.
    Shi and J. Malik, Normalized cuts and image segmentation, IEEE TPAMI 22, 2000.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = np.repeat([[1.0, 0.1], [0.1, 1.0]], [40, 60], axis=0) + rng.uniform(0, 0.05, (100, 2))
    >>> directions, thresholds = spectral_direction(rows, rng)
    >>> int((rows @ directions[0] > 0).sum()) in (40, 60)
    True
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
    return (v / np.linalg.norm(v) * (1 if v[np.abs(v).argmax()] > 0 else -1))[None], np.zeros(1)


def second_eigenvalue(rows: AnyArray) -> float:
    """Return the second eigenvalue of the normalised Laplacian of affinities that are inner products of rows.

    Infinite for less than two rows, and one for rows in one direction.

    Examples
    --------
    >>> round(second_eigenvalue(np.repeat(np.eye(2), 5, axis=0)), 9), round(second_eigenvalue(np.ones((9, 2))), 9)
    (0.0, 1.0)
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
    apart = np.diff(ordered) > SAME * (ordered[-1] - ordered[0])
    allowed = apart & (np.minimum(n_left, len(order) - n_left) >= min_rows)[:-1]
    if not allowed.any():
        return None
    # Approximate affinities may make the cut between separate groups slightly negative.
    costs = cut[:-1].clip(0) * (1 / volume[:-1] + 1 / (volume[-1] - volume[:-1]))
    k = int(np.where(allowed, costs, np.inf).argmin())
    return float(ordered[k] + ordered[k + 1]) / 2
