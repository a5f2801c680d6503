"""Principal components (thesis sections 2.2.1 and 6.2.2), and whitening of rows that are thin in some directions."""

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import svds

from .._blas import signs_of
from .._jit.rows import diagonalise
from .._random import generator
from .._typing import AnyArray, Floats

LARGEST_EXACT = 1000
"""Most rows or features for a dense eigenproblem; beyond, Lanczos iteration finds the leading components."""


def principal_components(rows: AnyArray, n_components: int) -> Floats:
    """Return the orthonormal directions of the largest variance, in descending order.

    Exact for up to `LARGEST_EXACT` rows or features; with more of both, to the accuracy of ARPACK from a fixed start.

    Returns (k, n_features) float64: `n_components` directions, or as many as the dimensions spanned by the rows, but at
        least one. The entry with the largest absolute value is positive in each.
    """
    return scaled_components(centred_rows(rows), n_components)[0]


def scaled_components(centred: Floats, n_components: int) -> tuple[Floats, Floats]:
    """Return principal components of rows with mean zero, and the standard deviations along them."""
    n, d = centred.shape
    if d <= LARGEST_EXACT:
        directions, squares = _leading(centred.T @ centred, n_components)
    elif n <= LARGEST_EXACT:
        # The scatter of the features has the same eigenvalues as the products of the rows.
        combinations, squares = _leading((centred @ centred.T).astype(np.float64), n_components)
        directions = combinations @ centred
        directions /= np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), np.finfo(float).tiny)
    else:
        directions, squares = _by_lanczos(centred, n_components)
    if squares[0] <= 0:
        directions, squares = np.eye(1, d), np.zeros(1)
    spanned = squares > squares[0] * max(n, d) * np.finfo(centred.dtype).eps
    spanned[0] = True
    return with_fixed_signs(directions[spanned]), np.sqrt(np.maximum(squares[spanned], 0.0) / n)


def centred_rows(rows: AnyArray) -> Floats:
    """Return rows as float64 with mean zero; constant columns become exactly zero.

    Many float32 columns stay float32: as float64 they could fill the memory.
    """
    rows = np.asarray(rows)
    if rows.ndim != 2 or 0 in rows.shape:
        raise ValueError(f"rows must have shape (n, n_features) with at least one of both, got {rows.shape}")
    if not np.isfinite(rows).all():
        raise ValueError("rows must be finite, got NaN or infinite values; remove or impute them")
    many = rows.dtype == np.float32 and rows.shape[1] > LARGEST_EXACT
    moved: Floats = rows.astype(np.float32 if many else np.float64)
    moved = moved - moved[0]
    return moved - moved.mean(axis=0, dtype=np.float64).astype(moved.dtype)


def with_fixed_signs(directions: Floats) -> Floats:
    """Return the directions with the signs that make their largest entries in absolute value positive."""
    return directions * signs_of(directions.T)[:, None]


def _leading(scatter: Floats, n_components: int) -> tuple[Floats, Floats]:
    size = len(scatter)
    values, vectors = eigh(scatter, subset_by_index=(max(size - n_components, 0), size - 1))
    return vectors[:, ::-1].T.copy(), values[::-1].copy()


def _by_lanczos(centred: Floats, n_components: int) -> tuple[Floats, Floats]:
    smaller = min(centred.shape)
    start = generator(0).standard_normal(smaller)
    _, values, directions = svds(centred, k=min(n_components, smaller - 1), v0=start)
    order = np.argsort(-values, kind="stable")
    return directions[order].astype(np.float64), values[order].astype(np.float64) ** 2


THIN = 0.1
"""Rows are whitened if some principal component has less than this share of the largest standard deviation."""

MOST_COMPONENTS, ROWS_FOR_A_COMPONENT = 50, 20
"""Most principal components whose span is searched, as noise would separate a few rows in many columns anywhere. With
fewer rows for each, whitening amplifies noise, too."""


