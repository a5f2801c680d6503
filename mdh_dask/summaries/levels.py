"""Frequencies of the levels of whole columns, and the levels of new rows that a model does not know."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import AnyArray, Integers
from ..chunks import Statistic
from ..columns.coding import Coder, coded, column_of, tables_in
from .frequencies import FrequencyPass

MOST_UNSEEN = 100
"""Most levels of a column that are counted although the model does not know them: the first by name."""

Unseen = tuple[tuple[tuple[str, int], ...], ...]
"""Unknown levels of every column and their numbers of rows, by name."""


@dataclass(frozen=True)
class LevelPass(Statistic):
    """Number of rows with each level of some columns, with an unknown one, and without a value.

    The value is an array of shape (n_levels + 2,) for each column.

    Parameters
    ----------
    columns, n_levels : tuple of int
        Numbers of the columns, and of their levels.
    array : int
        Which of the row-aligned arrays holds the codes.
    """

    columns: tuple[int, ...]
    n_levels: tuple[int, ...]
    array: int = 0

    def chunk(self, start: int, *blocks: AnyArray) -> tuple[Integers, ...]:
        """Count the rows of one block."""
        codes = blocks[self.array]
        counts = FrequencyPass(1, self.columns, self.n_levels).chunk(start, np.zeros(len(codes), np.intp), codes)
        return tuple(of_column[0] for of_column in counts)

    def combine(self, left: tuple[Integers, ...], right: tuple[Integers, ...]) -> tuple[Integers, ...]:
        """Add the counts."""
        return tuple(a + b for a, b in zip(left, right))


@dataclass(frozen=True)
class UnseenPass(Statistic):
    """Rows with each level of some columns that is not among the known ones; see `Unseen` for the value.

    A block is a matrix, or an array of tables, as for `mdh_dask.columns.coding.Levels`.

    Parameters
    ----------
    keys : tuple
        Names of the columns in a table, or their numbers in a matrix.
    known : tuple of (tuple of str)
        Known levels of each column.
    coder : Coder or None
        The codes of all columns, to leave out rows without one of them; None to count all rows.
    most : int
        Most levels of a column in the value.
    """

    keys: tuple[Any, ...]
    known: tuple[tuple[str, ...], ...]
    coder: Coder | None = None
    most: int = MOST_UNSEEN

    @property
    def journalled(self) -> bool:
        """Return False, as no job asks for levels that a model does not know."""
        return False

    def chunk(self, start: int, *blocks: AnyArray) -> Unseen:
        """Return the unknown levels of one block."""
        counts: list[Counter[str]] = [Counter() for _ in self.keys]
        for table in tables_in(blocks[0]):
            left_out = False if self.coder is None else np.isnan(self.coder(table)).any(axis=1)
            for found, key, known in zip(counts, self.keys, self.known):
                column = coded(column_of(table, key))
                codes = np.where(left_out, -1, column.codes)
                n_rows = np.bincount(codes[codes >= 0], minlength=len(column.texts))
                others = set(column.texts).difference(known)
                found.update({text: int(n) for text, n in zip(column.texts, n_rows) if n and text in others})
        return self._first(counts)

    def combine(self, left: Unseen, right: Unseen) -> Unseen:
        """Add the counts of the first levels, which are among the first of both parts."""
        return self._first([Counter(dict(a)) + Counter(dict(b)) for a, b in zip(left, right)])

    def _first(self, counts: list[Counter[str]]) -> Unseen:
        return tuple(tuple(sorted(found.items())[: self.most]) for found in counts)
