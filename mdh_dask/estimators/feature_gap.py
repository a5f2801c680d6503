"""The number of clusters among the features of a map, by the gap statistic."""

from functools import partial

from sklearn.utils import get_tags

from .._typing import Floats, RowArray
from ..centroids.gap import Number, gap_number_of_features, gap_sample
from .mapped import Mapped
from .transformer import FeatureTransformer
from .typed_columns import categorical_columns


class FeatureGap(Mapped):
    """A mixin for estimators that find the number of clusters while the feature map is fitted."""

    n_clusters: int | None
    max_clusters: int
    _number: Number | None = None
    """What was found, during a fit."""

    def _learn(self, rows: RowArray, seed: int) -> int:
        self._number = None
        try:
            return super()._learn(rows, seed)
        finally:
            self._number = None

    @property
    def _compares_features(self) -> bool:
        """Whether the number is that of features; the many columns of texts have linear features."""
        return self.n_clusters is None and not self._maps_sparse and not get_tags(self).input_tags.pairwise

    def _fit_map(self, feature_map: FeatureTransformer, rows: RowArray, seed: int) -> None:
        if not self._compares_features:
            return super()._fit_map(feature_map, rows, seed)
        [sample] = feature_map._fit_beside(self._typed(rows), gap_sample((rows.shape[0], rows.shape[1]), seed))
        categorical, most = categorical_columns(self.columns, rows.shape[1]), self.max_clusters
        self._number = gap_number_of_features(sample, categorical, partial(self._features, seed), most, seed)
        return None

    def _features(self, seed: int, rows: Floats) -> Floats:
        """Return the features of rows by a map that is fitted to them."""
        own = self._new_feature_map(seed)
        assert own is not None
        own.progress = False
        own.fit(self._typed(rows))
        return own.transform(self._typed(rows))
