"""Validation of sparse rows, and the map that trees take for many columns of them."""

from typing import Any

from sklearn.utils.validation import validate_data

from .._sparse import CompactRows, RepeatedRows, is_compact, sparse_rows
from .._typing import RowArray
from ..chunks import is_dask, sparse_blocks
from .shapes import checked_lazy

MOST_COLUMNS = 1000
"""Most columns of sparse rows of which samples may become dense."""

MAP = "truncated_svd"
"""Name of the feature map for sparse rows with more columns."""


def given_sparse(X: Any) -> bool:
    """Return whether an input has sparse or compact rows, by the type of the blocks that a Dask array promises."""
    return is_compact(X._meta if is_dask(X) else X)


def checked_sparse(estimator: Any, X: Any, *, reset: bool) -> RowArray:
    """Return `SparseRows`, or a Dask array of such blocks, after setting or comparing `n_features_in_`.

    Raises
    ------
    ValueError
        If the parameters are for missing values or kinds of columns, or the estimator needs dense rows of so many
        columns.
    """
    if isinstance(X._meta if is_dask(X) else X, RepeatedRows):
        return checked_lazy(estimator, X, reset)  # from an estimator, for its feature map
    _check_parameters(estimator)
    if is_dask(X) or isinstance(X, CompactRows):
        rows = checked_lazy(estimator, sparse_blocks(X), reset)
    else:
        X = X.to_scipy_sparse() if hasattr(X, "to_scipy_sparse") else X
        checked = validate_data(
            estimator, X, reset=reset, accept_sparse="csr", dtype="numeric", ensure_all_finite=False,
            ensure_min_samples=2 if reset else 1,
        )  # fmt: skip
        rows = sparse_rows(checked)
    if reset:
        estimator._wide = rows.shape[1] > MOST_COLUMNS
        if estimator._wide and not estimator.takes_sparse:
            _refuse(estimator, rows.shape[1])
    return rows


def _check_parameters(estimator: Any) -> None:
    if (rule := getattr(estimator, "missing", "error")) in ("mean", "drop"):
        raise ValueError(
            "expected missing='error' for sparse rows, where values that are not stored are zero and not missing; got "
            f"{rule!r}: fill in the values that are stored as NaN first"
        )
    if getattr(estimator, "columns", None) is not None or getattr(estimator, "column_types", "auto") != "auto":
        raise ValueError("expected dense rows for kinds of columns; got sparse ones: leave out column_types")


def _refuse(estimator: Any, n_columns: int) -> None:
    mapped = hasattr(estimator, "feature_map") and not getattr(estimator, "merge", False)
    remedy = f"take feature_map={MAP!r}" if mapped else "fit it to TruncatedSVDFeatures().fit_transform(X)"
    raise ValueError(
        f"expected dense rows, or at most {MOST_COLUMNS} columns of sparse ones, for {type(estimator).__name__} with "
        f"these parameters, as samples become dense; got {n_columns} columns: {remedy}"
    )
