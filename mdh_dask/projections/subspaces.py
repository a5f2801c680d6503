"""Random subspaces, in which projections search for directions of many columns (thesis section 8.2.4)."""

from collections.abc import Callable, Sequence

import numpy as np

from .._typing import AnyArray, Floats


def in_random_subspace(
    propose: Callable[[AnyArray, np.random.Generator], Sequence[Floats]],
    rows: AnyArray,
    rng: np.random.Generator,
    n_dimensions: int,
) -> list[Floats]:
    """Return the directions that a projection proposes for rows in a random subspace, as directions of the rows.

    Parameters
    ----------
    propose : callable
        A function ``(rows, rng) -> families of directions``.
    rows : array of shape (n, n_features)
    rng : Generator
        Draws the subspace, which is uniform, and is passed on.
    n_dimensions : int
        Of the subspace; fewer than columns.

    Notes
    -----
    Distances within the subspace, times ``sqrt(n_features / n_dimensions)``, are those of the rows within a share e if
    it has ``O(log n / e^2)`` dimensions (Johnson and Lindenstrauss).

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(30, 9))
    >>> def columns(rows, rng):
    ...     return [np.eye(rows.shape[1])]
    >>> [family.shape for family in in_random_subspace(columns, rows, np.random.default_rng(0), 2)]
    [(2, 9)]
    """
    basis = np.linalg.qr(rng.standard_normal((rows.shape[1], n_dimensions)))[0].T
    return [family @ basis for family in propose(rows @ basis.T.astype(rows.dtype), rng)]
