"""Tables with typed columns as rows of codes, and results in the form of the rows: DataArrays, series."""

from collections.abc import Sequence
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import AnyArray, RowArray
from ..chunks import announced, is_dask, map_rows, reduce_rows
from ..columns import ColumnTypes
from ..columns.coding import (
    Coder,
    Found,
    Levels,
    TypedRows,
    array_of_table,
    dtype_of,
    is_categorical,
    is_single,
    kind_of,
)
from ..columns.drafts import Draft, coded_dtype, draft_of, is_table, keys_of, not_as_in_fit, not_numbers
from ..columns.lists import may_hold_lists, with_lists
from ..columns.types import holds_dates
from ..io.tables import LazyTable, is_lazy_table, lazy_table

if TYPE_CHECKING:
    from .rows import RowSpec


def is_typed(X: Any, spec: "RowSpec") -> bool:
    """Return whether rows are read by their types of columns, and not as an array of numbers."""
    if isinstance(X, TypedRows) or is_lazy_table(X) or hasattr(X, "column_names"):
        return True
    if not spec.fits:  # columns of pandas' own dtypes, such as sparse ones, are read as in fit
        return spec.types is not None or not all(isinstance(dtype, np.dtype) for dtype in getattr(X, "dtypes", ()))
    if spec.column_types != "auto":
        return True
    of_objects = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "O"
    columns = (X[key] for key in keys_of(X)) if is_table(X) else X.T if of_objects else ()
    return any(not _is_number(column, spec.uses_types) for column in columns)


def plain_table(X: Any) -> Any:
    """Return a table in memory with the values of lists in columns of their own, and one of polars as one of Arrow."""
    X = X.to_arrow() if hasattr(X, "to_arrow") and not hasattr(X, "iloc") else X  # of polars
    return with_lists(X, keys_of(X)) if is_table(X) and not is_lazy_table(X) else X


def _is_number(column: Any, uses_types: bool) -> bool:
    """Return whether an array of numbers holds a column unchanged."""
    dtype = dtype_of(column)
    numeric = kind_of(dtype) in ("iufO" if uses_types else "biufO")
    holds_others = kind_of(dtype) == "O" and not all(map(_becomes_number, np.asarray(column)))
    return isinstance(dtype, np.dtype) and numeric and not holds_others


def _becomes_number(value: Any) -> bool:
    """Return whether an array of numbers can hold an object."""
    return not isinstance(value, str | date) and type(value).__name__ != "NAType"


def typed_rows(X: Any, spec: "RowSpec") -> tuple[TypedRows, int]:
    """Return rows of codes with their types, and the number of passes that this took over lazy rows."""
    if isinstance(X, TypedRows):
        return X, 0
    keys_of(X)  # raises the error for columns of the same name
    X = lazy_table(X) if is_lazy_table(X) else X
    if spec.fits:
        draft = draft_for(X, spec)
        _check_kinds(spec, draft, X)
        found, n_passes = _found(spec, X, draft)
        types = draft.types(found)
        return TypedRows(_coded(X, draft.coder(types), found), types), n_passes
    names = None if spec.names is None else list(spec.names)
    types = spec.types or ColumnTypes.continuous(spec.n_columns or 0, names)
    coder = _coder_of(spec, X, types)
    found, n_passes = _found(spec, X, None)
    return TypedRows(_coded(X, coder, found), types), n_passes


def draft_for(X: Any, spec: Any) -> Draft:
    """Return the types of a table, before its levels are known, for what an estimator or its `RowSpec` expects."""
    return draft_of(X, spec.column_types, booleans="categorical" if spec.uses_types else "continuous")


def _check_kinds(spec: "RowSpec", draft: Draft, X: Any) -> None:
    """Raise an error for categories, unless the estimator distinguishes kinds of columns."""
    if spec.uses_types or "categorical" not in draft.kinds:
        return
    found = [draft.keys[j] for j, kind in enumerate(draft.kinds) if kind == "categorical"]
    columns = [(key, dtype_of(X[key]) if is_table(X) else X.dtype) for key in found]
    raise ValueError(not_numbers(columns, spec.takes_map))


def _found(spec: "RowSpec", X: Any, draft: Draft | None) -> tuple[Found, int]:
    """Return the levels that a draft lacks, and the numbers of rows of partitions, with the passes that this took."""
    statistic = Levels((), ()) if draft is None else draft.levels_pass
    if isinstance(X, LazyTable):
        if not statistic.keys and X.n_rows is not None:
            return Found((), np.array(X.n_rows)), 0
        verb = "finding levels" if statistic.keys else "counting rows"
        bar = announced(f"pass 1: {verb}", spec.progress, "partitions")
        return reduce_rows(statistic, X.tables(statistic.keys), progress=bar), 1
    if is_table(X):
        return statistic.chunk(0, array_of_table(X)), 0
    if not statistic.keys:
        return Found((), np.array([], dtype=np.int64)), 0
    bar = announced("pass 1: finding levels", spec.progress)
    return reduce_rows(statistic, X, progress=bar), int(is_dask(X))


