"""Principal direction divisive partitioning, and its variants that search for a separation."""

from dataclasses import dataclass, field

from ..projections import Projection
from .divisive import DivisiveClustering
from .docstrings import documented


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class PDDP(DivisiveClustering):
    """Split the branch with the largest scatter at the mean of its first principal component, repeatedly.

    Principal direction divisive partitioning. It does not search for valleys: clusters are compact, but not separated.
    The scatter of a cluster is the sum of the squared distances of its rows from their centroid.

    Parameters
    ----------
    bandwidth : {"normal", "multimodal", "silverman", "principal"} or float
        Rule for the bandwidth of the densities that the tree stores for drawings. A split lies between two bins, which
        are a fifth of a bandwidth wide.
    max_clusters : int or None
        Clusters to find. If None, branches are split until the scatter of the centroids of the clusters exceeds the
        largest scatter of a cluster (Boley 1998), which gives more clusters for more rows.

    Notes
    -----
    Passes: one if the first sample holds all rows, otherwise two or more. Scatter and component are computed from the
    sample of a branch, which may hold all its rows.

    References
    ----------
    D. Boley, Principal direction divisive partitioning, Data Mining and Knowledge Discovery 2(4), 1998.

    K. Yates, Low-Density Cluster Separators for Large, High-Dimensional, Mixed and Non-Linearly Separable Data, PhD
    thesis, Lancaster University, 2017, section 2.2.1.

    Examples
    --------
    >>> from mdh_dask import PDDP
    >>> from mdh_dask.simulate import gaussian_mixture
    >>> X, y = gaussian_mixture(3000, 10, 4, sd=1.0, random_state=0)
    >>> PDDP(max_clusters=4).fit(X).n_clusters_
    4
    """

    projection: str | Projection = field(init=False, default="pca")
    n_projections: int = field(init=False, default=1)
    criterion: str = field(init=False, default="variance")
    threshold_rule: str = field(init=False, default="mean")
    stop_rule: str = field(init=False, default="none")
    quantile: float = field(init=False, default=0.975)
    n_candidates: int = field(init=False, default=1)
    order: str | None = field(init=False, default="scatter")
    min_relative_depth: float = field(init=False, default=0.0)
    alpha: float | None = field(init=False, default=None)
    refine: bool = field(init=False, default=False)


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class IPDDP(DivisiveClustering):
    """Split branches in the middle of the widest gap along their first principal component.

    Interval principal direction divisive partitioning, with a test for a valley of the density at the gap.

    Notes
    -----
    Passes: one if the first sample holds all rows. Otherwise a second pass counts all branches, and more follow only
    if a fresh sample of a large branch shows a new split. With ``sample_size=None``, the depth of the tree plus two.
    The component is computed from `sample_size` rows of a branch (1024 with None); with a hold-out rule, from the half
    of them that does not test the split. The gap is that of all rows. The test is not that of the paper.

    References
    ----------
    S. K. Tasoulis, D. K. Tasoulis and V. P. Plagianakos, Enhancing principal direction divisive clustering, Pattern
    Recognition 43(10), 2010.

    K. Yates, Low-Density Cluster Separators for Large, High-Dimensional, Mixed and Non-Linearly Separable Data, PhD
    thesis, Lancaster University, 2017, section 2.2.1.

    Examples
    --------
    >>> from mdh_dask import IPDDP
    >>> from mdh_dask.simulate import gaussian_mixture
    >>> X, y = gaussian_mixture(3000, 10, 4, sd=1.0, random_state=0)
    >>> IPDDP().fit(X).n_clusters_
    4
    """

    projection: str | Projection = field(init=False, default="pca")
    n_projections: int = field(init=False, default=1)
    criterion: str = field(init=False, default="relative_depth")
    threshold_rule: str = field(init=False, default="gap")
    n_candidates: int = field(init=False, default=1)
    order: str | None = field(init=False, default=None)
    refine: bool = field(init=False, default=False)
    min_relative_depth: float = field(init=False, default=0.0)


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class DePDDP(DivisiveClustering):
    """Split branches at the lowest density between the outermost modes along their first principal component.

    Density enhanced principal direction divisive partitioning. A branch with a unimodal density is a cluster. Splits
    are not tested, so rows far out in the tails become separate clusters; for a test, use `PCATree` with
    ``threshold_rule="minimum_density"``.

    Notes
    -----
    Passes: one if the first sample holds all rows. Otherwise a second pass counts all branches, and more follow only
    if a fresh sample of a large branch shows a new valley. With ``sample_size=None``, the depth of the tree plus two.
    The component is computed from `sample_size` rows of a branch (1024 with None). The default bandwidth is that of the
    paper, ``sd(pc1) (4 / (3 n))^(1/5)``; a smaller one finds more clusters.

    References
    ----------
    S. K. Tasoulis, D. K. Tasoulis and V. P. Plagianakos, Enhancing principal direction divisive clustering, Pattern
    Recognition 43(10), 2010.

    K. Yates, Low-Density Cluster Separators for Large, High-Dimensional, Mixed and Non-Linearly Separable Data, PhD
    thesis, Lancaster University, 2017, section 4.4.

    Examples
    --------
    >>> from mdh_dask import DePDDP
    >>> from mdh_dask.simulate import gaussian_mixture
    >>> X, y = gaussian_mixture(3000, 10, 4, sd=1.0, random_state=0)
    >>> DePDDP(min_cluster_size=50).fit(X).n_clusters_
    4
    """

    projection: str | Projection = field(init=False, default="pca")
    n_projections: int = field(init=False, default=1)
    criterion: str = field(init=False, default="relative_depth")
    threshold_rule: str = field(init=False, default="minimum_density")
    stop_rule: str = field(init=False, default="none")
    quantile: float = field(init=False, default=0.975)
    n_candidates: int = field(init=False, default=1)
    order: str | None = field(init=False, default=None)
    refine: bool = field(init=False, default=False)
    min_cluster_size: float | None = 1
    min_relative_depth: float = 0.0
