"""Parameters: their constraints, checks of those that depend on the rows, and docstrings, which describe each once."""

import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from math import ceil, sqrt
from numbers import Integral, Real
from typing import Any, TypeVar, dataclass_transform

import numpy as np
from sklearn.utils import _param_validation
from sklearn.utils._param_validation import (
    InvalidParameterError,
    StrOptions,
    make_constraint,
    validate_parameter_constraints,
)
from sklearn.utils.validation import check_is_fitted

from .._typing import Booleans, RowArray
from .._words import full_count
from ..chunks import is_dask, select_rows
from ..columns import ColumnTypes
from ..growth.passes import FirstLook
from ..kernels.truncated_svd import SparseSample
from ..projections.directions import Proposal, StandardDirections
from ..summaries.passes import TypedLook
from .missing import checked_finite, column_in_words

__all__ = ["Interval", "InvalidParameterError", "StrOptions", "make_constraint", "validate_parameter_constraints"]


class Interval(_param_validation.Interval):
    """An interval of numbers, of which booleans are none."""

    def is_satisfied_by(self, val: Any) -> bool:
        return not isinstance(val, bool) and bool(super().is_satisfied_by(val))


SHARED: dict[str, list[Any]] = {
    "n_clusters": [None, Interval(Integral, 1, None, closed="left")],
    "max_clusters": [None, Interval(Integral, 1, None, closed="left")],
    "min_cluster_size": [None, Interval(Integral, 1, None, closed="left"), Interval(Real, 0, 1, closed="neither")],
    "quantile": [Interval(Real, 0, 1, closed="neither")],
    "share_outside": [Interval(Real, 0, 1, closed="left")],
    "sample_size": [Interval(Integral, 2, None, closed="left")],
    "n_landmarks": [Interval(Integral, 2, None, closed="left")],
    "n_components": [None, Interval(Integral, 1, None, closed="left")],
    "n_init": [Interval(Integral, 1, None, closed="left")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "merge": ["boolean"],
    "scale": ["boolean"],
    "column_types": [str, dict],
    "missing": [StrOptions({"error", "mean", "drop"})],
    "random_state": ["random_state"],
    "progress": ["boolean"],
}


def check_model(model: Any, call: str) -> None:
    """Raise an error for what is no fitted model, such as rows, with the order of the arguments in a `call`."""
    if not hasattr(model, "fit"):
        raise TypeError(f"expected a fitted model, as in {call}; got {type(model).__name__} in its place")
    check_is_fitted(model)


C = TypeVar("C", bound=type)

INHERITED = ("Attributes", "See Also")
"""Sections that a class shares with its bases."""


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def documented(cls: C) -> C:
    """Make a class a dataclass of its parameters and complete its docstring.

    The docstring gets the parameters with their defaults, in order, and the sections `INHERITED`. Entries that the
    class lacks come from the nearest base that has them. Parameters that the class does not have are omitted, and
    attributes that it sets to None.
    """
    dataclass(kw_only=True, eq=False, repr=False)(cls)
    described = _entries_of(cls, "Parameters")
    parameters = [
        _with_default(described[name], parameter.default)
        for name, parameter in inspect.signature(cls).parameters.items()
        if name in described
    ]
    inherited = {title: "\n".join(found.values()) for title in INHERITED if (found := _entries_of(cls, title))}
    own = {title: text for title, text in sections(cls.__doc__).items() if title not in ("Parameters", *INHERITED)}
    whole = {"": own.pop(""), "Parameters": "\n".join(parameters), **inherited, **own}
    cls.__doc__ = "\n\n".join(
        f"{title}\n{'-' * len(title)}\n{text}" if title else text for title, text in whole.items()
    )
    return cls


def _entries_of(cls: type, title: str) -> dict[str, str]:
    """Return the entries of a section of a class and all its bases; those of the nearest come first and are kept."""
    found: dict[str, str] = {}
    for base in cls.__mro__:
        for name, entry in entries(sections(base.__doc__).get(title, "")).items():
            found.setdefault(name, entry)
    hidden = [name for name, value in vars(cls).items() if value is None]
    return {name: entry for name, entry in found.items() if name not in hidden or title == "Parameters"}


@cache  # of the bases, whose docstrings all classes share
def sections(docstring: str | None) -> dict[str, str]:
    """Return the sections of a numpydoc docstring by title; the text before them has an empty title."""
    first, *rest = re.split(r"^(\w[\w ]*)\n-+\n", inspect.cleandoc(docstring or ""), flags=re.MULTILINE)
    return {"": first.strip(), **{title: text.strip() for title, text in zip(rest[::2], rest[1::2])}}


@cache
def entries(section: str) -> dict[str, str]:
    r"""Return the entries of a section by name, as ``{"n": "n : int\n    Rows."}``."""
    return {entry.split(" :")[0]: entry for entry in re.split(r"\n(?=\S)", section) if entry}


def _with_default(entry: str, default: Any) -> str:
    head, *text = entry.split("\n")
    shown = f'"{default}"' if isinstance(default, str) else repr(default)
    return "\n".join([f"{head.split(', default=')[0]}, default={shown}", *text])


LARGEST_BEFORE_OVERFLOW = 1e150

SMALLEST_BEFORE_UNDERFLOW = 1e-151


TAKES = "missing", "feature_map"


def check_first_look(look: FirstLook, names: Sequence[str] | None = None, takes: Sequence[str] = TAKES) -> None:
    """Raise an error if the first pass found values that are not finite, too large or small, and name the columns.

    takes: the parameters of the estimator, of which the error names those that would help; a map may be that of a tree.
    """
    check_counts(look, takes)
    low, high = look.columns.low.astype(np.float64), look.columns.high.astype(np.float64)
    sizes = np.maximum(np.abs(low), np.abs(high))
    j = int(sizes.argmax())
    if sizes[j] > LARGEST_BEFORE_OVERFLOW:
        raise ValueError(
            f"expected values up to {LARGEST_BEFORE_OVERFLOW:g}; got {sizes[j]:g} in {column_in_words(j, names)}, "
            "whose square overflows. Scale the column first; if such values stand for missing ones, drop these rows."
        )
    vanishing = (high > low) & (sizes < SMALLEST_BEFORE_UNDERFLOW)
    if vanishing.any():
        j = int(vanishing.argmax())
        raise ValueError(
            f"expected columns that are constant or have values of at least {SMALLEST_BEFORE_UNDERFLOW:g} in size; got "
            f"at most {sizes[j]:g} in {column_in_words(j, names)}, whose square vanishes. "
            "Scale the column first, or drop it."
        )


def check_counts(look: FirstLook | SparseSample, takes: Sequence[str] = ()) -> None:
    """Raise an error if a pass has counted values that are not finite; see `check_first_look` for `takes`."""
    if look.n_nan or look.n_infinite:
        others = ["missing='drop' and missing='mean' do"] * ("missing" in takes)
        others += ["feature_map='gower' takes NaN"] * ("feature_map" in takes)
        raise ValueError(
            f"expected finite values; got {look.n_nan} NaN and {look.n_infinite} infinite (inf) values, the first in "
            f"row {look.first_bad_row}. Drop these rows or fill in the values first"
            + (f", as {'; '.join(others)}." if look.n_nan and others else ".")
        )


def checked_proposal(proposed: Any, n_features: int) -> Proposal:
    """Return the proposal of a projection, after checking the directions and any thresholds."""
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
    """Return a number of rows from a count, a share of all rows, or None for the square root of their number."""
    if size is None:
        return ceil(sqrt(n_rows))
    return ceil(size * n_rows) if size < 1 else int(size)


def finite_rows(rows: RowArray, missing: bool = False) -> RowArray:
    """Return rows after a check by `checked_finite`, which Dask makes when it computes them."""
    return select_rows(partial(checked_finite, missing=missing), rows, rows.chunks[0] if is_dask(rows) else ())


def categorical_columns(columns: ColumnTypes | None, n_columns: int) -> Booleans:
    """Return which columns are categorical: none of numbers."""
    if columns is None:
        return np.zeros(n_columns, dtype=bool)
    if columns.n_columns != n_columns:
        raise ValueError(f"expected the types of {n_columns} columns, got those of {columns.n_columns}")
    return columns.mask("categorical")


MOST_LEVELS = 1000
"""Most levels of a categorical column of which all are counted."""


def check_levels(columns: ColumnTypes | None, too_many: Booleans, where: str, remedy: str) -> None:
    """Raise an error if any column has too many levels, which says what needs fewer, and the remedy."""
    if too_many.any():
        j = int(too_many.argmax())
        column = column_in_words(j, None if columns is None else columns.names)
        raise ValueError(
            f"expected at most {MOST_LEVELS} levels in a categorical column{where}; {column} has more. {remedy}"
        )


def check_typed_look(look: TypedLook) -> None:
    """Raise an error if the first pass over mixed columns found infinite or too large values."""
    if look.n_infinite:
        raise ValueError(
            f"expected finite or missing (NaN) values; got {full_count(look.n_infinite, 'infinite (inf) value')}, the "
            f"first in row {look.first_infinite}. Drop these rows or make the values missing first."
        )
    sizes = np.maximum(np.abs(look.low), np.abs(look.high))
    sizes[look.low > look.high] = 0.0
    if (sizes > LARGEST_BEFORE_OVERFLOW).any():
        j = int(sizes.argmax())
        raise ValueError(
            f"expected values up to {LARGEST_BEFORE_OVERFLOW:g}; got {sizes[j]:g} in column {j}. Scale the column "
            "first, or make such values missing."
        )
    if (look.low > look.high).all():
        raise ValueError("expected values in at least one column; got missing values only")
