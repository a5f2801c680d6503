"""Types of the columns of a table: continuous, ordinal, categorical or dates, with the levels of texts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._storable import storable

KINDS = ("continuous", "ordinal", "categorical", "date")
"""Dates are numbers of days."""

PIXEL_KINDS = ("lab", "smooth", "texture", "gradient")
"""Kinds of columns of pixels that can be chosen."""


@storable
@dataclass(frozen=True)
class ColumnTypes:
    """The kind of every column, with its levels.

    kinds: one of `KINDS` for each column, in the order of the columns.
    levels: levels of each column: of categorical columns sorted, of ordinal columns in their order. None if the values
        of the column are numbers. A value is coded by the index of its level, and any other value by `n_levels`.
    Raises ValueError if these do not belong together.
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
            if levels is not None and kind in ("continuous", "date"):
                raise ValueError(f"expected no levels for the {kind} column {j}; got {len(levels)}")
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
