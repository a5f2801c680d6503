"""Validation of all input of estimators, before any work is done."""

from collections.abc import Sequence
from functools import partial
from math import ceil, sqrt
from os import PathLike
from typing import Any

import numpy as np
import zarr
from sklearn.utils.validation import validate_data

from .._locations import redacted
from .._typing import AnyArray, RowArray
from ..chunks import is_dask, select_rows
from ..columns.coding import TypedRows
from ..columns.drafts import is_table, not_numbers
from ..growth.passes import FirstLook
from ..io import open_rows
from ..projections.directions import Proposal, StandardDirections
from .aligned import plain_rows
from .blocks import finite
from .missing import filled_rows, with_nan
from .shapes import check_dtype, check_shape, checked_lazy, set_columns
from .sparse_input import checked_sparse, given_sparse
from .typed_input import is_typed, typed_rows

LARGEST_BEFORE_OVERFLOW = 1e150

SMALLEST_BEFORE_UNDERFLOW = 1e-151


def as_rows(estimator: Any, X: Any, *, reset: bool) -> RowArray:
    """Return validated rows: a NumPy array, `SparseRows`, or a Dask array with known chunks and one block of columns.

    Parameters
    ----------
    estimator : estimator
        The estimator whose `n_features_in_` is set or compared.
    X : array-like, sparse rows, Dask array or Zarr array of shape (n_samples, n_features)
    reset : bool
        Whether to set `n_features_in_` instead of comparing it.

    Raises
    ------
    ValueError, TypeError
        With the expected and the actual input, and a remedy.
    """
    rows = given_rows(estimator, X, reset=reset)
    return rows if reset else filled_rows(estimator, rows)


def given_rows(estimator: Any, X: Any, *, reset: bool) -> RowArray:
    """Return rows as `as_rows` does, but with their missing values."""
    X, names = plain_rows(X)
    if isinstance(X, zarr.Array):
        X = open_rows(X)
    elif isinstance(X, zarr.Group):
        raise TypeError(f"expected an array; got a Zarr group with {sorted(X.array_keys())}: pass one of its arrays")
    elif isinstance(X, str | PathLike):
        path = redacted(str(X))
        raise TypeError(f"expected rows; got the path {path!r}: open it by mdh_dask.io.open_features(...).rows")
    X = with_nan(X)
    typed, estimator._input_passes = is_typed(estimator, X, reset=reset), 0
    if reset:
        vars(estimator).pop("columns", None)
        vars(estimator).pop("_wide", None)
    if given_sparse(X):
        return checked_sparse(estimator, X, reset=reset)
    if typed:
        rows = _typed(estimator, X, reset)
    else:
        rows = checked_lazy(estimator, X, reset) if is_dask(X) else _validated(estimator, X, reset)
    if reset and names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif names is not None:
        _check_names(estimator, names)
    return rows


def _typed(estimator: Any, X: Any, reset: bool) -> RowArray:
    """Return the codes of a table, or of columns whose kinds are given."""
    if not is_table(X) and not is_dask(X) and not isinstance(X, TypedRows):
        X = np.asarray(X)
        if X.ndim != 2 or X.dtype.kind not in "biufO":
            check_shape(X, least_rows=1)
    (rows, types), estimator._input_passes = typed_rows(estimator, X, reset=reset)
    check_shape(rows, least_rows=2 if reset else 1)
    if reset:
        set_columns(estimator, rows.shape[1], types.names)
        if not types.all_numeric():
            estimator.columns = types
    return rows


def _check_names(estimator: Any, names: Sequence[str]) -> None:
    """Raise an error if a DataArray has other columns than the one of `fit`, or in another order."""
    known = getattr(estimator, "feature_names_in_", None)
    if known is not None and list(known) != list(names):
        raise ValueError(
            f"expected the columns {', '.join(map(str, known))} of fit in this order; got {', '.join(names)}: select "
            "them by X.sel"
        )


def _validated(estimator: Any, X: Any, reset: bool) -> AnyArray:
    """Return an array-like as validated by scikit-learn; errors name the columns of a frame that are not numeric."""
    try:
        rows = validate_data(
            estimator, X, reset=reset, accept_sparse=False, dtype="numeric", ensure_all_finite=False,
            ensure_min_samples=2 if reset else 1,
        )  # fmt: skip
        check_dtype(rows)  # scikit-learn lets dates and categories pass
    except (ValueError, TypeError) as error:
        if found := _not_numbers(X):
            raise ValueError(not_numbers(found)) from error
        if reset and np.ndim(X) == 2 and np.shape(X)[0] == 1:
            raise ValueError(
                f"expected at least 2 rows; got 1 sample(s) (shape={np.shape(X)}): give more rows"
            ) from error
        raise
    return rows