def _coder_of(spec: "RowSpec", X: Any, types: ColumnTypes) -> Coder:
    """Return the function that codes new rows by the types of a fitted estimator."""
    keys = keys_of(X)
    if types.names is not None and is_table(X):
        _check_names(spec, types.names, keys)
        keys = types.names
    elif types.names is not None and any(own is not None for own in types.levels):
        raise ValueError(
            f"expected a table with the columns {', '.join(types.names[:20])}, as {spec.estimator.__name__} was "
            "fitted to; got an array, which has no levels: pass a frame"
        )
    if len(keys) != types.n_columns:
        name = spec.estimator.__name__
        raise ValueError(f"X has {len(keys)} features, but {name} is expecting {types.n_columns} features as input.")
    columns = [X[key] if is_table(X) else X[:, key] for key in keys]
    if bad := [(k, dtype_of(c)) for k, c in zip(keys, columns) if kind_of(dtype_of(c)) in "mc"]:
        raise ValueError(not_as_in_fit(bad))
    wanted = types.mask("date") if is_table(X) else [False] * len(keys)
    dates = [own is None and holds_dates(column) for column, own in zip(columns, types.levels)]
    for key, column, is_date, of_dates in zip(keys, columns, dates, wanted):
        if is_date != of_dates:
            what = "dates" if of_dates else "no dates"
            raise ValueError(f"expected {what} in the column {key!r}, as in fit; got {dtype_of(column)}: convert it")
    of_numbers = [own is None and not is_date for own, is_date in zip(types.levels, dates)]
    texts = [(k, dtype_of(c)) for k, c, own in zip(keys, columns, of_numbers) if own and _is_text(c)]
    if texts:
        raise ValueError(not_as_in_fit(texts))
    single = all(is_single(dtype_of(c)) for c, own in zip(columns, types.levels) if own is None)
    return Coder(types, keys, coded_dtype(np.dtype(np.float32 if single else np.float64), types))


def _is_text(column: Any) -> bool:
    dtype = dtype_of(column)
    return is_categorical(dtype) or (kind_of(dtype) in "OUST" and not isinstance(dtype, np.dtype))


def _check_names(spec: "RowSpec", fitted: Sequence[str], given: Sequence[Any]) -> None:
    missing = [name for name in fitted if name not in given]
    others = [str(key) for key in given if key not in fitted]
    if missing or others:
        what = [f"no {', '.join(missing[:20])}"] * bool(missing) + [f"also {', '.join(others[:20])}"] * bool(others)
        raise ValueError(
            f"expected the columns that {spec.estimator.__name__} was fitted to, {', '.join(fitted[:20])}; got "
            f"{' and '.join(what)}: select those columns"
        )


def _coded(X: Any, coder: Coder, found: Found) -> RowArray:
    if isinstance(X, LazyTable):
        return X.rows(coder, coder.keys, found.n_rows.tolist(), coder.dtype)
    if is_table(X):
        return coder(X)
    return map_rows(type(coder).__call__, X, dtype=coder.dtype, n_columns=len(coder.keys), shared=coder)


SERIES_NAME = "cluster"
"""Name of labels as a series."""


def package_of(X: Any, kind: str) -> str:
    """Return the package of an object whose class has this name, without importing it; otherwise an empty string."""
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
    dims = X.dims[: values.ndim]
    coords = {key: one for key, one in X.coords.items() if {*one.dims} <= {*dims}}
    return type(X)(values, dims=dims, coords=coords, name=SERIES_NAME if name == "labels" else name)


def labels_like(X: Any, labels: RowArray, name: str = SERIES_NAME) -> Any:
    """Return labels as `like_rows`, and for frames and series in memory as a series with their index."""
    match package_of(X, "DataFrame") or package_of(X, "LazyFrame") or package_of(X, "Series"):
        case "pandas":
            from pandas import Series

            return Series(labels, index=X.index, name=name)
        case "polars":
            from polars import Series as PolarsSeries

            return PolarsSeries(name, labels)
    return like_rows(X, labels, name)


def plain_labels(labels: Any) -> RowArray:
    """Return labels as an array of NumPy or Dask; the partitions of a Dask series are counted."""
    if is_data_array(labels):
        return labels.data
    if not package_of(labels, "Series"):
        return labels
    if hasattr(labels, "to_dask_array"):
        plain = labels if isinstance(labels.dtype, np.dtype) else labels.astype(object)
        return plain.to_dask_array(lengths=True)
    return labels.to_numpy()


def renamed(labels: Any, names: AnyArray) -> Any:
    """Return the names of labels of any kind by their numbers; the last name is that of -1."""
    plain, rename = plain_labels(labels), partial(np.take, names)
    return labels_like(labels, plain.map_blocks(rename, dtype=names.dtype) if is_dask(plain) else rename(plain))


def sure_of(labels: RowArray, values: RowArray) -> RowArray:
    """Return values of rows, with 0 for rows in no cluster."""
    if is_dask(labels):
        return labels.map_blocks(sure_of, values, dtype=np.float64)
    return np.where(labels < 0, 0.0, values)
