"""Principal direction divisive partitioning, and its variants that search for a separation."""

from dataclasses import dataclass, field

from .divisive_tree import DivisiveTree
from .docstrings import documented


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class PDDP(DivisiveTree):
    """Split the branch with the largest scatter at the mean of its first principal component, repeatedly.

    Principal direction divisive partitioning. It does not search for valleys: clusters are compact, but not separated.
    The scatter of a cluster is the sum of the squared distances of its rows from their centroid.

    Parameters
    ----------
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

    projection = "pca"
    n_projections = 1
    criterion = "variance"
    threshold_rule = "mean"
    stop_rule = "none"
    quantile: float = field(init=False, default=0.975)
    n_candidates = 1
    order = "scatter"
    min_relative_depth: float = field(init=False, default=0.0)


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class IPDDP(DivisiveTree):
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

    projection = "pca"
    n_projections = 1
    threshold_rule = "gap"
    n_candidates = 1
    min_relative_depth: float = field(init=False, default=0.0)


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class DePDDP(DivisiveTree):
    """Split branches at the lowest density between the outermost modes along their first principal component.

    Density enhanced principal direction divisive partitioning. A branch with a unimodal density is a cluster. Splits
    are not tested, so rows far out in the tails become separate clusters; for a test, use `PCATree`.

    Parameters
    ----------
    bandwidth : {"normal", "multimodal", "silverman", "principal"} or float
        Rule for the bandwidth: ``1.06 sd n^(-1/5)``, ``0.9 sd n^(-1/5)``, ``0.9 min(sd, IQR / 1.35) n^(-1/5)``, or
        the second with the standard deviation along the branch's first principal component; a number replaces the
        factor of the first.

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

    projection = "pca"
    n_projections = 1
    threshold_rule = "minimum_density"
    stop_rule = "none"
    quantile: float = field(init=False, default=0.975)
    n_candidates = 1
    bandwidth: str | float = "normal"
    min_cluster_size: float | None = 1
    min_relative_depth: float = 0.0
