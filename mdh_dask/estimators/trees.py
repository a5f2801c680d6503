"""Trees on random directions, leading components, and minimum density hyperplanes, also in the features of kernels."""

import logging

from .._typing import RowArray
from ..chunks import merge_chunks
from ..growth.branches import GrowthSettings
from ..projections.mdh import Starts
from .divisive_tree import DivisiveTree
from .parameters import documented
from .planned import FeatureTransformer
from .states import MappedState


@documented
class PCATree(DivisiveTree):
    """Divisive clustering by low-density separators on principal components; finds the number of clusters.

    Every branch is projected on its leading principal components, and split at the deepest valley of the densities
    along them, if this valley is significant.

    Parameters
    ----------
    n_projections : int
        Number of leading principal components to score for every branch.

    Notes
    -----
    Passes: as for `RandomProjectionTree`. The components are computed from `sample_size` rows of a branch (1024 with
    None); with a hold-out rule, from the half of them that does not test the split.

    References
    ----------
    K. Yates, PhD thesis, Lancaster University, 2017, sections 6.2.2 and 6.2.4.

    Examples
    --------
    >>> from mdh_dask import PCATree
    >>> from mdh_dask.simulate import gaussian_mixture
    >>> X, y = gaussian_mixture(3000, 10, 4, sd=1.0, random_state=0)
    >>> PCATree().fit(X).n_clusters_
    4
    """

    projection = "pca"
    n_projections: int = 5
    n_candidates = 5


@documented
class ICATree(DivisiveTree):
    """Divisive clustering by low-density separators on independent components; finds the number of clusters.

    Every branch is projected on its independent components with the largest absolute excess kurtosis, and split at the
    deepest valley of the densities along them, if this valley is significant.

    Parameters
    ----------
    n_projections : int
        Number of leading independent components to score for every branch.

    Notes
    -----
    Passes: as for `RandomProjectionTree`. The components are computed from `sample_size` rows of a branch (1024 with
    None); with a hold-out rule, from the half of them that does not test the split.

    References
    ----------
    K. Yates, PhD thesis, Lancaster University, 2017, sections 6.2.2 and 6.2.4.
    J.-F. Cardoso and A. Souloumiac, Jacobi angles for simultaneous diagonalization, SIAM Journal on Matrix Analysis
    and Applications 17(1), 1996.

    Examples
    --------
    >>> from mdh_dask import ICATree
    >>> from mdh_dask.simulate import gaussian_mixture
    >>> X, y = gaussian_mixture(3000, 10, 4, sd=1.0, random_state=0)
    >>> ICATree().fit(X).n_clusters_
    4
    """

    projection = "ica"
    n_projections: int = 5
    n_candidates = 5


@documented
class RandomProjectionTree(DivisiveTree):
    """Divisive clustering by low-density separators on random projections; finds the number of clusters.

    Every branch is projected on many random directions, combinations of its rows and single columns, and split at the
    deepest valley of the densities along them, if this valley is significant. The branches that are not split are the
    clusters.

    Parameters
    ----------
    n_projections : int
        Number of random directions to score for every branch, 256 at a time; none after a valley beyond doubt (relative
        depth above 10).

    Notes
    -----
    Passes: one if the first sample holds all rows. Otherwise a second pass counts all branches, and more follow only
    if a fresh sample of a large branch shows a new valley. With ``sample_size=None``, the depth of the tree plus two.

    References
    ----------
    K. Yates, PhD thesis, Lancaster University, 2017, sections 6.2.3 to 6.3.1.

    Examples
    --------
    >>> from mdh_dask import RandomProjectionTree
    >>> from mdh_dask.simulate import gaussian_mixture
    >>> X, y = gaussian_mixture(3000, 10, 4, sd=1.0, random_state=0)
    >>> model = RandomProjectionTree(n_projections=100).fit(X)
    >>> model.n_clusters_
    4
    >>> model.labels_.compute()[:3].shape
    (3,)
    """

    n_projections: int = 1000


@documented
class HierarchicalMDH(DivisiveTree):
    """Divisive clustering by minimum density hyperplanes; finds the number of clusters.

    For every branch, projection pursuit turns hyperplanes to minimise the density on them. Among their directions and
    the starts of the pursuits, the one with the deepest valley splits the branch, if this valley is significant.

    Parameters
    ----------
    starts : {"valleys", "balanced", "pca2", "random"}
        Starts of the pursuits. ``"pca2"``: the first two principal components, as in the paper. ``"valleys"``: these,
        the eight directions with the deepest valleys among 1000 random combinations of rows and the single columns, and
        two independent components, which show clusters beside each other in directions of little variance.
        ``"balanced"``: the components and three such directions, with hyperplanes first held near the mean.
        ``"random"``: ten random directions.

    Notes
    -----
    Passes: as for `RandomProjectionTree`. The pursuit works on `sample_size` rows of a branch (1024 with None); with a
    hold-out rule, on the half of them that does not test the split. Its bandwidth is ``0.9 sd(pc1) n^(-1/5)``, with the
    standard deviation along the first principal component; starts with a much smaller standard deviation are also
    pursued with their own. With more than 50 columns or features, hyperplanes are pursued in the span of as many
    principal components of the branch and of the starts, as noise would separate a few rows in many columns anywhere.

    References
    ----------
    N. G. Pavlidis, D. P. Hofmeyr and S. K. Tasoulis, Minimum density hyperplanes, Journal of Machine Learning Research
    17(156), 2016.
    K. Yates, PhD thesis, Lancaster University, 2017, algorithms 1 and 2.

    Examples
    --------
    >>> from mdh_dask import HierarchicalMDH
    >>> from mdh_dask.simulate import gaussian_mixture
    >>> X, y = gaussian_mixture(1000, 5, 3, sd=1.0, random_state=0)
    >>> HierarchicalMDH(starts="pca2").fit(X).n_clusters_
    3
    """

    projection = "mdh"
    starts: Starts = "valleys"


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
        stays = self.feature_map_ is None or not self._merges() or self._guides is not None
        if stays or self.tree_.n_clusters > 1 or self._most_clusters() == 1:
            return n_passes
        logger.info("the features show a single cluster: looking for some among the rows themselves")
        of_features = self.feature_map_, self.tree_, self._grown_from, self.merges_
        self.feature_map_ = None
        n_passes = self._settle(seed, merge_chunks(rows), self._bar, n_passes)
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

    def _restore_feature_map(self, state: MappedState) -> None:
        if self.merge and state.feature_map is None:
            self.feature_map_ = None
        else:
            super()._restore_feature_map(state)

    def _passes(self, n_rows: int, n_columns: int) -> tuple[int, int | None]:
        fewest, most = super()._passes(n_rows, n_columns)
        if not self.merge or self.feature_map is None:
            return fewest, most
        more = self._of_rows_themselves()._passes(n_rows, n_columns)[1]
        return fewest, None if most is None or more is None else most + more
