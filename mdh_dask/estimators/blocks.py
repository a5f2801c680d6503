"""What is done to blocks of rows, mostly by workers: they need not import scikit-learn, which takes a second."""

from typing import Any

import numpy as np
import numpy.typing as npt

from .._sparse import RepeatedRows, SparseRows
from .._state import Stored
from .._typing import AnyArray, Floats


def of_block(method: str, dtype: npt.DTypeLike, fitted: Stored, rows: Any) -> AnyArray:
    """Return what a method of a fitted value returns for a block, or raise an error if values are not finite."""
    check_finite(rows, fitted.missing)
    return np.asarray(getattr(fitted, method)(rows), dtype=dtype)


def of_complete_rows(method: str, dtype: npt.DTypeLike, fitted: Stored, rows: Any) -> AnyArray:
    """Return what `of_block` does for the rows without missing values; the others get the label -1, or NaN."""
    complete = is_complete(rows)
    found = of_block(method, dtype, fitted, rows[complete])
    out = np.full((len(rows), *found.shape[1:]), -1 if found.dtype.kind == "i" else np.nan, dtype)
    out[complete] = found
    return out


def check_finite(rows: AnyArray, missing: bool = False) -> None:
    """Raise an error if a block of rows contains infinity, or NaN unless values may be missing."""
    rows = rows.rows if isinstance(rows, RepeatedRows) else rows
    stored = rows.data if isinstance(rows, SparseRows) else rows
    if stored.dtype.kind == "f" and not np.isfinite(stored).all():
        bad = np.isinf(stored) if missing else ~np.isfinite(stored)
        if not bad.any():
            return
        first = rows.row_of(int(bad.argmax())) if isinstance(rows, SparseRows) else int(bad.any(axis=1).argmax())
        raise ValueError(
            f"expected finite values; got {int(np.isnan(stored).sum())} NaN and {int(np.isinf(stored).sum())} infinite "
            f"(inf) values in a block of {len(rows)} rows, the first in its row {first}. "
            "Drop these rows or fill in the values first."
        )


def finite(missing: bool, rows: AnyArray) -> AnyArray:
    """Return a block after `check_finite`."""
    check_finite(rows, missing)
    return rows


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
