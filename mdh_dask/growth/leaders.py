"""Columns that predict rounded ones: the number before it was rounded, another answer to the same question.

Values of a coarse column are spread over their steps. If another column tells where in its step a value lies, columns
that are spread independently leave gaps along the line of both: two ratings that are nearly always equal fill the
diagonal squares of a board, and the corners at which these meet look like valleys.
"""

import numpy as np

from .._jit.hashing import Jitter, jitter_rows, leaders_first
from .._typing import Booleans, Floats, Integers
from .passes import Sample

MOST_APART = 1.0
"""A column leads another one if it predicts it with a smaller error, in steps. If two rounded columns differ by normal
numbers with this standard deviation, their sum is odd nearly as often as even, ``8 / pi^2 exp(-pi^2 / 2) = 0.6 %``."""

LEAST_SHARED = 1 / 3
"""A leader predicts at least this share of the variance. Columns that vary by less than a step are predicted to within
one by all others."""

TELLING = 0.5
"""Predictions of columns that are not rounded vary among equal values by at least this share of the variance of
rounding errors. Those by the number itself have as much, and those of correlated ones more."""

MOST_BENT = 0.1
"""The means of predictions for rows of equal values are no farther from a line through the values, in steps."""

LEAST_APART = 0.05
"""Errors are not smaller, in steps: those of a copy would be zero."""

ROUNDS = 8
"""How often leaders are found anew, each time from values that were spread by those before (stochastic EM): rounding
both columns hides how small an error is."""

BITS = 2.0**10
"""Predictions and errors are rounded to so many parts of a step, and slopes to so many parts of one."""


def with_leaders(jitter: Jitter, sample: Sample, few: int) -> Jitter:
    """Return the jitter with the leaders of columns, in an order in which leaders come first.

    Every column has at most one leader: the best, unless that one follows it already. So they form trees, as those of
    Chow and Liu (Approximating discrete probability distributions with dependence trees, 1968).

    few: columns of at most so many values lead none, unless they are jittered.
    """
    rows = sample.rows.astype(np.float64)
    varied = [j for j in range(rows.shape[1]) if len(np.unique(rows[:, j])) > few]
    others = np.setdiff1d(np.array(varied, dtype=np.int64), jitter.columns)
    tells = _tells(jitter, rows, others)
    jitter = _led_by(jitter, rows, tells, rounded=True)
    for _ in range(ROUNDS if (jitter.leaders >= 0).any() else 0):
        spread = rows.copy()
        jitter_rows(spread, sample.hashes, jitter)
        jitter = _led_by(jitter, spread, tells)
    return jitter


def _tells(jitter: Jitter, rows: Floats, others: Integers) -> Booleans:
    """Return whether columns can tell where in its step a value of a jittered one lies, shape (n_features, n_features).

    Their means must be a line through the values: where it bends, all rows with one value would be moved to one side.
    And unless they are rounded, too, they must predict different numbers for rows with the same value.
    """
    found = np.zeros((rows.shape[1], rows.shape[1]), dtype=bool)
    columns, n = np.concatenate([jitter.columns, others]), len(rows)
    centred = rows - rows.mean(axis=0)
    variances = (centred**2).mean(axis=0)
    for j, step in zip(jitter.columns, jitter.steps):
        order = np.argsort(rows[:, j], kind="stable")
        starts = np.flatnonzero(np.diff(rows[order, j], prepend=-np.inf))
        sums, counts = np.add.reduceat(centred[order][:, columns], starts), np.diff(starts, append=n)
        between = (sums**2 / counts[:, None]).sum(axis=0) / n
        within, covariances = variances[columns] - between, centred[:, columns].T @ centred[:, j] / n
        bent = between - covariances**2 / variances[j] - within * (len(counts) - 2) / n
        # Of predictions in steps, times the squared variance, which is zero for constant columns.
        squares, unit = (covariances / step) ** 2, variances[columns] ** 2
        tell = (squares * bent <= MOST_BENT**2 * unit) & (unit > 0)
        found[columns, j] = tell & (np.isin(columns, jitter.columns) | (squares * within >= TELLING / 12 * unit))
    return found


def _led_by(jitter: Jitter, rows: Floats, tells: Booleans, rounded: bool = False) -> Jitter:
    """Return the jitter led by its own and other columns, as rows show them: rounded, or spread by another jitter."""
    others = np.setdiff1d(np.flatnonzero(tells.any(axis=1)), jitter.columns)
    n, columns = len(jitter.steps), np.concatenate([jitter.columns, others])
    centre = rows[:, columns].mean(axis=0)
    centred = rows[:, columns] - centre
    covariance, variances = centred.T @ centred[:, :n] / len(rows), (centred**2).mean(axis=0)[:, None]
    numbers = variances.copy()  # as they were before they were rounded, by Sheppard's correction
    numbers[:n] -= rounded * jitter.steps[:, None] ** 2 / 12
    slopes = np.divide(covariance, numbers, out=np.zeros(covariance.shape), where=numbers > 0)
    # Rounding errors of nearly equal columns are nearly equal.
    steepest = np.sqrt(np.divide(variances[:n].T, variances, out=np.zeros(slopes.shape), where=variances > 0))
    slopes = np.clip(slopes, -steepest, steepest)
    left = np.maximum(variances[:n].T - 2 * slopes * covariance + slopes**2 * variances, 0)
    errors = np.rint(np.maximum(np.sqrt(left) / jitter.steps, LEAST_APART) * BITS) / BITS
    errors[(left > (1 - LEAST_SHARED) * variances[:n].T) | ~tells[np.ix_(columns, jitter.columns)]] = np.inf
    led = _trees(errors, jitter.keys)
    one, by = np.array(list(led), dtype=np.int64), np.array(list(led.values()), dtype=np.int64)
    found = jitter._replace(
        leaders=np.full(n, -1, dtype=np.int64), slopes=np.zeros(n), places=np.zeros(n), errors=np.ones(n)
    )
    if len(one):
        step, units = jitter.steps[one], np.append(jitter.steps, np.sqrt(variances[n:, 0]))[by]
        found.leaders[one] = columns[by]
        found.slopes[one] = np.rint(slopes[by, one] * units / step * BITS) / BITS * step / units
        found.places[one] = np.rint((centre[one] - found.slopes[one] * centre[by]) / step * BITS) / BITS * step
        found.errors[one] = errors[by, one] * step
    return leaders_first(found)


def _trees(errors: Floats, keys: Integers) -> dict[int, int]:
    """Return the leaders of coarse columns by their positions, the best first, without cycles."""
    found: dict[int, int] = {}
    by, led = np.nonzero(errors < MOST_APART)
    leading = np.append(keys, np.zeros(len(errors) - len(keys), dtype=np.uint64))[by]
    for k in np.lexsort([keys[led], leading, errors[by, led]]).tolist():
        one, above = int(led[k]), int(by[k])
        if one not in found and _root(above, found) != one:
            found[one] = above
    return found


def _root(i: int, led: dict[int, int]) -> int:
    while i in led:
        i = led[i]
    return i
