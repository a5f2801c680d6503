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


def seeds_for_covariance(n: int, n_columns: int) -> int:
    """Return how many of n rows to look at, so that those near them have a covariance, if the rows are enough for one.

    Examples
    --------
    >>> [seeds_for_covariance(2000, n_columns) for n_columns in (100, 384, 768, 5000)]
    [32, 52, 103, 32]
    """
    needed = -(-2 * n_columns // (max(NEAR_ROWS) - 1))
    return max(needed, SEEDS) if needed * max(NEAR_ROWS) <= n else SEEDS


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
    some = next((k for k in NEAR_ROWS if len(seeds) * (k - 1) >= 2 * d), 0)  # enough for a covariance
    few = np.empty((len(seeds), min(some, most), d), dtype=np.float32)
    of_near = np.empty((len(NEAR_ROWS), len(seeds), d), dtype=np.float32)
    for i in range(0, len(seeds), AT_ONCE):
        part = slice(i, i + AT_ONCE)
        distances = squares - 2 * product(centred[seeds[part]], centred.T)
        first = np.argpartition(distances, most - 1, axis=1)[:, :most]
        order = np.argsort(np.take_along_axis(distances, first, axis=1), axis=1, kind="stable")
        near = centred[np.take_along_axis(first, order, axis=1)]
        few[part], of_near[:, part] = near[:, :some], [near[:, :k].mean(axis=1) for k in NEAR_ROWS]
    means = of_near.reshape(-1, d).astype(np.float64)
    if not some:
        return means
    beside = (few - few.mean(axis=1, keepdims=True)).reshape(-1, d).astype(np.float64)
    spread = beside.T @ beside / len(beside)
    own = np.trace(spread) / d
    spread = (1 - IDENTITY) * spread + (IDENTITY * own or 1.0) * np.eye(d)
    return np.concatenate([means, np.linalg.solve(spread, means.T).T])
