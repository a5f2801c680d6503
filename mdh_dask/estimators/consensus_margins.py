"""What the trees of a consensus know about single rows."""

from dataclasses import dataclass

import numpy as np

from .._typing import AnyArray, Floats
from .consensus_state import ConsensusState
from .margins import RowMargins


@dataclass(frozen=True)
class ConsensusMargins:
    """Confidence and rarity of rows in a consensus."""

    state: ConsensusState
    trees: tuple[RowMargins, ...]

    @property
    def takes_sparse(self) -> bool:
        """Return whether rows may be sparse."""
        return self.state.takes_sparse

    @property
    def missing(self) -> bool:
        """Return whether rows may have missing values."""
        return self.state.missing

    def agreeing(self, rows: AnyArray) -> Floats:
        """Return the share of the trees that agree with the label of every row, or the probability of the label."""
        return self.state.agreeing(rows)

    def rarity(self, rows: AnyArray) -> Floats:
        """Return twice the median of the trees, the lower one of an even number; at most 1.

        If at most a share of p of the rows has less than p in each tree, at most a share of p has a lower value than p
        here, whatever the trees have in common (N. Meinshausen, L. Meier and P. Buehlmann, P-values for
        high-dimensional regression, JASA 104, 2009).
        """
        each = np.sort([np.minimum(tree.rarity(rows), 1.0) for tree in self.trees], axis=0)
        return np.minimum(2 * each[(len(each) - 1) // 2], 1.0)
