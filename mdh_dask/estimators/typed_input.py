"""Tables with typed columns, and Dask DataFrames, as rows of codes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._typing import RowArray
from ..chunks import announced, is_dask, map_rows, reduce_rows
from ..columns import ColumnTypes
from ..columns.coding import Coder, TypedRows
from ..columns.drafts import Draft, coded_dtype, draft_of, is_table, keys_of, not_numbers
from ..columns.levels import Found, array_of_table
from ..columns.values import dtype_of, is_categorical, is_single, kind_of
from ..io.tables import LazyTable, is_lazy_table, lazy_table


def is_typed(estimator: Any, X: Any, *, reset: bool) -> bool:
    """Return whether rows are read by their types of columns, and not as an array of numbers."""
    if isinstance(X, TypedRows) or is_lazy_table(X) or hasattr(X, "column_names") or _is_polars(X):
        return True
    if not reset:
        return getattr(estimator, "columns", None) is not None
    if getattr(estimator, "column_types", "auto") != "auto":
        return True
    if not is_table(X):
        return False
    return any(not _is_number(X[key], estimator) for key in keys_of(X))


def _is_polars(X: Any) -> bool:
    return hasattr(X, "to_arrow") and not hasattr(X, "iloc")


def _is_number(column: Any, estimator: Any) -> bool:
    """Return whether an array of numbers holds a column unchanged."""
    dtype = dtype_of(column)
    numeric = kind_of(dtype) in ("iufO" if uses_types(estimator) else "biufO")
    return isinstance(dtype, np.dtype) and numeric and (kind_of(dtype) != "O" or not _has_texts(column))


def _has_texts(column: Any) -> bool:
    return any(isinstance(value, str) for value in np.asarray(column))


def uses_types(estimator: Any) -> bool:
    """Return whether an estimator or map distinguishes kinds of columns."""
    return bool(getattr(estimator, "uses_types", False))


def typed_rows(estimator: Any, X: Any, *, reset: bool) -> tuple[TypedRows, int]:
    """Return rows of codes with their types, and the number of passes that this took over lazy rows.

    Parameters
    ----------
    estimator : estimator
        Its parameter `column_types` gives the kinds of the columns; if not `reset`, its attribute `columns` gives the
        types that rows are coded by.
    X : frame of pandas, Dask or Arrow, array, or TypedRows
    reset : bool

    Raises
    ------
    ValueError, TypeError
        If the columns are not those that are asked for.
    """
    if isinstance(X, TypedRows):
        return X, 0
    keys_of(X)  # raises the error for columns of the same name
    X = X.to_arrow() if _is_polars(X) else X
    X = lazy_table(X) if is_lazy_table(X) else X
    if reset:
        asked: Any = estimator.column_types
        draft = draft_of(X, asked, booleans="categorical" if uses_types(estimator) else "continuous")
        _check_kinds(estimator, draft, X)
        found, n_passes = _found(estimator, X, draft)
        types = draft.types(found)
        return TypedRows(_coded(X, draft.coder(types), found), types), n_passes
    types = estimator.columns or _numeric(estimator)
    coder = _coder_of(estimator, X, types)
    found, n_passes = _found(estimator, X, None)
    return TypedRows(_coded(X, coder, found), types), n_passes


def _numeric(estimator: Any) -> ColumnTypes:
    names = getattr(estimator, "feature_names_in_", None)
    return ColumnTypes.continuous(estimator.n_features_in_, None if names is None else list(names))


def _check_kinds(estimator: Any, draft: Draft, X: Any) -> None:
    """Raise an error for categories, unless the estimator distinguishes kinds of columns."""
    if uses_types(estimator) or "categorical" not in draft.kinds:
        return
    found = [draft.keys[j] for j, kind in enumerate(draft.kinds) if kind == "categorical"]
    raise ValueError(not_numbers([(key, dtype_of(X[key]) if is_table(X) else X.dtype) for key in found]))


def _found(estimator: Any, X: Any, draft: Draft | None) -> tuple[Found, int]:
    """Return the levels that a draft lacks, and the numbers of rows of partitions, with the passes that this took."""
    statistic = Draft((), (), (), (), None, np.dtype("f4")).levels_pass if draft is None else draft.levels_pass
    if isinstance(X, LazyTable):
        if not statistic.keys and X.n_rows is not None:
            return Found((), np.array(X.n_rows)), 0
        verb = "finding levels" if statistic.keys else "counting rows"
        bar = announced(f"pass 1: {verb}", estimator.progress, "partitions")
        return reduce_rows(statistic, X.tables(statistic.keys), progress=bar), 1
    if is_table(X):
        return statistic.chunk(0, array_of_table(X)), 0
    if not statistic.keys:
        return Found((), np.array([], dtype=np.int64)), 0
    bar = announced("pass 1: finding levels", estimator.progress)
    return reduce_rows(statistic, X, progress=bar), int(is_dask(X))


def _coder_of(estimator: Any, X: Any, types: ColumnTypes) -> Coder:
    """Return the function that codes new rows by the types of a fitted estimator."""
    keys = keys_of(X)
    if types.names is not None and is_table(X):
        _check_names(estimator, types.names, keys)
        keys = types.names
    elif types.names is not None and any(own is not None for own in types.levels):
        raise ValueError(
            f"expected a table with the columns {', '.join(types.names[:20])}, as {type(estimator).__name__} was "
            "fitted to; got an array, which has no levels: pass a frame"
        )
    if len(keys) != types.n_columns:
        name = type(estimator).__name__
        raise ValueError(f"X has {len(keys)} features, but {name} is expecting {types.n_columns} features as input.")
    columns = [X[key] if is_table(X) else X[:, key] for key in keys]
    if bad := [(k, dtype_of(c)) for k, c in zip(keys, columns) if kind_of(dtype_of(c)) in "Mmc"]:
        raise ValueError(not_numbers(bad))
    texts = [(k, dtype_of(c)) for k, c, own in zip(keys, columns, types.levels) if own is None and _is_text(c)]
    if texts:
        found = ", ".join(f"{key!r} ({dtype})" for key, dtype in texts)
        raise ValueError(
            f"expected columns that hold numbers, as they did in fit; got {found}: convert them to numbers"
        )
    single = all(is_single(dtype_of(c)) for c, own in zip(columns, types.levels) if own is None)
    return Coder(types, keys, coded_dtype(np.dtype(np.float32 if single else np.float64), types))


def _is_text(column: Any) -> bool:
    dtype = dtype_of(column)
    return is_categorical(dtype) or (kind_of(dtype) in "OUST" and not isinstance(dtype, np.dtype))


def _check_names(estimator: Any, fitted: Sequence[str], given: Sequence[Any]) -> None:
    missing = [name for name in fitted if name not in given]
    others = [str(key) for key in given if key not in fitted]
    if missing or others:
        what = [f"no {', '.join(missing[:20])}"] * bool(missing) + [f"also {', '.join(others[:20])}"] * bool(others)
        raise ValueError(
            f"expected the columns that {type(estimator).__name__} was fitted to, {', '.join(fitted[:20])}; got "
            f"{' and '.join(what)}: select those columns"
        )


def _coded(X: Any, coder: Coder, found: Found) -> RowArray:
    if isinstance(X, LazyTable):
        return X.rows(coder, coder.keys, found.n_rows.tolist(), coder.dtype)
    if is_table(X):
        return coder(X)
    return map_rows(_call, X, dtype=coder.dtype, n_columns=len(coder.keys), shared=coder)


def _call(coder: Coder, rows: Any) -> Any:
    return coder(rows)
