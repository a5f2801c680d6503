"""Weights of rows: how many equal rows each of them stands for."""

from typing import Any

import numpy as np
from sklearn.utils import get_tags

from .._typing import Integers, RowArray
from .._words import full_count
from ..chunks import is_dask, repeated_rows
from .checks import finite_rows
from .frames import plain_labels

MOST = 1e12
"""Largest sum of weights: every row that another stands for takes time."""


def weighted_rows(estimator: Any, rows: RowArray, weights: Any) -> tuple[RowArray, Integers | None]:
    """Return the rows of `fit`, each as often as its weight says, and the sums of the weights up to each row.

    Raises a ValueError if the weights are not whole numbers, or do not go with the input.
    """
    if weights is None:
        return rows, None
    if estimator.missing in ("mean", "drop"):
        raise ValueError(
            f"expected missing='error' with sample_weight; got {estimator.missing!r}: fill in the values first"
        )
    if getattr(estimator, "_target", None) is not None:
        raise ValueError("expected sample_weight or labels of some rows; got both: leave one out")
    if estimator.columns is not None:
        raise ValueError(
            "expected columns of numbers with sample_weight; got texts, categories or given kinds: leave out the "
            "weights and repeat the rows"
        )
    tags = get_tags(estimator).input_tags
    if tags.pairwise:
        raise ValueError("expected rows with sample_weight; got a precomputed kernel: repeat its rows and columns")
    ends = np.cumsum(whole_weights(weights, rows.shape[0]))
    if ends[-1] < 2:
        raise ValueError(f"expected weights other than zero with a sum of at least 2; got {ends[-1]}")
    return repeated_rows(finite_rows(rows, tags.allow_nan), ends), ends  # errors name rows of `fit`


def whole_weights(weights: Any, n_rows: int, name: str = "sample_weight") -> Integers:
    """Return weights as whole numbers, after checking that they are; `name` is their name in errors.

    Raises
    ------
    ValueError
        Unless there is one for each row, finite, none below zero, and all whole.

    Examples
    --------
    >>> whole_weights([2.0, 0.0, 3.0], 3)
    array([2, 0, 3])
    """
    weights = plain_labels(weights)
    given = np.ma.asarray(weights.compute() if is_dask(weights) else weights)
    values, hidden = np.ma.getdata(given), np.ma.getmaskarray(given)
    if values.shape != (n_rows,):
        raise ValueError(f"expected {name} of shape ({n_rows},), one for each row; got shape {values.shape}")
    if values.dtype.kind not in "biuf":
        raise ValueError(f"expected finite numbers of at least 0 for {name}; got dtype {values.dtype}")
    if not (good := np.isfinite(values) & (values >= 0) & ~hidden).all():
        row = int(good.argmin())
        got = "a masked value" if hidden[row] else values[row]
        raise ValueError(
            f"expected finite numbers of at least 0 for {name}; got {got} in row {row}: correct the weights of "
            f"{full_count(int(np.count_nonzero(~good)), 'row')}, or make them 0 to leave the rows out"
        )
    if (values != np.rint(values)).any() or values.sum(dtype=np.float64) > MOST:
        bad = values[values != np.rint(values)][:1]
        got = f"the fraction {bad[0]:g}" if len(bad) else f"a sum of {values.sum(dtype=np.float64):g}"
        raise ValueError(
            f"expected whole numbers with a sum up to {MOST:g} for {name}, as a weight is the number of equal "
            f"rows that a row stands for, which tests take as independent; got {got}: give counts, not importances"
        )
    return values.astype(np.int64)