def _not_numbers(X: Any) -> list[tuple[Any, Any]]:
    """Return the non-numeric columns of a frame with their dtypes, or an empty list for anything else."""
    names = X.columns if hasattr(X, "dtypes") and hasattr(X, "columns") else ()
    return [(name, X[name].dtype) for name in names if not _holds_numbers(np.asarray(X[name]))]


def _holds_numbers(column: AnyArray) -> bool:
    if column.dtype.kind != "O":
        return column.dtype.kind in "biuf"
    try:
        column.astype(np.float64)
    except (ValueError, TypeError):
        return False
    return True


def check_first_look(look: FirstLook, names: Sequence[str] | None = None) -> None:
    """Raise an error if the first pass found values that are not finite, too large or too small.

    Parameters
    ----------
    look : FirstLook
    names : sequence of str, optional
        Names of the columns.
    """
    if look.n_nan or look.n_infinite:
        raise ValueError(
            f"expected finite values; got {look.n_nan} NaN and {look.n_infinite} infinite (inf) values, the first in "
            f"row {look.first_bad_row}. Drop these rows or fill in the values first"
            + (", as missing='drop' and 'mean' do; feature_map='gower' takes NaN." if look.n_nan else ".")
        )
    low, high = look.columns.low.astype(np.float64), look.columns.high.astype(np.float64)
    sizes = np.maximum(np.abs(low), np.abs(high))
    j = int(sizes.argmax())
    if sizes[j] > LARGEST_BEFORE_OVERFLOW:
        raise ValueError(
            f"expected values up to {LARGEST_BEFORE_OVERFLOW:g}; got {sizes[j]:g} in {_column(j, names)}, whose square "
            "overflows. Scale the column first; if such values stand for missing ones, drop these rows."
        )
    vanishing = (high > low) & (sizes < SMALLEST_BEFORE_UNDERFLOW)
    if vanishing.any():
        j = int(vanishing.argmax())
        raise ValueError(
            f"expected columns that are constant or have values of at least {SMALLEST_BEFORE_UNDERFLOW:g} in size; got "
            f"at most {sizes[j]:g} in {_column(j, names)}, whose square vanishes. Scale the column first, or drop it."
        )


def _column(j: int, names: Sequence[str] | None) -> str:
    return f"column {j}" if names is None else f"column {names[j]!r}"


def checked_proposal(proposed: Any, n_features: int) -> Proposal:
    """Return the proposal of a projection, after checking the directions and any thresholds.

    Raises
    ------
    ValueError
        If the directions are not an array of finite numbers of shape (n_directions, `n_features`), or a list of such
        arrays, or if the thresholds do not have shape (n_directions,).
    """
    if isinstance(proposed, list) and len(proposed) and all(np.ndim(family) == 2 for family in proposed):
        families = [checked_proposal(np.asarray(family), n_features) for family in proposed]
        vectors = np.concatenate([one.directions.vectors for one in families])
        return Proposal(StandardDirections(vectors), family=np.repeat(np.arange(len(families)), [*map(len, families)]))
    directions, thresholds = proposed if isinstance(proposed, tuple) and len(proposed) == 2 else (proposed, None)
    directions = np.asarray(directions)
    if directions.ndim != 2 or directions.shape[1] != n_features or directions.dtype.kind not in "iuf":
        raise ValueError(
            f"expected directions of shape (n_directions, {n_features}) from the projection; got an array of shape "
            f"{directions.shape} and dtype {directions.dtype}. Return one direction in each row."
        )
    if not np.isfinite(directions).all():
        raise ValueError("expected finite directions from the projection; got NaN or infinite entries")
    if thresholds is None:
        return Proposal(StandardDirections(directions))
    thresholds = np.asarray(thresholds, dtype=np.float64)
    if thresholds.shape != (len(directions),) or not np.isfinite(thresholds).all():
        raise ValueError(
            f"expected {len(directions)} finite thresholds from the projection, one for each direction; got an array "
            f"of shape {thresholds.shape}" + (" with NaN or infinity" if thresholds.shape == (len(directions),) else "")
        )
    return Proposal(StandardDirections(directions), thresholds)


def rows_of_share(size: float | None, n_rows: int) -> int:
    """Return a number of rows from a count, a share of all rows, or None for the square root of their number.

    Examples
    --------
    >>> rows_of_share(25, 10_000), rows_of_share(0.01, 10_000), rows_of_share(None, 10_000)
    (25, 100, 100)
    """
    if size is None:
        return ceil(sqrt(n_rows))
    return ceil(size * n_rows) if isinstance(size, float) and size < 1 else int(size)


def finite_rows(rows: RowArray, missing: bool = False) -> RowArray:
    """Return rows after `check_finite`, which Dask does when it computes them."""
    if is_dask(rows):
        return select_rows(partial(finite, missing), rows, rows.chunks[0])
    return finite(missing, rows)
