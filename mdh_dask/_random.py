"""Random streams keyed by their purpose, never by the chunk or worker that draws from them, and drawn rows."""

import numpy as np
from scipy.special import ndtri

from ._typing import AnyArray, Floats, Integers


def generator(seed: int, *key: int) -> np.random.Generator:
    """Return the stream of a non-negative seed and key, the same on every machine and in any order of calls.

    The key has non-negative integers of any size for the purpose, for example (path of the node, repeat).
    """
    # The length is part of the key, as a seed sequence gives (0,) and (0, 0) the same stream.
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, len(key), *key])))


def normal_of(hashes: Integers) -> Floats:
    """Return a random number of each hash, normal with mean zero and variance one, shape (n_hashes,).

    Examples
    --------
    >>> normal_of(np.array([2**63, 0], dtype=np.uint64)).round(2).tolist()
    [0.0, -8.21]
    """
    # The middles of 2^52 intervals: neither 0 nor 1.
    return ndtri(((hashes >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52)


def uniform_of(hashes: Integers) -> Floats:
    """Return a random number on (0, 1) of each hash, shape (n_hashes,)."""
    return ((hashes >> np.uint64(11)) + 0.5) * 2.0**-53


def any_rows(rows: AnyArray, most: int) -> AnyArray:
    """Return at most so many rows, in the original order: the same for the same number of rows.

    Every n-th row would be a row of one group if groups take turns, as the sensors of a table of measurements.

    Examples
    --------
    >>> any_rows(np.arange(100), 10)
    array([ 1,  9, 20, 26, 35, 49, 51, 56, 65, 75])
    """
    n = len(rows)
    return rows if n <= most else rows[np.sort(generator(n, most).choice(n, most, replace=False))]
