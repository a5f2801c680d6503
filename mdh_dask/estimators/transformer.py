"""The base class of feature maps as scikit-learn transformers, with fit, transform and saving."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags

from .._levels import LevelFeatures
from .._state import FeatureMap
from .._typing import AnyArray, RowArray
from ..chunks import Plan, merge_chunks, one_bar, run_together
from .mapped_state import NYSTROM
from .planned import Planned
from .validation import as_rows


class FeatureTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Planned):
    """Base of the feature maps: the scikit-learn interface to a `FeatureMap`, which a plan of passes computes.

    A subclass is a dataclass of parameters, `random_state` and `progress` among them, with ``_parameter_constraints``.
    It names its `map_type` and implements `_plan`. A line in `FEATURE_MAPS` makes it a choice of ``feature_map``.

    Attributes
    ----------
    n_components_ : int
        Number of features.
    """

    map_type: ClassVar[type[FeatureMap]]
    """Class of the fitted maps."""
    saved_as = "parameters of the feature map"
    n_components_: int

    @property
    def levels(self) -> LevelFeatures | None:
        """Return where the levels lie that trees do not take for clusters, or None before `fit` and for numbers."""
        return self.map_.levels if hasattr(self, "map_") else None

    def _check_rows(self, rows: RowArray) -> None:
        """Raise an error if rows of this shape cannot be mapped, before any work."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the map.

        Parameters
        ----------
        X : array-like, frame, Dask array or DataFrame, or Zarr array of shape (n_samples, n_features)
            Numbers without NaN and infinities, unless the parameters allow others. Dask arrays need known row chunks;
            Dask DataFrames, and texts or categories of lazy rows, take one more pass.
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter or `X` is invalid; before any work if possible, otherwise in the pass.
        """
        with one_bar(self.progress):
            self._fit_beside(X)
        return self

    def _fit_beside(self, X: Any, *others: Plan[Any]) -> list[Any]:
        """Fit the map, advance other plans in the same passes, and return their results."""
        self._check_parameters()
        rows = as_rows(self, X, reset=True)
        self._check_rows(rows)
        plan = self._plan(self._seed(), (rows.shape[0], rows.shape[1]))
        plans, merged = [plan, *others], merge_chunks(rows)
        n_passes = self._input_passes
        (feature_map, *results), self.n_passes_ = run_together(plans, merged, announce=self._bar, n_passes=n_passes)
        self._adopt(feature_map)
        return results

    def transform(self, X: Any) -> RowArray:
        """Return the features of every row.

        Parameters
        ----------
        X : array-like, Dask array or Zarr array of shape (n_samples, n_features)

        Returns
        -------
        ndarray or dask Array of shape (n_samples, n_components_), float32
            NumPy for NumPy input, otherwise lazy in the row chunks of `X` with one pass to compute.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If `X` has a different number of columns than in `fit`, or NaN or infinities (for lazy input, on computing).
        """
        return self._of_rows(X, "__call__", "float32", "n_components_")

    def _adopt(self, feature_map: Any) -> None:
        """Set a fitted or loaded map."""
        self.map_ = feature_map
        self.n_components_ = self._n_features_out = feature_map.n_components

    def _restore(self, settings: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> None:
        """Set the map from checked saved values."""
        map_type = self._map_type()
        if (kind := settings.get("map", NYSTROM)) != map_type.kind:
            raise ValueError(f"expected a map of the kind {map_type.kind}, got {kind!r}")
        own = {name: value for name, value in settings.items() if name != "map"}
        self._adopt(map_type.from_arrays(own, arrays))
        self.n_features_in_ = self.map_.n_features

    def _map_type(self) -> type[FeatureMap]:
        """Return the class of the maps that these parameters give."""
        return self.map_type

    def _fitted(self) -> FeatureMap:
        return self.map_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Features are float32 for every dtype of the rows.
        tags.transformer_tags.preserves_dtype = []
        return tags
