"""What a tree knows about single rows besides their labels."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._typing import AnyArray, Floats
from ..tree.margins import Margins, margins_of
from .rare import RareRows
from .soft import Bounded
from .tree_state import TreeState


@dataclass(frozen=True)
class RowMargins:
    """Distances, agreements and rarities of rows; see `mdh_dask.tree.margins.Margins`."""

    state: TreeState
    margins: Margins

    @property
    def takes_sparse(self) -> bool:
        """Return whether rows may be sparse."""
        return self.state.takes_sparse

    @cached_property
    def missing(self) -> bool:
        """Return whether rows may have missing values."""
        return self.state.missing

    def distances(self, rows: AnyArray) -> Floats:
        """Return the distances to the nearest separator, in standard errors."""
        return self._of(rows)[:, 0]

    def agreeing(self, rows: AnyArray) -> Floats:
        """Return the probabilities that the labels stay when the separators move by their standard errors."""
        return self._of(rows)[:, 1]

    def rarity(self, rows: AnyArray) -> Floats:
        """Return the shares of rows at places that are not denser, times the number of directions."""
        return self._of(rows)[:, 2]

    def _of(self, rows: AnyArray) -> Floats:
        return self.state.by_features(self.margins.of_rows, rows)


class MarginEstimator(RareRows, Bounded):
    """A mixin for estimators of one tree that adds distances, confidence and outliers."""

    def _judging(self) -> RowMargins:
        check_is_fitted(self)
        return row_margins_of(self.state_)


def row_margins_of(state: TreeState) -> RowMargins:
    """Return what a tree knows about single rows."""
    tree = state.tree
    if state.feature_map is not None:
        # With a map, the directions of the splits alone say how rare a row is, not those of leaves.
        tree = replace(tree, planes=np.where(tree.left[:, None] >= 0, tree.planes, 0.0))
    return RowMargins(state, margins_of(tree))
