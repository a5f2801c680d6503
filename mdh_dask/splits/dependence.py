"""The test of a valley among rows that depend on each other: groups of rows are compared, not rows.

Rows of one group (a donor, a day, a tile of an image) may depend on each other, rows of different groups do not. The
groups are dealt to `N_PARTS` parts. Half of the parts choose a split; in each of the others, the rows around the lower
mode and around the valley are counted. The differences of these counts are independent, however the rows within a part
depend on each other, so Student's t-test compares their mean with zero (between-cluster variance: Liang and Zeger,
Biometrika 73, 1986).
"""

import numpy as np
from scipy.special import ndtri, stdtr

from .._typing import AnyArray, Booleans, Floats, Integers
from ..density.histograms import Histograms

N_PARTS = 32
"""Parts of the rows, a power of two: as many as halve them in 31 ways, any two of which share half of each half."""

LEAST_PARTS = 4
"""Fewest parts with rows that a test compares: three degrees of freedom of its t-distribution."""

MOST_ERRORS = 30.0
"""Standard errors of the least p-value that numbers of 64 bits hold, about."""


def parts_in(hashes: Integers) -> Integers:
    """Return the part of each row from its hash, of which it is the last bits."""
    return (hashes & np.uint64(N_PARTS - 1)).astype(np.uint8)


def halves_of_parts(number: int) -> Booleans:
    """Return which parts are the first half in one of 31 divisions; any two cut each other's halves in two."""
    mask = 1 + number % (N_PARTS - 1)
    return np.array([(part & mask).bit_count() % 2 == 0 for part in range(N_PARTS)])


def p_value_of_parts(chosen: Histograms, parts: AnyArray, k: int) -> float:
    """Return the probability of so low a valley after bin `k`, for rows that did not choose it, among dependent rows.

    chosen: the rows that chose the split: their density says where the modes beside the valley are.
    parts (n_parts, n_bins) int: the rows of each of the other parts per bin.
    Returns one with rows in fewer than `LEAST_PARTS` parts.
    """
    parts = parts[parts.any(axis=1)]
    if len(parts) < LEAST_PARTS:
        return 1.0
    density, reach = chosen.density[0], max(round(float(chosen.bandwidth[0] / chosen.width[0])), 1)
    valley = _around(parts, k, reach)
    modes = int(density[: k + 1].argmax()), k + int(density[k:].argmax())
    return float(max(p_values(_around(parts, mode, reach) - valley) for mode in modes))


def _around(parts: AnyArray, k: int, reach: int) -> AnyArray:
    """Return the rows of each part within so many bins of a bin."""
    return parts[:, max(k - reach, 0) : k + reach + 1].sum(axis=1, dtype=np.float64)


def p_values(differences: AnyArray) -> Floats:
    """Return the one-sided p-values of Student's t-tests of independent differences, which are along the first axis."""
    n, mean = len(differences), differences.mean(axis=0)
    error = differences.std(axis=0, ddof=1) / n**0.5
    with np.errstate(divide="ignore", invalid="ignore"):
        equal = np.where(mean > 0, 0.5**n, 1.0)  # all have one sign, of which the sign test knows the probability
        return np.asarray(np.where(error > 0, stdtr(n - 1, -mean / error), equal), dtype=np.float64)


def errors_of_parts(differences: AnyArray, of_rows: Floats) -> Floats:
    """Return the differences of parts with rows in standard errors: the normal quantiles of `p_values`.

    They are at most those `of_rows`, as if rows were independent: by chance, the parts of few counts vary less. A place
    without rows is so in every part. They are zero with fewer than `LEAST_PARTS` parts, and where no part has a
    difference: no slab, or no rows in balls.
    """
    if len(differences) < LEAST_PARTS:
        return np.zeros(differences.shape[1:])
    errors = np.clip(-ndtri(p_values(differences)), -MOST_ERRORS, MOST_ERRORS)
    return np.asarray(np.where(differences.any(axis=0), np.minimum(errors, of_rows), 0.0))
