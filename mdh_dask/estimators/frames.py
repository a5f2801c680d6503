"""Results in the form of the rows: DataArrays for DataArrays, series for frames."""

from typing import Any

import numpy as np

from .._typing import RowArray
from ..chunks import is_dask
from ..columns.lists import may_hold_lists

SERIES_NAME = "cluster"
"""Name of labels as a series."""


def package_of(X: Any, kind: str) -> str:
    """Return the package of an object whose class has this name, without importing it; otherwise an empty string.

    Examples
    --------
    >>> import pandas as pd
    >>> package_of(pd.DataFrame({"a": [1]}), "DataFrame"), package_of([1], "DataFrame")
    ('pandas', '')
    """
    names = [base.__module__.split(".")[0] for base in type(X).__mro__ if base.__name__ == kind]
    return names[0] if names else ""


def is_data_array(X: Any) -> bool:
    """Return whether an object is a DataArray of xarray."""
    return package_of(X, "DataArray") == "xarray"


def column_names(model: Any) -> list[str]:
    """Return the names of a model's columns, ``x0``, ``x1`` and so on without names."""
    names = getattr(model, "feature_names_in_", None)
    return [f"x{i}" for i in range(model.n_features_in_)] if names is None else [str(name) for name in names]


def plain_rows(X: Any) -> tuple[Any, list[str] | None]:
    """Return the values of a DataArray, and the texts that name the columns of a lazy one; others as they are.

    A LazyFrame of polars is collected, and a series of lists becomes a frame. A DataArray in memory with named columns
    becomes a frame, whose names are checked like those of any.
    """
    if not is_data_array(X):
        X = X.to_frame() if _holds_lists(X) else X
        return (X.collect() if package_of(X, "LazyFrame") == "polars" else X), None
    coordinate = X.coords.get(X.dims[-1]) if X.ndim == 2 else None
    if coordinate is None or coordinate.dtype.kind not in "OUT":
        return X.data, None
    return (X.data, [str(name) for name in coordinate.values]) if is_dask(X.data) else (X.to_pandas(), None)


def _holds_lists(X: Any) -> bool:
    """Return whether an object is a series, which may hold lists."""
    if not package_of(X, "Series"):
        return False
    return bool(X.dtype.is_nested() if package_of(X, "Series") == "polars" else may_hold_lists(X.dtype))


def like_rows(X: Any, values: RowArray, name: str) -> Any:
    """Return a value for each row as a DataArray with the coordinates of the rows, if `X` is one."""
    if not is_data_array(X):
        return values
    coords = {key: one for key, one in X.coords.items() if set(one.dims) <= {X.dims[0]}}
    return type(X)(values, dims=X.dims[:1], coords=coords, name=SERIES_NAME if name == "labels" else name)


def labels_like(X: Any, labels: RowArray) -> Any:
    """Return labels as `like_rows`, and for frames in memory as a series with their index."""
    match package_of(X, "DataFrame") or package_of(X, "LazyFrame") or package_of(X, "Series"):
        case "pandas":
            from pandas import Series

            return Series(labels, index=X.index, name=SERIES_NAME)
        case "polars":
            from polars import Series as PolarsSeries

            return PolarsSeries(SERIES_NAME, labels)
    return like_rows(X, labels, SERIES_NAME)


def plain_labels(labels: Any) -> RowArray:
    """Return labels as an array of NumPy or Dask."""
    if is_data_array(labels):
        return labels.data
    return labels.to_numpy() if package_of(labels, "Series") else labels


def with_values(labels: Any, values: RowArray, name: str = SERIES_NAME) -> Any:
    """Return other values in the form of labels."""
    if is_data_array(labels):
        return labels.copy(data=values).rename(name)
    match package_of(labels, "Series"):
        case "pandas":
            return type(labels)(values, index=labels.index, name=name)
        case "polars":
            return type(labels)(name, values)
    return values


def sure_of(labels: RowArray, values: RowArray) -> RowArray:
    """Return values of rows, with 0 for rows in no cluster."""
    if is_dask(labels):
        return labels.map_blocks(sure_of, values, dtype=np.float64)
    return np.where(labels < 0, 0.0, values)
