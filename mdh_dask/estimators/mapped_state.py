"""The base of states with a feature map, which maps rows to the features that are clustered."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from .._state import FeatureMap, State
from .._typing import AnyArray

NYSTROM = "nystrom"
"""The kind of saved maps without a kind, as from 0.1.0."""

ROWS_AT_ONCE = 8192
"""Rows whose features are in memory at once while rows are labelled."""


class MappedState(State):
    """A state of the features of rows, or of the rows themselves if `feature_map` is None."""

    feature_map: FeatureMap | None

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """Return the number of features, or of columns without a map."""

    @property
    def n_features(self) -> int:
        """Return the number of columns that rows must have."""
        return self.n_columns if self.feature_map is None else self.feature_map.n_features

    @property
    def takes_sparse(self) -> bool:
        """Return whether the map takes sparse rows."""
        return self.feature_map is not None and self.feature_map.takes_sparse

    @property
    def missing(self) -> bool:
        """Return whether the map accepts missing values."""
        return self.feature_map is not None and self.feature_map.missing

    def by_features(self, function: Callable[[AnyArray], AnyArray], rows: AnyArray) -> AnyArray:
        """Return what a function returns for the features of rows, or for the rows themselves without a map."""
        if self.feature_map is None:
            return function(rows)
        # The features of a long block of rows may not fit into memory at once.
        starts = range(0, max(len(rows), 1), ROWS_AT_ONCE)
        return np.concatenate([function(self.feature_map(rows[i : i + ROWS_AT_ONCE])) for i in starts])

    def map_to_arrays(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """Return the settings of the map, or None, as ``feature_map``, and its arrays, for a saved model."""
        if self.feature_map is None:
            return {"feature_map": None}, {}
        settings, arrays = self.feature_map.to_arrays()
        named = settings if self.feature_map.kind == NYSTROM else {"map": self.feature_map.kind, **settings}
        return {"feature_map": named}, arrays
