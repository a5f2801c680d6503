"""Random directions with the covariance of the branch's rows."""

import numpy as np

from .._typing import AnyArray, Floats

MOST_ROWS = 250
"""Most rows that a direction combines."""


def row_combinations(rng: np.random.Generator, n_directions: int, rows: AnyArray) -> Floats:
    """Return random combinations of centred rows: Gaussian directions with the covariance of the rows.

    Clusters that lie apart make the covariance large along the lines that join them, so these directions separate
    clusters more often than directions that are uniform on the sphere, especially with many features.
    They are the primal form of the random dual vectors that the thesis (section 6.2.3) draws in a feature
    space, where one cannot sample the sphere.

    Parameters
    ----------
    rng : Generator
    n_directions : int
    rows : array of shape (n, n_features)
        Standardised rows of the branch; at most `MOST_ROWS` of them, drawn at random, are combined.

    Returns
    -------
    ndarray of shape (n_directions, n_features), of the dtype of the rows

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(500, 2)) * [3.0, 1.0]
    >>> V = row_combinations(np.random.default_rng(1), 1000, rows)
    >>> bool(abs(V[:, 0].std() / V[:, 1].std() - 3) < 0.3)
    True
    """
    rows = some_rows(rng, rows)
    centred = rows - rows.mean(axis=0)
    # Drawn in float32, the numbers would be others.
    return rng.standard_normal((n_directions, len(rows))).astype(centred.dtype) @ centred


def some_rows(rng: np.random.Generator, rows: AnyArray) -> AnyArray:
    """Return at most `MOST_ROWS` rows, drawn at random, in the original order."""
    return rows if len(rows) <= MOST_ROWS else rows[np.sort(rng.choice(len(rows), MOST_ROWS, replace=False))]
