"""Kernel variants of divisive methods: the same trees on features."""

from dataclasses import dataclass
from typing import Any, Self

from ..projections.mdh import Starts
from .docstrings import documented
from .kernel_pca_features import KernelPCAFeatures
from .minimum_density import OF_THESIS, HierarchicalMDH
from .principal_directions import DePDDP
from .transformer import FeatureTransformer


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class HierarchicalKernelMDH(HierarchicalMDH):
    """Divisive clustering by minimum density hyperplanes in a kernel's feature space; finds the number of clusters.

    Clusters may have any shape: a hyperplane in the feature space is a curved surface in the space of the rows.

    Parameters
    ----------
    min_relative_depth : float
        Least relative depth of a split. Features show shallow valleys between landmarks for any number of rows.
        Without `merge`, 1 excludes most of them: the lower mode is then at least twice as high as the valley.

    Notes
    -----
    In few columns, features fold a single cluster and show valleys where the rows have none. With `merge`, the
    default, such splits are undone unless the density of the rows shows a valley. Leaves are not merged with a
    precomputed kernel, whose rows are not points, or with a map of mixed columns.

    The thesis uses ``feature_map="local_scaling"``. With ``KernelPCAFeatures(variance=1.0)`` and `max_components` None,
    hyperplanes are free in the span of the landmarks (KMDH_hier there); with less variance or fewer components, in the
    subspace of the leading ones (S-KMDH_hier). By default the features are the leading components of the rows, and in
    every branch hyperplanes are pursued in the span of at most 50 of its own components and of the starts.

    Passes: three if the features are cached: to choose the landmarks, to map the rows and to draw the sample by which
    leaves are merged. Otherwise two more than for `HierarchicalMDH`, all but the first and the last of which map all
    rows. Computing `labels_` or a prediction takes one mapping pass.

    References
    ----------
    K. Yates and N. G. Pavlidis, Minimum density hyperplanes in the feature space, IEEE International Conference on Big
    Data, 2016.

    K. Yates, Low-Density Cluster Separators for Large, High-Dimensional, Mixed and Non-Linearly Separable Data, PhD
    thesis, Lancaster University, 2017, chapter 5.

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
    bandwidth: str | float = "principal"

    @classmethod
    def as_in_thesis(cls, **changes: Any) -> Self:
        """Return the tree of the thesis, algorithm 4, with other parameters where given.

        All components of a kernel with local scaling are searched, and no leaves are merged; for algorithm 5, give
        ``feature_map="local_scaling"``, the components with nine tenths of the variance. See
        `HierarchicalMDH.as_in_thesis`.

        Examples
        --------
        >>> HierarchicalKernelMDH.as_in_thesis().feature_map
        KernelPCAFeatures(variance=1.0)
        """
        features = KernelPCAFeatures(kernel="local_scaling", variance=1.0)
        return cls(**OF_THESIS | {"feature_map": features, "merge": False} | changes)


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class KernelDePDDP(DePDDP):
    """Divide branches where the density along their first kernel principal component is lowest.

    `DePDDP` on features: the component is computed from the features of each branch.

    Notes
    -----
    Passes: two if the features are cached, one to choose the landmarks and one to map the rows. Otherwise one more than
    for `DePDDP`, each of which maps all rows. Computing `labels_` or a prediction takes one mapping pass.

    References
    ----------
    K. Yates, Low-Density Cluster Separators for Large, High-Dimensional, Mixed and Non-Linearly Separable Data, PhD
    thesis, Lancaster University, 2017, section 5.5.

    Examples
    --------
    >>> from mdh_dask import KernelDePDDP
    >>> from mdh_dask.simulate import gaussian_mixture
    >>> X, y = gaussian_mixture(3000, 10, 4, sd=1.0, random_state=0)
    >>> KernelDePDDP(feature_map="rbf", min_cluster_size=50).fit(X).n_clusters_
    4
    """

    feature_map: str | FeatureTransformer | None = "local_scaling"
