"""Rows of any kind of input, validated before any work is done: `read_rows` returns a value and changes nothing."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from numbers import Number
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import zarr
from sklearn.utils.validation import validate_data

from .._locations import redacted
from .._sparse import CompactRows, RepeatedRows, is_compact, sparse_rows
from .._typing import AnyArray, RowArray
from .._words import full_count
from ..chunks import is_dask, known_chunks, sparse_blocks
from ..columns import ColumnTypes
from ..columns.coding import TypedRows
from ..columns.drafts import is_table, keys_of, not_as_in_fit, not_numbers
from ..io import open_rows
from .missing import MissingValues, filled, with_nan
from .tables import is_typed, package_of, plain_rows, plain_table, typed_rows

MOST_COLUMNS = 1000
"""Most columns of sparse rows of which samples may become dense."""

MAP = "truncated_svd"
"""Name of the feature map for sparse rows with more columns."""


@dataclass(frozen=True)
class RowSpec:
    """What an estimator or feature map expects of rows."""

    estimator: type
    missing: str = "error"
    """Rule for missing values, "error", "mean" or "drop"; that of a feature map is its own."""
    column_types: Any = "auto"
    progress: bool = False
    uses_types: bool = False
    """Whether categorical columns and missing values are used as they are."""
    takes_sparse: bool = False
    """Whether sparse rows may have any number of columns."""
    sparse_remedy: str = ""
    """What to do if they may not."""
    n_columns: int | None = None
    """Columns of the rows of `fit`; None in `fit` itself, where names, types and values are not known either."""
    names: AnyArray | None = None
    types: ColumnTypes | None = None
    values: MissingValues | None = None
    """Means that replace missing values."""

    @property
    def fits(self) -> bool:
        """Return whether the rows are those of `fit`."""
        return self.n_columns is None

    @property
    def takes_map(self) -> bool:
        """Return whether the estimator has a feature map to choose."""
        return "feature_map" in self.estimator._get_param_names()  # type: ignore[attr-defined]

    @property
    def least_rows(self) -> int:
        """Return the least number of rows."""
        return 2 if self.fits else 1


class Rows(NamedTuple):
    """Valid rows."""

    array: RowArray
    """A NumPy array, `SparseRows`, or a Dask array with known chunks and one block of columns; of new rows, with the
    means of `fit` in place of missing values if the rule says so."""
    given: RowArray
    """The same with its missing values."""
    names: AnyArray | None = None
    types: ColumnTypes | None = None
    """Kinds and levels of the columns; None if all are numbers."""
    n_passes: int = 0
    """Passes that reading took over lazy rows."""
    is_wide: bool = False
    """Whether the rows are sparse, with so many columns that samples cannot become dense."""


def read_rows(X: Any, spec: RowSpec) -> Rows:
    """Return the valid rows of an array-like, frame, sparse rows, DataArray, Dask array or DataFrame, or Zarr array.

    A ValueError or TypeError says what was expected, what was got, and what to do.
    """
    X, names = plain_rows(_opened(X))
    X = plain_table(with_nan(X))
    if is_compact(X._meta if is_dask(X) else X):
        read = _sparse(X, spec)
    elif is_typed(X, spec):
        read = _typed(X, spec)
    elif is_dask(X):
        read = _lazy(X, spec)
    else:
        read = _validated(X, spec)
    if names is not None:
        if spec.fits:
            read = read._replace(names=np.array(names, dtype=object))
        else:
            _check_names(spec, names)
    return read if spec.fits or spec.missing != "mean" else read._replace(array=filled(read.given, spec.values))


def _opened(X: Any) -> Any:
    """Return an input, with a Zarr array opened as rows, after refusing what holds no rows."""
    if isinstance(X, zarr.Array):
        return open_rows(X)
    if isinstance(X, zarr.Group):
        raise TypeError(f"expected an array; got a Zarr group with {sorted(X.array_keys())}: pass one of its arrays")
    if isinstance(X, str | PathLike):
        path = redacted(str(X))
        raise TypeError(f"expected rows; got the path {path!r}: open it by mdh_dask.io.open_features(...).rows")
    if package_of(X, "Dataset") == "xarray":
        names = ", ".join(map(str, X.data_vars))
        raise TypeError(
            f"expected an array of rows; got an xarray Dataset with {names or 'no variables'}: pass a DataArray whose "
            "last dimension holds the columns, as X.to_dataarray('column').transpose(..., 'column')"
        )
    if X is None or (isinstance(X, Number | Mapping | Set | Iterator) and not hasattr(X, "shape")):  # of sparse rows
        raise TypeError(
            f"expected an array, a frame or a list of rows; got a value of type {type(X).__name__}: make one of it, "
            "for example with pandas.DataFrame or list"
        )
    if type(X) not in (list, tuple):  # `TypedRows` is a tuple, too
        return X
    try:
        return np.asarray(X)
    except ValueError as error:  # NumPy's error does not say what the lists should be
        raise ValueError(
            f"expected as many values in every row; got a {type(X).__name__} of rows of several lengths: give each a "
            "value for every column, NaN for a missing one"
        ) from error


def _sparse(X: Any, spec: RowSpec) -> Rows:
    """Return `SparseRows`, or a Dask array of such blocks."""
    if isinstance(X._meta if is_dask(X) else X, RepeatedRows):
        return _lazy(X, spec)  # from an estimator, for its feature map
    if spec.missing in ("mean", "drop"):
        raise ValueError(
            "expected missing='error' for sparse rows, where values that are not stored are zero and not missing; got "
            f"{spec.missing!r}: fill in the values that are stored as NaN first"
        )
    if spec.types is not None or spec.column_types != "auto":
        raise ValueError("expected dense rows for kinds of columns; got sparse ones: leave out column_types")
    if is_dask(X) or isinstance(X, CompactRows):
        read = _lazy(sparse_blocks(X), spec)
    else:
        read = _checked(X.to_scipy_sparse() if hasattr(X, "to_scipy_sparse") else X, spec, "csr")
        rows = sparse_rows(read.array)
        read = read._replace(array=rows, given=rows)
    n_columns = read.array.shape[1]
    is_wide = spec.fits and n_columns > MOST_COLUMNS
    if is_wide and not spec.takes_sparse:
        raise ValueError(
            f"expected dense rows, or at most {MOST_COLUMNS} columns of sparse ones, for {spec.estimator.__name__} "
            f"with these parameters, as samples become dense; got {n_columns} columns: {spec.sparse_remedy}"
        )
    return read._replace(is_wide=is_wide)


def _typed(X: Any, spec: RowSpec) -> Rows:
    """Return the codes of a table, or of columns whose kinds are given."""
    if not is_table(X) and not is_dask(X) and not isinstance(X, TypedRows):
        X = np.asarray(X)
        if X.ndim != 2 or X.dtype.kind not in "biufO":
            check_shape(X, least_rows=1)
    (rows, types), n_passes = typed_rows(X, spec)
    check_shape(rows, spec.least_rows)
    names = None if types.names is None else np.array(types.names, dtype=object)
    return Rows(rows, rows, names, None if types.mask("continuous").all() else types, n_passes)


def _lazy(X: RowArray, spec: RowSpec) -> Rows:
    """Return a Dask array with one block of columns, or `SparseRows`."""
    check_shape(X, spec.least_rows)
    if not spec.fits and X.shape[1] != spec.n_columns:
        raise ValueError(
            f"X has {X.shape[1]} features, but {spec.estimator.__name__} is expecting {spec.n_columns} features as "
            "input."
        )
    rows = X.rechunk({1: -1}) if is_dask(X) and X.numblocks[1] > 1 else X
    return Rows(rows, rows)


def _validated(X: Any, spec: RowSpec) -> Rows:
    """Return an array-like as validated by scikit-learn; errors name the columns of a frame that are not numeric."""
    if isinstance(X, np.ndarray):
        check_dimensions(X)  # scikit-learn shows all values of an array without columns, and of complex numbers
        if X.dtype.kind in "cSU":
            check_dtype(X)
    try:
        read = _checked(X, spec, False)
        check_dtype(read.array)  # scikit-learn lets dates and categories pass
    except (ValueError, TypeError) as error:
        keys = keys_of(X) if is_table(X) else ()
        if found := [(key, X[key].dtype) for key in keys if not _holds_numbers(np.asarray(X[key]))]:
            raise ValueError(not_numbers(found, spec.takes_map) if spec.fits else not_as_in_fit(found)) from error
        if spec.fits and np.ndim(X) == 2 and np.shape(X)[0] == 1:
            raise ValueError(
                f"expected at least 2 rows; got 1 sample(s) (shape={np.shape(X)}): give more rows"
            ) from error
        raise
    return read


def _checked(X: Any, spec: RowSpec, accept_sparse: str | bool) -> Rows:
    """Return rows checked by scikit-learn, which sets names and numbers of columns: here of another estimator."""
    probe: Any = object.__new__(spec.estimator)
    if not spec.fits:
        probe.n_features_in_ = spec.n_columns
        if spec.names is not None:
            probe.feature_names_in_ = spec.names
    rows = validate_data(
        probe, X, reset=spec.fits, accept_sparse=accept_sparse, dtype="numeric", ensure_all_finite=False,
        ensure_min_samples=spec.least_rows,
    )  # fmt: skip
    return Rows(rows, rows, getattr(probe, "feature_names_in_", None))


def _holds_numbers(column: AnyArray) -> bool:
    if column.dtype.kind != "O":
        return column.dtype.kind in "biuf"
    try:
        column.astype(np.float64)
    except (ValueError, TypeError):
        return False
    return True


def _check_names(spec: RowSpec, names: Sequence[str]) -> None:
    """Raise an error if a DataArray has other columns than the one of `fit`, or in another order."""
    if spec.names is not None and list(spec.names) != list(names):
        raise ValueError(
            f"expected the columns {', '.join(map(str, spec.names))} of fit in this order; got {', '.join(names)}: "
            "select them by X.sel"
        )


def check_shape(X: RowArray, least_rows: int) -> None:
    """Raise an error unless there are columns of numbers and enough rows, in chunks of known sizes."""
    check_dtype(X)
    check_dimensions(X)
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


def check_dimensions(X: RowArray) -> None:
    """Raise an error unless an array has rows and columns."""
    if X.ndim != 2:
        few = "X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row"
        raise ValueError(
            f"expected a 2-dimensional array of shape (n_samples, n_features); got shape {X.shape}. Reshape your data: "
            f"{few if X.ndim < 2 else 'X.reshape(len(X), -1) for a row of each X[i]'}"
        )


def check_dtype(rows: RowArray) -> None:
    """Raise an error unless rows are numbers."""
    if rows.dtype.kind == "c":  # the first words are those that scikit-learn asks for
        raise ValueError(
            f"Complex data not supported; got dtype {rows.dtype}: make columns of the real and the imaginary parts"
        )
    if rows.dtype.kind not in "biuf":
        raise ValueError(
            f"expected integers, booleans or floating-point numbers; got dtype {rows.dtype}. "
            "Convert the columns to numbers first, for example with X.astype(float)."
        )