def whitening_of(rows: AnyArray, only_thin: bool = True) -> Floats | None:
    """Return the linear map to rows of unit covariance, or None unless the rows are thin in some direction.

    only_thin: false to return the map of round rows, too.
    Returns (k, n_features) float64, or None: leading principal components, divided by the standard deviations along
        them: ``w @ whitening`` is the direction of the given rows that corresponds to a direction `w` of whitened rows.
        None if the standard deviations differ little, or if there are too few rows for two components.
    """
    n, d = rows.shape
    n_components = min(n // ROWS_FOR_A_COMPONENT, MOST_COMPONENTS, d)
    if n_components < 2:
        return None
    if only_thin and d <= 2 * n_components and _certainly_round(rows, n_components):
        return None
    components, sd = scaled_components(centred_rows(rows), n_components)
    if sd[0] == 0 or (only_thin and not is_thin(sd)):
        return None
    return components / sd[:, None]


def is_thin(sd: Floats) -> bool:
    """Return whether rows are thin, by the standard deviations along their components in descending order."""
    return bool(sd[-1] < THIN * sd[0])


def _certainly_round(rows: AnyArray, n_components: int) -> bool:
    """Return whether rows are far from thin along their components, in their own precision and without computing them.

    With many more columns than components, their variances would take as long.
    """
    moved = rows - rows[0]
    moved -= moved.mean(axis=0)
    scatter = moved.T @ moved
    if not np.isfinite(scatter).all():
        return False
    variances = np.linalg.eigvalsh(scatter)
    # Rounding errors of float32 are a thousandth of the largest variance, a tenth of this.
    return bool(variances[-n_components] > 2 * THIN**2 * variances[-1])


def across_thin_directions(rng: np.random.Generator, n_directions: int, rows: AnyArray) -> Floats:
    """Return directions that are uniformly random for whitened rows, or no directions if no whitening is needed.

    >>> rows = np.random.default_rng(0).normal(size=(500, 2)) * [10.0, 0.1]
    >>> V = across_thin_directions(np.random.default_rng(0), 1000, rows)
    >>> bool(abs(V[:, 1].std() / V[:, 0].std() - 100) < 10)
    True
    """
    whitening = whitening_of(rows)
    if whitening is None:
        return np.empty((0, rows.shape[1]))
    return rng.standard_normal((n_directions, len(whitening))) @ whitening


UNMIXED = 5
"""Fewest principal components that trees unmix, even if they score fewer: a single one would stay as it is."""

ANGLE, MAX_SWEEPS = 0.01, 50
"""Rotations end with a sweep that turns no pair by more than the first number over sqrt(n), far below the statistical
error with n rows (Cardoso's choice), or after this many sweeps."""


def leading_components(rows: AnyArray, n_directions: int, n_unmixed: int = UNMIXED) -> Floats:
    """Return the independent components with the largest absolute excess kurtosis.

    n_unmixed: number of leading principal components to unmix, at least `n_directions`.
    Returns (at most n_directions, n_features) float64: rows of `independent_components`.
    """
    return independent_components(rows, max(n_directions, n_unmixed))[:n_directions]


def independent_components(rows: AnyArray, n_components: int) -> Floats:
    """Return directions whose projections are as independent as a rotation of the whitened rows can make them.

    Kurtosis is strongly negative for clusters of equal size and strongly positive for heavy tails or single outliers: a
    leading direction need not show a valley. Costs O(n k^4) operations. Source: Cardoso and Souloumiac, Blind
    beamforming for non-Gaussian signals (1993); Jacobi angles for simultaneous diagonalization (1996).

    n_components: number of leading principal components to unmix, at least 1 and at most 20.
    Returns (k, n_features) float64: in descending order of the absolute excess kurtosis, `n_components` directions or
        as many as the dimensions spanned by the rows, but at least one. The projections of the rows are uncorrelated
        and have variance one, unless all rows are equal. The entry with the largest absolute value is positive in each.
    """
    centred = centred_rows(rows)
    components, sd = scaled_components(centred, min(n_components, 20))  # the cumulants grow with the fourth power
    if sd[0] == 0:
        return components
    whitening = components / sd[:, None]
    white = centred @ whitening.T
    rotation = joint_diagonaliser(cumulant_matrices(white), ANGLE / np.sqrt(len(white)))
    kurtosis = ((white @ rotation) ** 4).mean(axis=0) - 3.0
    order = np.argsort(-np.abs(kurtosis), kind="stable")
    return with_fixed_signs(rotation.T[order] @ whitening)


def cumulant_matrices(white: Floats) -> Floats:
    """Return the fourth-order cumulants of whitened rows as symmetric matrices, one for each pair of components.

    white (n, k): mean zero, unit covariance.
    Returns (k * (k + 1) / 2, k, k): ``cum(z_p, z_q, z_i, z_j)`` for all ``p <= q``, times sqrt(2) where they differ, as
        each of these replaces two.
    """
    n, k = white.shape
    identity = np.eye(k)
    matrices = []
    for p in range(k):
        for q in range(p, k):
            fourth = (white * (white[:, p] * white[:, q])[:, None]).T @ white / n
            pairs = np.outer(identity[p], identity[q])
            gaussian = (p == q) * identity + pairs + pairs.T
            matrices.append((fourth - gaussian) * (1.0 if p == q else np.sqrt(2.0)))
    return np.array(matrices)


def joint_diagonaliser(matrices: Floats, smallest_angle: float = 1e-8, max_sweeps: int = MAX_SWEEPS) -> Floats:
    """Return the rotation R that makes all ``R.T @ M @ R`` as diagonal as possible, by Jacobi rotations.

    matrices (n_matrices, k, k): symmetric.
    smallest_angle: the last sweep is the one that turns no pair by more than this, in radians.
    Returns (k, k): orthonormal.
    """
    axes = np.eye(matrices.shape[1])
    # The loops run along the same entry of all matrices.
    diagonalise(np.ascontiguousarray(matrices.transpose(1, 2, 0)), axes, smallest_angle, max_sweeps)
    return axes.T


def non_normal_directions(white: Floats) -> Floats:
    """Return orthonormal directions along which whitened rows are as far from normal as a rotation can make them.

    An affine map of the rows does not change the clusters that are found, however thin or oblique they become. The
    hyperbolic tangent sees clusters of sizes whose kurtosis is zero, unlike the cumulants of `independent_components`,
    and costs O(n k^2) operations an iteration in place of O(n k^4) in all. Scikit-learn's ``fastica`` warns of
    directions that do not settle, as those that are normal need not; a warning cannot be silenced in one thread.
    Source: Hyvärinen, Fast and robust fixed-point algorithms for independent component analysis, IEEE Transactions on
    Neural Networks 10(3), 1999, with symmetric orthogonalisation.

    white (n, k): mean zero, unit covariance.
    Returns (k, k) float64: in no particular order.
    """
    directions = np.eye(white.shape[1])
    for _ in range(30):  # Gaussian directions never converge
        bent = np.tanh(white @ directions.T)
        turned = bent.T @ white / len(white) - (1 - bent**2).mean(axis=0)[:, None] * directions
        left, _, right = np.linalg.svd(turned)
        turned = left @ right
        change = np.abs(np.abs((turned * directions).sum(axis=1)) - 1).max()
        directions = turned
        if change < 1e-4:
            break
    return directions
