"""Trees of the classical objectives: two means, clusterability, normalised cuts and spectral ones."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from .._typing import AnyArray, Integers
from ..kernels.registry import AFFINITIES
from ..projections import Projection
from ..projections.bipartition import spectral_direction
from ..projections.random import NO_COLUMNS
from .constraints import StrOptions
from .divisive import DivisiveClustering
from .docstrings import documented
from .planned import FeatureTransformer
from .spectral_features import AffinityFeatures


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class BisectingKernelKMeans(DivisiveClustering):
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
    K. Yates, Low-Density Cluster Separators for Large, High-Dimensional, Mixed and Non-Linearly Separable Data, PhD
    thesis, Lancaster University, 2017, section 7.3.

    Examples
    --------
    >>> from mdh_dask import BisectingKernelKMeans
    >>> from mdh_dask.simulate import gaussian_mixture
    >>> X, y = gaussian_mixture(1000, 3, 4, sd=0.5, random_state=0)
    >>> BisectingKernelKMeans(max_clusters=4, feature_map=None).fit(X).n_clusters_
    4
    """

    projection: str | Projection = field(init=False, default="two_means")
    n_projections: int = field(init=False, default=1)
    criterion: str = field(init=False, default="sse")
    threshold_rule: str = field(init=False, default="two_means")
    stop_rule: str = field(init=False, default="none")
    quantile: float = field(init=False, default=0.975)
    n_candidates: int = field(init=False, default=1)
    order: str | None = field(init=False, default="scatter")
    min_relative_depth: float = field(init=False, default=0.0)
    alpha: float | None = field(init=False, default=None)
    refine: bool = field(init=False, default=False)
    feature_map: str | FeatureTransformer | None = "rbf"


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class ClusterabilityTree(DivisiveClustering):
    """Divide branches along the direction of the largest ratio of the squares between and within two groups.

    Maximum clusterability divisive clustering. A split is made if the rows show a valley between the two groups. For a
    number of clusters without a test: ``stop_rule="none", order="scatter", max_clusters=k``.

    Notes
    -----
    Passes: one if the first sample holds all rows. Otherwise a second pass counts all branches, and more follow only
    if a fresh sample of a large branch shows a new split. With ``sample_size=None``, the depth of the tree plus two.
    Directions are those of `sample_size` rows of a branch (1024 with None); thresholds are those of all rows.

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

    projection: str | Projection = field(init=False, default="clusterability")
    n_projections: int = field(init=False, default=1)
    criterion: str = field(init=False, default="clusterability")
    threshold_rule: str = field(init=False, default="two_means")
    n_candidates: int = field(init=False, default=1)


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class NormalisedCutTree(DivisiveClustering):
    """Divide branches by the hyperplane of the least normalised cut.

    Projection pursuit from the first principal component of a branch turns hyperplanes to minimise their cut. A split
    is made if the rows show a valley there. For a number of clusters without a test: ``stop_rule="none",
    order="criterion", max_clusters=k``.

    Notes
    -----
    Passes: one if the first sample holds all rows. Otherwise a second pass counts all branches, and more follow only
    if a fresh sample of a large branch shows a new split. With ``sample_size=None``, the depth of the tree plus two.
    Affinities fall exponentially over ten bandwidths of the first component; in the paper, over a hundred. Directions
    are those of `sample_size` rows of a branch (1024 with None); thresholds are those of all rows.

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

    projection: str | Projection = field(init=False, default="normalised_cut")
    n_projections: int = field(init=False, default=1)
    criterion: str = field(init=False, default="normalised_cut")
    threshold_rule: str = field(init=False, default="normalised_cut")
    bandwidth: str | float = "principal"
    n_candidates: int = field(init=False, default=1)


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class HierarchicalSpectral(DivisiveClustering):
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
    K. Yates, Low-Density Cluster Separators for Large, High-Dimensional, Mixed and Non-Linearly Separable Data, PhD
    thesis, Lancaster University, 2017, section 7.3.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = DivisiveClustering._parameter_constraints | {
        "feature_map": [StrOptions(AFFINITIES), AffinityFeatures]
    }

    projection: str | Projection = field(init=False, default="spectral")
    n_projections: int = field(init=False, default=1)
    criterion: str = field(init=False, default="normalised_cut")
    threshold_rule: str = field(init=False, default="proposed")
    stop_rule: str = field(init=False, default="none")
    quantile: float = field(init=False, default=0.975)
    n_candidates: int = field(init=False, default=1)
    order: str | None = field(init=False, default="eigenvalue")
    min_relative_depth: float = field(init=False, default=0.0)
    alpha: float | None = field(init=False, default=None)
    refine: bool = field(init=False, default=False)
    feature_map: str | FeatureTransformer | None = "local_scaling"

    def _new_feature_map(self, seed: int) -> FeatureTransformer | None:
        if not isinstance(self.feature_map, str):
            return super()._new_feature_map(seed)
        return AffinityFeatures(kernel=self.feature_map, scale=self.scale, random_state=seed, progress=self.progress)

    def _directions(
        self, rows: AnyArray, rng: np.random.Generator, coarse: Integers = NO_COLUMNS, min_rows: float = 0.0
    ) -> tuple[AnyArray, AnyArray]:
        return spectral_direction(rows, rng, min_rows=min_rows)
