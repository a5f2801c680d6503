"""Where the levels of single columns lie among features, and how far apart the values of two-valued columns."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ._storable import storable
from ._typing import Floats, Integers


@storable
class LevelFeatures(NamedTuple):
    """Features that differ by the level of one column only, in groups, each of one column."""

    positions: Floats
    """Shape (n_positions, n_components); only their differences within a group count."""
    starts: Integers
    """First position of every group, ascending."""

    def widths_along(self, directions: Floats) -> Floats:
        """Return the largest change of a projection by the level of one column, shape (n_directions,)."""
        if not len(self.starts):
            return np.zeros(len(directions))
        projections = self.positions @ directions.T
        highest, lowest = (reduce(projections, self.starts) for reduce in (np.maximum.reduceat, np.minimum.reduceat))
        widest: Floats = (highest - lowest).max(axis=0)
        return widest


@storable
class TwoValued(NamedTuple):
    """Columns of two values, which are codes: two levels of one column are not two clusters."""

    columns: Integers
    """Indices of the columns."""
    gaps: Floats
    """Differences between the two values of each."""
    pairs: Integers
    """Pairs of these columns that code one factor, as positions in `columns`, shape (n_pairs, 2)."""
    signs: Floats
    """For each pair, -1 if both columns change in the same direction, and 1 if one rises where the other falls."""

    def widths_along(self, directions: Floats) -> Floats:
        """Return the largest change of a projection by the level of one column or pair, shape (n_directions,)."""
        changes = directions[:, self.columns] * self.gaps
        widest: Floats = np.abs(changes).max(axis=1, initial=0.0)
        if len(self.pairs):
            first, second = changes[:, self.pairs.T].transpose(1, 0, 2)
            widest = np.maximum(widest, np.abs(first - self.signs * second).max(axis=1))
        return widest


def level_features(groups: Sequence[Floats], n_components: int) -> LevelFeatures:
    """Return the groups, arrays of shape (n_positions of the group, n_components), as one value."""
    starts = np.cumsum([0, *(len(group) for group in groups)])[:-1]
    return LevelFeatures(np.concatenate([np.empty((0, n_components)), *groups]), starts.astype(np.int64))


NO_LEVELS = level_features([], 0)
"""For features that are not levels of columns, whatever their values."""
