"""The levels of columns as a statistic: the exact union over all rows."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._storable import storable
from .._typing import AnyArray, Integers
from ..chunks import Statistic
from .values import coded

MOST_LEVELS = 1000
"""Most levels of a column; a column with more holds names or numbers rather than categories."""


@storable
class Found(NamedTuple):
    """The value of `Levels`."""

    levels: tuple[tuple[str, ...], ...]
    """The levels of each column, sorted."""
    n_rows: Integers
    """Number of rows of every table; empty for a matrix."""


@dataclass(frozen=True)
class Levels(Statistic):
    """The levels of some columns, and the number of rows of every table that they come in.

    A block is a matrix, or an array of tables (frames of pandas or Arrow), each with consecutive rows.

    Parameters
    ----------
    keys : tuple
        The columns: their names in a table, or their numbers in a matrix.
    names : tuple of str
        Names of the columns in errors.
    most : int
        Most levels of a column.
    """

    keys: tuple[Any, ...]
    names: tuple[str, ...]
    most: int = MOST_LEVELS

    def chunk(self, start: int, *blocks: AnyArray) -> Found:
        """Return the levels of one block."""
        tables = tables_in(blocks[0])
        n_rows = [] if tables[0] is blocks[0] else [len(table) for table in tables]
        found: list[set[str]] = [set() for _ in self.keys]
        for table in tables:
            for levels, key in zip(found, self.keys):
                levels.update(_texts_of(table, key))
        return Found(self._checked(found), np.array(n_rows, dtype=np.int64))

    def combine(self, left: Found, right: Found) -> Found:
        """Unite the levels."""
        united = [{*a, *b} for a, b in zip(left.levels, right.levels)]
        return Found(self._checked(united), np.concatenate([left.n_rows, right.n_rows]))

    def _checked(self, found: list[set[str]]) -> tuple[tuple[str, ...], ...]:
        for levels, name in zip(found, self.names):
            if len(levels) > self.most:
                raise ValueError(
                    f"expected at most {self.most} levels of a column; got more in {name}, as {min(levels)!r:.40}: "
                    "leave it out, give it as continuous if it holds numbers, or join levels"
                )
        return tuple(tuple(sorted(levels)) for levels in found)


def _texts_of(table: Any, key: Any) -> list[str]:
    try:
        return coded(column_of(table, key)).texts
    except (TypeError, NotImplementedError) as error:  # of pandas or Python for values without a hash, or of Arrow
        raise ValueError(
            f"expected one text or number in every cell of column {key!r}; got others ({error}): leave the column out, "
            "or make one column of every part"
        ) from error


def tables_in(block: AnyArray) -> list[Any]:
    """Return the tables of a block, which is a matrix itself or an array of tables."""
    return list(block) if block.ndim == 1 else [block]


def array_of_table(table: Any) -> AnyArray:
    """Return an array whose only element is a table."""
    out = np.empty(1, dtype=object)
    out[0] = table
    return out


def column_of(table: Any, key: Any) -> Any:
    """Return a column of a matrix, or of a frame of pandas or Arrow."""
    return table[:, key] if isinstance(table, np.ndarray) else table[key]
