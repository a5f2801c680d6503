"""Blocks of rows, as workers see them, and missing values: refused, replaced by means, or left out."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._sparse import RepeatedRows, SparseRows
from .._state import Stored, checked_array
from .._storable import storable
from .._typing import AnyArray, Floats, Integers, RowArray
from .._words import full_count
from ..chunks import Together, is_dask, map_rows, merge_chunks, reduce_rows, select_rows
from ..summaries.passes import CompleteRows, Missing, MissingPass

if TYPE_CHECKING:
    from .rows import Rows

logger = logging.getLogger(__name__)


@storable
@dataclass(frozen=True)
class MissingValues:
    """The missing values among the rows of `fit`."""

    n_missing: Integers
    """Number of missing values of every column, shape (n_features,), int64."""
    n_incomplete: int
    """Number of rows with missing values."""
    fill: Floats
    """Means that replace missing values, of all values that are not missing; rounded where these are whole numbers.

    Any other number would be a level of its own among codes and ratings. Shape (n_features,), float64.
    """

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
    """Return rows of `fit` as the parameter ``missing`` of an estimator says."""
    rows, rule, names = read.array, estimator.missing, read.names
    if rule == "error":
        return WithoutMissing(rows, rows, None, 0)
    if rule == "mean" and read.types is not None and (categorical := read.types.mask("categorical")).any():
        raise ValueError(
            "expected columns of numbers for missing='mean'; got the categorical "
            f"{column_in_words(int(categorical.argmax()), names)}: use missing='drop', or leave missing='error' with "
            "feature_map='gower', which compares the values that are there"
        )
    found, learnt, n_passes = _read(estimator, rows)
    if (empty := found.n_missing == rows.shape[0]).any():
        column = column_in_words(int(empty.argmax()), names)
        raise ValueError(f"expected values in every column; got none in {column}: leave it out")
    if learnt.shape[0] < 2:
        other = ", or feature_map='gower'" if "feature_map" in estimator.get_params(deep=False) else ""
        raise ValueError(
            f"expected at least 2 rows without missing values for missing='drop'; got {learnt.shape[0]} of "
            f"{rows.shape[0]}: use missing='mean'{other}"
        )
    fill = np.where(found.whole, np.rint(found.mean), found.mean)
    values = MissingValues(found.n_missing, found.n_incomplete, fill)
    logger.info(
        "%s values in %s of %s rows are missing: %s", int(values.n_missing.sum()), values.n_incomplete, rows.shape[0],
        "replaced by the means of their columns" if rule == "mean" else "these rows are left out",
    )  # fmt: skip
    if rule == "mean":
        rows = learnt = filled(rows, values)
    return WithoutMissing(rows, learnt, values, n_passes)


def column_in_words(j: int, names: Sequence[str] | AnyArray | None) -> str:
    """Return a column by its name, or its number."""
    return f"column {j}" if names is None else f"column {names[j]!r}"


def filled(rows: RowArray, values: MissingValues | None) -> RowArray:
    """Return rows with the means of `fit` in place of missing values."""
    if values is None or rows.dtype.kind != "f":
        return rows
    return map_rows(with_means, rows, dtype=rows.dtype, n_columns=rows.shape[1], shared=values.fill)


def complete_rows(estimator: Any, rows: RowArray) -> tuple[RowArray, int]:
    """Return the new rows that the estimator does not leave out for missing values, and the passes to find them."""
    if estimator.missing != "drop":
        return rows, 0
    _, learnt, n_passes = _read(estimator, rows)
    if learnt.shape[0] == 0:
        raise ValueError(
            f"expected a row without missing values for missing='drop'; got none in "
            f"{full_count(rows.shape[0], 'row')}: give rows that have all values, or fill in the missing ones first"
        )
    return learnt, n_passes


def _read(estimator: Any, rows: RowArray) -> tuple[Missing, RowArray, int]:
    """Return what is missing, the complete rows, and the passes over lazy rows."""
    merged = merge_chunks(rows)
    bar = estimator._bar("finding missing values")
    missing, n_passes = MissingPass(rows.shape[1]), int(is_dask(rows))
    wanted = (missing,) if estimator.missing == "mean" else (missing, CompleteRows())
    found, *in_blocks = reduce_rows(Together(wanted), merged, progress=bar)
    if not in_blocks:
        return found, merged, n_passes
    (of_blocks,) = in_blocks
    return found, select_rows(complete, merged, of_blocks.tolist()), n_passes


def of_block(method: str, dtype: npt.DTypeLike, fitted: Stored, rows: Any) -> AnyArray:
    """Return what a method of a fitted value returns for a block, or raise an error if values are not finite."""
    return np.asarray(getattr(fitted, method)(checked_finite(rows, fitted.missing)), dtype=dtype)


def of_complete_rows(method: str, dtype: npt.DTypeLike, fitted: Stored, rows: Any) -> AnyArray:
    """Return what `of_block` does for the rows without missing values; the others get the label -1, or NaN."""
    complete = is_complete(rows)
    found = of_block(method, dtype, fitted, rows[complete])
    out = np.full((len(rows), *found.shape[1:]), -1 if found.dtype.kind == "i" else np.nan, dtype)
    out[complete] = found
    return out


def checked_finite(rows: AnyArray, missing: bool = False) -> AnyArray:
    """Return a block of rows, or raise an error if it contains infinity, or NaN unless values may be missing."""
    plain = rows.rows if isinstance(rows, RepeatedRows) else rows
    stored = plain.data if isinstance(plain, SparseRows) else plain
    if stored.dtype.kind != "f" or np.isfinite(stored).all():
        return rows
    bad = np.isinf(stored) if missing else ~np.isfinite(stored)
    if not bad.any():
        return rows
    first = plain.row_of(int(bad.argmax())) if isinstance(plain, SparseRows) else int(bad.any(axis=1).argmax())
    raise ValueError(
        f"expected finite values; got {int(np.isnan(stored).sum())} NaN and {int(np.isinf(stored).sum())} infinite "
        f"(inf) values in a block of {len(plain)} rows, the first in its row {first}. "
        "Drop these rows or fill in the values first."
    )


def unmasked(dtype: npt.DTypeLike, rows: AnyArray) -> AnyArray:
    """Return a block with NaN in place of its masked values."""
    return np.ma.filled(np.ma.asarray(rows, dtype=dtype), np.nan)


def is_complete(rows: AnyArray) -> Any:
    """Return which rows have no missing values."""
    return ~np.isnan(rows).any(axis=1)


def complete(rows: AnyArray) -> AnyArray:
    """Return the rows without missing values."""
    return rows[is_complete(rows)]


def with_means(means: Floats, rows: AnyArray) -> AnyArray:
    """Return rows with the means of their columns in place of missing values."""
    return np.where(np.isnan(rows), means.astype(rows.dtype), rows)
