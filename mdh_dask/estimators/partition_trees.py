"""Trees of the classical objectives: two means, clusterability, normalised cuts and spectral ones."""

from typing import TYPE_CHECKING, Any, ClassVar

from ..kernels import AFFINITIES
from .divisive_tree import DivisiveTree, UntestedTree
from .parameters import StrOptions, documented
from .planned import FeatureTransformer
from .spectral_features import AffinityFeatures

if TYPE_CHECKING:
    from .divisive import DivisiveClustering


@documented
class BisectingKernelKMeans(UntestedTree):
    """Divide the cluster of the largest scatter in the feature space of a kernel by two means, repeatedly.

    Parameters
    ----------
    max_clusters : int or None
        Clusters to find. If None, until the scatter of the centroids exceeds the largest scatter of a cluster.

    Notes
    -----
    Passes: two if the features are cached, one to choose the landmarks and one to map the rows; otherwise one more than
    for `PDDP`. The two means are those of the sample of a branch, and the threshold along their direction that of all
    rows. With ``feature_map=None``, bisecting k-means.

    References
    ----------
    K. Yates, PhD thesis, Lancaster University, 2017, section 7.3.

    Examples
    --------
    >>> from mdh_dask import BisectingKernelKMeans
    >>> from mdh_dask.simulate import gaussian_mixture
    >>> X, y = gaussian_mixture(1000, 3, 4, sd=0.5, random_state=0)
    >>> BisectingKernelKMeans(max_clusters=4, feature_map=None).fit(X).n_clusters_
    4
    """

    projection = "two_means"
    criterion = "sse"
    threshold_rule = "two_means"
    order = "scatter"
    feature_map: str | FeatureTransformer | None = "rbf"


@documented
class ClusterabilityTree(DivisiveTree):
    """Divide branches along the direction of the largest ratio of the squares between and within two groups.

    Maximum clusterability divisive clustering. A split is made if the rows show a valley between the two groups. For a
    number of clusters without a test: ``ClusterabilityTree(max_clusters=k).as_divisive(stop_rule="none",
    order="scatter")``.

    Notes
    -----
    Passes: as for `RandomProjectionTree`. Directions are those of `sample_size` rows of a branch (1024 with None);
    thresholds are those of all rows.

    References
    ----------
    D. Hofmeyr and N. Pavlidis, Maximum clusterability divisive clustering, IEEE Symposium Series on Computational
    Intelligence, 2015.

    Examples
    --------
    >>> from mdh_dask import ClusterabilityTree
    >>> from mdh_dask.simulate import gaussian_mixture
    >>> X, y = gaussian_mixture(1000, 3, 4, sd=0.5, random_state=0)
    >>> ClusterabilityTree().fit(X).n_clusters_
    4
    """

    projection = "clusterability"
    n_projections = 1
    criterion = "clusterability"
    threshold_rule = "two_means"
    n_candidates = 1


@documented
class NormalisedCutTree(DivisiveTree):
    """Divide branches by the hyperplane of the least normalised cut.

    Projection pursuit from the first principal component of a branch turns hyperplanes to minimise their cut. A split
    is made if the rows show a valley there. For a number of clusters without a test:
    ``NormalisedCutTree(max_clusters=k).as_divisive(stop_rule="none", order="criterion")``.

    Notes
    -----
    Passes: as for `RandomProjectionTree`. Affinities fall exponentially over ten bandwidths of the first component; in
    the paper, over a hundred. Directions are those of `sample_size` rows of a branch (1024 with None); thresholds are
    those of all rows.

    References
    ----------
    D. Hofmeyr, Clustering by minimum cut hyperplanes, IEEE Transactions on Pattern Analysis and Machine Intelligence
    39, 2017.

    Examples
    --------
    >>> from mdh_dask import NormalisedCutTree
    >>> from mdh_dask.simulate import gaussian_mixture
    >>> X, y = gaussian_mixture(1000, 3, 4, sd=0.5, random_state=0)
    >>> NormalisedCutTree().fit(X).n_clusters_
    4
    """

    projection = "normalised_cut"
    n_projections = 1
    criterion = "normalised_cut"
    threshold_rule = "normalised_cut"
    bandwidth = "principal"
    n_candidates = 1


@documented
class HierarchicalSpectral(UntestedTree):
    """Divide the cluster whose own affinities are divided best, by their second eigenvector, repeatedly.

    The affinities of a branch are normalised anew. Its rows are divided where the normalised cut is least along the
    second eigenvector, which is a hyperplane through the origin of the features, so that new rows need no eigenvectors.

    Parameters
    ----------
    max_clusters : int or None
        Clusters to find. If None, as many as leading eigenvectors of all rows that can be rotated until every row has
        one large entry, from two to 20: a heuristic that also divides a single cluster, as that of
        `SpectralClustering`.
    feature_map : str or AffinityFeatures
        Features whose inner products are affinities, or the name of their kernel: ``"local_scaling"``, ``"rbf"``,
        ``"nearest_neighbors"``, ``"gower"`` or ``"precomputed"``.

    Notes
    -----
    Passes: three if the features are cached, one to choose the landmarks, one for the degrees if there are more than
    ten rows per landmark, and one to map the rows. Otherwise one or two more than for `PDDP`. Eigenvectors, cuts and
    thresholds are those of the sample of a branch.

    References
    ----------
    K. Yates, PhD thesis, Lancaster University, 2017, section 7.3.
    J. Shi and J. Malik, Normalized cuts and image segmentation, IEEE Transactions on Pattern Analysis and Machine
    Intelligence 22, 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from mdh_dask import HierarchicalSpectral
    >>> rng = np.random.default_rng(0)
    >>> angle, radius = rng.uniform(0, 2 * np.pi, 600), np.repeat([1.0, 4.0], 300)
    >>> X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]) + rng.normal(0, 0.1, (600, 2))
    >>> np.bincount(HierarchicalSpectral(max_clusters=2).fit_predict(X))
    array([300, 300])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"feature_map": [StrOptions(AFFINITIES), AffinityFeatures]}

    projection = "spectral"
    criterion = "normalised_cut"
    threshold_rule = "proposed"
    order = "eigenvalue"
    feature_map: str | FeatureTransformer | None = "local_scaling"

    def as_divisive(self, **changes: Any) -> "DivisiveClustering":
        """Return `DivisiveClustering` with the settings of this method; see `PCATree.as_divisive`."""
        return super().as_divisive(**{"feature_map": self._new_feature_map(self._seed())} | changes)

    def _new_feature_map(self, seed: int) -> FeatureTransformer | None:
        if not isinstance(self.feature_map, str):
            return super()._new_feature_map(seed)
        return AffinityFeatures(kernel=self.feature_map, scale=self.scale, random_state=seed, progress=self.progress)
