"""Whitening of rows that are thin in some directions, as random combinations show no clusters across these."""

import numpy as np

from .._typing import AnyArray, Floats
from .pca import centred_rows, scaled_components

THIN = 0.1
"""Rows are whitened if some principal component has less than this share of the largest standard deviation."""

MOST_COMPONENTS, ROWS_FOR_A_COMPONENT = 50, 20
"""With fewer rows for each component, whitening amplifies noise, as some direction separates any few rows."""


def whitening_of(rows: AnyArray, only_thin: bool = True) -> Floats | None:
    """Return the linear map to rows of unit covariance, or None unless the rows are thin in some direction.

    Parameters
    ----------
    rows : array of shape (n, n_features)
        Finite values, in columns of comparable scale; at least one row.
    only_thin : bool
        False to return the map of round rows, too.

    Returns
    -------
    ndarray of shape (k, n_features), float64, or None
        Leading principal components, divided by the standard deviations along them: ``w @ whitening`` is the direction
        of the given rows that corresponds to a direction `w` of whitened rows. None if the standard deviations differ
        little, or if there are too few rows for two components.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(500, 3)) * [10.0, 5.0, 0.1]
    >>> whitened = (rows - rows.mean(axis=0)) @ whitening_of(rows).T
    >>> np.allclose(np.cov(whitened.T, bias=True), np.eye(3))
    True
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

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(500, 2)) * [10.0, 0.1]
    >>> V = across_thin_directions(np.random.default_rng(0), 1000, rows)
    >>> bool(abs(V[:, 1].std() / V[:, 0].std() - 100) < 10)
    True
    """
    whitening = whitening_of(rows)
    if whitening is None:
        return np.empty((0, rows.shape[1]))
    return rng.standard_normal((n_directions, len(whitening))) @ whitening
