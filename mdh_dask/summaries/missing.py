"""Missing values: how many, and the means of the columns without them, with the same bits for all chunkings."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._storable import storable
from .._typing import AnyArray, Floats, Integers
from ..chunks import Statistic
from .moments import MomentPass, SlicedSums


@storable
class Missing(NamedTuple):
    """The value of `MissingPass`."""

    mean: Floats
    """Mean of the values of every column that are not missing, shape (n_features,); NaN if all are."""
    n_missing: Integers
    """Number of missing values of every column, shape (n_features,)."""
    n_incomplete: int
    """Number of rows with missing values."""


class MissingSums(NamedTuple):
    """The state of `MissingPass`."""

    sums: SlicedSums
    n_missing: Integers
    n_incomplete: int


@dataclass(frozen=True)
class MissingPass(Statistic):
    """Missing values (NaN) of the columns, the means of the others, and the number of rows with missing values.

    Parameters
    ----------
    n_features : int
    """

    n_features: int

    @property
    def _moments(self) -> MomentPass:
        return MomentPass(1, np.zeros(self.n_features))

    def chunk(self, start: int, *blocks: AnyArray) -> MissingSums:
        """Count and sum one block."""
        rows = blocks[0]
        missing = np.isnan(rows)
        filled = np.where(missing, np.zeros((), rows.dtype), rows)
        sums = self._moments.chunk(start, np.zeros(len(rows), np.intp), filled)
        return MissingSums(sums, missing.sum(axis=0), int(np.count_nonzero(missing.any(axis=1))))

    def combine(self, left: MissingSums, right: MissingSums) -> MissingSums:
        """Add the counts and the sums."""
        sums = self._moments.combine(left.sums, right.sums)
        return MissingSums(sums, left.n_missing + right.n_missing, left.n_incomplete + right.n_incomplete)

    def finalise(self, state: MissingSums) -> Missing:
        """Return the means of the values that are there; missing values were added as zeros."""
        n_rows = int(state.sums.n_rows[0])
        there = n_rows - state.n_missing
        mean = self._moments.finalise(state.sums).mean[0]
        mean = np.divide(mean * n_rows, there, out=np.full(self.n_features, np.nan), where=there > 0)
        return Missing(mean, state.n_missing, state.n_incomplete)


@dataclass(frozen=True)
class CompleteRows(Statistic):
    """Number of rows without missing values in every block, which are the chunks of those rows."""

    @property
    def keeps_blocks(self) -> bool:
        """True, as the counts belong to the blocks."""
        return True

    def chunk(self, start: int, *blocks: AnyArray) -> Integers:
        """Count one block."""
        return np.array([np.count_nonzero(~np.isnan(blocks[0]).any(axis=1))])

    def combine(self, left: Integers, right: Integers) -> Integers:
        """Concatenate the counts."""
        return np.concatenate([left, right])
