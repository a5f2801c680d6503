"""Where the levels of single columns lie among features."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ._storable import storable
from ._typing import Floats, Integers


@storable
class LevelFeatures(NamedTuple):
    """Features that differ by the level of one column only, in groups of which each belongs to a column."""

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


def level_features(groups: Sequence[Floats], n_components: int) -> LevelFeatures:
    """Return the groups, arrays of shape (n_positions of the group, n_components), as one value."""
    starts = np.cumsum([0, *(len(group) for group in groups)])[:-1]
    return LevelFeatures(np.concatenate([np.empty((0, n_components)), *groups]), starts.astype(np.int64))
