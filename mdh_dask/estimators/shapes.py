"""Checks of the dtype, the shape and the chunks of rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._typing import RowArray
from .._words import full_count
from ..chunks import is_dask, known_chunks


def checked_lazy(estimator: Any, X: RowArray, reset: bool) -> RowArray:
    """Return a Dask array with one block of columns, or `SparseRows`, after setting or comparing `n_features_in_`."""
    check_shape(X, least_rows=2 if reset else 1)
    if reset:
        set_columns(estimator, X.shape[1], None)
    elif X.shape[1] != estimator.n_features_in_:
        name = type(estimator).__name__
        raise ValueError(
            f"X has {X.shape[1]} features, but {name} is expecting {estimator.n_features_in_} features as input."
        )
    return X.rechunk({1: -1}) if is_dask(X) and X.numblocks[1] > 1 else X


def set_columns(estimator: Any, n_columns: int, names: Sequence[str] | None) -> None:
    """Set the number and the names of the columns of an estimator."""
    estimator.n_features_in_ = n_columns
    vars(estimator).pop("feature_names_in_", None)
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)


def check_shape(X: RowArray, least_rows: int) -> None:
    """Raise an error unless there are columns of numbers and enough rows, in chunks of known sizes."""
    check_dtype(X)
    if X.ndim != 2:
        raise ValueError(
            f"expected a 2-dimensional array of shape (n_samples, n_features); got {X.ndim} dimension(s). "
            "Reshape your data, for example with X.reshape(-1, 1) for a single feature."
        )
    if is_dask(X) and not known_chunks(X):
        raise ValueError(
            "expected row chunks of known sizes; got unknown ones. Call X.compute_chunk_sizes() first, or build the "
            "array with to_dask_array(lengths=True)."
        )
    if X.shape[1] == 0:
        raise ValueError(f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    if X.shape[0] < least_rows:
        raise ValueError(
            f"expected at least {full_count(least_rows, 'row')}; got {X.shape[0]} sample(s) (shape={X.shape}): "
            "give more rows"
        )


def check_dtype(rows: RowArray) -> None:
    """Raise an error unless rows are numbers."""
    if rows.dtype.kind not in "biuf":
        raise ValueError(
            f"expected integers, booleans or floating-point numbers; got dtype {rows.dtype}. "
            "Convert the columns to numbers first, for example with X.astype(float)."
        )
