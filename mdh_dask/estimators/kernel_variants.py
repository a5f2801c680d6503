"""Kernel variants of divisive methods: the same trees on features."""

import logging

from .._state import FeatureMap
from .._typing import RowArray
from ..chunks import merge_chunks
from ..growth.branches import GrowthSettings
from ..projections.mdh import Starts
from .parameters import documented
from .planned import FeatureTransformer
from .trees import HierarchicalMDH

logger = logging.getLogger(__name__)

FOR_FEATURES = ("starts", "min_relative_depth")
"""Parameters whose defaults suit trees on features, and not the rows themselves."""


@documented
class HierarchicalKernelMDH(HierarchicalMDH):
    """Divisive clustering by minimum density hyperplanes in a kernel's feature space; finds the number of clusters.

    Clusters may have any shape: a hyperplane in the feature space is a curved surface in the space of the rows.

    Parameters
    ----------
    min_relative_depth : float
        Least relative depth of a split. Features show shallow valleys between landmarks for any number of rows.
        Without `merge`, 1 excludes most of them: the lower mode is then at least twice as high as the valley. Where
        the rows themselves are clustered, theirs is 0.1 by default.

    Notes
    -----
    In few columns, features fold a single cluster and show valleys where the rows have none. With `merge`, the
    default, such splits are undone unless the density of the rows shows a valley. Leaves are not merged with a
    precomputed kernel, whose rows are not points, or with a map of mixed columns.

    Rows of clusters that are near each other along one direction and long along others are neighbours, so that features
    mix them, though a hyperplane among the rows separates them. With `merge`, where the features show a single cluster
    and no rows have labels, the rows themselves are clustered as by ``HierarchicalMDH(merge=True)``, with the
    parameters of this estimator that are not its defaults. If they form several clusters, `feature_map_` is None.

    The thesis uses ``feature_map="local_scaling"``. With ``KernelPCAFeatures(variance=1.0)`` and `max_components` None,
    hyperplanes are free in the span of the landmarks (KMDH_hier there); with less variance or fewer components, in the
    subspace of the leading ones (S-KMDH_hier). By default the features are the leading components of the rows, and in
    every branch hyperplanes are pursued in the span of at most 50 of its own components and of the starts.

    Passes: three if the features are cached: to choose the landmarks, to map the rows and to draw the sample by which
    leaves are merged. Otherwise two more than for `HierarchicalMDH`, all but the first and the last of which map all
    rows. Where the features show a single cluster, also those of `HierarchicalMDH`. Computing `labels_` or a prediction
    takes one mapping pass.

    References
    ----------
    K. Yates and N. G. Pavlidis, Minimum density hyperplanes in the feature space, IEEE International Conference on Big
    Data, 2016.

    K. Yates, PhD thesis, Lancaster University, 2017, chapter 5.

    Examples
    --------
    >>> import numpy as np
    >>> from mdh_dask import HierarchicalKernelMDH
    >>> rng = np.random.default_rng(0)
    >>> angle, radius = rng.uniform(0, 2 * np.pi, 2000), np.repeat([1.0, 5.0], 1000)
    >>> X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]) + rng.normal(0, 0.1, (2000, 2))
    >>> labels = HierarchicalKernelMDH(feature_map="quadratic", max_clusters=2).fit_predict(X)
    >>> np.bincount(labels)
    array([1000, 1000])
    """

    feature_map: str | FeatureTransformer | None = "nearest_neighbors"
    min_relative_depth: float = 0.5
    merge: bool = True
    starts: Starts = "balanced"
    bandwidth = "principal"

    def _learn_tree(self, rows: RowArray, seed: int) -> int:
        n_passes = super()._learn_tree(rows, seed)
        stays = self.feature_map_ is None or not self._merges() or self._target is not None
        if stays or self.tree_.n_clusters > 1 or self._most_clusters() == 1:
            return n_passes
        logger.info("the features show a single cluster: looking for some among the rows themselves")
        of_features = self.feature_map_, self.tree_, self._grown_from, self.merges_
        self.feature_map_ = None
        n_passes = self._grow(seed, merge_chunks(rows), self._bar, n_passes)
        if self.tree_.n_clusters == 1:
            self.feature_map_, self.tree_, self._grown_from, self.merges_ = of_features
        return n_passes

    def _of_rows_themselves(self) -> HierarchicalMDH:
        """Return the estimator that clusters the rows where their features show a single cluster."""
        shared = HierarchicalMDH().get_params(deep=False).keys() - {"feature_map"}  # subclasses may have more
        given = {name: getattr(self, name) for name in shared}
        left = [name for name in FOR_FEATURES if given[name] == getattr(HierarchicalKernelMDH, name)]
        return HierarchicalMDH(**{name: value for name, value in given.items() if name not in left})

    def _is_of_rows(self) -> bool:
        """Return whether the tree is one of the rows themselves, though there is a feature map for them."""
        return self.feature_map is not None and getattr(self, "feature_map_", self) is None

    def _least_depth(self) -> float:
        return self._of_rows_themselves().min_relative_depth if self._is_of_rows() else super()._least_depth()

    def _settings(self, n_rows: int, seed: int) -> GrowthSettings:
        if not self._is_of_rows():
            return super()._settings(n_rows, seed)
        own = self._of_rows_themselves()
        own.feature_map_, own.n_features_in_ = None, self.n_features_in_
        return own._settings(n_rows, seed)

    def _restore_feature_map(self, feature_map: FeatureMap | None, **n_columns: int) -> None:
        if self.merge and feature_map is None:
            self.feature_map_ = None
        else:
            super()._restore_feature_map(feature_map, **n_columns)

    def _passes(self, n_rows: int, n_columns: int) -> tuple[int, int | None]:
        fewest, most = super()._passes(n_rows, n_columns)
        if not self.merge or self.feature_map is None:
            return fewest, most
        more = self._of_rows_themselves()._passes(n_rows, n_columns)[1]
        return fewest, None if most is None or more is None else most + more
