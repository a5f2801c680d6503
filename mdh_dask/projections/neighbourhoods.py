"""Directions from the mean of all rows to those of near rows, which lie within clusters."""

import numpy as np

from .._blas import product
from .._typing import AnyArray, Floats

NEAR_ROWS = (4, 16)
"""Numbers of near rows whose means give directions: a few of one cluster, or those of a few clusters."""

SEEDS = 32
"""Number of rows whose neighbourhoods are looked at, in a ball, or beside other directions."""

AT_ONCE = 16
"""Seeds whose distances from all rows are held at once."""

IDENTITY = 0.1
"""Share of the identity in the covariance of near rows, which few rows would make singular."""


def near_means(rows: AnyArray, rng: np.random.Generator, n_seeds: int) -> Floats:
    """Return the means of some rows' near rows, from that of all, and the same in units of the spread of near rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = np.repeat(rng.normal(size=(50, 9)), 20, axis=0) + 0.1 * rng.normal(size=(1000, 9))
    >>> near_means(rows, rng, 128).shape
    (512, 9)
    """
    centred = np.asarray(rows - rows.mean(axis=0), dtype=np.float32)
    n, d = centred.shape
    squares = np.square(centred).sum(axis=1)
    most = min(max(NEAR_ROWS), n)
    seeds = rng.choice(n, min(n_seeds, n), replace=False)
    near = np.empty((len(seeds), most, d), dtype=np.float32)
    for i in range(0, len(seeds), AT_ONCE):
        part = slice(i, i + AT_ONCE)
        distances = squares - 2 * product(centred[seeds[part]], centred.T)
        first = np.argpartition(distances, most - 1, axis=1)[:, :most]
        order = np.argsort(np.take_along_axis(distances, first, axis=1), axis=1, kind="stable")
        near[part] = centred[np.take_along_axis(first, order, axis=1)]
    means = np.concatenate([near[:, :some].mean(axis=1) for some in NEAR_ROWS]).astype(np.float64)
    few = near[:, : NEAR_ROWS[0]]
    if near.shape[0] * (NEAR_ROWS[0] - 1) < 2 * d:
        return means
    beside = (few - few.mean(axis=1, keepdims=True)).reshape(-1, d).astype(np.float64)
    spread = beside.T @ beside / len(beside)
    own = np.trace(spread) / d
    spread = (1 - IDENTITY) * spread + (IDENTITY * own or 1.0) * np.eye(d)
    return np.concatenate([means, np.linalg.solve(spread, means.T).T])
