"""Types of the columns of a table: continuous, ordinal or categorical, with the levels of texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

KINDS = ("continuous", "ordinal", "categorical")

PIXEL_KINDS = ("lab", "smooth", "texture", "gradient")
"""Kinds of columns of pixels that can be chosen."""

PARTS = ("kinds", "levels", "names")


@dataclass(frozen=True)
class ColumnTypes:
    """The kind of every column, with its levels.

    Parameters
    ----------
    kinds : tuple of str
        One of `KINDS` for each column, in the order of the columns.
    levels : tuple of (tuple of str or None)
        Levels of each column: of categorical columns sorted, of ordinal columns in their order. None if the values of
        the column are numbers. A value is coded by the index of its level, and any other value by `n_levels`.
    names : tuple of str, optional
        Names of the columns.

    Raises
    ------
    ValueError
        If these do not belong together.

    Examples
    --------
    >>> types = ColumnTypes(("continuous", "categorical"), (None, ("no", "yes")), ("age", "smoker"))
    >>> types.mask("categorical"), types.n_levels(1)
    (array([False,  True]), 2)
    >>> ColumnTypes.from_dict(types.to_dict()) == types
    True
    """

    kinds: tuple[str, ...]
    levels: tuple[tuple[str, ...] | None, ...]
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        n = len(self.kinds)
        for name, part in (("levels", self.levels), ("names", self.names)):
            if part is not None and len(part) != n:
                raise ValueError(f"expected {name} of {n} columns, one for each kind; got {len(part)}")
        for j, (kind, levels) in enumerate(zip(self.kinds, self.levels)):
            if kind not in KINDS:
                raise ValueError(f"expected one of {', '.join(KINDS)} for column {j}; got {kind!r:.99}")
            if levels is not None and kind == "continuous":
                raise ValueError(f"expected no levels for the continuous column {j}; got {len(levels)}")
            if levels is not None and len(set(levels)) != len(levels):
                raise ValueError(f"expected levels of column {j} that differ; got one twice")

    @classmethod
    def continuous(cls, n_columns: int, names: Sequence[str] | None = None) -> "ColumnTypes":
        """Return the types of columns that are all continuous."""
        return cls(("continuous",) * n_columns, (None,) * n_columns, None if names is None else tuple(names))

    @property
    def n_columns(self) -> int:
        """Return the number of columns."""
        return len(self.kinds)

    def mask(self, kind: str) -> npt.NDArray[np.bool_]:
        """Return whether each column is of a kind."""
        return np.array([own == kind for own in self.kinds], dtype=bool)

    def n_levels(self, column: int) -> int | None:
        """Return the number of levels of a column, or None if its values are numbers."""
        levels = self.levels[column]
        return None if levels is None else len(levels)

    def all_numeric(self) -> bool:
        """Return whether every column is continuous."""
        return all(kind == "continuous" for kind in self.kinds)

    def to_dict(self) -> dict[str, Any]:
        """Return the types as plain objects for JSON."""
        levels = [None if own is None else list(own) for own in self.levels]
        return {"kinds": list(self.kinds), "levels": levels, "names": None if self.names is None else list(self.names)}

    @classmethod
    def from_dict(cls, saved: Any) -> "ColumnTypes":
        """Return the types from the value of `to_dict`.

        Raises
        ------
        ValueError
            If an entry is missing or invalid.
        """
        if not isinstance(saved, Mapping) or set(saved) != set(PARTS):
            raise ValueError(f"expected {', '.join(PARTS)} of column types; got {saved!r:.99}")
        levels, names = saved["levels"], saved["names"]
        if not isinstance(levels, list):
            raise ValueError(f"expected a list of levels for every column; got {levels!r:.99}")
        return cls(
            _texts(saved["kinds"], "kinds"),
            tuple(None if own is None else _texts(own, "levels") for own in levels),
            None if names is None else _texts(names, "names"),
        )


def _texts(saved: Any, what: str) -> tuple[str, ...]:
    if not isinstance(saved, list) or not all(isinstance(text, str) for text in saved):
        raise ValueError(f"expected a list of texts for the {what} of columns; got {saved!r:.99}")
    return tuple(saved)
