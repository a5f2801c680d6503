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
        return MomentPass(1, np.zeros(self.n_features), missing=True)

    def chunk(self, start: int, *blocks: AnyArray) -> MissingSums:
        """Count and sum one block."""
        rows = blocks[0]
        sums = self._moments.chunk(start, np.zeros(len(rows), np.intp), rows)
        return MissingSums(sums, int(np.count_nonzero(np.isnan(rows).any(axis=1))))

    def combine(self, left: MissingSums, right: MissingSums) -> MissingSums:
        """Add the counts and the sums."""
        sums = self._moments.combine(left.sums, right.sums)
        return MissingSums(sums, left.n_incomplete + right.n_incomplete)

    def finalise(self, state: MissingSums) -> Missing:
        """Return the means of the values that are there, and the counts."""
        return Missing(self._moments.finalise(state.sums).mean[0], state.sums.n_missing[0], state.n_incomplete)


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
