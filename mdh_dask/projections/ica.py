"""Independent components: by joint diagonalisation of cumulants, and by a fixed-point iteration for many dimensions."""

import numpy as np

from .._jit.vectors import diagonalise
from .._typing import AnyArray, Floats
from .pca import centred_rows, scaled_components, with_fixed_signs

MOST_COMPONENTS = 20
"""Most principal components to unmix, as the cumulants grow with the fourth power of their number."""

UNMIXED = 5
"""Fewest principal components that trees unmix, even if they score fewer: a single one would stay as it is."""

ANGLE, MAX_SWEEPS = 0.01, 50
"""Rotations end with a sweep that turns no pair by more than the first number over sqrt(n), far below the statistical
error with n rows (Cardoso's choice), or after this many sweeps."""


def leading_components(rows: AnyArray, n_directions: int, n_unmixed: int = UNMIXED) -> Floats:
    """Return the independent components with the largest absolute excess kurtosis.

    rows (n, n_features).
    n_directions: number of directions.
    n_unmixed: number of leading principal components to unmix, at least `n_directions`.
    Returns (at most n_directions, n_features) float64: rows of `independent_components`.
    """
    return independent_components(rows, max(n_directions, n_unmixed))[:n_directions]


def independent_components(rows: AnyArray, n_components: int) -> Floats:
    """Return directions whose projections are as independent as a rotation of the whitened rows can make them.

    Kurtosis is strongly negative for clusters of equal size and strongly positive for heavy tails or single outliers: a
    leading direction need not show a valley. Costs O(n k^4) operations. Source: Cardoso and Souloumiac, Blind
    beamforming for non-Gaussian signals (1993); Jacobi angles for simultaneous diagonalization (1996).

    rows (n, n_features): finite values; they need not be centred.
    n_components: number of leading principal components to unmix, at least 1 and at most `MOST_COMPONENTS`.
    Returns (k, n_features) float64: in descending order of the absolute excess kurtosis, `n_components` directions or
        as many as the dimensions spanned by the rows, but at least one. The projections of the rows are uncorrelated
        and have variance one, unless all rows are equal. The entry with the largest absolute value is positive in each.
    Raises ValueError if there are no rows or features, `n_components` is less than 1, or a value is not finite.
    """
    centred = centred_rows(rows)
    components, sd = scaled_components(centred, min(n_components, MOST_COMPONENTS))
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
    max_sweeps: most sweeps.
    Returns (k, k): orthonormal.
    """
    axes = np.eye(matrices.shape[1])
    # The loops run along the same entry of all matrices.
    diagonalise(np.ascontiguousarray(matrices.transpose(1, 2, 0)), axes, smallest_angle, max_sweeps)
    return axes.T


MOST_ITERATIONS = 30
"""Normal directions, which nothing sets, turn for ever; the others settle in fewer steps."""

SETTLED = 1e-4
"""Iterations end where no direction's cosine with its predecessor differs from one by more than this."""


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
    for _ in range(MOST_ITERATIONS):
        bent = np.tanh(white @ directions.T)
        turned = bent.T @ white / len(white) - (1 - bent**2).mean(axis=0)[:, None] * directions
        left, _, right = np.linalg.svd(turned)
        turned = left @ right
        change = np.abs(np.abs((turned * directions).sum(axis=1)) - 1).max()
        directions = turned
        if change < SETTLED:
            break
    return directions
