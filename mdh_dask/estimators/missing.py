"""Missing values of estimators whose methods have no use for them: refused, replaced by means, or left out."""

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._state import checked_array
from .._storable import storable
from .._typing import Floats, Integers, RowArray
from ..chunks import Together, is_dask, map_rows, merge_chunks, reduce_rows, select_rows
from ..columns import ColumnTypes
from ..summaries.passes import CompleteRows, Missing, MissingPass
from .blocks import complete, unmasked, with_means

if TYPE_CHECKING:
    from .rows import Rows, RowSpec

logger = logging.getLogger(__name__)


@storable
@dataclass(frozen=True)
class MissingValues:
    """The missing values among the rows of `fit`.

    Parameters
    ----------
    n_missing : array of shape (n_features,), int64
        Number of missing values of every column.
    n_incomplete : int
        Number of rows with missing values.
    fill : array of shape (n_features,), float64
        Means that replace missing values, of all values that are not missing.
    """

    n_missing: Integers
    n_incomplete: int
    fill: Floats

    def check_columns(self, n_columns: int) -> None:
        """Raise a ValueError unless these can be the missing values of so many columns."""
        checked_array("n_missing", self.n_missing, (n_columns,), 0)
        checked_array("fill", self.fill, (n_columns,), missing=True)
        if self.n_missing.dtype.kind != "i" or self.fill.dtype != np.float64:
            raise ValueError("expected integers in the array n_missing and float64 numbers in the array fill")


class WithoutMissing(NamedTuple):
    """Rows of `fit` after their missing values were replaced or left out."""

    rows: RowArray
    """All rows, to be labelled."""
    learnt: RowArray
    """The rows to learn from."""
    values: MissingValues | None
    n_passes: int


def with_nan(X: Any) -> Any:
    """Return a masked array, in memory or lazy, with NaN in place of what it masks; anything else as it is."""
    if not isinstance(X._meta if is_dask(X) else X, np.ma.MaskedArray) or X.ndim != 2 or X.dtype.kind not in "biuf":
        return X
    dtype = np.promote_types(X.dtype, np.float32)  # integers have no NaN
    return map_rows(unmasked, X, dtype=dtype, n_columns=X.shape[1], shared=dtype)


def without_missing(estimator: Any, read: "Rows") -> WithoutMissing:
    """Return rows of `fit` as the parameter ``missing`` of an estimator says.

    Raises a ValueError if means are wanted of categories, or of a column without values, or fewer than two rows are
    complete.
    """
    rows, rule, names = read.array, estimator.missing, read.names
    if rule == "error":
        return WithoutMissing(rows, rows, None, 0)
    if rule == "mean":
        _check_numbers(read.types, names)
    found, learnt, n_passes = _read(estimator, rows)
    if (found.n_missing == rows.shape[0]).any():
        column = _named(int((found.n_missing == rows.shape[0]).argmax()), names)
        raise ValueError(f"expected values in every column; got none in column {column}: leave it out")
    values = MissingValues(found.n_missing, found.n_incomplete, found.mean)
    logger.info(
        "%s values in %s of %s rows are missing: %s", int(values.n_missing.sum()), values.n_incomplete, rows.shape[0],
        "replaced by the means of their columns" if rule == "mean" else "these rows are left out",
    )  # fmt: skip
    if rule == "mean":
        rows = learnt = _with_means(rows, values)
    return WithoutMissing(rows, learnt, values, n_passes)


def _check_numbers(columns: ColumnTypes | None, names: Any) -> None:
    if columns is None or not (categorical := columns.mask("categorical")).any():
        return
    raise ValueError(
        f"expected columns of numbers for missing='mean'; got the categorical column "
        f"{_named(int(categorical.argmax()), names)}: use missing='drop', or leave missing='error' with "
        "feature_map='gower', which compares the values that are there"
    )


def _named(j: int, names: Any) -> str:
    return str(j) if names is None else repr(names[j])


def filled(spec: "RowSpec", rows: RowArray) -> RowArray:
    """Return new rows with the means of `fit` in place of missing values, if the rule says so."""
    return rows if spec.missing != "mean" or spec.values is None else _with_means(rows, spec.values)


def _with_means(rows: RowArray, values: MissingValues) -> RowArray:
    if rows.dtype.kind != "f":
        return rows
    return map_rows(with_means, rows, dtype=rows.dtype, n_columns=rows.shape[1], shared=values.fill)


def rows_to_count(estimator: Any, given: RowArray, complete: RowArray) -> RowArray:
    """Return the rows whose levels are counted: a missing one is missing, though the mean takes its place."""
    return given if estimator.missing == "mean" else complete


def complete_rows(estimator: Any, rows: RowArray) -> tuple[RowArray, int]:
    """Return the rows that the estimator does not leave out for missing values, and the passes for finding them."""
    if estimator.missing != "drop":
        return rows, 0
    _, learnt, n_passes = _read(estimator, rows)
    return learnt, n_passes


def _read(estimator: Any, rows: RowArray) -> tuple[Missing, RowArray, int]:
    """Return what is missing, the complete rows, and the passes over lazy rows."""
    merged = merge_chunks(rows)
    bar = estimator._bar("finding missing values")
    missing, n_passes = MissingPass(rows.shape[1]), int(is_dask(rows))
    if estimator.missing == "mean":
        return reduce_rows(missing, merged, progress=bar), merged, n_passes
    found, of_blocks = reduce_rows(Together((missing, CompleteRows())), merged, progress=bar)
    if of_blocks.sum() < 2:
        raise ValueError(
            f"expected at least 2 rows without missing values for missing='drop'; got {int(of_blocks.sum())} of "
            f"{rows.shape[0]}: use missing='mean', or feature_map='gower'"
        )
    return found, select_rows(complete, merged, of_blocks.tolist()), n_passes
